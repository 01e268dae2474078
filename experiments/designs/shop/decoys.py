"""Set the prices and ratings of three products so that a third one changes the context of two others.

`cheap` costs less and `good` is rated higher: a true trade-off. The third product is a decoy, which is worse
than one of them or than both, or it makes one of them the middle of three.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import mean
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, model_validator

from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.experiment_file import StrictModel
from experiments.designs.shop.attributes import Display, Rating, is_change, percent, permuted, value
from interventions.apply.plan import ProductFacts
from interventions.yaml.yaml_source import Source, problem_at

Third = Literal["worse-than-cheap", "worse-than-good", "worse-than-both", "cheapest", "dearest"]

OPTIONS: Final = 3
OFFERED: Final = ("price", "rating")
_BELOW, _BETWEEN, _ABOVE = -1, 0, 1
_PLACES: Final[Mapping[Third, tuple[int, int, str]]] = {
    "worse-than-cheap": (_BETWEEN, _BELOW, "price it between cheap and good, and rate it below cheap"),
    "worse-than-good": (_ABOVE, _BETWEEN, "price it above good, and rate it between cheap and good"),
    "worse-than-both": (_ABOVE, _BELOW, "price it above good, and rate it below cheap"),
    "cheapest": (_BELOW, _BELOW, "price it and rate it below cheap"),
    "dearest": (_ABOVE, _ABOVE, "price it and rate it above good"),
}
"""Where the price and the rating of each third option lie beside those of cheap and good."""
_PAIRS: Final[tuple[tuple[Third, Third], ...]] = (
    ("worse-than-cheap", "worse-than-good"),
    ("cheapest", "dearest"),
)
"""The two directions of a decoy, and of the middle place: an effect is the mean over both."""


def _check_change(value: object) -> object:
    if is_change(value):
        return value
    raise ValueError(f'"{value}" is no change of a price; write one such as -10%')


class _Offer(StrictModel):
    """What one of the three options shows."""

    price: Annotated[str, BeforeValidator(_check_change)]
    """A change of the set's mean price, such as `-10%`."""
    rating: Rating
    """In percent."""


class Decoys(StrictModel):
    """Two options that are a trade-off, and the third options that stand beside them, a condition each."""

    cheap: _Offer
    """The option that costs less."""
    good: _Offer
    """The option that is rated higher."""
    third: dict[Third, _Offer]
    """The third option in each condition."""

    @model_validator(mode="after")
    def _is_what_it_is_called(self) -> Self:
        cheap, good = self.cheap, self.good
        if not (percent(cheap.price) < percent(good.price) and cheap.rating < good.rating):
            message = "it is no trade-off; make good dearer and higher rated than cheap"
            raise problem_at("good", message=message)
        for name, each in self.third.items():
            price = _place(*(float(percent(offer.price)) for offer in (each, cheap, good)))
            if (price, _place(each.rating, cheap.rating, good.rating)) != _PLACES[name][:2]:
                raise problem_at("third", name, message=f"it is not {name}; {_PLACES[name][2]}")
        pairs = [sum(name in self.third for name in pair) for pair in _PAIRS]
        if 1 in pairs or 2 not in pairs:
            either = " or ".join(" and ".join(pair) for pair in _PAIRS)
            raise problem_at("third", message=f"an effect is the mean over two directions; write {either}")
        return self

    @property
    def versions(self) -> int:
        """How often a choice set is shown."""
        return OPTIONS * len(self.third)

    def offers(self, products: ChoiceSet, condition: Third) -> dict[str, dict[str, float]]:
        """Return the price and the rating of each role in a condition; products: those of the set."""
        own = ProductFacts("", price=round(mean(each.price or 0.0 for each in products), 2))
        offers = {"cheap": self.cheap, "good": self.good, "third": self.third[condition]}
        return {
            role: {"price": value(offer.price, own), "rating": offer.rating} for role, offer in offers.items()
        }

    def shown(self, products: ChoiceSet, key: Sequence[object]) -> list[Display]:
        """Return the products as they are shown: each of them in each role once, in every condition.

        It is a Graeco-Latin square: each product has each place once, and so has each role. key: what decides
        which of the squares it is. The conditions differ in nothing but the third option's price and rating.
        """
        roles, places = (permuted(range(OPTIONS), [*key, each]) for each in ("role", "place"))
        found = []
        for moved, condition in product(range(OPTIONS), self.third):
            offers = list(self.offers(products, condition).items())
            ordered, role_of = list(products), list[tuple[str, str]]()
            for at, own in enumerate(products):
                role, offer = offers[roles[(at + moved) % OPTIONS]]
                ordered[places[(at + 2 * moved) % OPTIONS]] = replace(own, **offer)  # type: ignore[arg-type]
                role_of.append((own.key, role))
            found.append(Display(tuple(ordered), roles=tuple(role_of), condition=condition))
        return found


def _place(of: float, low: float, high: float) -> int | None:
    """Where a value lies beside two others; None: it is one of them."""
    if of in (low, high):
        return None
    return _BELOW if of < low else _BETWEEN if of < high else _ABOVE


def check_decoys(decoys: Decoys | None, sets: Mapping[str, ChoiceSet], source: Source) -> None:
    """Raise UserError where a set has not three products, or its prices are too low for the steps."""
    if decoys is None:
        return
    for name, products in sets.items():
        if len(products) != OPTIONS:
            cause = f"they need sets of three products, and {name} has {len(products)}"
            raise source.error(("decoys",), f"{cause}; write options.set_size: 3")
        if lacks := [each.key for each in products if each.price is None]:
            raise source.error(("decoys",), f"{lacks[0]} has no price that could be changed; leave it out")
        for condition in decoys.third:
            prices = {offer["price"] for offer in decoys.offers(products, condition).values()}
            if len(prices) < OPTIONS:
                cause = f"two prices are one in {name} (prices keep the last cent of the set's mean price)"
                raise source.error(("decoys", "third", condition), f"{cause}; put them further apart")
