"""Describe mistakes in a YAML file: the cause, and how to mend it."""

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails


def did_you_mean(word: str, known: Iterable[str], *, noun: str = "known", otherwise: str = "") -> str:
    """Return `did you mean "price"?`; when no known word is close, `otherwise`, or else all of them.

    Close are all names of which the word is the last part, or else the one that is spelled most alike.
    """
    names = sorted(known)
    close = [name for name in names if name.endswith(f".{word}")]
    if close := close or difflib.get_close_matches(word, names, n=1):
        *others, last = [f'"{name}"' for name in close]
        return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return otherwise or (f"{noun}: {', '.join(names)}" if names else "remove it")


_EXPECTED = {
    "string": ("text", 'put it in quotes: "..."'),
    "int": ("a whole number", "write it without quotes or other signs"),
    "float": ("a number", "write it without quotes or other signs"),
    "bool": ("true or false", "write one of the two"),
    "list": ("a list", 'write "[a, b]" or lines that start with "- "'),
    "tuple": ("a list", 'write "[a, b]" or lines that start with "- "'),
    "dict": ("keys with values", 'write "key: value" lines'),
    "model": ("keys with values", 'write "key: value" lines'),
}


def explain(error: ErrorDetails) -> str:
    """Describe a pydantic error as `cause; fix`."""
    kind, value = error["type"], error["input"]
    base = kind.split("_")[0]
    if kind == "missing":
        return "missing; add this key"
    if kind in ("souk", "value_error", "assertion_error"):
        return " ".join(error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ").split())
    if kind in ("literal_error", "enum"):
        known = [word.strip("'") for word in re.split(r", | or ", error["ctx"]["expected"])]
        return f"unknown value {_show(value)}; {did_you_mean(str(value), known, noun='use one of')}"
    if kind == "too_short" and not value:
        return "the list is empty; write at least one item"
    if base in _EXPECTED and kind.endswith(("_type", "_parsing", "_from_float", "_attributes_type")):
        expected, fix = _EXPECTED[base]
        if base in ("string", "int", "float") and isinstance(value, dict | list):
            fix = "write one text" if base == "string" else "write one number"
        if value is None:
            return f"the value is empty; write {expected} after the colon, or remove the key"
        return f"expected {expected}, found {_show(value)}; {fix}"
    return f"{error['msg'].replace('Input should', 'must')}, found {_show(value)}; change it"


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "keys with values"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = " ".join(str(value).split())
    text = text if len(text) <= 60 else text[:59] + "…"
    return f'"{text}"' if isinstance(value, str) else text


@lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def unknown_key(location: tuple[str | int, ...], model: type[BaseModel]) -> str:
    """Describe an unknown key as `cause; fix`.

    The known keys come from the JSON Schema, which is the same for every way to write a model down.
    """
    schema = _schema(model)

    def flatten(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if "$ref" in node:
            yield from flatten(schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
        for part in ("anyOf", "oneOf", "allOf"):
            for member in node.get(part, ()):
                yield from flatten(member)
        yield node

    nodes = list(flatten(schema))
    for part in location[:-1]:
        below: list[dict[str, Any]] = []
        for node in nodes:
            inner = node.get("items") if isinstance(part, int) else node.get("properties", {}).get(part)
            if inner is None and isinstance(part, str):
                inner = node.get("additionalProperties")
            if isinstance(inner, dict):
                below += flatten(inner)
        nodes = below or nodes
    known = {name for node in nodes for name in node.get("properties", {})}
    return f"unknown key; {did_you_mean(str(location[-1]), known, noun='known keys')}"
