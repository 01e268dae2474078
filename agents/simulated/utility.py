"""The random-utility model of the simulated agents: the ground truth that an analysis has to give back.

A taste is a weight for each attribute. An agent values alternative i of a choice set at U_i = V_i + e_i with

    V_i = log_price * ln(price_i) + rating * rating_i / 10 + log_reviews * ln(1 + reviews_i)
        + position * viewed_first_i + nudge * cue_i + brand[brand_i]
        + stars * stars_i + cancellation * cancellation_i + breakfast * breakfast_i + bed * bed_i

    price    currency units as displayed     rating        0-100 points     reviews   a count
    cue      the nudges that speak for the product, less those against it: with one nudge -1, 0 or +1
    viewed_first   1 for the alternative seen first, else 0
    stars    1-5     cancellation, breakfast   1 where free or included, else 0
    bed      rank of the room's bed: king 3, queen 2, double, full or bunk 1, twin or single 0

and e_i independent standard Gumbel noise, so that P(i) = exp(V_i) / sum_j exp(V_j): the conditional logit of
McFadden (1974). The weights are therefore the coefficients of a conditional logit on these regressors.

Price enters as its logarithm alone: what counts is the relative difference, one weight serves cookies and
televisions alike, and a linear model's effect of being cheaper follows from it without a dummy of its own.

A taste that is `locked` takes the alternative viewed first with that probability whatever it is, and else one
of the others by their utility. `noise` is the scale of e_i, `spread` the standard deviation of weights that
each choice draws anew from normal distributions (a mixed logit; McFadden and Train 2000), and `determinism`
the share of choices that are drawn by the prompt alone, so that the same prompt is answered alike.
"""

import functools
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator

SMALLEST_PRICE = 0.01
"""The price of a product given away, one cent: the logarithm of zero is undefined."""

Attribute = Literal[
    "log_price", "rating", "log_reviews", "position", "nudge", "stars", "cancellation", "breakfast", "bed"
]
ATTRIBUTES: Final[tuple[Attribute, ...]] = get_args(Attribute)
"""What an alternative has, by the names of the weights; the brand is apart."""

_BEFORE_BRAND: Final = 5
_SUBJECTS: Final = 256
"""The number of tastes over which probabilities are averaged where weights are drawn."""

_LARGEST: Final = 1e6
_Weight = Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
_Deviation = Annotated[float, Field(ge=0, le=_LARGEST, allow_inf_nan=False)]


class Taste(BaseModel):
    """Weights of the utility function at the top of this module; 0 means indifference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    log_price: _Weight = Field(
        default=0.0, description="per unit of ln(price); negative: prefers the cheaper"
    )
    rating: _Weight = Field(default=0.0, description="per 10 points of the 0-100 rating")
    log_reviews: _Weight = Field(default=0.0, description="per unit of ln(1 + number of reviews)")
    position: _Weight = Field(default=0.0, description="for the alternative viewed first")
    nudge: _Weight = Field(default=0.0, description="for a cue in favour; a cue against counts -1 times this")
    brand: dict[str, _Weight] = Field(default={}, description="by the brand's name, in any case")

    stars: _Weight = Field(default=0.0, description="per star of a hotel")
    cancellation: _Weight = Field(default=0.0, description="for free cancellation")
    breakfast: _Weight = Field(default=0.0, description="for breakfast included")
    bed: _Weight = Field(default=0.0, description="per rank of the bed")
    locked: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="probability of taking the alternative viewed first, whatever it is",
    )
    noise: float = Field(
        default=1.0,
        ge=0,
        le=_LARGEST,
        allow_inf_nan=False,
        description="scale of the noise; 0: always takes the best",
    )
    spread: dict[Attribute, _Deviation] = Field(
        default={}, description="standard deviation of each weight, which every choice draws anew"
    )
    determinism: float = Field(
        default=0.0, ge=0, le=1, description="share of choices that the same prompt always gives alike"
    )

    @field_validator("brand")
    @classmethod
    def _lower(cls, brand: dict[str, float]) -> dict[str, float]:
        if "" in brand:
            raise ValueError("a brand has no name; write its name or remove it")
        return {name.lower(): weight for name, weight in brand.items()}


@dataclass(frozen=True, slots=True)
class DisplayedOption:
    """One option of a choice set as displayed; a price, rating or stars that are not displayed are None."""

    price: float | None
    rating: float | None
    reviews: int
    cue: int = 0
    viewed_first: bool = False
    brand: str | None = None
    stars: int | None = None
    cancellation: bool = False
    breakfast: bool = False
    bed: int = 0


def attributes(alternatives: Sequence[DisplayedOption]) -> NDArray[np.float64]:
    """Return what the weights are multiplied by, a row for each alternative, a column for each attribute.

    Shape (len(alternatives), len(ATTRIBUTES)). What is not displayed speaks neither for nor against: it
    counts as the mean of what the others display.
    """
    prices = _fill(
        None if item.price is None else math.log(max(item.price, SMALLEST_PRICE)) for item in alternatives
    )
    ratings = _fill(item.rating for item in alternatives)
    stars = _fill(item.stars for item in alternatives)
    rows = [
        (
            price,
            rating / 10,
            math.log1p(item.reviews),
            item.viewed_first,
            item.cue,
            star,
            item.cancellation,
            item.breakfast,
            item.bed,
        )
        for item, price, rating, star in zip(alternatives, prices, ratings, stars, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(ATTRIBUTES))


def choice_probabilities(taste: Taste, alternatives: Sequence[DisplayedOption]) -> NDArray[np.float64]:
    """Return the probability that an agent of this taste chooses each alternative.

    Shape (len(alternatives),). Where weights are drawn, it is the mean over many tastes. An empty choice set
    gives an empty array.
    """
    if not alternatives:
        return np.empty(0)
    shown = attributes(alternatives).T
    parts = [getattr(taste, name) * column for name, column in zip(ATTRIBUTES, shown, strict=True)]
    brand = np.array([taste.brand.get((item.brand or "").lower(), 0.0) for item in alternatives])
    utilities = sum([*parts[:_BEFORE_BRAND], brand, *parts[_BEFORE_BRAND:]])
    if spread := [(column, taste.spread[name]) for name, column in _spread(taste, shown)]:
        deviations = _normal_points(len(spread))
        utilities = np.asarray(utilities)[:, None] + sum(
            sd * column[:, None] * points for (column, sd), points in zip(spread, deviations, strict=True)
        )
    utilities = np.asarray(utilities, dtype=np.float64)
    first = np.array([item.viewed_first for item in alternatives])
    if taste.locked is None or first.all() or not first.any():
        return _shares(utilities, taste.noise)
    probabilities = np.full(len(utilities), taste.locked)
    probabilities[~first] = (1 - taste.locked) * _shares(utilities[~first], taste.noise)
    return probabilities


def choose(taste: Taste, alternatives: Sequence[DisplayedOption], source: random.Random) -> int:
    """Return the index of the alternative that an agent of this taste takes; `source` draws.

    First the weights are drawn that differ between choices, in the order of `ATTRIBUTES`, then the choice.
    """
    weights: dict[str, object] = {
        name: source.gauss(getattr(taste, name), taste.spread[name])
        for name in ATTRIBUTES
        if name in taste.spread
    }
    own = taste.model_copy(update={**weights, "spread": {}}) if weights else taste
    return draw(choice_probabilities(own, alternatives), source.random())


def source_for(taste: Taste, prompt: str, source: random.Random) -> random.Random:
    """Return what draws the answer to a prompt: `source`, or what follows from taste and prompt alone.

    It is the latter with the probability `determinism`.
    """
    if not taste.determinism or source.random() >= taste.determinism:
        return source
    return random.Random(f"{taste.model_dump_json()} {prompt}")  # noqa: S311 (sampling; nothing is secret)


def draw(probabilities: NDArray[np.float64], uniform: float) -> int:
    """Return the index drawn by inverting the cumulative distribution at `uniform`, a number in [0, 1)."""
    index = int(np.searchsorted(np.cumsum(probabilities), uniform, side="right"))
    return min(index, len(probabilities) - 1)  # the last sum may round to just below 1


def _shares(utilities: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """The shares of choices, by the rows of utilities; columns, if there are any, are tastes."""
    above = utilities - utilities.max(axis=0)
    with np.errstate(over="ignore"):  # a quotient of minus infinity is a share of 0
        weights = np.exp(above / noise) if noise else (above == 0).astype(np.float64)
    shares = np.asarray(weights / weights.sum(axis=0), dtype=np.float64)
    return shares if shares.ndim == 1 else np.asarray(shares.mean(axis=1), dtype=np.float64)


def _spread(taste: Taste, shown: NDArray[np.float64]) -> list[tuple[Attribute, NDArray[np.float64]]]:
    """The attributes whose weights are drawn, where they differ between alternatives."""
    named = zip(ATTRIBUTES, shown, strict=True)
    return [(name, column) for name, column in named if taste.spread.get(name) and np.ptp(column)]


@functools.cache
def _normal_points(dimensions: int) -> NDArray[np.float64]:
    """Points that fill a normal distribution evenly, dimensions x _SUBJECTS: a Kronecker sequence."""
    roots = np.sqrt([2, 3, 5, 7, 11, 13, 17, 19, 23][:dimensions])
    shares = (0.5 + np.outer(roots, np.arange(1, _SUBJECTS + 1))) % 1
    return np.asarray(np.vectorize(NormalDist().inv_cdf)(shares), dtype=np.float64)


def _fill(values: Iterable[float | None]) -> list[float]:
    values = list(values)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return [mean if value is None else value for value in values]
