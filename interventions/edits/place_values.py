"""Read the figure that a text at a place of the site map shows."""

import re
from decimal import Decimal
from typing import Final

from interventions.html.numbers import (
    UNKNOWN,
    Figure,
    NumberUsage,
    figures,
    machine_figure,
    prices_per_unit,
    rating_out_of,
)
from interventions.html.ranges import prices, prices_within
from interventions.yaml.limited import search
from interventions.yaml.sitemap import Place

_REVIEWS: Final = re.compile(
    r"""[\s)]*(?:\w{1,12}\s+)?(?:reviews?|ratings?|bewertung|rezension|avis\b|reseñ|opini|valoraci|recension|avalia
    |beoordel|отзыв|відгук|recenz|değerlend|レビュー|件|评价|評價|리뷰)""",
    re.IGNORECASE | re.VERBOSE,
)
"""What follows the number of reviews where a text has another number, as of questions."""
_OUT_OF: Final = re.compile(
    r"\d\s*(?:/|(?:out of|of|von|sur|su|de|van|av|af|из|z)\b)\s*(\d{1,3})(?![\d.,]\d)", re.IGNORECASE
)
LONGEST = 2000
"""The longest text, in characters, in which a figure is looked for."""


def pattern_part(place: Place, text: str) -> str | None:
    """Return what the place's pattern takes of a text; None where it finds nothing."""
    match = search(place.pattern, text) if place.pattern and len(text) <= LONGEST else None
    return match[1] if match else None


def stated_scale(text: str) -> int | None:
    """Return the scale that a rating's text states, as `7.6 / 10` and `4.3 out of 5` do; else None."""
    found = _OUT_OF.search(text[:LONGEST])
    return int(found[1]) if found else None


def figures_at(
    place: Place, text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False
) -> list[Figure]:
    """Return the figures of a text that give the value of a place: one, where the text is as expected.

    A range of prices is one.
    """
    if place.pattern:
        match = search(place.pattern, text) if len(text) <= LONGEST else None
        return prices_within(text, *match.span(1), usage) if match and match[1] else []
    if place.attribute and (machine := machine_figure(text.strip())):
        return [machine]
    can_be_range = not (place.scale or place.part or usage.whole or usage.per_unit)
    found = (prices if can_be_range else figures)(text, usage, spaced=spaced)
    if not (spaced or all(each.is_clear for each in found)):
        return []
    if usage.per_unit:  # the others say how much a unit is, or how many instalments there are
        return [each for each in found if each.is_price] or [each for each in found if each.decimals] or found
    rating = rating_out_of(found, place.scale) if place.scale else None
    if len(found) > 1 and not rating:
        per_unit, rest = prices_per_unit(found, text)
        found = rest if per_unit and len(rest) == 1 else found
        counts = [each for each in found if _REVIEWS.match(text, each.end)]
        found = counts if len(counts) == 1 and counts[0].is_whole else found
    return [rating] if rating else found


def value_at(
    place: Place, text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False
) -> Decimal | None:
    """Return the figure that a text at a place shows, ratings in percent.

    Returns None unless the text holds exactly one figure. `spaced`: its white space has been made ordinary.
    """
    if place.words:
        found = [n for n, word in enumerate(place.words, 1) if word in text.split()]
        return Decimal(found[0]) * 100 / len(place.words) if len(found) == 1 else None
    shown = figures_at(place, text[:LONGEST], usage, spaced=spaced)
    if len(shown) != 1:
        return None
    scale = (stated_scale(text) or place.scale) if place.scale else None
    if scale and shown[0].value > scale and not spaced:
        return None
    return shown[0].value * 100 / scale if scale else shown[0].value


def with_cents(place: Place, whole: str, cents: str, usage: NumberUsage = UNKNOWN) -> Decimal | None:
    """Return the price whose whole part and cents stand in two elements; None where they are no figures."""
    left, right = figures_at(place, whole, usage, spaced=True), figures(cents)
    if len(left) != 1 or len(right) != 1 or not left[0].is_whole:
        return None
    return left[0].value + Decimal(f"0.{right[0].digits}")


def best_at(place: Place) -> int | None:
    """Return the highest rating that can stand at a place; None where ratings are percentages."""
    return len(place.words) or place.scale


def tolerance_at(place: Place) -> Decimal:
    """Return half of the last decimal for ratings on a scale such as 0 to 5, else 0."""
    scale = best_at(place)
    return Decimal(5) / scale if scale else Decimal(0)
