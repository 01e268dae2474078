"""The tidy choice table: its columns, how it is read, and what must hold before anything is estimated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from analysis.errors import AnalysisError

Kind = Literal["text", "number", "flag"]


class Column(NamedTuple):
    """One column of the tidy table. A flag is 1 or 0."""

    name: str
    kind: Kind
    meaning: str
    required: bool = False


COLUMNS = (
    Column("run", "text", "the run that made the trial"),
    Column("trial", "text", "the trial, unique within a run and an agent", required=True),
    Column("agent", "text", "who chose; the model of the formulas", required=True),
    Column("set", "text", "the option set", required=True),
    Column("option", "text", "the option within the set", required=True),
    Column("position", "number", "order of presentation, from 0", required=True),
    Column("viewed_first", "flag", "1 for the option seen first; from position when absent"),
    Column("chosen", "flag", "1 for the chosen option, empty when the trial has no choice", required=True),
    Column("outcome", "text", "how the trial ended: choice, no_choice, agent_limit ...", required=True),
    Column("category", "text", "the product category"),
    Column("price", "number", "as displayed, in currency units"),
    Column("rating", "number", "as displayed, 0 to 100"),
    Column("reviews", "number", "as displayed, a count"),
    Column("cheaper", "flag", "1 for the one lowest price of the set; from price when absent"),
    Column("higher_rated", "flag", "1 for the one highest rating of the set; from rating when absent"),
    Column("nudged", "flag", "1 for an option that carries a nudge; 0 when absent"),
    Column("placebo", "flag", "1 for an option that carries a placebo; when absent, from condition"),
    Column("nudge", "text", "id of the nudge"),
    Column("nudge_text", "text", "text of the nudge, its variables unfilled"),
    Column("family", "text", "family of the nudge"),
    Column("direction", "number", "+1, or -1 for a nudge meant to push away; +1 when absent"),
    Column("condition", "text", "the cell of the design"),
    Column("match", "text", "the attributes that were equalised"),
    Column("profile", "text", "the shopper's profile"),
    Column("repeat", "number", "repetition of the same cell"),
    Column("ordering", "text", "the order of the set's options"),
    Column("steps", "number", "steps of the trial"),
    Column("tokens_in", "number", "tokens read in the trial"),
    Column("tokens_out", "number", "tokens written in the trial"),
    Column("cost", "number", "cost of the trial, in USD"),
    Column("seconds", "number", "duration of the trial"),
)
"""Every documented column; further attributes are called `attr_*` and pass through as they are."""

TRIAL = ["run", "agent", "trial"]
"""What identifies a trial: equal designs give equal trial ids, so two runs may share them."""
TRIAL_ID = "trial_id"
"""The column of a checked table that says the same in an integer from 0: much faster to group by."""

_FILLED_TEXT = ("run", "category", "nudge", "nudge_text", "family", "condition", "match", "profile")


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a tidy table from `.csv` or `.parquet`. The file's name is kept in `attrs` for error messages.

    Raises AnalysisError if the file is missing, has another suffix or cannot be parsed.
    """
    texts = {column.name: "str" for column in COLUMNS if column.kind == "text"}
    return read_frame(path, texts)


def read_frame(path: str | Path, texts: Mapping[str, str] | type[str]) -> pd.DataFrame:
    """Read any table; `texts` are the columns of a CSV file that are text, or `str` for all of them.

    Raises AnalysisError as `read_table` does.
    """
    path = Path(path)
    if path.suffix not in {".csv", ".parquet"}:
        raise AnalysisError(f"{path}: unknown table format {path.suffix!r}; use .csv or .parquet")
    try:
        if path.suffix == ".csv":
            # Only an empty field is missing: an agent may be called "NA" or "None".
            table = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
        else:
            table = pd.read_parquet(path)
    except FileNotFoundError:
        raise AnalysisError(f"{path}: no such file; export the run first") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise AnalysisError(f"{path}: not a readable table: {reason}; export it again") from None
    table.attrs["source"] = str(path)
    return table


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """A checked copy: types coerced, derivable columns filled in, one row per option shown in a trial.

    It also has the column `TRIAL_ID`.

    Text is `str` with "" for missing, numbers are float with NaN for missing, flags are Int64 (only `chosen`
    may be missing). Checking twice changes nothing.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a trial repeats an option
    or has fewer than two, or its choice does not fit its outcome.
    """
    source = str(table.attrs.get("source", "table"))
    if table.empty:
        raise AnalysisError(f"{source}: no rows; run the experiment first, or export it again")
    missing = [column.name for column in COLUMNS if column.required and column.name not in table]
    if missing:
        raise AnalysisError(f"{source}: column {missing[0]!r} is missing; it holds {_meaning(missing[0])}")
    table = table.reset_index(drop=True)
    for column in COLUMNS:
        if column.name in table:
            table[column.name] = coerce(table[column.name], column, source)
    for name in ("trial", "agent", "set", "option", "outcome"):
        refuse(table, table[name] == "", source, f"{name} is empty; every row needs one")
    for name in _FILLED_TEXT:
        if name not in table:
            table[name] = ""
    table[TRIAL_ID] = table.groupby(TRIAL, sort=False).ngroup()
    _check_trials(table, source)
    _derive(table)
    first = table.groupby(TRIAL_ID)["viewed_first"].transform("sum")
    refuse(table, first > 1, source, "viewed_first is 1 for more than one option; mark the first one only")
    return table


def trial_ids(table: pd.DataFrame) -> "pd.Series[int]":
    """The trial of each row of a part of a checked table, as an integer from 0."""
    return pd.Series(pd.factorize(table[TRIAL_ID])[0], table.index)


def _meaning(name: str) -> str:
    return next(column.meaning for column in COLUMNS if column.name == name)


def coerce(values: pd.Series, column: Column, source: str) -> pd.Series:
    """The values of a column as its kind wants them. Raises AnalysisError with the row of a wrong one."""
    if column.kind == "text":
        return as_text(values)
    if column.kind == "flag" and not pd.api.types.is_numeric_dtype(values):
        values = values.astype("object").replace({"True": 1, "False": 0, "true": 1, "false": 0})
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64").astype("float64")
    wrong = (numbers.isna() & values.notna()) | np.isinf(numbers)
    expected = "a number"
    if column.kind == "flag":
        wrong |= numbers.notna() & ~numbers.isin([0, 1])
        expected = "1 or 0"
    elif column.name == "direction":
        wrong |= numbers.notna() & ~numbers.isin([-1, 1])
        expected = "1 or -1"
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = str(values.iloc[row])
        raise AnalysisError(
            f"{source}: row {row + 1}: {column.name}: {value!r} is not {expected}; correct it"
        )
    return numbers.astype("Int64") if column.kind == "flag" else numbers


def as_text(values: pd.Series) -> "pd.Series[str]":
    """The values as `str`, "" for a missing one."""
    if values.dtype != "str":
        values = values.astype("object").where(values.notna(), "").astype(str)
    return values.fillna("")


def refuse(table: pd.DataFrame, wrong: "pd.Series[bool]", source: str, problem: str) -> None:
    """Raises AnalysisError with the trial of the first row that is wrong."""
    if wrong.any():
        trial = table.loc[wrong, "trial"].iloc[0]
        raise AnalysisError(f"{source}: trial {trial!r}: {problem}")


def _check_trials(table: pd.DataFrame, source: str) -> None:
    trials = table.groupby(TRIAL_ID)
    duplicated = table.duplicated([TRIAL_ID, "option"])
    refuse(table, duplicated, source, "an option appears twice; give one row per option")
    size = trials["option"].transform("size")
    refuse(table, size < 2, source, "only one option; a choice needs two or more rows")
    for name in ("outcome", "set"):
        refuse(
            table, trials[name].transform("nunique") > 1, source, f"{name} differs between its rows; use one"
        )
    marked = trials["chosen"].transform("count")
    refuse(table, marked.between(1, size - 1), source, "chosen is empty for some options only; fill in 0")
    has_choice = table["outcome"] == "choice"
    refuse(
        table, has_choice & (marked == 0), source, "outcome is 'choice' but chosen is empty; mark the chosen"
    )
    refuse(
        table,
        ~has_choice & (marked > 0),
        source,
        "chosen is filled in but outcome is not 'choice'; leave chosen empty",
    )
    chosen = trials["chosen"].transform("sum")
    refuse(table, has_choice & (chosen != 1), source, "not exactly one option is chosen; mark one with 1")


def _derive(table: pd.DataFrame) -> None:
    """Fill what follows from other columns; a value that is given stays."""
    derived = {
        "viewed_first": table["position"] == 0,
        "cheaper": _only_extreme(table, "price", "min"),
        "higher_rated": _only_extreme(table, "rating", "max"),
        "nudged": pd.Series(False, index=table.index),
        "placebo": pd.Series(False, index=table.index),
    }
    if "placebo" not in table and "nudged" in table:
        # A placebo counted as a nudge: what carries it is said by the condition only.
        carries = table["condition"].eq("placebo") & table["nudged"].eq(1)
        derived["placebo"], table["nudged"] = carries, table["nudged"].mask(carries, 0)
    for name, values in derived.items():
        flags = values.astype("Int64")
        table[name] = table[name].fillna(flags) if name in table else flags
    table["direction"] = table["direction"].fillna(1.0) if "direction" in table else 1.0


def _only_extreme(table: pd.DataFrame, name: str, extreme: Literal["min", "max"]) -> "pd.Series[bool]":
    """True for the one lowest (highest) value of a trial; nowhere where it ties or a value is missing."""
    if name not in table:
        return pd.Series(False, index=table.index)
    trial = table[TRIAL_ID]
    best = table[name] == table.groupby(trial)[name].transform(extreme)
    alone = best.groupby(trial).transform("sum") == 1
    complete = table[name].notna().groupby(trial).transform("all")
    return best & alone & complete
