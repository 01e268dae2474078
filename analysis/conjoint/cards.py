"""Encode option cards as regressors: attributes, price deciles, chain families."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.tables.choice_table import LARGEST, TRIAL_ID, as_text, check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats, Ints
from analysis.tables.table_file import RowPlaces, quoted

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
"""The rank of a room by the first of these words that its lower-cased type contains."""
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

SHOWN = (
    "agent",
    TRIAL_ID,
    "set",
    "repeat",
    "ordering",
    "option",
    "position",
    "chosen",
    "condition",
    "reading",
)
"""The columns of a checked table that the analysis reads besides attributes."""


@dataclass(frozen=True)
class ShownOptions:
    """One row per option shown, sorted by agent, trial and letter.

    Beside `SHOWN`, `rows` has the regressors, `size`, `block` (binary, ternary, `4 options` ...), `letter` (0
    for A) and `chain`. A letter is the place of an option in the forward order, so it stays when the order is
    reversed.
    """

    rows: pd.DataFrame
    controls: tuple[str, ...]
    blocks: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def repeated(self) -> bool:
        """Whether an agent is shown a set more than once."""
        trials = self.rows.drop_duplicates(TRIAL_ID)
        return bool(trials.duplicated(["agent", "set"]).any())

    def prices(self, block: str) -> Floats:
        """Return the prices of a block (or of all), each option of each task once.

        How often an option was shown makes no difference.
        """
        rows = self.rows if block == POOLED else self.rows[self.rows["block"] == block]
        once = rows.drop_duplicates(["block", "set", "repeat", "option", "price"])
        return once["price"].dropna().to_numpy()


def encode(table: pd.DataFrame) -> ShownOptions:
    """Encode a tidy table of choices between cards.

    `rating` (0-100) becomes review_score (0-10), `reviews` review_count_100, `attr_stars` stars, `attr_room`
    bed_rank, `attr_cancellation` and `attr_breakfast` (1/0, yes/no) cancel and breakfast. An attribute whose
    column is absent or empty is left out of the models, with a note.

    Raises AnalysisError for a table that `check_table` refuses, without prices, or with a value that is no
    number or flag.
    """
    places = RowPlaces(table)
    rows = check_table(table)
    if "price" not in rows or rows["price"].isna().all():
        raise AnalysisError(f"{places}: column 'price' is missing or empty; a conjoint analysis needs prices")
    for name in ("repeat", "ordering"):
        if name not in rows:
            rows[name] = "" if name == "ordering" else 0.0
    rows["repeat"] = rows["repeat"].fillna(0)
    trials = rows.groupby(TRIAL_ID)
    rows["size"] = trials["option"].transform("size")
    sizes = sorted(rows["size"].unique())
    rows["block"] = rows["size"].map({size: _BLOCKS.get(size, f"{size} options") for size in sizes})
    place = trials["position"].rank(method="first").to_numpy() - 1
    rows["letter"] = np.where(rows["ordering"] == "reversed", rows["size"] - 1 - place, place).astype(int)
    rows["log_price"] = np.log(rows["price"].where(rows["price"] > 0))
    rows["review_score"] = rows["rating"] / 10 if "rating" in rows else np.nan
    rows["review_count_100"] = rows["reviews"] / 100 if "reviews" in rows else np.nan
    rows["stars"] = _numbers(rows, "attr_stars", places)
    rows["cancel"] = _flags(rows, "attr_cancellation", places)
    rows["breakfast"] = _flags(rows, "attr_breakfast", places)
    rows["bed_rank"] = _mapped(rows, "attr_room", bed_rank)
    rows["chain"] = _chains(rows)
    empty = [name for name in CONTROLS if rows[name].isna().all()]
    notes = [f"No {', '.join(empty)} in this table: left out of the models."] if empty else []
    if (unpriced := int((rows["price"] <= 0).sum())) > 0:
        notes.append(
            f"{unpriced:,} options cost nothing: their trials are left out of the models in log price."
        )
    rows = rows[[*SHOWN, *PRICES, *CONTROLS, "size", "block", "letter", "chain"]]
    return ShownOptions(
        rows.sort_values(["agent", TRIAL_ID, "letter"], kind="stable", ignore_index=True),
        tuple(name for name in CONTROLS if name not in empty),
        tuple(_BLOCKS.get(size, f"{size} options") for size in sizes),
        tuple(notes),
    )


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


def bed_rank(room: str) -> float:
    """Return the rank of a room's bed: king 3, queen 2, double or full 1, twin or single 0, else 1."""
    return next((rank for word, rank in BEDS if word in room.lower()), NO_BED)


def chain_family(name: str) -> str:
    """Return the chain family that a hotel's name contains, else Independent."""
    text = name.lower()
    return next((family for family, words in FAMILIES.items() if any(w in text for w in words)), INDEPENDENT)


def _distinct(rows: pd.DataFrame, name: str) -> tuple[Ints, pd.Series]:
    """The texts of a column, stripped, and for each row which of them it has; "" is a missing one.

    They are few where cards are shown many times, so each is read once.
    """
    if name not in rows:
        return np.zeros(len(rows), int), pd.Series([""])
    codes, texts = pd.factorize(rows[name], use_na_sentinel=False)
    return codes, as_text(pd.Series(texts)).str.strip()


def _mapped(rows: pd.DataFrame, name: str, encoding: Callable[[str], float]) -> Floats:
    codes, texts = _distinct(rows, name)
    return np.array([encoding(text) if text else np.nan for text in texts])[codes]


def _numbers(rows: pd.DataFrame, name: str, places: RowPlaces) -> Floats:
    codes, texts = _distinct(rows, name)
    numbers = np.asarray(pd.to_numeric(texts.where(texts != ""), errors="coerce"), float)
    _refuse(name, codes, texts, (numbers >= 0) & (numbers <= LARGEST), places, "a number from 0")
    return numbers[codes]


def _flags(rows: pd.DataFrame, name: str, places: RowPlaces) -> Floats:
    codes, texts = _distinct(rows, name)
    flags = np.asarray(texts.str.lower().map(_FLAGS), float)
    _refuse(name, codes, texts, np.isfinite(flags), places, "1 or 0, yes or no")
    return flags[codes]


def _refuse(
    name: str, codes: Ints, texts: pd.Series, valid: npt.NDArray[np.bool_], places: RowPlaces, expected: str
) -> None:
    wrong = (~valid & (texts != "").to_numpy())[codes]
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = quoted(texts[codes[row]])
        raise AnalysisError(f"{places.of(row, name)}: {name}: {value} is not {expected}; correct it")


def _chains(rows: pd.DataFrame) -> npt.NDArray[np.object_]:
    """The given chain; without one the family by name; empty where there is neither."""
    given, chains = _distinct(rows, "attr_chain")
    named, names = _distinct(rows, "attr_name")
    families = names.map(lambda name: chain_family(name) if name else "")
    return np.where((chains == "")[given], families.to_numpy(object)[named], chains.to_numpy(object)[given])
