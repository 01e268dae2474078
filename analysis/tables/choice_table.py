"""Read and check the tidy choice table: its columns, and what must hold before anything is estimated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from analysis.tables.table_file import RowPlaces, first_row, quoted, read_frame
from analysis.tables.yaml_data import read_data

Kind = Literal["text", "number", "whole", "flag", "sign", "log"]

ATTRIBUTES = ("price", "rating", "reviews")
"""What a study can draw independently of the product; the column `randomised` names them, joined by +.

Badges are drawn too: `badge_NAME` stands for the column `attr_badge_NAME`, 1 or 0.
"""
BADGE = "badge_"
LARGEST = 1e15
"""The largest number in a table; the powers of larger ones could not be computed."""
LONGEST = 1_000
"""The longest text, in characters: figures and tables name agents, items and nudges by such texts."""
ROUNDING = 1e-6
"""How far the logarithm of a probability may lie above 0 by rounding."""


class Column(NamedTuple):
    """A column of a table, and the values that it may have.

    A flag is 1 or 0, a sign 1 or -1, a log the natural logarithm of a probability: at most 0, and may be
    -inf. required: the table must have the column. filled: no row may leave it empty.
    """

    name: str
    kind: Kind
    meaning: str
    required: bool = False
    filled: bool = False
    low: float = -LARGEST
    high: float = LARGEST


def columns_of(table: str) -> dict[str, Column]:
    """Return the documented columns of a table in `columns.yaml`, by their names there."""
    facts = read_data(Path(__file__).with_name("columns.yaml"))[table]
    return {name: Column(**{"name": name, **told}) for name, told in facts.items()}


COLUMNS = tuple(columns_of("choices").values())
"""All documented columns; further attributes are called `attr_*` and pass through unchanged."""

TRIAL = ["run", "agent", "trial"]
"""The columns that identify a trial: equal designs give equal trial ids, so two runs may share them."""
TRIAL_ID = "trial_id"
"""The column of a checked table with an integer from 0 for each trial, which is much faster to group by."""


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a tidy table from `.csv` or `.parquet`. The file's name is kept in `attrs` for error messages.

    Raises AnalysisError as `read_frame` does.
    """
    texts = {column.name: "str" for column in COLUMNS if column.kind == "text"}
    return read_frame(path, texts)


def check_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a checked copy: types coerced, derivable columns filled in, one row per option shown.

    It also has the column `TRIAL_ID`. Text is `str` with "" for missing, numbers are float with NaN for
    missing, flags are Int64 (only `chosen` may be missing). Checking twice changes nothing.

    Raises AnalysisError if a required column is absent, a value has the wrong type, a trial repeats an option
    or has fewer than two, or its choice does not fit its outcome.
    """
    places = RowPlaces(table)
    table = check_columns(table, COLUMNS, places)
    absent = [each.name for each in COLUMNS if each.kind == "text" and each.name not in table]
    table = table.assign(**dict.fromkeys(absent, ""))
    table[TRIAL_ID] = table.groupby(TRIAL, sort=False).ngroup()
    _check_trials(table, places)
    _check_chances(table, places)
    _check_randomised(table, places)
    _derive(table)
    _check_places(table, places)
    return table


def check_columns(
    table: pd.DataFrame, columns: Sequence[Column], places: RowPlaces, *, published: bool = False
) -> pd.DataFrame:
    """Return a copy whose documented columns are of their kinds, with rows numbered from 0.

    published: it is a file of a published study, which has all of the columns.

    Raises AnalysisError for a table without rows or a required column, and for a value of another kind.
    """
    own_file = "use the study's own file"
    if table.empty:
        advice = own_file if published else "run the experiment first, or export it again"
        raise AnalysisError(f"{places}: no rows; {advice}")
    for column in columns:
        if (published or column.required) and column.name not in table:
            advice = own_file if published else f"it holds {column.meaning}"
            raise AnalysisError(f"{places}: column {column.name!r} is missing; {advice}")
    table = table.reset_index(drop=True)
    for column in columns:
        if column.name in table:
            table[column.name] = coerce(table[column.name], column, places)
    return table


def drawn_column(name: str) -> str:
    """Return the column with the values of what was drawn: an attribute's own, or `attr_badge_NAME`."""
    return f"attr_{name}" if name.startswith(BADGE) else name


def trial_ids(table: pd.DataFrame) -> "pd.Series[int]":
    """Return the trial of each row of a part of a checked table, as an integer from 0."""
    return pd.Series(pd.factorize(table[TRIAL_ID])[0], table.index)


def row_weights(rows: pd.DataFrame) -> Floats | None:
    """Return for each row 1 over the chance with which its trial was assigned; None where all count alike.

    rows: of a checked table. Horvitz and Thompson (1952, Journal of the American Statistical Association 47).
    """
    if "assignment" not in rows or (chances := rows["assignment"].fillna(1.0)).eq(1).all():
        return None
    weights: Floats = 1 / chances.to_numpy(float)
    return weights


def answers(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return for each option of a checked table its chance, where it has one, else 1 where it was chosen.

    NaN in a trial without a choice.
    """
    chosen = rows["chosen"].astype("Float64").astype("float64")
    return rows["chance"].fillna(chosen) if "chance" in rows else chosen


def coerce(values: pd.Series, column: Column, places: RowPlaces) -> pd.Series:
    """Return the values of a column in the type of its kind: `str`, Int64 for flags, float.

    Raises AnalysisError with the place of the first wrong one.
    """
    if column.kind == "text":
        texts = as_text(values)
        _refuse_value(values, texts.str.len() > LONGEST, column, places)
        if column.filled:
            _refuse_value(values, texts == "", column, places)
        return texts
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        # As text, whatever it was: a date is no number, though it can be turned into one.
        values = as_text(values)
        values = values.replace(_FLAG_WORDS if column.kind == "flag" else {}).mask(values == "")
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64").astype("float64")
    if column.kind == "log":
        numbers = numbers.mask((numbers > 0) & (numbers < ROUNDING), 0.0)
    wrong = (numbers.isna() & values.notna()) | (numbers < column.low) | (numbers > column.high)
    if column.kind == "log":
        wrong &= numbers != -np.inf
    elif column.kind in _ALLOWED:
        wrong |= numbers.notna() & ~numbers.isin(_ALLOWED[column.kind])
    elif column.kind == "whole":
        wrong |= numbers.notna() & (numbers != numbers.round())
    if column.filled:
        wrong |= numbers.isna()
    _refuse_value(values, wrong, column, places)
    return numbers.astype("Int64") if column.kind == "flag" else numbers


_FLAG_WORDS = {"True": "1", "False": "0", "true": "1", "false": "0"}
_ALLOWED = {"flag": (0, 1), "sign": (-1, 1)}
_KINDS = {"flag": "1 or 0", "sign": "1 or -1", "whole": "a whole number"}


def _refuse_value(values: pd.Series, wrong: "pd.Series[bool]", column: Column, places: RowPlaces) -> None:
    if not wrong.any():
        return
    row = first_row(wrong)
    place, fault = places.of(row, column.name), _fault(values.loc[row], column)
    raise AnalysisError(f"{place}: {column.name}: {fault}")


def _fault(value: object, column: Column) -> str:
    """What is wrong with a value, and what to do."""
    if pd.isna(value) or value == "":  # type: ignore[call-overload]
        return "is empty; every row needs one"
    if column.kind == "text":
        return f"{quoted(value)} is longer than {LONGEST:,} characters; shorten it"
    number = pd.to_numeric(pd.Series([value]), errors="coerce").iloc[0]
    if number < column.low:
        return f"{quoted(value)} is below {column.low:g}; correct it"
    if number > column.high:
        return f"{quoted(value)} is above {column.high:g}; correct it"
    return f"{quoted(value)} is not {_KINDS.get(column.kind, 'a number')}; correct it"


def as_text(values: pd.Series) -> "pd.Series[str]":
    """Return the values as `str`, with "" for a missing one."""
    if values.dtype != "str":
        values = values.astype("object").where(values.notna(), "").astype(str)
    return values.fillna("")


def refuse(
    table: pd.DataFrame, wrong: "pd.Series[bool]", places: RowPlaces, column: str, problem: str
) -> None:
    """Raise AnalysisError with the place and the trial of the first wrong row, if there is one.

    {} in the problem stands for the value of the column.
    """
    if wrong.any():
        row = first_row(wrong)
        trial = str(table["trial"].loc[row])
        named = f"trial {quoted(trial)}: " if trial else ""
        problem = problem.replace("{}", quoted(table[column].loc[row]))
        raise AnalysisError(f"{places.of(row, column)}: {named}{problem}")


def _check_trials(table: pd.DataFrame, places: RowPlaces) -> None:
    trials = table.groupby(TRIAL_ID)
    duplicated = table.duplicated([TRIAL_ID, "option"])
    refuse(table, duplicated, places, "option", "an option appears twice; give one row per option")
    size = trials["option"].transform("size")
    refuse(table, size < 2, places, "option", "only one option; a choice needs two or more rows")
    for name in ("outcome", "set"):
        differs = table[name] != trials[name].transform("first")
        refuse(table, differs, places, name, f"{name} differs between its rows; use one")
    chosen, marked = table["chosen"], trials["chosen"].transform("count")
    some = (marked > 0) & chosen.isna()
    refuse(table, some, places, "chosen", "chosen is empty for some options only; fill in 0")
    has_choice = table["outcome"] == "choice"
    unmarked = "outcome is 'choice' but chosen is empty; mark the chosen"
    refuse(table, has_choice & (marked == 0), places, "chosen", unmarked)
    other = ~has_choice & (marked > 0)
    unfinished = "chosen is filled in but outcome is {}; write choice, or leave chosen empty"
    refuse(table, other, places, "outcome", unfinished)
    wrong = has_choice & (trials["chosen"].transform("sum") != 1)
    refuse(table, wrong, places, "chosen", "not exactly one option is chosen; mark one with 1")


def _check_chances(table: pd.DataFrame, places: RowPlaces) -> None:
    """Raises AnalysisError where a trial's chances are not those of a choice between its options."""
    if "chance" not in table:
        return
    chances = table.groupby(TRIAL_ID)["chance"]
    some = chances.transform("count") > 0
    unmarked = "a chance, but outcome is {}; leave chance empty, or mark the likeliest option in chosen"
    refuse(table, some & (table["outcome"] != "choice"), places, "outcome", unmarked)
    lacking = "chance is empty for some options only; fill in 0"
    refuse(table, some & table["chance"].isna(), places, "chance", lacking)
    wrong = some & ((chances.transform("sum") - 1).abs() > ROUNDING)
    refuse(table, wrong, places, "chance", "the chances of its options do not add up to 1; correct them")


def _check_randomised(table: pd.DataFrame, places: RowPlaces) -> None:
    """Raises AnalysisError where an attribute that was drawn is unknown, or its values are missing."""
    differs = table["randomised"] != table.groupby(TRIAL_ID)["randomised"].transform("first")
    refuse(table, differs, places, "randomised", "randomised differs between its rows; use one")
    for text in table["randomised"].unique():
        for name in filter(None, text.split("+")):
            named, column = table["randomised"] == text, drawn_column(name)
            known = f"{{}} names {quoted(name)}; write {', '.join(ATTRIBUTES)} or badge_NAME, joined by +"
            strange = named & (name not in ATTRIBUTES and not name.startswith(BADGE))
            refuse(table, strange, places, "randomised", known)
            # A trial that failed may have shown nothing.
            lacking = table[column].isna() & (table["outcome"] == "choice") if column in table else named
            empty = f"{{}}, but a row has no {column}; fill it in, or take it out of randomised"
            refuse(table, named & lacking, places, "randomised", empty)
            if name.startswith(BADGE):
                flag = Column(column, "flag", "whether the product has the badge")
                table.loc[named, column] = coerce(table.loc[named, column], flag, places).astype(float)


def _check_places(table: pd.DataFrame, places: RowPlaces) -> None:
    """Raises AnalysisError where positions do not say which option was seen first."""
    repeated = table.duplicated([TRIAL_ID, "position"])
    refuse(table, repeated, places, "position", "two options have the same position; number them from 0")
    trials = table.groupby(TRIAL_ID)
    first = trials["viewed_first"].transform("sum")
    several = "viewed_first is 1 for more than one option; mark the first one only"
    refuse(table, first > 1, places, "viewed_first", several)
    late = (first == 0) & (trials["position"].transform("min") > 0)
    refuse(table, late, places, "position", "no option has position 0; number them from 0")


def _derive(table: pd.DataFrame) -> None:
    """Fill what follows from other columns; a value that is given stays."""
    derived = {
        "viewed_first": table["position"] == 0,
        "cheaper": only_extreme(table, TRIAL_ID, "price", "min"),
        "higher_rated": only_extreme(table, TRIAL_ID, "rating", "max"),
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


def only_extreme(
    table: pd.DataFrame, trial_id: str, name: str, extreme: Literal["min", "max"], *, complete: bool = True
) -> "pd.Series[bool]":
    """Return True for the one lowest (highest) value of a trial.

    It is nowhere where several are, nor, with `complete`, where a value is missing. trial_id: the column that
    tells trials apart.
    """
    if name not in table:
        return pd.Series(False, index=table.index)
    trial = table[trial_id]
    best = table[name] == table.groupby(trial)[name].transform(extreme)
    alone = best.groupby(trial).transform("sum") == 1
    known = table[name].notna().groupby(trial).transform("all") | (not complete)
    return best & alone & known
