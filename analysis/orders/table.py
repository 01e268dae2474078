"""Read and check the table of orders: one row per trial that is to end with one."""

from pathlib import Path

import pandas as pd

from analysis.tables.choice_table import check_columns, columns_of, refuse
from analysis.tables.table_file import RowPlaces, read_frame

ORDER_COLUMNS = tuple(columns_of("orders").values())
"""All documented columns."""
CONTROL = "control"
FAILED = ("infra_error", "treatment_failed")
"""The outcomes of trials of which nothing is known: neither what was shown, nor what came of it."""


def read_orders(path: str | Path) -> pd.DataFrame:
    """Read a table of orders from `.csv` or `.parquet`. Raises AnalysisError as `read_frame` does."""
    return read_frame(path, {column.name: "str" for column in ORDER_COLUMNS if column.kind == "text"})


def check_orders(table: pd.DataFrame) -> pd.DataFrame:
    """Return a checked copy, with the columns `extra_paid` and `extra_share` (percent).

    These are NaN in a trial without an order. Checking twice changes nothing.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a trial is there twice,
    or a sum is missing where there is an order.
    """
    places = RowPlaces(table)
    table = check_columns(table, ORDER_COLUMNS, places)
    absent = [each.name for each in ORDER_COLUMNS if each.kind == "text" and each.name not in table]
    table = table.assign(**dict.fromkeys(absent, ""))
    repeated = "the trial is there twice; remove one of the two"
    refuse(table, table.duplicated(["run", "agent", "trial"]), places, "trial", repeated)
    is_two = table["combines"].map(str.split).map(lambda names: len(names) == len({*names}) == 2)
    wrong = table["combines"].ne("") & ~is_two
    refuse(
        table,
        wrong,
        places,
        "combines",
        "combines does not name two; write the ids of two interventions, with a blank between",
    )
    totals = ["advertised_total", "placed_total"]
    unsaid = table["ordered"].eq(1) & table[totals].isna().any(axis=1)
    refuse(table, unsaid, places, "placed_total", "what the order costs is missing; write both totals")
    placed = table["ordered"].eq(1)
    extra = (table["placed_total"] - table["advertised_total"]).round(9).where(placed)
    return table.assign(extra_paid=extra, extra_share=100 * extra / table["advertised_total"])
