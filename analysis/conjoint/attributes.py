"""Read the attributes of options as regressors: numbers, levels against a base, or what hotels have."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.tables.choice_table import LARGEST, as_text
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats, Ints, counted
from analysis.tables.table_file import RowPlaces, quoted
from analysis.tables.yaml_data import read_data

PREFIX: Final = "attr_"
NUMBERS, LEVELS, NONE = "numbers", "levels", "none"
"""How an attribute can be declared: a number, levels, or left out of the models."""
MOST_LEVELS: Final = 20
"""An attribute with more texts than these has levels only if it is declared so."""
HOTELS: Final = read_data(Path(__file__).with_name("hotels.yaml"))
OF_HOTELS: Final[Mapping[str, str]] = {name: told["term"] for name, told in HOTELS["terms"].items()}
"""The attributes that hotels have, and their terms."""
DESCRIBED: Final[Mapping[str, str]] = HOTELS["described"]
"""The other attributes of hotels, and why they are no terms of their own."""
EMPTY: Final = "the column is empty"
READ: Final = ("attribute", "read", "declared", "base", "terms", "note")

BEDS: Final[Mapping[str, int]] = HOTELS["beds"]
"""The rank of a room by the first of these words that its lower-cased type contains."""
NO_BED: Final = 1.0
_FLAGS: Final = {"yes": 1.0, "true": 1.0, "1": 1.0, "1.0": 1.0, "no": 0.0, "false": 0.0, "0": 0.0, "0.0": 0.0}


class _AttributeTerms(NamedTuple):
    """terms: a column for each regressor; read: a row for each attribute (`READ`), how it was read."""

    terms: pd.DataFrame
    read: pd.DataFrame


def read_attributes(
    rows: pd.DataFrame,
    places: RowPlaces,
    declared: Mapping[str, str],
    *,
    hotels: bool,
    without: "pd.Series[bool]",
    taken: Collection[str],
) -> _AttributeTerms:
    """Read every column `attr_NAME`, as declared or as its values are.

    An attribute is a number where more than half of its different values are (yes and no are 1 and 0), else
    it has levels against the first in alphabetical order. declared: by name. hotels: the table is of hotels,
    whose own attributes have their own encodings. without: the opt-outs. taken: names of other columns.

    Raises AnalysisError for a value that is no number where a number belongs, and an unknown declaration.
    """
    names = [str(name).removeprefix(PREFIX) for name in rows if str(name).startswith(PREFIX)]
    for name, kind in declared.items():
        if name not in names or kind not in (NUMBERS, LEVELS, NONE):
            known = f"attributes: {', '.join(names) or 'none'}; kinds: {NUMBERS}, {LEVELS}, {NONE}"
            raise AnalysisError(f"--attribute {name}={kind}: {places} does not have it; {known}")
    terms: dict[str, Any] = {}
    found = []
    for name in names:
        codes, texts = distinct(rows[f"{PREFIX}{name}"].mask(without))
        row: dict[str, Any] = {"attribute": name, "declared": name in declared, "base": "", "note": ""}
        own: dict[str, Floats] = {}
        row["read"], row["note"] = _kind(name, texts, declared, hotels=hotels)
        refused = _Refusal(f"{PREFIX}{name}", codes, texts, places)
        term = f"{PREFIX}{name}" if name in taken and name not in OF_HOTELS else name
        if row["read"] in _HOTELS:
            own = {OF_HOTELS[name]: _HOTELS[row["read"]](texts, refused)[codes]}
        elif row["read"] == NUMBERS:
            own = {term: _numbers(texts, refused)[codes]}
            if same := next((other for other in _like(rows, own[term])), ""):
                own, row["read"], row["note"] = {}, NONE, f"says the same as the column {same}"
        elif row["read"] == LEVELS:
            row["base"], *others = sorted(texts[texts != ""])
            given = (texts != "").to_numpy()
            own = {
                f"{term}[{level}]": np.where(given, (texts == level).to_numpy(float), np.nan)[codes]
                for level in others
            }
        if (lacking := int(((texts == "").to_numpy()[codes] & ~without).sum())) and own:
            row["note"] = f"empty in {counted(lacking, 'option')}: their trials are left out of the models"
        terms |= own
        found.append(row | {"terms": ", ".join(own)})
    return _AttributeTerms(pd.DataFrame(terms, index=rows.index), pd.DataFrame(found, columns=list(READ)))


def of_hotels(rows: pd.DataFrame) -> bool:
    """Return whether a table is of hotels: by its category, or by two of their attributes."""
    return (
        bool((rows["category"] == "hotel").all()) or sum(f"{PREFIX}{name}" in rows for name in OF_HOTELS) > 1
    )


def opt_outs(rows: pd.DataFrame, trial: str) -> "pd.Series[bool]":
    """Return which options are opt-outs, "none of these": without price and attributes, beside others.

    An option whose price and attributes are all empty or 0 is one, too, if it is so in several trials and
    never otherwise.
    """
    known = [name for name in rows if name in ("price", "rating", "reviews") or str(name).startswith(PREFIX)]
    # A name says what an option is, and so "none" too; alone it is an attribute.
    names = [name for name in known if name != f"{PREFIX}name"] or known
    if not names:
        return pd.Series(False, rows.index)
    empty, zero = pd.DataFrame(index=rows.index), pd.DataFrame(index=rows.index)
    for name in names:
        codes, texts = distinct(rows[name])
        empty[name] = (texts == "").to_numpy()[codes]
        zero[name] = (pd.to_numeric(texts, errors="coerce") == 0).to_numpy()[codes]
    bare = empty.drop(columns="price", errors="ignore").all(axis=1)
    if "price" in empty:
        bare &= empty["price"] | (zero["price"] & (len(names) > 1))
    nothing = (empty | zero).all(axis=1)
    each = nothing.groupby(rows["option"])
    bare |= each.transform("all") & (each.transform("size") > 1)
    out: pd.Series[bool] = bare & ~bare.groupby(rows[trial]).transform("all")
    return out


def bed_rank(room: str) -> float:
    """Return the rank of a room's bed: king 3, queen 2, double or full 1, twin or single 0, else 1."""
    return next((float(rank) for word, rank in BEDS.items() if word in room.lower()), NO_BED)


def distinct(values: pd.Series) -> tuple[Ints, pd.Series]:
    """Return the texts of a column, stripped, and for each row which of them it has; "" is a missing one.

    They are few where cards are shown many times, so each is read once.
    """
    mixed = values.dtype == "object"  # where 1 and True are equal, but no equal texts
    each, known = pd.factorize(as_text(values) if mixed else values, use_na_sentinel=False)
    codes, texts = pd.factorize(as_text(pd.Series(known)).str.strip())
    return codes[each], pd.Series(texts, dtype="str")


class _Refusal(NamedTuple):
    """Where a value stands that is not what it should be."""

    column: str
    codes: Ints
    texts: pd.Series
    places: RowPlaces

    def __call__(self, valid: npt.NDArray[np.bool_], expected: str) -> None:
        wrong = (~valid & (self.texts != "").to_numpy())[self.codes]
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            place, value = self.places.of(row, self.column), quoted(self.texts[self.codes[row]])
            raise AnalysisError(f"{place}: {self.column}: {value} is not {expected}; correct it")


def _numbers(
    texts: pd.Series, refused: _Refusal, low: float = -LARGEST, expected: str = "a number"
) -> Floats:
    numbers = np.asarray(texts.str.lower().map(_FLAGS), float)
    if not np.isfinite(numbers[texts != ""]).all():
        numbers = np.asarray(pd.to_numeric(texts.where(texts != ""), errors="coerce"), float)
    refused((numbers >= low) & (numbers <= LARGEST), expected)
    return numbers


def _stars(texts: pd.Series, refused: _Refusal) -> Floats:
    return _numbers(texts, refused, 0, "a number from 0")


def _flags(texts: pd.Series, refused: _Refusal) -> Floats:
    flags = np.asarray(texts.str.lower().map(_FLAGS), float)
    refused(np.isfinite(flags), "1 or 0, yes or no")
    return flags


def _beds(texts: pd.Series, refused: _Refusal) -> Floats:
    return np.array([bed_rank(text) if text else np.nan for text in texts])


_HOTELS: Final[Mapping[str, Callable[[pd.Series, _Refusal], Floats]]] = {
    "stars": _stars,
    "bed": _beds,
    "1 or 0": _flags,
}


def _kind(name: str, texts: pd.Series, declared: Mapping[str, str], *, hotels: bool) -> tuple[str, str]:
    """How an attribute is read, and why it is in no model where it is in none."""
    known = texts[texts != ""]
    numeric = known.str.lower().isin(_FLAGS) | pd.to_numeric(known, errors="coerce").notna()
    if name in declared:
        return declared[name], "declared so" if declared[name] == NONE else ""
    if known.empty:
        return NONE, EMPTY
    if hotels and name in DESCRIBED:
        return NONE, DESCRIBED[name]
    alike = numeric.all() if name != "room" else known.str.lower().str.contains("|".join(BEDS)).all()
    if name in OF_HOTELS and (hotels or alike):
        return HOTELS["terms"][name]["read"], ""
    if numeric.mean() > 0.5:
        return NUMBERS, ""
    if len(known) > MOST_LEVELS:
        return NONE, f"{len(known):,} different texts; with --attribute {name}={LEVELS} they are estimated"
    return LEVELS, "one level only" if len(known) == 1 else ""


def _like(rows: pd.DataFrame, values: Floats) -> Iterator[str]:
    """The documented columns of which an attribute is a multiple."""
    for other in ("rating", "reviews", "price"):
        if other in rows and np.isfinite(values).any() and np.nansum(values) > 0:
            ratio = np.nansum(rows[other].to_numpy(float)) / np.nansum(values)
            if ratio > 0 and np.allclose(values * ratio, rows[other].to_numpy(float), equal_nan=True):
                yield other
