"""Option cards as regressors: attributes coerced and encoded, price deciles, chain families."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import AnalysisError
from analysis.lpm import Floats, Ints
from analysis.table import check_table

CONTROLS = ("stars", "bed_rank", "cancel", "breakfast", "review_score", "review_count_100")
PRICES = ("log_price", "price")

BEDS = (
    ("king", 3.0),
    ("queen", 2.0),
    ("double", 1.0),
    ("full", 1.0),
    ("twin", 0.0),
    ("single", 0.0),
    ("bunk", 1.0),
)
"""Rank of a room by the first of these words that its lower-cased type contains."""
NO_BED = 1.0

INDEPENDENT = "Independent"
FAMILIES = {
    "Hilton": (
        "hilton",
        "hampton",
        "doubletree",
        "embassy suites",
        "conrad",
        "homewood",
        "waldorf",
        "ink 48",
    ),
    "Marriott": (
        "marriott",
        "courtyard",
        "fairfield",
        "residence inn",
        "springhill",
        "moxy",
        "aloft",
        "ac hotel",
        "w new york",
        "westin",
        "sheraton",
        "st. regis",
        "renaissance",
        "ritz-carlton",
        "edition",
        "lotte",
    ),
    "IHG": (
        "holiday inn",
        "crowne plaza",
        "intercontinental",
        "kimpton",
        "indigo",
        "voco",
        "even hotel",
        "staybridge",
    ),
    "Hyatt": ("hyatt", "andaz", "thompson"),
    "Wyndham": ("wyndham", "ramada", "days inn", "la quinta", "best western"),
}
"""Chain families by words of a hotel's name, for cards without a chain; the first that fits counts."""

_FLAGS = {"yes": 1.0, "true": 1.0, "1": 1.0, "1.0": 1.0, "no": 0.0, "false": 0.0, "0": 0.0, "0.0": 0.0}
_BLOCKS = {2: "binary", 3: "ternary"}
POOLED = "pooled"


@dataclass(frozen=True)
class Cards:
    """One row per option shown, sorted by agent, trial and letter.

    Beside the columns of the tidy table, `rows` has the regressors, `trial_id` (from 0), `size`, `block`
    (binary, ternary, `4 options` ...), `letter` (0 for A) and `chain`. A letter is the place of an option
    in the forward order, so it stays when the order is reversed.
    """

    rows: pd.DataFrame
    controls: tuple[str, ...]
    blocks: tuple[str, ...]
    notes: tuple[str, ...]

    def prices(self, block: str) -> Floats:
        """The prices of a block (or of all): each option of each task once, however often it was shown."""
        rows = self.rows if block == POOLED else self.rows[self.rows["block"] == block]
        once = rows.drop_duplicates(["block", "set", "repeat", "option", "price"])
        return once["price"].dropna().to_numpy()


def encode(table: pd.DataFrame) -> Cards:
    """Encode a tidy table of choices between cards.

    `rating` (0-100) becomes review_score (0-10), `reviews` review_count_100, `attr_stars` stars, `attr_room`
    bed_rank, `attr_cancellation` and `attr_breakfast` (1/0, yes/no) cancel and breakfast. An attribute whose
    column is absent or empty is left out of the models, with a note.

    Raises AnalysisError for a table that `check_table` refuses, without prices, or with a value that is no
    number or flag.
    """
    source = str(table.attrs.get("source", "table"))
    rows = check_table(table)
    if "price" not in rows or rows["price"].isna().all():
        raise AnalysisError(f"{source}: column 'price' is missing or empty; a conjoint analysis needs prices")
    for name in ("repeat", "ordering"):
        if name not in rows:
            rows[name] = "" if name == "ordering" else 0.0
    rows["repeat"] = rows["repeat"].fillna(0)
    trials = rows.groupby("trial_id")
    rows["size"] = trials["option"].transform("size")
    sizes = sorted(rows["size"].unique())
    rows["block"] = rows["size"].map({size: _BLOCKS.get(size, f"{size} options") for size in sizes})
    place = trials["position"].rank(method="first").to_numpy() - 1
    rows["letter"] = np.where(rows["ordering"] == "reversed", rows["size"] - 1 - place, place).astype(int)
    rows["log_price"] = np.log(rows["price"].where(rows["price"] > 0))
    rows["review_score"] = rows["rating"] / 10 if "rating" in rows else np.nan
    rows["review_count_100"] = rows["reviews"] / 100 if "reviews" in rows else np.nan
    rows["stars"] = _numbers(rows, "attr_stars", source)
    rows["cancel"] = _flags(rows, "attr_cancellation", source)
    rows["breakfast"] = _flags(rows, "attr_breakfast", source)
    rows["bed_rank"] = _mapped(rows, "attr_room", bed_rank)
    rows["chain"] = _chains(rows)
    empty = [name for name in CONTROLS if rows[name].isna().all()]
    notes = [f"No {', '.join(empty)} in this table: left out of the models."] if empty else []
    if (unpriced := int((rows["price"] <= 0).sum())) > 0:
        notes.append(
            f"{unpriced:,} options cost nothing: their trials are left out of the models in log price."
        )
    return Cards(
        rows.sort_values(["agent", "trial_id", "letter"], kind="stable").reset_index(drop=True),
        tuple(name for name in CONTROLS if name not in empty),
        tuple(_BLOCKS.get(size, f"{size} options") for size in sizes),
        tuple(notes),
    )


def decile_edges(prices: npt.ArrayLike) -> Floats:
    """Percentiles 0, 10, ..., 100 (linear interpolation), the lowest less 0.5; equal edges are merged."""
    edges = np.percentile(np.asarray(prices, float), np.arange(0, 101, 10))
    edges[0] -= 0.5
    return np.unique(edges)


def decile(price: npt.ArrayLike, edges: Floats) -> Ints:
    """The decile of each price, from 1. Deciles are open on the left and closed on the right."""
    return np.searchsorted(edges[1:-1], np.asarray(price, float), side="left") + 1


def bed_rank(room: str) -> float:
    """King 3, queen 2, double or full 1, twin or single 0, anything else 1."""
    return next((rank for word, rank in BEDS if word in room.lower()), NO_BED)


def chain_family(name: str) -> str:
    """The chain family that a hotel's name tells, else Independent."""
    text = name.lower()
    return next((family for family, words in FAMILIES.items() if any(w in text for w in words)), INDEPENDENT)


def _text(rows: pd.DataFrame, name: str) -> pd.Series:
    if name not in rows:
        return pd.Series("", index=rows.index)
    return rows[name].astype("object").where(rows[name].notna(), "").astype(str).str.strip()


def _mapped(rows: pd.DataFrame, name: str, encoding: Callable[[str], float]) -> "pd.Series[float]":
    text = _text(rows, name)
    return text.map({value: encoding(value) if value else np.nan for value in text.unique()})


def _numbers(rows: pd.DataFrame, name: str, source: str) -> "pd.Series[float]":
    text = _text(rows, name)
    numbers = pd.to_numeric(text.where(text != ""), errors="coerce")
    return _refuse(rows, name, text, numbers.astype(float), source, "a number")


def _flags(rows: pd.DataFrame, name: str, source: str) -> "pd.Series[float]":
    text = _text(rows, name)
    return _refuse(rows, name, text, text.str.lower().map(_FLAGS).astype(float), source, "1 or 0, yes or no")


def _refuse(
    rows: pd.DataFrame, name: str, text: pd.Series, values: "pd.Series[float]", source: str, expected: str
) -> "pd.Series[float]":
    wrong = (values.isna() & (text != "")) | np.isinf(values)
    if wrong.any():
        at = rows.index[wrong][0]
        raise AnalysisError(f"{source}: row {at + 1}: {name}: {text[at]!r} is not {expected}; correct it")
    return values


def _chains(rows: pd.DataFrame) -> pd.Series:
    """The given chain; without one the family by name; empty where there is neither."""
    given, name = _text(rows, "attr_chain"), _text(rows, "attr_name")
    by_name = name.map({value: chain_family(value) if value else "" for value in name.unique()})
    return given.where(given != "", by_name)
