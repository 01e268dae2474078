"""The notations of a site map: CSS selectors, JSONPaths, regular expressions, one value for a list."""

import re
from typing import Annotated

from pydantic import AfterValidator
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from interventions.yaml.limited import json_path, problem_of

_NOTHING = LexborHTMLParser("")


def check_css(selector: str) -> str:
    """Return the selector if it is valid. Raises ValueError."""
    try:
        _NOTHING.css_first(selector)
    except SelectolaxError:
        raise ValueError(f'"{selector}" is not a CSS selector; check brackets and quotes') from None
    return selector


def check_json_path(path: str) -> str:
    """Return the JSONPath if it is valid. Raises ValueError."""
    json_path(path)
    return path


def _check_regex(pattern: str) -> str:
    """Return the regular expression if it is valid. Raises ValueError."""
    if problem := problem_of(pattern):
        shown = pattern if len(pattern) <= 80 else f"{pattern[:79]}…"
        raise ValueError(f'"{shown}" {problem}')
    return pattern


def _check_pattern(pattern: str) -> str:
    """Return the regular expression if it is valid and has one group. Raises ValueError."""
    groups = re.compile(_check_regex(pattern)).groups
    if groups != 1:
        raise ValueError(f'"{pattern}" has {groups} groups; put round brackets around the figure only')
    return pattern


Css = Annotated[str, AfterValidator(check_css)]
JsonPath = Annotated[str, AfterValidator(check_json_path)]
Regex = Annotated[str, AfterValidator(_check_regex)]
Pattern = Annotated[str, AfterValidator(_check_pattern)]


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
