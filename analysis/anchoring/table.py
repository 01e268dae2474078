"""The table of scores: one row per prompt and target, how it is read, and what must hold."""

from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from analysis.anchoring.simulation import PHI, STANDARD, is_simulation, scores_of
from analysis.errors import AnalysisError
from analysis.table import Column, coerce, read_frame, refuse

SCORE_COLUMNS: Final = (
    Column("run", "text", "the run that scored the prompt"),
    Column("trial", "text", "the prompt's trial"),
    Column("agent", "text", "the model that scored", required=True),
    Column("stimulus", "text", "the variation of the question", required=True),
    Column("anchor", "number", "the number that the stimulus shows", required=True),
    Column("condition", "text", "low or high", required=True),
    Column("fields", "text", "the fields present in the prompt, joined by +", required=True),
    Column("target", "text", "the answer that was scored", required=True),
    Column("value", "number", "the target's number", required=True),
    Column("logprob", "number", "its natural log score; empty if undefined", required=True),
    Column("tokens", "number", "tokens of the target"),
    Column("shifted", "flag", "1 where the score begins within the prompt's last token"),
    Column("note", "text", "why the score is empty"),
)
"""Every documented column; `phi_FIELD` besides are Banzhaf values that somebody else computed."""

UNEXPLAINED, INFINITE = "no reason given", "infinite"
CONDITIONS: Final = ("low", "high")
_QUESTION = ["agent", "stimulus"]


def read_anchoring(path: str | Path) -> pd.DataFrame:
    """Read a table of scores, a simulation file of the published study, or a folder of such files.

    Raises AnalysisError if a file is missing, has another suffix or name, cannot be parsed or lacks a column.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.glob("anchoring_*_results_*.csv"))
        if not files:
            raise AnalysisError(f"{path}: no anchoring_MODEL_results_standard.csv; name the files one by one")
        return pd.concat([read_anchoring(each) for each in files], ignore_index=True)
    texts = {column.name: "str" for column in SCORE_COLUMNS if column.kind == "text"}
    table = read_frame(path, texts | {"TargetToken": "str"})
    return scores_of(table, path) if is_simulation(table) else table


def check_scores(table: pd.DataFrame) -> pd.DataFrame:
    """A checked copy with every documented column; an infinite score becomes an undefined one with a note.

    A stimulus in two runs of an agent is taken from the published study's standard regime, if it is that.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a prompt's target stands
    twice, or rows contradict each other.
    """
    source = str(table.attrs.get("source", "table"))
    if table.empty:
        raise AnalysisError(f"{source}: no rows; run the experiment first, or export it again")
    for column in SCORE_COLUMNS:
        if column.required and column.name not in table:
            raise AnalysisError(f"{source}: column {column.name!r} is missing; it holds {column.meaning}")
    table = table.reset_index(drop=True)
    infinite = np.isinf(pd.to_numeric(table["logprob"], errors="coerce").astype(float))
    table["logprob"] = table["logprob"].mask(infinite)
    attributions = [Column(str(name), "number", "") for name in table if str(name).startswith(PHI)]
    for column in (*SCORE_COLUMNS, *attributions):
        absent = pd.Series(None, index=table.index, dtype="object")
        table[column.name] = coerce(table.get(column.name, absent), column, source)
    table["note"] = table["note"].mask(infinite & (table["note"] == ""), INFINITE)
    unexplained = table["logprob"].isna() & (table["note"] == "")
    table["note"] = table["note"].mask(unexplained, UNEXPLAINED)
    _check_rows(table, source)
    return _one_run(table, source)


def _check_rows(table: pd.DataFrame, source: str) -> None:
    for name in ("agent", "stimulus", "target"):
        refuse(table, table[name] == "", source, f"{name} is empty; every row needs one")
    refuse(table, table["value"].isna(), source, "value is empty; every target needs its number")
    refuse(table, table["anchor"].isna(), source, "anchor is empty; every prompt needs its number")
    for name in sorted(set(table["condition"]) - set(CONDITIONS)):
        problem = f"condition: {name!r} is unknown; use low or high"
        refuse(table, table["condition"] == name, source, problem)


def _one_run(table: pd.DataFrame, source: str) -> pd.DataFrame:
    several = table.groupby(_QUESTION)["run"].transform("nunique") > 1
    standard = (table["run"] == STANDARD).groupby([table[name] for name in _QUESTION]).transform("any")
    problem = "the stimulus stands in several runs of this agent; analyse one run"
    refuse(table, several & ~standard, source, problem)
    table = table[~several | (table["run"] == STANDARD)].reset_index(drop=True)
    prompt = [*_QUESTION, "condition", "fields", "target"]
    refuse(table, table.duplicated(prompt), source, "a target stands twice for one prompt; keep one")
    for name, by in (("value", [*_QUESTION, "target"]), ("anchor", [*_QUESTION, "condition"])):
        mixed = table.groupby(by)[name].transform("nunique") > 1
        refuse(table, mixed, source, f"{name} differs between rows of the same {by[-1]}; use one")
    anchors = table.pivot_table(index=_QUESTION, columns="condition", values="anchor")
    if set(CONDITIONS) <= set(anchors):
        for agent, stimulus in anchors.index[anchors["low"] >= anchors["high"]]:
            raise AnalysisError(
                f"{source}: {stimulus} of {agent}: anchor: low is not below high; exchange them"
            )
    return table


def missing_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Undefined scores, counted: agent, stimulus, condition, reason, count, asked. table: as checked."""
    cell = ["agent", "stimulus", "condition"]
    asked = table.groupby(cell).size().rename("asked")
    empty = table[table["logprob"].isna()].rename(columns={"note": "reason"})
    counts = empty.groupby([*cell, "reason"]).size().rename("count").reset_index()
    return counts.merge(asked.reset_index(), on=cell)
