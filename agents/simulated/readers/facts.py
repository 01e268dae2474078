"""Read the price, the rating and the number of reviews that a text names, in any shop's format."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final
from unicodedata import category

from interventions.html.numbers import UNKNOWN, Figure, NumberUsage, figures, rating_out_of
from interventions.html.ranges import joined

_LONGEST: Final = 20
"""Longer figures, in characters, are no facts about a product."""
_PERCENT: Final = re.compile(r"\brating:?\s*(?P<rating>\d{1,3}(?:[.,]\d{1,2})?)\s*%", re.IGNORECASE)
# `1/5` and `2 de 5` may be a part or a piece of something; 4.3 of 5 is a rating.
_OUT_OF: Final = re.compile(
    r"""(?<![\d.,])(?:
        \d{1,2}(?:[.,]\d{1,2})?\s*(?:out\s+of|von|av|af)
      | \d{1,2}[.,]\d{1,2}\s*(?:/|of|sur|de|van|su|z)
    )\s*(?P<best>5|10|100)(?![\d.,]?\d)
    | 5つ星のうち\s*\d(?:\.\d)?""",
    re.IGNORECASE | re.VERBOSE,
)
_REVIEWS: Final = re.compile(r"\s+reviews?\b", re.IGNORECASE)
_RATINGS: Final = re.compile(r"\)?\s*(?:\w+\s)?(?:reviews?|ratings)\b", re.IGNORECASE)
_ELSEWHERE: Final = re.compile(
    r"\)?\s*(?:\w+\s)?(?:(?:rezension|bewertung|beoordeling)(?:en)?\b|avis\b|rese(?:ñ|n)as?\b|opini(?:ones|e|i)\b"
    r"|recensioni\b|avalia(?:ç|c)(?:õ|o)es\b|omd(?:ö|o)men\b|отзыв|レビュー|件)",
    re.IGNORECASE,
)


def price_in(text: str) -> float | None:
    """Return the first price of a text, in currency units; of a range, its lower end; None without one.

    A sign such as `$` tells a price more surely than letters, which may be a word.
    """
    found = joined(list(_figures(text)), text)
    for is_sure in (True, False):
        for figure in found:
            sign = figure.sign
            if sign and (not is_sure or any(category(each) == "Sc" for each in sign)):
                return float(figure.value + _cents(text, figure))
    return None


def number_in(text: str) -> float | None:
    """Return the first number of a text; None without one."""
    found = next(_figures(text), None)
    return float(found.value) if found else None


def rating_in(text: str) -> float | None:
    """Return the rating that a text names as `86%`, `4.3 out of 5` or `4,3 von 5`, in percent; else None."""
    if percent := _PERCENT.search(text):
        return float(percent["rating"].replace(",", "."))
    for match in _OUT_OF.finditer(text):
        found = figures(match[0])
        best = int(match["best"] or 5)
        rating = rating_out_of(found, best)
        if rating and rating.value <= best:
            return float(rating.value * 100 / best)
    return None


def reviews_in(text: str) -> int:
    """Return the number of reviews, else of ratings, that a text names; 0 without one."""
    # In `4.3 out of 5 127 ratings` the scale is no part of the number.
    text = _OUT_OF.sub(lambda match: match[0][:-1] + "|", text)
    # English groups no digits by spaces: `82% of 100 100 Reviews`.
    for word, spaced in ((_REVIEWS, False), (_RATINGS, False), (_ELSEWHERE, True)):
        for figure in _figures(text, NumberUsage(whole=True), spaced=spaced):
            if figure.is_whole and word.match(text, figure.end) and not figure.sign:
                return int(figure.value)
    return 0


def _figures(text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = True) -> Iterator[Figure]:
    return (figure for figure in figures(text, usage, spaced=spaced) if len(figure.text) <= _LONGEST)


def _cents(text: str, figure: Figure) -> Decimal:
    """The cents behind the sign of a currency, as in `12€99`."""
    behind = re.compile(re.escape(figure.sign) + r"(\d\d)(?!\d)").match(text, figure.end)
    return Decimal(behind[1]) / 100 if behind and figure.is_whole else Decimal(0)
