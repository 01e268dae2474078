"""Read the alternatives of a choice card from its text, by labels and units."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from agents.simulated.readers.facts import number_in, reviews_in
from agents.simulated.utility import DisplayedOption
from interventions.data_file import read_data

_OPTION: Final = re.compile(r"^Option ([A-Z]):\n(\{\n(?:  [^\n]*\n)+\}|(?:  [^\n]*(?:\n|$))+)", re.MULTILINE)
_OUT_OF_TEN: Final = re.compile(r"([0-9]{1,2}(?:[.,][0-9]{1,2})?)\s*/\s*10\b")
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:[.,][0-9]{1,2})?)\s*%")
# In this order: "Full Bunk Pod" is a full bed, and so is "Full Pod (1 twin bed)".
_BEDS: Final = {"king": 3, "queen": 2, "double": 1, "full": 1, "twin": 0, "single": 0, "bunk": 1}
_OTHER_BED: Final = 1

Facts = list[tuple[str, str]]
"""Label and value of each fact, in order; the first is the name."""


def family_of(name: str) -> str | None:
    """Return the chain family of a hotel by its name; None: the hotel is independent."""
    chains = read_data(__file__, "chains.yaml")["chains"]
    name = name.lower()
    return next((chain for chain, words in chains.items() if any(word in name for word in words)), None)


def read_options(text: str) -> dict[str, Facts]:
    """Return the facts of each option by its letter, in order of presentation; empty without options."""
    return {
        letter: list(json.loads(lines).items())
        if lines.startswith("{")
        else [
            (label.strip(), value.strip())
            for label, _, value in (line.partition(": ") for line in lines.rstrip("\n").split("\n"))
        ]
        for letter, lines in _OPTION.findall(text)
    }


@lru_cache(maxsize=1024)
def _figures_of(fact: str) -> tuple[float | None, int]:
    """The first number and the number of reviews in a fact; the cards of a study share their few facts."""
    return number_in(fact), reviews_in(fact)


def to_alternative(facts: Facts, *, viewed_first: bool) -> DisplayedOption:
    """Translate the facts into the units of the utility function."""
    price = rating = stars = None
    reviews = bed = 0
    cancellation = breakfast = False
    for label, value in ((label.lower(), value) for label, value in facts[1:]):
        if "price" in label:
            price, _ = _figures_of(value)
        elif "cancellation" in label:
            cancellation = value.lower().startswith("yes")
        elif "breakfast" in label:
            breakfast = value.lower().startswith("yes")
        elif "room" in label:
            bed = bed_rank(value)
        elif "star" in label:
            found, _ = _figures_of(value)
            stars = None if found is None else int(found)
        elif "review" in label or "rating" in label:
            out_of_ten = _first_number(_OUT_OF_TEN, value)
            rating = _first_number(_PERCENT, value) if out_of_ten is None else 10 * out_of_ten
            _, reviews = _figures_of(value)
    return DisplayedOption(
        price=price,
        rating=rating,
        reviews=reviews,
        viewed_first=viewed_first,
        brand=family_of(facts[0][1]),
        stars=stars,
        cancellation=cancellation,
        breakfast=breakfast,
        bed=bed,
    )


def to_alternatives(options: Mapping[str, Facts]) -> list[DisplayedOption]:
    """Translate the options of a card, in order of presentation."""
    return [to_alternative(facts, viewed_first=not i) for i, facts in enumerate(options.values())]


def bed_rank(room: str) -> int:
    """Return the rank of a room's bed, by the first word that fits."""
    room = room.lower()
    return next((rank for word, rank in _BEDS.items() if word in room), _OTHER_BED)


def _first_number(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    return float(found[1].replace(",", ".")) if found else None
