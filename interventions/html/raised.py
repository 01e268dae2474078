"""Read prices whose cents stand raised behind the whole part: `12<sup>99</sup>` is 12.99, not 1299."""

import re
from typing import Final

_CENTS: Final = re.compile(
    r"""(?<![\d.,'’])(?P<whole>\d[\d.,'’]{0,15})(?P<tags>(?:\s{0,9}</?[a-z][^>]{0,120}>){0,3}?\s{0,9}
        <(?:sup\b[^>]{0,120}|\w+\b[^>]{0,120}\b(?:class|id)=["']?[^"'>]{0,120}
           (?:(?<![a-z])cents?(?![a-z])|fraction|decimals?(?![a-z]))[^>]{0,120})>
        (?:\s{0,9}<[a-z][^>]{0,120}>){0,3}\s{0,9})(?P<cents>\d\d)(?=\s*<)""",
    re.IGNORECASE | re.VERBOSE,
)


def with_decimal_sign(html: str) -> str:
    """Return HTML in which a decimal sign stands before such cents, so that its text reads as a price."""
    return _CENTS.sub(_written, html) if "<" in html else html


def _written(found: re.Match[str]) -> str:
    whole = found["whole"]
    if whole[-1] in ".,":  # it stands there already
        return found[0]
    return f"{whole}{found['tags']}{',' if '.' in whole else '.'}{found['cents']}"
