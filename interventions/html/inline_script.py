"""Write a script of ours into a page: short, and safe inside a script element."""

import json
import re
from collections.abc import Mapping
from typing import Any

_COMMENTS = re.compile(r"(?m)^ *(//.*)?\n?| +//.*$")


def called(source: str, told: Mapping[str, Any]) -> str:
    """Return a script that calls the function in `source` with `told`, which is data.

    source: JavaScript, an expression; `//` begins nothing but comments.
    """
    arguments = json.dumps(told).replace("<", "\\u003c")
    return f"({_COMMENTS.sub('', source).strip()})({arguments})"
