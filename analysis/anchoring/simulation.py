"""The simulation files of the published study (Valencia-Clavijo 2025) as a table of scores."""

import re
from pathlib import Path
from typing import Final

import pandas as pd

from analysis.errors import AnalysisError
from analysis.table import Column, coerce

PHI: Final = "phi_"
STANDARD: Final = "standard"
"""The regime with the same two anchors for all questions; it becomes the run's name."""

_REGIMES = {STANDARD: "S", "different_anchors": "D"}
_NAME = re.compile(rf"anchoring_(?P<model>.+)_results_(?P<regime>{'|'.join(_REGIMES)})")
_FIELDS = ("scene", "comparative", "absolute", "anchor")
_COLUMNS = {
    "Anchor": "anchor",
    "TargetInt": "value",
    "LogProbFullPrompt": "logprob",
    **{f"Shapley_{field}": PHI + field for field in _FIELDS},
}
_QUESTIONS = range(6)


def is_simulation(table: pd.DataFrame) -> bool:
    return "VariationID" in table or "LogProbFullPrompt" in table


def scores_of(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table of scores of one file: its full prompts, and the four attributions as `phi_FIELD`.

    The file calls these Shapley values; they are Banzhaf's. The model is the file's, without its owner.

    Raises AnalysisError if the file has another name, lacks a column, or a value is wrong.
    """
    name = _NAME.fullmatch(path.stem)
    if not name:
        raise AnalysisError(
            f"{path}: unknown name; call it anchoring_MODEL_results_standard.csv"
            " or anchoring_MODEL_results_different_anchors.csv"
        )
    for column in ("VariationID", "TargetToken", *_COLUMNS):
        if column not in table:
            raise AnalysisError(f"{path}: column {column!r} is missing; use the study's own file")
    number = coerce(table["VariationID"], Column("VariationID", "number", ""), str(path))
    _refuse(~number.isin(_QUESTIONS), path, f"VariationID is not one of 0 to {_QUESTIONS[-1]}")
    scores = pd.DataFrame(
        {new: coerce(table[old], Column(old, "number", ""), str(path)) for old, new in _COLUMNS.items()}
    )
    anchors = scores["anchor"].groupby(number)
    _refuse(anchors.transform("nunique") != 2, path, "Anchor: the variation has not exactly two; use two")
    regime = _REGIMES[name["regime"]]
    scores["run"] = name["regime"]
    scores["agent"] = name["model"].partition("_")[2] or name["model"]
    scores["stimulus"] = [f"V{int(each)}-{regime}" if each else "V0" for each in number]
    low = scores["anchor"] == anchors.transform("min")
    scores["condition"] = low.map({True: "low", False: "high"})
    scores["trial"] = scores["stimulus"] + "/" + scores["condition"]
    scores["fields"] = "+".join(_FIELDS)
    scores["target"] = table["TargetToken"]
    scores.attrs["source"] = str(path)
    return scores


def _refuse(wrong: "pd.Series[bool]", path: Path, problem: str) -> None:
    if wrong.any():
        raise AnalysisError(f"{path}:{int(wrong.to_numpy().argmax()) + 2}: {problem}")
