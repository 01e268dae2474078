"""The notations of a site map: CSS selectors, JSONPaths, regular expressions, one value for a list."""

import re
from functools import lru_cache
from typing import Annotated

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from pydantic import AfterValidator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

_NOTHING = LexborHTMLParser("")
_JSON_PATHS = JSONPathEnvironment(strict=True)


def check_css(selector: str) -> str:
    """Return the selector if it is valid. Raises ValueError."""
    try:
        _NOTHING.css(selector)
    except SelectolaxError:
        raise ValueError(f'"{selector}" is not a CSS selector; check brackets and quotes') from None
    return selector


@lru_cache(maxsize=256)
def json_path(path: str) -> JSONPath:
    """Return a compiled JSONPath (RFC 9535). Raises ValueError."""
    try:
        compiled = _JSON_PATHS.compile(path)
    except JSONPathError as error:
        cause = " ".join(str(error).split())
        raise ValueError(f'"{path}" is no JSONPath ({cause}); write it like $.offers.price') from None
    assert isinstance(compiled, JSONPath)  # noqa: S101 - strict paths are never compounds
    return compiled


def check_json_path(path: str) -> str:
    """Return the JSONPath if it is valid. Raises ValueError."""
    json_path(path)
    return path


def check_regex(pattern: str) -> str:
    """Return the regular expression if it is valid. Raises ValueError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f'"{pattern}" is no regular expression ({error}); check its brackets') from None
    return pattern


Css = Annotated[str, AfterValidator(check_css)]
JsonPath = Annotated[str, AfterValidator(check_json_path)]
Regex = Annotated[str, AfterValidator(check_regex)]


def several(value: object) -> object:
    """Return a list; a single value becomes a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def listed(value: object, key: str = "css") -> object:
    """Return a list of mappings; a bare text becomes a mapping with that text at `key`."""
    items = value if isinstance(value, list | tuple) else [value]
    return [expanded(item, key) for item in items]


def expanded(value: object, key: str = "css") -> object:
    """Return a mapping; a bare text becomes one with that text at `key`."""
    return {key: value} if isinstance(value, str) else value
