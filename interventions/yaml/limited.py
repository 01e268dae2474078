"""Run the expressions of a site map on what a page gives, for a limited time.

A regular expression may take for ever on a text that nobody thought of, and a JSONPath on a large document.
The proxy shares its thread with everything else: expressions get a second of computing for each page, and one
that needs more is a mistake of the site map, told with its key.
"""

import math
import re
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import regex
from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError, JSONPathMatch, function_extensions
from jsonpath.parse import Parser
from jsonpath.segments import JSONPathChildSegment, JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath.stream import TokenStream

from interventions.errors import CannotEdit
from interventions.yaml.plain_paths import JsonPlace, children, holding, plain_path

SECONDS: Final = 1.0
"""How long all expressions together may compute for one page."""
_PROBE_SECONDS: Final = 0.2
_MOST_COUNTED: Final = 100_000
_LONGEST: Final = 2_000
"""The longest regular expression, in characters."""
_REMEMBERED: Final = 1_000


class TooSlow(CannotEdit):
    """An expression of the site map takes too long; the message names its key."""

    def __init__(self, expression: str) -> None:
        where = f"{_KEYS[expression]}: " if expression in _KEYS else ""
        shown = expression if len(expression) <= 80 else f"{expression[:79]}…"
        super().__init__(f'{where}"{shown}" takes longer than {SECONDS:g} s on this page; make it simpler')


class _Budget:
    """The seconds that are left to the expressions of a page."""

    def __init__(self) -> None:
        self.left = SECONDS


_BUDGET: ContextVar[_Budget | None] = ContextVar("budget", default=None)
_KEYS: dict[str, str] = {}
_TOO_SLOW: OrderedDict[tuple[str, str], None] = OrderedDict()
"""The expressions and texts that have proved too slow: the same page is shown again and again."""


def name_expression(expression: str, key: str) -> None:
    """Note where an expression stands, as `file: key`, for the message where it is too slow."""
    _KEYS[expression] = key


@contextmanager
def one_page() -> Iterator[None]:
    """Let the expressions in this block share the time of one page, also where it stands in another one."""
    if _BUDGET.get() is not None:
        yield
        return
    token = _BUDGET.set(_Budget())
    try:
        yield
    finally:
        _BUDGET.reset(token)


def search(pattern: str, text: str) -> re.Match[str] | None:
    """Return the first match of a regular expression in a text. Raises TooSlow."""
    return _timed(regex.search, pattern, text)


def fullmatch(pattern: str, text: str) -> re.Match[str] | None:
    """Return the match of a regular expression with a whole text. Raises TooSlow."""
    return _timed(regex.fullmatch, pattern, text)


def match_path(pattern: str, path: str) -> re.Match[str] | None:
    """Return the match of a regular expression with a whole path, as a person reads it or as it is sent.

    `/ตะกร้า` is sent as `/%E0%B8%95...`. Raises TooSlow.
    """
    read = unquote(path)
    return fullmatch(pattern, read) or (fullmatch(pattern, path) if read != path else None)


def _timed(find: Callable[..., Any], pattern: str, text: str) -> re.Match[str] | None:
    with one_page():
        budget = _BUDGET.get()
        assert budget is not None  # noqa: S101 - the block sets it
        if budget.left <= 0 or (pattern, text) in _TOO_SLOW:
            raise TooSlow(pattern)
        began = time.process_time()
        try:
            found: re.Match[str] | None = find(pattern, text, timeout=budget.left)
        except TimeoutError:
            _TOO_SLOW[pattern, text] = None
            if len(_TOO_SLOW) > _REMEMBERED:
                _TOO_SLOW.popitem(last=False)
            raise TooSlow(pattern) from None
        finally:
            budget.left -= time.process_time() - began
        return found


def find(path: str, data: Any) -> list[JsonPlace]:
    """Return the matches of a JSONPath in plain JSON data. Raises TooSlow, CannotEdit."""
    plain = plain_path(path)
    if plain and not plain.held:  # no more steps than the data have
        return children(plain.steps, data)
    with one_page():
        budget = _BUDGET.get()
        assert budget is not None  # noqa: S101 - the block sets it
        began = time.process_time()
        token = _UNTIL.set((path, began + budget.left))
        try:
            if plain:
                return holding(plain.held, data, _look)
            found = list(json_path(path).finditer(data))
        except JSONPathError as error:  # the data are nested too deeply
            cause = " ".join(str(error).split())
            raise CannotEdit(f'"{path}" cannot be looked for in the data ({cause})') from None
        finally:
            _UNTIL.reset(token)
            budget.left -= time.process_time() - began
    holders: list[Any] = [match.parent.obj if match.parent else None for match in found]
    return [
        JsonPlace(match.obj, holder, match.parts[-1] if match.parts else "")
        for match, holder in zip(found, holders, strict=True)
    ]


_UNTIL: ContextVar[tuple[str, float] | None] = ContextVar("until", default=None)
"""The JSONPath that is looked for, and the process's seconds of computing at which it is given up."""


def _look() -> None:
    until = _UNTIL.get()
    if until and time.process_time() > until[1]:
        raise TooSlow(until[0])


def _watched(nodes: Iterable[JSONPathMatch]) -> Iterator[JSONPathMatch]:
    """The places in the data that a search comes to, until the time is over."""
    for node in nodes:
        _look()
        yield node


class _Children(JSONPathChildSegment):
    def resolve(self, nodes: Iterable[JSONPathMatch]) -> Iterable[JSONPathMatch]:
        """Select children of each place."""
        return super().resolve(_watched(nodes))


class _Descendants(JSONPathRecursiveDescentSegment):
    def _visit(self, node: JSONPathMatch, depth: int = 1) -> Iterable[JSONPathMatch]:
        return super()._visit(next(_watched([node])), depth)


class _Parser(Parser):
    def parse_query(self, stream: TokenStream) -> Iterable[JSONPathSegment]:
        """Parse the steps of a path into steps that look at the time."""
        for step in super().parse_query(stream):
            kind = _Descendants if isinstance(step, JSONPathRecursiveDescentSegment) else _Children
            yield kind(env=step.env, token=step.token, selectors=step.selectors)


class _Search(function_extensions.Search):
    def __call__(self, value: object, pattern: object) -> bool:
        """Return whether a part of `value` matches; a pattern that cannot be used matches nothing."""
        return _found(self, search, value, pattern)


class _WholeMatch(function_extensions.Match):
    def __call__(self, value: object, pattern: object) -> bool:
        """Return whether the whole of `value` matches; a pattern that cannot be used matches nothing."""
        return _found(self, fullmatch, value, pattern)


def _found(
    function: function_extensions.Search | function_extensions.Match,
    within: Callable[[str, str], object],
    value: object,
    pattern: object,
) -> bool:
    if not isinstance(value, str) or not isinstance(pattern, str) or problem_of(pattern):
        return False
    compiled = function.check_cache(pattern)  # in the syntax of RFC 9485
    return compiled is not None and within(compiled.pattern, value) is not None


class _Paths(JSONPathEnvironment):
    parser_class = _Parser

    def setup_function_extensions(self) -> None:
        """Limit the time of regular expressions in filters too."""
        super().setup_function_extensions()
        self.function_extensions |= {"search": _Search(), "match": _WholeMatch()}


_PATHS: Final = _Paths(strict=True)


@lru_cache(maxsize=256)
def json_path(path: str) -> JSONPath:
    """Return a compiled JSONPath (RFC 9535). Raises ValueError."""
    try:
        compiled = _PATHS.compile(path)
    except (JSONPathError, RecursionError) as error:
        cause = " ".join(str(error).split())
        raise ValueError(f'"{path}" is no JSONPath ({cause}); write it like $.offers.price') from None
    assert isinstance(compiled, JSONPath)  # noqa: S101 - strict paths are never compounds
    return compiled


@lru_cache(maxsize=1_024)
def problem_of(pattern: str) -> str:
    """Return what keeps a regular expression from being used; empty where nothing does."""
    counts = [int(count) for count in re.findall(r"\{(\d{1,9})", pattern) if int(count)]
    if len(pattern) > _LONGEST:
        return f"is longer than {_LONGEST:,} characters; shorten it"
    if math.prod(counts) > _MOST_COUNTED:  # what is repeated is written out before it is looked for
        return f"repeats more than {_MOST_COUNTED:,} times in all; lower the numbers in its braces"
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
            regex.compile(pattern)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        cause = (
            "it is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        )
        return f"is no regular expression ({cause}); check its brackets"
    return ""


@lru_cache(maxsize=1_024)
def is_slow(pattern: str) -> bool:
    """Return whether a regular expression takes too long on one of some monotonous texts."""
    try:
        for text in _PROBES:
            regex.search(pattern, text, timeout=_PROBE_SECONDS)
    except TimeoutError:
        return True
    return False


_PROBES: Final = tuple(f"{letter * 500}\0" for letter in ("a", "A", "1", " ", "a ", "1.", "1,", "-", "/"))
