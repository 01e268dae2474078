"""Make cards for the designs from intervention files, and alternatives as the records keep them."""

from collections.abc import Mapping, Sequence
from typing import Final

from experiments.designs.cards.hotel_profiles import Alternative
from experiments.designs.cards.trial import ShownAlternative
from interventions.cards.card import Card
from interventions.cards.template import CardTemplate
from interventions.files.schema import Intervention, InterventionFile, load_interventions
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import Source, did_you_mean

_OWN_COLUMNS: Final = ("id", "name", "category", "price", "reviews")


class ChoiceCard:
    """The card of a choice, the only one in its file."""

    def __init__(self, name: str, source: Source) -> None:
        """Find the card. Raises UserError: the file has no card with alternatives, or several."""
        file = load_interventions(source.shipped_or_file(("cards",), name))
        cards = [item for item in file.interventions if item.card and item.card.fields]
        if len(cards) != 1:
            message = f"{name} has {len(cards) or 'no'} cards with alternatives; name a file that has one"
            raise source.error(("cards",), message)
        self._intervention = cards[0]
        self._template = _template_of(cards[0])

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of each alternative that the card shows."""
        used = {
            match[1].partition(":")[0].strip()
            for text in self._template.fields.values()
            for match in VARIABLE.finditer(text)
        }
        return frozenset(used.intersection(*[set().union(*self._template.example.alternatives)]))

    @property
    def labels(self) -> list[str]:
        """The labels of the card's fields; the first is that of the name."""
        return list(self._template.fields)

    def fill(self, values: Mapping[str, str], alternatives: Sequence[Alternative]) -> Card:
        """Return the card with the values of its variables that are not empty, and these alternatives.

        Values that alternatives have themselves take their place.
        """
        own = {name: dict.fromkeys(str(each.get(name, "")) for each in alternatives) for name in values}
        told = {name: " and ".join(filter(None, own[name])) or value for name, value in values.items()}
        given = {name: value for name, value in told.items() if value}
        return self._template.fill(given, alternatives, id=self._intervention.id)


class PriceQuestions:
    """The questions for willingness to pay: `wtp-control`, or `buy` and then `wtp`."""

    def __init__(self, name: str, source: Source) -> None:
        """Find the cards. Raises UserError: the file lacks one of them."""
        file = load_interventions(source.shipped_or_file(("cards",), name))
        self._sequences = {
            "control": [_card(file, "wtp-control", name, source)],
            "low": (anchored := [_card(file, "buy", name, source), _card(file, "wtp", name, source)]),
            "high": anchored,
        }

    def fill(self, condition: str, title: str, description: str) -> tuple[Card, ...]:
        """Return the cards of a condition, about a product."""
        values = {"condition": condition, "title": title, "description": description}
        return tuple(_template_of(item).fill(values, id=item.id) for item in self._sequences[condition])


def _card(file: InterventionFile, id: str, name: str, source: Source) -> Intervention:
    cards = {item.id: item for item in file.interventions if item.card}
    if id not in cards:
        raise source.error(("cards",), f'{name} has no card "{id}"; {did_you_mean(id, cards, noun="it has")}')
    return cards[id]


def _template_of(intervention: Intervention) -> CardTemplate:
    """Return the card of an intervention that is known to have one."""
    if intervention.card is None:
        raise TypeError(f"{intervention.id} has no card")
    return intervention.card


def as_shown(alternative: Alternative) -> ShownAlternative:
    """Return the alternative as the records keep it; a review score of 10 is a rating of 100."""
    score, price, reviews = (alternative.get(name) for name in ("score", "price", "reviews"))
    return ShownAlternative(
        option=str(alternative["id"]),
        name=str(alternative["name"]),
        category=str(alternative.get("category", "")),
        price=None if price is None else float(price),
        rating=None if score is None else round(10 * float(score), 1),
        reviews=None if reviews is None else int(reviews),
        attributes={name: value for name, value in alternative.items() if name not in _OWN_COLUMNS},
    )
