"""Read the simulation files of the published study (Valencia-Clavijo 2025) as a table of scores."""

import re
from pathlib import Path
from typing import Final

import pandas as pd

from analysis.tables.choice_table import check_columns, columns_of
from analysis.tables.errors import AnalysisError
from analysis.tables.table_file import RowPlaces, first_row

PHI: Final = "phi_"
STANDARD: Final = "standard"
"""The regime with the same two anchors for all questions; its name becomes the run's name."""

_REGIMES = {STANDARD: "S", "different_anchors": "D"}
_NAME = re.compile(rf"anchoring_(?P<model>.+)_results_(?P<regime>{'|'.join(_REGIMES)})")
_FIELDS = ("scene", "comparative", "absolute", "anchor")
_COLUMNS = columns_of("anchoring simulations")


def is_simulation(table: pd.DataFrame) -> bool:
    """Tell whether a table is one of the published files, by its columns."""
    return "VariationID" in table or "LogProbFullPrompt" in table


def scores_of(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Make the table of scores of one file: its full prompts, and the four attributions as `phi_FIELD`.

    The file calls the attributions Shapley values; they are Banzhaf's. The model's name is the file's,
    without the owner.

    Raises AnalysisError if the file has another name, lacks a column, or a value is wrong.
    """
    name = _NAME.fullmatch(path.stem)
    if not name:
        raise AnalysisError(
            f"{path}: unknown name; call it anchoring_MODEL_results_standard.csv"
            " or anchoring_MODEL_results_different_anchors.csv"
        )
    places = RowPlaces(table)
    table = check_columns(table, tuple(_COLUMNS.values()), places, published=True)
    scores = pd.DataFrame({name: table[column.name] for name, column in _COLUMNS.items()})
    number = scores.pop("number")
    anchors = scores["anchor"].groupby(number)
    wrong = anchors.transform("nunique") != 2
    if wrong.any():
        place = places.of(first_row(wrong), "Anchor")
        raise AnalysisError(f"{place}: Anchor: the variation has not exactly two; use two")
    regime = _REGIMES[name["regime"]]
    scores["run"] = name["regime"]
    scores["agent"] = name["model"].partition("_")[2] or name["model"]
    scores["stimulus"] = [f"V{int(each)}-{regime}" if each else "V0" for each in number]
    low = scores["anchor"] == anchors.transform("min")
    scores["condition"] = low.map({True: "low", False: "high"})
    scores["trial"] = scores["stimulus"] + "/" + scores["condition"]
    scores["fields"] = "+".join(_FIELDS)
    scores.attrs["source"] = str(path)
    return scores
