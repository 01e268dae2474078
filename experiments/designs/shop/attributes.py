"""Draw prices, ratings, numbers of reviews and badges independently of the products that show them.

A draw gives each option of a choice set a level of each attribute. It is shown several times, with the levels
moved round the options: each option has each level equally often, and any two attributes have each pair of
places equally often. So within a draw the levels are independent of the product, of the position, of the
nudge and of each other.

In a Latin square the places are moved round as well: each product stands in each place once, and has each
level of each attribute, and each badge, equally often; what meets what in a trial is drawn.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cache
from itertools import combinations, product
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.experiment_file import StrictModel
from experiments.designs.inputs.identity import digest
from experiments.designs.shop.trial import badge_column
from interventions.apply.plan import ProductFacts
from interventions.yaml.yaml_source import problem_at

NAMES: Final = ("price", "rating", "reviews")
MOST_LEVELS: Final = 12

_STEP: Final = re.compile(r"[+-]?[0-9]{1,4}(\.[0-9]{1,2})?%", re.ASCII)


def is_change(value: object) -> bool:
    """Return whether a value is a change of a price in percent, as text, that leaves something of it."""
    return isinstance(value, str) and bool(_STEP.fullmatch(value)) and percent(value) > -100


def _check_price(value: Any) -> Any:
    """A percentage of the product's own price as text, or an amount."""
    if is_change(value):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and 0.01 <= value < 10**9:
        return round(float(value), 2)
    raise ValueError(f'"{value}" is no price; write a change of the own price such as -10%, or an amount')


Price = Annotated[float | str, BeforeValidator(_check_price)]
Rating = Annotated[int, Field(ge=0, le=100, strict=True)]
Reviews = Annotated[int, Field(ge=1, lt=10**9, strict=True)]


class Badges(StrictModel):
    """Interventions that each stand on one product of every trial, whichever is drawn."""

    interventions: str
    """A file of interventions: a shipped one by name, or a path."""
    only: tuple[str, ...] = Field(min_length=1)
    """Their ids."""


class Display(NamedTuple):
    """How the products of a choice set are shown once, in this order.

    badges: by id, on which product. roles: of each product, and the condition, where there are decoys.
    """

    products: ChoiceSet
    badges: tuple[tuple[str, str], ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    condition: str = ""


class Attributes(StrictModel):
    """Attributes that are drawn, independently of the product, and the levels that they are drawn from."""

    price: tuple[Price, ...] = Field(default=(), max_length=MOST_LEVELS)
    """Changes of each product's own price, such as `-10%`, or amounts."""
    rating: tuple[Rating, ...] = Field(default=(), max_length=MOST_LEVELS)
    """In percent, as the rating is shown in words."""
    reviews: tuple[Reviews, ...] = Field(default=(), max_length=MOST_LEVELS)
    """Numbers of reviews."""
    badges: Badges | None = None
    """Badges that are drawn."""

    @model_validator(mode="after")
    def _two_levels_of_one_kind(self) -> Self:
        if not self.names and not self.badges:
            raise ValueError("no attribute is drawn; name levels of price, rating or reviews, or badges")
        for name in self.names:
            levels = getattr(self, name)
            if len(levels) < 2:
                raise problem_at(name, message="one level is no draw; give two or more")
            if len({percent(level) if isinstance(level, str) else level for level in levels}) < len(levels):
                raise problem_at(name, message="a level stands twice; remove one of the two")
        if len({type(level) for level in self.price}) > 1:
            message = "changes in percent and amounts cannot be mixed; write all levels in one way"
            raise problem_at("price", message=message)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that are drawn."""
        return tuple(name for name in NAMES if getattr(self, name))

    @property
    def drawn(self) -> tuple[str, ...]:
        """The attributes and the badges that are drawn, as the tables of a run name them."""
        return (*self.names, *map(badge_column, self.badges.only if self.badges else ()))

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without badges the keys are those of before, and so is the identity of the run."""
        kept: dict[str, Any] = dump(self)
        if self.badges is None:
            kept.pop("badges", None)
        return kept


def versions(attributes: Attributes | None, options: int, *, square: bool) -> int:
    """Return how often each draw is shown in sets of so many options; square: in a Latin square."""
    if square:
        return options
    return int(options ** min(len(attributes.names), 2)) if attributes else 1


def shown(
    attributes: Attributes | None, products: ChoiceSet, seed: int, at: int, cell: object, *, square: bool
) -> list[Display]:
    """Return a draw in all its versions: the products as they are shown.

    at: the number of the draw in the experiment, by which levels are dealt in turn. cell: what else the draw
    belongs to; with the seed it decides which option has which level. square: in a Latin square.
    """
    options = len(products)
    names = attributes.names if attributes else ()
    badges = attributes.badges.only if attributes and attributes.badges else ()
    dealt = [
        permuted(_dealt(len(getattr(attributes, name)), options, seed, name, at), [seed, name, cell])
        for name in names
    ]
    moves = _moves(len(names), options)
    if square:
        kinds = (*names, *badges, "place")
        moves = zip(*(permuted(range(options), [seed, "square", each, cell]) for each in kinds), strict=True)
    ordered = permuted(range(options), [seed, "order", cell])
    found = []
    for moved in moves:
        rows = list(products)
        for name, levels, by in zip(names, dealt, moved, strict=False):
            for place, own in enumerate(products):
                level = getattr(attributes, name)[levels[(place + by) % options]]
                rows[place] = replace(rows[place], **{name: value(level, own)})  # type: ignore[arg-type]
        carried = [(badge, products[by].key) for badge, by in zip(badges, moved[len(names) :], strict=False)]
        if square:
            rows = [rows[ordered[(place + moved[-1]) % options]] for place in range(options)]
        found.append(Display(tuple(rows), tuple(carried)))
    return found


def value(level: float | str, own: ProductFacts) -> float:
    """Return what a level is on this product; a price that follows the own one ends in the same cent."""
    if not isinstance(level, str):
        return level
    price = Decimal(str(own.price or 0))
    last = (price * 100) % 10
    tenths = (price * 100 * (100 + percent(level)) / 100 - last) / 10
    cents = tenths.quantize(Decimal(1), ROUND_HALF_EVEN) * 10 + last
    return float(max(cents, Decimal(1)) / 100)


def steps(attributes: Attributes, own: ProductFacts) -> dict[float, float]:
    """Return the change (percent) behind each price of a product; empty where prices are amounts."""
    return {value(level, own): float(percent(level)) for level in attributes.price if isinstance(level, str)}


def list_facts(attributes: Attributes, own: ProductFacts, displayed: ProductFacts) -> dict[str, float | None]:
    """Return a product's own values of what is drawn, and by how many percent its price was changed."""
    found: dict[str, float | None] = {f"list_{name}": getattr(own, name) for name in attributes.names}
    if known := steps(attributes, own):
        found["price_step"] = known.get(displayed.price or 0)
    return found


def percent(level: str) -> Decimal:
    """Return the number of a change such as `-10%`."""
    return Decimal(level.removesuffix("%"))


def _moves(attributes: int, options: int) -> Iterator[tuple[int, ...]]:
    """By how many places each attribute's levels are moved, in each version.

    It is an orthogonal array of strength two: of two attributes every pair of moves occurs once.
    """
    for moved in product(range(options), repeat=min(attributes, 2)):
        yield (*moved, sum(moved) % options) if attributes > 2 else moved


def _dealt(levels: int, options: int, seed: int, name: str, at: int) -> tuple[int, ...]:
    """The levels of one draw: as different as can be, and each of such hands once before any comes again."""
    hands = _hands(levels, options)
    cycle, place = divmod(at, len(hands))
    order = _random([seed, name, "hands", cycle]).sample(range(len(hands)), len(hands))
    return hands[order[place]]


@cache
def _hands(levels: int, options: int) -> list[tuple[int, ...]]:
    whole = tuple(range(levels)) * (options // levels)
    return [whole + rest for rest in combinations(range(levels), options % levels)]


def permuted(levels: Sequence[int], key: object) -> list[int]:
    """Return the numbers in an order that the key decides."""
    return _random(key).sample(list(levels), len(levels))


def _random(key: object) -> random.Random:
    return random.Random(int(digest(key)[:16], 16))  # noqa: S311 - a design, not a secret
