"""Write a script of ours into a page: short, and safe inside a script element."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

UNTOUCHED: Final = Path(__file__).with_name("untouched.js").read_text(encoding="utf-8")
"""A function that scripts share: it tells whether a page has replaced the browser's own functions."""

_LEFT_OUT = re.compile(r"(?m)^ *(?://.*\n?|\n)?| +//.*$")
"""Comments and indentation."""


def with_functions(source: str, **functions: str) -> str:
    """Return a script that knows other scripts, each a function, by these names."""
    values = ",\n".join(functions.values())
    return f"(({', '.join(functions)}) =>\n{source}\n)(\n{values}\n)"


def called(source: str, told: Mapping[str, Any]) -> str:
    """Return a script that calls the function in `source` with `told`, which is data.

    source: JavaScript, an expression; `//` begins nothing but comments.
    """
    arguments = json.dumps(told).replace("<", "\\u003c")
    return f"({_LEFT_OUT.sub('', source).strip()})({arguments})"
