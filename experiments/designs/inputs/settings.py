"""Set keys of an experiment file on the command line: `--set limits.steps=5`, and grids of several values."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import product
from typing import Any

from interventions.errors import UserError
from interventions.yaml.yaml_source import KeyPath, Source, parse_yaml


def grid(settings: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each combination of settings: a key that is given several times takes each of its values.

    Settings are texts `KEY=VALUE`. Without any there is one combination, of none. Raises UserError for a text
    without a key or a value.
    """
    values: dict[str, list[str]] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise UserError(f"--set {text}: write a key of the file and its value: --set limits.steps=5")
        values.setdefault(key, []).append(text)
    yield from product(*values.values())


def with_settings(source: Source, settings: Sequence[str]) -> Source:
    """Return the file with these keys set; values are read as in the file. Raises UserError.

    The message about such a value names the option, and no line of the file.
    """
    data, given = deepcopy(source.data), dict(source.given)
    for text in settings:
        key, _, value = text.partition("=")
        path: KeyPath = tuple(key.split("."))
        read = parse_yaml(f"value: {value}", f"--set {text}")
        if read.problems:
            raise UserError(f"--set {text}: {read.problems[0].message}")
        inner: Any = data
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise UserError(f"--set {text}: {part} has no keys; set it as a whole: --set {part}=...")
        inner[path[-1]] = read.data["value"]
        given[path] = f"--set {text}"
    return replace(source, data=data, given=given)
