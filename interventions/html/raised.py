"""Read prices whose cents stand raised behind the whole part: `12<sup>99</sup>` is 12.99, not 1299."""

import re
from collections.abc import Iterator
from typing import Final

from interventions.html.numbers import UNKNOWN, NumberUsage, figures

_CENTS: Final = re.compile(
    r"""(?<![\d.,'’])(?P<whole>\d[\d.,'’]{0,15})(?P<tags>(?:\s{0,9}</?[a-z][^>]{0,120}>){0,3}?\s{0,9}
        <(?:sup\b[^>]{0,120}|\w+\b[^>]{0,120}\b(?:class|id)=["']?[^"'>]{0,120}
           (?:(?<![a-z])cents?(?![a-z])|fraction|decimals?(?![a-z]))[^>]{0,120})>
        (?:\s{0,9}<[a-z][^>]{0,120}>){0,3}\s{0,9})(?P<cents>\d\d)(?=\s*<)""",
    re.IGNORECASE | re.VERBOSE,
)


def missing_signs(source: bytes, start: int, end: int, usage: NumberUsage) -> Iterator[tuple[int, str]]:
    """Yield where in a part of a page the decimal signs before such cents are missing, and the signs.

    The page's encoding holds ASCII. A price that has its sign is none of them.
    """
    # A byte is a character, so that positions stay the same.
    for found in _CENTS.finditer(source[start:end].decode("latin-1")):
        if sign := _missing(found, usage):
            yield start + found.end("whole"), sign


def with_decimal_signs(html: str, usage: NumberUsage = UNKNOWN) -> str:
    """Return HTML in which a decimal sign stands before such cents, so that its text reads as a price."""

    def written(found: re.Match[str]) -> str:
        return f"{found['whole']}{found['tags']}{_missing(found, usage)}{found['cents']}"

    return _CENTS.sub(written, html) if "<" in html else html


def has_raised_cents(html: str) -> bool:
    """Return whether HTML holds such a price."""
    return _CENTS.search(html) is not None


def _missing(found: re.Match[str], usage: NumberUsage) -> str:
    whole, cents = found["whole"], found["cents"]
    if whole[-1] in ".,":  # it stands there already
        return ""
    return figures(whole, usage)[-1].joined(cents)[-len(cents) - 1]
