"""Variables in the texts of YAML files: `${row.price}`."""

import re
from collections.abc import Iterable
from typing import Final

from interventions.errors import UserError

VARIABLE: Final = re.compile(r"\$\{\s*([^{}]*?)\s*\}")
"""One variable; its group 1 is the name without spaces around it."""


def read_values(pairs: Iterable[str]) -> dict[str, str]:
    """Parse texts `NAME=VALUE` into a mapping. Raises UserError."""
    values = {}
    for pair in pairs:
        name, equals, values[name] = pair.partition("=")
        if not equals or not name:
            raise UserError(f"--var {pair}: not a value; write NAME=VALUE, such as category=headphones")
    return values
