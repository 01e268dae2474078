"""The random-utility model of the simulated agents: the ground truth that an analysis has to give back.

A taste is a weight for each attribute. An agent values alternative i of a choice set at U_i = V_i + e_i with

    V_i = log_price * ln(price_i) + rating * rating_i / 10 + log_reviews * ln(1 + reviews_i)
        + position * viewed_first_i + nudge * cue_i + brand[brand_i]
        + stars * stars_i + cancellation * cancellation_i + breakfast * breakfast_i + bed * bed_i

    price    currency units as displayed     rating        0-100 points     reviews   a count
    cue      -1, 0 or +1: the page speaks against the product, does not, or speaks for it
    viewed_first   1 for the alternative seen first, else 0
    stars    1-5     cancellation, breakfast   1 where free or included, else 0
    bed      rank of the room's bed: king 3, queen 2, double, full or bunk 1, twin or single 0

and e_i independent standard Gumbel noise, so that P(i) = exp(V_i) / sum_j exp(V_j): the conditional logit of
McFadden (1974). The weights are therefore the coefficients of a conditional logit on these regressors.

Price enters as its logarithm alone: what counts is the relative difference, one weight serves cookies and
televisions alike, and a linear model's effect of being cheaper follows from it without a dummy of its own.

A taste that is `locked` takes the alternative viewed first with that probability whatever it is, and else one
of the others by their utility.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator

SMALLEST_PRICE = 0.01
"""The price of a product given away, one cent: the logarithm of zero is undefined."""


class Taste(BaseModel):
    """Weights of the utility function at the top of this module; 0 means indifference."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    log_price: FiniteFloat = Field(
        default=0.0, description="per unit of ln(price); negative: prefers the cheaper"
    )
    rating: FiniteFloat = Field(default=0.0, description="per 10 points of the 0-100 rating")
    log_reviews: FiniteFloat = Field(default=0.0, description="per unit of ln(1 + number of reviews)")
    position: FiniteFloat = Field(default=0.0, description="for the alternative viewed first")
    nudge: FiniteFloat = Field(
        default=0.0, description="for a cue in favour; a cue against counts -1 times this"
    )
    brand: dict[str, FiniteFloat] = Field(default={}, description="by the brand's name, in any case")

    stars: FiniteFloat = Field(default=0.0, description="per star of a hotel")
    cancellation: FiniteFloat = Field(default=0.0, description="for free cancellation")
    breakfast: FiniteFloat = Field(default=0.0, description="for breakfast included")
    bed: FiniteFloat = Field(default=0.0, description="per rank of the bed")
    locked: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="probability of taking the alternative viewed first, whatever it is",
    )

    @field_validator("brand")
    @classmethod
    def _lower(cls, brand: dict[str, float]) -> dict[str, float]:
        if "" in brand:
            raise ValueError("a brand has no name; write its name or remove it")
        return {name.lower(): weight for name, weight in brand.items()}


@dataclass(frozen=True, slots=True)
class Alternative:
    """One option of a choice set as displayed; a price, rating or stars that are not displayed are None."""

    price: float | None
    rating: float | None
    reviews: int
    cue: Literal[-1, 0, 1] = 0
    viewed_first: bool = False
    brand: str | None = None
    stars: int | None = None
    cancellation: bool = False
    breakfast: bool = False
    bed: int = 0


def choice_probabilities(taste: Taste, alternatives: Sequence[Alternative]) -> NDArray[np.float64]:
    """Return the probability that an agent of this taste chooses each alternative.

    Shape (len(alternatives),). What is not displayed speaks neither for nor against: it counts as the mean of
    what the others display. An empty choice set gives an empty array.
    """
    if not alternatives:
        return np.empty(0)
    prices = _fill(
        None if item.price is None else math.log(max(item.price, SMALLEST_PRICE)) for item in alternatives
    )
    ratings = _fill(item.rating for item in alternatives)
    stars = _fill(item.stars for item in alternatives)
    utilities = np.array(
        [
            taste.log_price * price
            + taste.rating * rating / 10
            + taste.log_reviews * math.log1p(item.reviews)
            + taste.position * item.viewed_first
            + taste.nudge * item.cue
            + taste.brand.get((item.brand or "").lower(), 0.0)
            + taste.stars * star
            + taste.cancellation * item.cancellation
            + taste.breakfast * item.breakfast
            + taste.bed * item.bed
            for item, price, rating, star in zip(alternatives, prices, ratings, stars, strict=True)
        ]
    )
    first = np.array([item.viewed_first for item in alternatives])
    if taste.locked is None or first.all() or not first.any():
        return _softmax(utilities)
    probabilities = np.full(len(utilities), taste.locked)
    probabilities[~first] = (1 - taste.locked) * _softmax(utilities[~first])
    return probabilities


def draw(probabilities: NDArray[np.float64], uniform: float) -> int:
    """Return the index drawn by inverting the cumulative distribution at `uniform`, a number in [0, 1)."""
    index = int(np.searchsorted(np.cumsum(probabilities), uniform, side="right"))
    return min(index, len(probabilities) - 1)  # the last sum may round to just below 1


def _softmax(utilities: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(utilities - utilities.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _fill(values: Iterable[float | None]) -> list[float]:
    values = list(values)
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return [mean if value is None else value for value in values]
