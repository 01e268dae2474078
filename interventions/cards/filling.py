"""Fill in the variables of a card's texts, and show their values."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from interventions.errors import UserError
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import KeyPath, did_you_mean

Value = Annotated[
    str, Field(coerce_numbers_to_str=True), WithJsonSchema({"type": ["string", "number"], "title": "Text"})
]
"""A text, or a number that is shown as it is written."""
Case = dict[str, Value]
"""The values of variables at one level of a factor."""

# What no reader sees but a terminal or a database may act on; lone halves of characters cannot be encoded.
UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
BUILT_IN: Final = ("count", "letters", "options")
"""What the answers give: `two`, `A or B`, and a line for each letter with its label."""
WORDS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TRUE: Final = frozenset(["true", "1", "1.0", "yes"])
_FALSE: Final = frozenset(["false", "0", "0.0", "no"])


def _no_file(path: KeyPath, message: str) -> UserError:
    return UserError(": ".join([".".join(map(str, path)), message]))


@dataclass(frozen=True)
class Names:
    """The names that texts may use besides a design's values, and how to report a mistake in a text."""

    variables: Mapping[str, str] = field(default_factory=dict)
    cases: Mapping[str, Mapping[str, Case]] = field(default_factory=dict)
    error: Callable[[KeyPath, str], UserError] = _no_file

    def texts(self, name: str) -> list[str]:
        """Return all texts that a variable may stand for."""
        cases = [case[name] for levels in self.cases.values() for case in levels.values() if name in case]
        return cases or ([self.variables[name]] if name in self.variables else [])

    def all(self) -> list[str]:
        """Return every name that texts may use."""
        return [
            *self.variables,
            *(name for levels in self.cases.values() for case in levels.values() for name in case),
        ]


class Variables:
    """Fills in the variables of texts.

    Variables in the file's own values are filled in as well; variables in values that a design gives are not.
    """

    def __init__(self, names: Names, values: Mapping[str, object]) -> None:
        self.names, self.values = names, values
        self.built_in: Mapping[str, str] = {}

    def text(self, text: str, path: KeyPath, attributes: Mapping[str, object] | None = None) -> str:
        """Fill in the variables of a text. Raises UserError."""
        if "${" not in text:
            return text
        given = {**self.built_in, **self.values, **(attributes or {})}

        def look_up(match: re.Match[str], inside: tuple[str, ...] = ()) -> str:
            name, form = spoken(match[1])
            if name in given:
                try:
                    return UNSEEN.sub("\ufffd", _shown(given[name], form))
                except ValueError as error:
                    raise self.names.error(path, f"{name}: {error}") from None
            if name in inside:
                raise self.names.error(path, f'the variable "{name}" refers to itself; write its text out')
            found = self._case(name, path)
            if found is None:
                known = [*given, *self.names.all()]
                message = f'nothing is known of "${{{name}}}"; {did_you_mean(name, known)}'
                raise self.names.error(path, message)
            return VARIABLE.sub(lambda inner: look_up(inner, (*inside, name)), found)

        return VARIABLE.sub(look_up, text)

    def whole(self, text: str, path: KeyPath) -> int:
        """Return a text as a whole number of at least 1. Raises UserError."""
        shown = self.text(text, path)
        if not (shown.isascii() and shown.isdigit() and 1 <= len(shown) <= 6 and int(shown)):
            raise self.names.error(path, f'"{shown}" is no number of tokens; write one such as 16')
        return int(shown)

    def _case(self, name: str, path: KeyPath) -> str | None:
        """The text at the level that the design gives, else that of the variable."""
        for factor, levels in self.names.cases.items():
            if any(name in case for case in levels.values()):
                level = str(self.values.get(factor, ""))
                if level not in levels:
                    hint = did_you_mean(level, levels, noun="levels")
                    message = f'"{name}" differs by {factor}, which is given as "{level}"; {hint}'
                    raise self.names.error(path, message)
                return levels[level].get(name)
        return self.names.variables.get(name)


@lru_cache(maxsize=1024)
def spoken(written: str) -> tuple[str, str]:
    """Return the name and the format of a variable: `price` and `,` of `${price:,}`."""
    name, _, form = written.partition(":")
    return name.strip(), form.strip()


def is_format(form: str) -> bool:
    """Return whether a variable can be shown in this format."""
    return form in ("", ",") or form.count("|") == 1


def _shown(value: object, form: str) -> str:
    """The value as text: `,` parts thousands, and `Yes|No` says whether it is true. Raises ValueError."""
    text = str(value)
    if form == ",":
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("nan")
        if not number.is_finite():
            raise ValueError(f'"{text}" is not a number; give one')
        return f"{int(number):,}" if number == number.to_integral() else f"{number:,.2f}"
    if "|" in form:
        yes, no = form.split("|")
        if text.lower() not in _TRUE | _FALSE:
            raise ValueError(f'"{text}" is neither true nor false; give one of the two')
        return yes if text.lower() in _TRUE else no
    return text
