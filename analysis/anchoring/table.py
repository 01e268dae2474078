"""Read and check the table of scores: one row per prompt and target."""

from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from analysis.anchoring.simulation import PHI, STANDARD, is_simulation, scores_of
from analysis.tables.choice_table import Column, check_columns, columns_of, refuse
from analysis.tables.errors import AnalysisError
from analysis.tables.table_file import RowPlaces, first_row, read_frame, together

SCORE_COLUMNS: Final = tuple(columns_of("scores").values())
"""All documented columns; further columns `phi_FIELD` are Banzhaf values that came with the table."""

UNEXPLAINED, INFINITE = "no reason given", "infinite"
CONDITIONS: Final = ("low", "high")
ANCHOR: Final = "anchor"
"""The field that differs between the conditions, where a table names no other."""
TOLERANCE: Final = 0.01
"""How much more than 1 probabilities may add up to: models compute in few digits."""
_QUESTION = ["agent", "stimulus"]
_PROMPT = [*_QUESTION, "condition", "fields"]


def read_anchoring(path: str | Path) -> pd.DataFrame:
    """Read a table of scores, a simulation file of the published study, or a folder of such files.

    Raises AnalysisError if a file is missing, has another suffix or name, cannot be parsed or lacks a column.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("anchoring_*_results_*.csv"))
        if not files:
            raise AnalysisError(f"{path}: no anchoring_MODEL_results_standard.csv; name the files one by one")
        return together([read_anchoring(each) for each in files])
    texts = {column.name: "str" for column in SCORE_COLUMNS if column.kind == "text"}
    table = read_frame(path, texts | {"TargetToken": "str"})
    return scores_of(table, path) if is_simulation(table) else table


def check_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return a checked copy with every documented column.

    An infinite score becomes an undefined one with a note. A stimulus in two runs of an agent is taken from
    the published study's standard regime, if one of the runs is that.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a prompt's target stands
    twice, rows contradict each other, or scores are no logarithms of probabilities.
    """
    places = RowPlaces(table)
    absent = [column.name for column in SCORE_COLUMNS if not column.required and column.name not in table]
    attributions = [Column(str(name), "number", "") for name in table if str(name).startswith(PHI)]
    table = check_columns(table.assign(**dict.fromkeys(absent)), (*SCORE_COLUMNS, *attributions), places)
    table["varied"] = table["varied"].replace("", ANCHOR)
    infinite = np.isinf(table["logprob"])
    table["logprob"] = table["logprob"].mask(infinite)
    table["note"] = table["note"].mask(infinite & (table["note"] == ""), INFINITE)
    unexplained = table["logprob"].isna() & (table["note"] == "")
    table["note"] = table["note"].mask(unexplained, UNEXPLAINED)
    wrong = ~table["condition"].isin(CONDITIONS)
    refuse(table, wrong, places, "condition", "condition: {} is unknown; use low or high")
    table = _one_run(table, places)
    _check_sums(table, places)
    return table


def _one_run(table: pd.DataFrame, places: RowPlaces) -> pd.DataFrame:
    several = table.groupby(_QUESTION)["run"].transform("nunique") > 1
    standard = (table["run"] == STANDARD).groupby([table[name] for name in _QUESTION]).transform("any")
    problem = "the stimulus stands in several runs of this agent; analyse one run"
    refuse(table, several & ~standard, places, "run", problem)
    table = table[~several | (table["run"] == STANDARD)]
    twice = table.duplicated([*_PROMPT, "target"])
    refuse(table, twice, places, "target", "a target stands twice for one prompt; keep one")
    for name, by in (("value", [*_QUESTION, "target"]), ("anchor", [*_QUESTION, "condition"])):
        mixed = table[name] != table.groupby(by)[name].transform("first")
        problem = f"{name} differs between rows of the same {by[-1]}; use one"
        refuse(table, mixed, places, name, problem)
    by_condition = {
        name: table["anchor"].where(table["condition"] == name).groupby([table[each] for each in _QUESTION])
        for name in CONDITIONS
    }
    low, high = (anchors.transform("first") for anchors in by_condition.values())
    refuse(table, low >= high, places, "anchor", "anchor: low is not below high; exchange them")
    return table


def _check_sums(table: pd.DataFrame, places: RowPlaces) -> None:
    """Raises AnalysisError where answers that exclude each other have probabilities of more than 1 together.

    Left out: answers with which another one begins, and scores that begin within the prompt, so after less.
    """
    names = sorted(table["target"].unique())
    begun = {name for name, following in pairwise(names) if following.startswith(name)}
    apart = ~table["target"].isin(begun) & (table["shifted"].fillna(0) == 0)
    probability = np.exp(table["logprob"]).where(apart, 0.0).fillna(0.0)
    total = probability.groupby([table[name] for name in _PROMPT]).transform("sum")
    wrong = total > 1 + TOLERANCE
    if wrong.any():
        refuse(
            table,
            wrong,
            places,
            "logprob",
            "the probabilities of this prompt's targets add up to more than 1"
            f" ({total.loc[first_row(wrong)]:.4g}); give natural logarithms of probabilities",
        )


def missing_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Count undefined scores.

    Columns: agent, stimulus, condition, reason, count, asked. table: as checked.
    """
    cell = ["agent", "stimulus", "condition"]
    asked = table.groupby(cell).size().rename("asked")
    empty = table[table["logprob"].isna()].rename(columns={"note": "reason"})
    counts = empty.groupby([*cell, "reason"]).size().rename("count").reset_index()
    return counts.merge(asked.reset_index(), on=cell)
