"""Encode option cards as regressors: attributes, price deciles, chain families."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.conjoint.attributes import (
    DESCRIBED,
    EMPTY,
    HOTELS,
    LEVELS,
    NUMBERS,
    OF_HOTELS,
    distinct,
    of_hotels,
    opt_outs,
    read_attributes,
)
from analysis.tables.choice_table import TRIAL_ID, answers, as_text, check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats, Ints, counted
from analysis.tables.table_file import RowPlaces

CONTROLS = ("stars", "bed_rank", "cancel", "breakfast", "review_score", "review_count_100")
PRICES = ("log_price", "price")

INDEPENDENT = "Independent"

_BLOCKS = {2: "binary", 3: "ternary"}
POOLED = "pooled"
OUT = "none"
"""The term of an opt-out: its constant."""

SHOWN = (
    *("agent", TRIAL_ID, "set", "repeat", "ordering", "option", "position", "chosen"),
    *("condition", "reading"),
)
"""The columns of a checked table that the analysis reads besides attributes."""


@dataclass(frozen=True)
class ShownOptions:
    """One row per option shown, sorted by agent, trial and letter.

    Beside `SHOWN`, `rows` has the regressors, `size`, `block` (binary, ternary, `4 options` ...), `letter` (0
    for A), `chain`, `area` (of hotels, or empty) and `none` (1 for an opt-out). `chosen` is the chance of
    the option where letters were scored. A letter is the place of an option in the forward order, so it
    stays when the order is reversed. attributes: how each was read. currency: of the prices, or empty.
    """

    rows: pd.DataFrame
    controls: tuple[str, ...]
    blocks: tuple[str, ...]
    notes: tuple[str, ...]
    attributes: pd.DataFrame
    currency: str = ""

    @property
    def repeated(self) -> bool:
        """Whether an agent is shown a set more than once."""
        trials = self.rows.drop_duplicates(TRIAL_ID)
        return bool(trials.duplicated(["agent", "set"]).any())

    @property
    def scored(self) -> list[str]:
        """The agents whose options have chances, instead of one that was chosen."""
        chosen = self.rows["chosen"]
        return sorted(self.rows.loc[(chosen > 0) & (chosen < 1), "agent"].unique())

    @property
    def priced(self) -> bool:
        """Whether options have prices."""
        return bool(self.rows["price"].notna().any())

    def prices(self, block: str) -> Floats:
        """Return the prices of a block (or of all), each option of each task once.

        How often an option was shown makes no difference.
        """
        once = self._once if block == POOLED else self._once[self._once["block"] == block]
        return once["price"].dropna().to_numpy()

    @cached_property
    def by_agent(self) -> dict[str, pd.DataFrame]:
        """The rows of each agent."""
        return {str(agent): own for agent, own in self.rows.groupby("agent", sort=True)}

    @cached_property
    def placed(self) -> pd.DataFrame:
        """The options that can be told apart by position: of sets of two or more, without opt-outs.

        `place` is from 1 and `options` the number, both without opt-outs; `letter` likewise, from 0.
        """
        rows = self.rows[self.rows[OUT] != 1]
        trials = rows.groupby(TRIAL_ID)
        rows = rows.assign(
            options=trials["option"].transform("size"),
            place=trials["position"].rank().astype(int),
            letter=trials["letter"].rank().astype(int) - 1,
        )
        return rows[rows["options"] > 1]

    @cached_property
    def _once(self) -> pd.DataFrame:
        return self.rows[["block", "set", "repeat", "option", "price"]].drop_duplicates()


def encode(
    table: pd.DataFrame, attributes: Mapping[str, str] | None = None, currency: str = ""
) -> ShownOptions:
    """Encode a tidy table of choices between cards.

    `rating` (0-100) becomes review_score (0-10), `reviews` review_count_100; the columns `attr_*` are read as
    `read_attributes` says, with `attributes` as declared. An option without price and attributes is an
    opt-out (`opt_outs`): all its regressors are 0, and the term `none` is its constant. Of hotels, an
    attribute whose column is absent or empty is left out of the models, with a note.

    currency: of the prices, where the table has no column `currency`.

    Raises AnalysisError for a table that `check_table` refuses, of several currencies, or with a value that
    is no number or flag.
    """
    places = RowPlaces(table)
    rows = check_table(table)
    rows["chosen"] = answers(rows)
    currency = _currency(rows, places, currency)
    rows["repeat"] = rows["repeat"].fillna(0) if "repeat" in rows else 0.0
    out = opt_outs(rows, TRIAL_ID)
    trials = rows.groupby(TRIAL_ID)
    rows["size"] = trials["option"].transform("size")
    sizes = sorted(rows["size"].unique())
    rows["block"] = rows["size"].map({size: _BLOCKS.get(size, f"{size} options") for size in sizes})
    place = trials["position"].rank(method="first").to_numpy() - 1
    rows["letter"] = np.where(rows["ordering"] == "reversed", rows["size"] - 1 - place, place).astype(int)
    rows["price"] = rows["price"].mask(out) if "price" in rows else np.nan
    rows["log_price"] = np.log(rows["price"].where(rows["price"] > 0))
    rows["review_score"] = rows["rating"] / 10 if "rating" in rows else np.nan
    rows["review_count_100"] = rows["reviews"] / 100 if "reviews" in rows else np.nan
    hotels = of_hotels(rows)
    taken = (*SHOWN, *PRICES, *CONTROLS, "size", "block", "chain", "area", OUT)
    read = read_attributes(rows, places, attributes or {}, hotels=hotels, without=out, taken=taken)
    more = [str(name) for name in read.terms if name not in CONTROLS]
    rows = rows.assign(**{name: read.terms.get(name, np.nan) for name in CONTROLS if name not in rows})
    chain = _chains(rows) if hotels and "chain" not in (attributes or {}) else ""
    # A term may have the name of the column that it is read from.
    rows = pd.concat([rows.drop(columns=more, errors="ignore"), read.terms[more]], axis=1).assign(chain=chain)
    rows[OUT] = out.astype(float)
    rows["area"] = as_text(rows["attr_neighborhood"]) if hotels and "attr_neighborhood" in rows else ""
    empty = [name for name in CONTROLS if rows[name].isna().all()]
    controls = (*(name for name in CONTROLS if name not in empty), *more, *([OUT] if out.any() else []))
    rows.loc[out, [*controls, *PRICES]] = 0.0
    rows.loc[out, ["price", OUT]] = np.nan, 1.0
    notes = [f"No {', '.join(empty)} in this table: left out of the models."] if empty and hotels else []
    notes += _told(read.read, hotels=hotels)
    if out.any():
        notes.append(
            f"{counted(int(out.sum()), 'option')} without price and attributes: opt-outs, term none."
        )
    if (unpriced := int((rows["price"] <= 0).sum())) > 0:
        notes.append(
            f"{unpriced:,} options cost nothing: their trials are left out of the models in log price."
        )
    rows = rows[[*SHOWN, *PRICES, *CONTROLS, *more, "size", "block", "letter", "chain", "area", OUT]]
    return ShownOptions(
        rows.sort_values(["agent", TRIAL_ID, "letter"], kind="stable", ignore_index=True),
        controls,
        tuple(_BLOCKS.get(size, f"{size} options") for size in sizes),
        tuple(notes),
        read.read,
        currency,
    )


def taken(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the options that were chosen; with their `weight`, the chance: 1 where answers were drawn."""
    chosen = rows[rows["chosen"] > 0]
    return chosen.assign(weight=chosen["chosen"])


def answered(chosen: pd.DataFrame) -> int:
    """Return the number of trials with a choice; chosen: of `taken`."""
    return round(chosen["weight"].sum())


def _currency(rows: pd.DataFrame, places: RowPlaces, given: str) -> str:
    """The one currency of a table; empty where it is not known."""
    known = sorted(set(rows["currency"].unique()) - {""})
    if len({*known, *filter(None, [given])}) > 1:
        what = (
            f"--currency {given}: {places} says {known[0]}"
            if given
            else f"{places}: currency: {' and '.join(known)}"
        )
        raise AnalysisError(f"{what}; prices of several currencies cannot be compared, keep one")
    return given or next(iter(known), "")


def _told(read: pd.DataFrame, *, hotels: bool) -> list[str]:
    """What was inferred of attributes that are not hotels', and what is in no model; a sentence each."""
    inferred = read[
        ~read["declared"].astype(bool) & (read["terms"] != "") & read["read"].isin([NUMBERS, LEVELS])
    ]
    kinds = [
        f"{row['attribute']} as {row['read']}" + (f" (base {row['base']})" if row["base"] else "")
        for row in inferred.to_dict("records")
    ]
    notes = [f"Read from the values: {', '.join(kinds)}; --attribute NAME=KIND changes it."] if kinds else []
    own = hotels & (
        read["note"].isin(DESCRIBED.values()) | (read["attribute"].isin(OF_HOTELS) & (read["note"] == EMPTY))
    )
    lost = read[(read["terms"] == "") & ~own]
    notes += [f"{row['attribute']} is in no model: {row['note']}." for row in lost.to_dict("records")]
    lacking = read[(read["terms"] != "") & (read["note"] != "")]
    return [*notes, *(f"{row['attribute']} is {row['note']}." for row in lacking.to_dict("records"))]


def decile_edges(prices: npt.ArrayLike) -> Floats:
    """Return the edges of the price deciles.

    These are the percentiles 0, 10, ..., 100 (linear interpolation), the lowest less 0.5; equal edges are
    merged.
    """
    edges = np.percentile(np.asarray(prices, float), np.arange(0, 101, 10))
    edges[0] -= 0.5
    return np.unique(edges)


def decile(price: npt.ArrayLike, edges: Floats) -> Ints:
    """Return the decile of each price, from 1. Deciles are open on the left and closed on the right."""
    return np.searchsorted(edges[1:-1], np.asarray(price, float), side="left") + 1


def chain_family(name: str) -> str:
    """Return the chain family that a hotel's name contains, else Independent."""
    text = name.lower()
    return next(
        (family for family, words in HOTELS["families"].items() if any(w in text for w in words)), INDEPENDENT
    )


def _chains(rows: pd.DataFrame) -> npt.NDArray[np.object_]:
    """The given chain; without one the family by name; empty where there is neither."""
    nothing = pd.Series("", rows.index)
    given, chains = distinct(rows.get("attr_chain", nothing))
    named, names = distinct(rows.get("attr_name", nothing))
    families = names.map(lambda name: chain_family(name) if name else "")
    return np.where((chains == "")[given], families.to_numpy(object)[named], chains.to_numpy(object)[given])
