"""Change HTML that stands in the texts of data, and leave every other byte as it was."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Final

_STRING: Final = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*:)?', re.S)
_TAG: Final = re.compile(r"<[a-zA-Z]")
_DEEPEST: Final = 3
"""How many documents of JSON, each in a text of the other, are looked through."""


def with_strings(text: str, change: Callable[[str], str], depth: int = 1) -> str:
    """Return JSON with `change` made in each text that holds HTML; names of members stay as they are."""
    if not _may_hold(text):
        return text
    return _STRING.sub(partial(_changed, change, depth), text)


def _may_hold(written: str) -> bool:
    """Whether a text may hold HTML, as JSON writes it."""
    return "<" in written or "\\u003" in written


def _changed(change: Callable[[str], str], depth: int, found: re.Match[str]) -> str:
    written = found[1]
    if found[2] or not _may_hold(written):
        return found[0]
    try:
        text: str = json.loads(written, strict=False)
    except ValueError:
        return found[0]
    if text.lstrip()[:1] in ("{", "[") and depth < _DEEPEST:
        new = with_strings(text, change, depth + 1)
    else:
        new = change(text) if _TAG.search(text) else text
    if new == text:
        return found[0]
    rewritten = json.dumps(new, ensure_ascii=written.isascii())
    return rewritten if "<" in written else rewritten.replace("<", "\\u003c")
