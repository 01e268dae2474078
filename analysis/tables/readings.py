"""Count how answers were read."""

import pandas as pd

INVALID = "invalid: "


def readings(trials: pd.DataFrame) -> pd.DataFrame:
    """Count the trials by how their answers were read.

    Columns: agent, condition, reading (a rule, or `invalid:` and the reason), count, trials (of that agent
    and condition whose answers were read, or could not be). trials: checked, a row each. Empty where nothing
    was read.
    """
    told = trials[trials["reading"] != ""]
    cell = ["agent", "condition"]
    counts = told.groupby([*cell, "reading"]).size().rename("count").reset_index()
    return counts.assign(trials=counts.groupby(cell)["count"].transform("sum"))


def invalid_text(table: pd.DataFrame) -> str:
    """Say how many answers are invalid for each reason: ` (120 refused, 3 cut off)`; empty: none is known."""
    wrong = table[table["reading"].str.startswith(INVALID)]
    counts = wrong.groupby(wrong["reading"].str.removeprefix(INVALID))["count"].sum()
    said = ", ".join(f"{n:,} {str(reason).replace('_', ' ')}" for reason, n in counts.items())
    return f" (invalid answers: {said})" if said else ""
