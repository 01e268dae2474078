"""Read and check the response table: one row per asked question."""

from pathlib import Path

import pandas as pd

from analysis.tables.choice_table import Column, check_columns, refuse
from analysis.tables.table_file import RowPlaces, read_frame

RESPONSE_COLUMNS = (
    Column("run", "text", "the run that made the trial"),
    Column("trial", "text", "the trial in which the question was asked", required=True, filled=True),
    Column("agent", "text", "who answered", required=True, filled=True),
    Column("item", "text", "the product to value, or the bias", required=True, filled=True),
    Column(
        "condition",
        "text",
        "control, low or high; for a bias control or treatment",
        required=True,
        filled=True,
    ),
    Column("repeat", "number", "repetition of the same question"),
    Column("response", "number", "the answer; empty when there is none that is valid", required=True),
    Column("reason", "text", "why the response is empty"),
    Column("reading", "text", "the rule by which the answer was read; invalid: and why it was not"),
    Column("reference", "number", "the list price", low=0),
    Column("low", "number", "the lowest market price", low=0),
    Column("high", "number", "the highest market price", low=0),
    Column("currency", "text", "the currency of answers in money, such as EUR; empty where it is not known"),
    Column("anchor", "number", "the number shown before the question"),
    Column("scenario", "text", "the variant of the question; base when empty"),
    Column("temperature", "number", "sampling temperature", low=0),
    Column("family", "text", "the family of the agent's model"),
    Column("kind", "text", "number or choice; a bias of the battery has its own when empty"),
    Column("biased", "text", "the biased answer of a choice"),
)
"""All documented columns. For a choice, `response` is 1 for the biased answer and 0 for the other."""

QUESTION = ["run", "agent", "trial", "item", "condition", "scenario", "temperature", "repeat"]

UNEXPLAINED = "no reason given"
KINDS = NUMBER, CHOICE = "number", "choice"


def read_responses(path: str | Path) -> pd.DataFrame:
    """Read a response table from `.csv` or `.parquet`. The file's name is kept in `attrs` for messages.

    Raises AnalysisError as `read_frame` does.
    """
    # Text first, so that an item "007" stays itself.
    return read_frame(path, str)


def check_responses(table: pd.DataFrame) -> pd.DataFrame:
    """Return a checked copy with every documented column.

    Text is `str` with "" for missing, numbers are float. An empty response without a reason gets one, so that
    the reasons add up. Checking twice changes nothing.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a question was asked
    twice in the same trial, or a row contradicts itself.
    """
    places = RowPlaces(table)
    absent = [column.name for column in RESPONSE_COLUMNS if not column.required and column.name not in table]
    table = check_columns(table.assign(**dict.fromkeys(absent)), RESPONSE_COLUMNS, places)
    table["scenario"] = table["scenario"].replace("", "base")
    empty = table["response"].isna()
    table["reason"] = table["reason"].mask(empty & (table["reason"] == ""), UNEXPLAINED)
    contradiction = "response is given and so is the reason why it is empty; keep one of them"
    refuse(table, ~empty & (table["reason"] != ""), places, "reason", contradiction)
    refuse(table, table["low"] > table["high"], places, "low", "low is above high; exchange them")
    repeated = "the same question appears twice; number them in repeat"
    refuse(table, table.duplicated(QUESTION), places, "repeat", repeated)
    check_words(table, "kind", ("", *KINDS))
    return table


def check_words(table: pd.DataFrame, column: str, allowed: tuple[str, ...]) -> None:
    """Raise AnalysisError for the first row with another word in the column, if there is one."""
    known = " or ".join(name for name in allowed if name)
    problem = f"{column}: {{}} is unknown; use {known}"
    refuse(table, ~table[column].isin(allowed), RowPlaces(table), column, problem)


def missing_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Count missing responses by their reason.

    Columns: agent, item, condition, reason, count, asked. table: as `check_responses` returns it. asked: all
    questions of that agent, item and condition.
    """
    cell = ["agent", "item", "condition"]
    asked = table.groupby(cell).size().rename("asked")
    empty = table[table["response"].isna()]
    counts = empty.groupby([*cell, "reason"]).size().rename("count").reset_index()
    return counts.merge(asked.reset_index(), on=cell)
