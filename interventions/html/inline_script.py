"""Write a script of ours into a page: short, and safe inside a script element."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

UNDISTURBED: Final = Path(__file__).with_name("undisturbed.js").read_text(encoding="utf-8")
"""A function that scripts share: it reads with the browser's own functions, whatever a page has replaced."""
_KEPT: Final = (
    "Array", "Boolean", "CSSStyleSheet", "Document", "Map", "Math", "Node", "NodeFilter", "Number", "Object",
    "OffscreenCanvas", "Reflect", "Set", "URL", "WeakMap", "clearTimeout", "getComputedStyle", "navigator",
    "parseFloat", "self", "setTimeout",
)  # fmt: skip
"""The global names that scripts use after their start: a page can give them another meaning."""

_LOOKED_UP: Final = (
    "constructor", "exec", "flags", "dotAll", "global", "hasIndices", "ignoreCase", "multiline", "sticky",
    "unicode", "unicodeSets", "next", "return", "toJSON",
)  # fmt: skip
"""The names of properties that JavaScript itself looks up."""
_PROPERTY: Final = re.compile(r"""[.{,"'`]\s*([a-zA-Z_]\w*)""")
"""What may be a property's name: after a point, in a pattern or an object, or alone in quotes."""
_LEFT_OUT = re.compile(r"(?m)^ *(?://.*\n?|\n)?| +//.*$")
"""Comments and indentation."""


def with_functions(source: str, **functions: str) -> str:
    """Return a script that knows other scripts, each a function, by these names.

    All of them keep the meaning that global names had when the script began.
    """
    values = ",\n".join(functions.values())
    kept = ", ".join(_KEPT)
    names = " ".join(sorted({*_LOOKED_UP, *_PROPERTY.findall(_LEFT_OUT.sub("", source + values))}))
    called = f"(({', '.join(functions)}) =>\n{source}\n)(\n{values}\n)"
    return f"(({{ {kept} }}, NAMES) => {called})(self, {json.dumps(names)})"


def called(source: str, told: Mapping[str, Any]) -> str:
    """Return a script that calls the function in `source` with `told`, which is data.

    source: JavaScript, an expression; `//` begins nothing but comments.
    """
    arguments = json.dumps(told).replace("<", "\\u003c")
    return f"({short(source)})({arguments})"


def short(source: str) -> str:
    """Return a script without comments and indentation."""
    return _LEFT_OUT.sub("", source).strip()
