"""Read and check the response table: one row per asked question."""

from pathlib import Path

import pandas as pd

from analysis.tables.choice_table import check_columns, columns_of, refuse
from analysis.tables.table_file import RowPlaces, read_frame

RESPONSE_COLUMNS = tuple(columns_of("responses").values())
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
