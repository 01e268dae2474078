"""The response table: one row per asked question, its columns, how it is read, and what must hold."""

from pathlib import Path

import pandas as pd

from analysis.errors import AnalysisError
from analysis.table import Column, coerce, read_frame, refuse

RESPONSE_COLUMNS = (
    Column("run", "text", "the run that made the trial"),
    Column("trial", "text", "the trial in which the question was asked", required=True),
    Column("agent", "text", "who answered", required=True),
    Column("item", "text", "the product to value, or the bias", required=True),
    Column("condition", "text", "control, low or high; for a bias control or treatment", required=True),
    Column("repeat", "number", "repetition of the same question"),
    Column("response", "number", "the answer; empty when there is none that is valid", required=True),
    Column("reason", "text", "why the response is empty"),
    Column("reference", "number", "the list price"),
    Column("low", "number", "the lowest market price"),
    Column("high", "number", "the highest market price"),
    Column("anchor", "number", "the number shown before the question"),
    Column("scenario", "text", "the variant of the question; base when empty"),
    Column("temperature", "number", "sampling temperature"),
    Column("family", "text", "the family of the agent's model"),
    Column("kind", "text", "number or choice"),
    Column("biased", "text", "the biased answer of a choice"),
)
"""Every documented column. For a choice, `response` is 1 for the biased answer and 0 for the other."""

QUESTION = ["run", "agent", "trial", "item", "condition", "scenario", "temperature", "repeat"]

UNEXPLAINED = "no reason given"


def read_responses(path: str | Path) -> pd.DataFrame:
    """Read a response table from `.csv` or `.parquet`. The file's name is kept in `attrs` for messages.

    Raises AnalysisError if the file is missing, has another suffix or cannot be parsed.
    """
    # Text first, so that an item "007" stays itself.
    return read_frame(path, str)


def check_responses(table: pd.DataFrame) -> pd.DataFrame:
    """A checked copy with every documented column: text is `str` with "" for missing, numbers are float.

    An empty response without a reason gets one, so that the reasons add up. Checking twice changes nothing.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a question was asked
    twice in the same trial, or a row contradicts itself.
    """
    source = str(table.attrs.get("source", "table"))
    if table.empty:
        raise AnalysisError(f"{source}: no rows; run the experiment first, or export it again")
    for column in RESPONSE_COLUMNS:
        if column.required and column.name not in table:
            raise AnalysisError(f"{source}: column {column.name!r} is missing; it holds {column.meaning}")
    table = table.reset_index(drop=True)
    for column in RESPONSE_COLUMNS:
        absent = pd.Series(None, index=table.index, dtype="object")
        table[column.name] = coerce(table.get(column.name, absent), column, source)
    for name in ("trial", "agent", "item", "condition"):
        refuse(table, table[name] == "", source, f"{name} is empty; every row needs one")
    table["scenario"] = table["scenario"].replace("", "base")
    empty = table["response"].isna()
    table["reason"] = table["reason"].mask(empty & (table["reason"] == ""), UNEXPLAINED)
    contradiction = "response is given and so is the reason why it is empty; keep one of them"
    refuse(table, ~empty & (table["reason"] != ""), source, contradiction)
    refuse(table, table["low"] > table["high"], source, "low is above high; exchange them")
    repeated = "the same question appears twice; number them in repeat"
    refuse(table, table.duplicated(QUESTION), source, repeated)
    return table


def check_conditions(table: pd.DataFrame, allowed: tuple[str, ...]) -> None:
    """Raises AnalysisError for a row of another condition."""
    source = str(table.attrs.get("source", "table"))
    for name in sorted(set(table["condition"]) - set(allowed)):
        problem = f"condition: {name!r} is unknown; use {' or '.join(allowed)}"
        refuse(table, table["condition"] == name, source, problem)


def missing_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Responses that are missing, counted: agent, item, condition, reason, count, asked.

    table: as `check_responses` returns it. asked: all questions of that agent, item and condition.
    """
    cell = ["agent", "item", "condition"]
    asked = table.groupby(cell).size().rename("asked")
    empty = table[table["response"].isna()]
    counts = empty.groupby([*cell, "reason"]).size().rename("count").reset_index()
    return counts.merge(asked.reset_index(), on=cell)
