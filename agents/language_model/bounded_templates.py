"""Render templates of strangers in a sandbox, for a limited time and up to a limited length.

Jinja's sandbox keeps a template from everything but its own values; it does not keep it from loops within
loops or from enormous texts. Here each turn of a loop, each call and each filter looks at the time, and no
text or list that a template makes may be long.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

SECONDS: Final = 1.0
"""How long a template may compute for one message."""
LONGEST: Final = 20_000_000
"""The longest text, in characters, and the longest list."""
_LARGEST: Final = 100_000
"""The largest number that calls and filters are given; it may be a width."""
_MOST_WORK: Final = 200_000_000
"""The largest product of lengths and numbers, where a text grows with both."""
_GROWING: Final = frozenset({"indent", "replace", "join", "wordwrap", "expandtabs", "translate"})
_PASSED: Final = "jinja_pass_arg"
_FORMATS: Final = frozenset({"format", "format_map"})
_UNTIL: ContextVar[float] = ContextVar("until")
_SIZED: Final = (str, bytes, list, tuple, dict)


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits of time and length."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        del self.globals["lipsum"]
        self.filters = {
            name: _bounded(name, use) for name, use in self.filters.items() if name not in _FORMATS
        }
        self.filters |= {"_turns": _turns, "_joined": _joined, "_kept": _kept}

    def render_bounded(self, name: str, values: dict[str, object]) -> str:
        """Render a template. Raises SecurityError where it takes too long or makes too much."""
        token = _UNTIL.set(time.thread_time() + SECONDS)
        try:
            parts, length = [], 0
            for part in self.get_template(name).generate(values):
                parts.append(part)
                length += len(part)
                _check(length)
            return "".join(parts)
        finally:
            _UNTIL.reset(token)

    def call(__self, __context: Context, __obj: Any, *given: Any, **named: Any) -> Any:
        """Call what a template calls."""
        name = getattr(__obj, "__name__", "")
        if name in _FORMATS:
            raise SecurityError("texts have no format here; join them with ~")
        _check_work(name, getattr(__obj, "__self__", ""), *given, *named.values())
        _check_numbers(*given, *named.values())
        return _kept(super().call(__context, __obj, *given, **named))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute what may become enormous."""
        if operator == "%" and isinstance(left, str | bytes):
            raise SecurityError("% is for numbers here; join texts with ~")
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, _SIZED) and isinstance(other, int):
                    _check(len(one) * other)
        if operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
            _check(bits * 1_000)
        return _kept(super().call_binop(context, operator, left, right))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = _filtered("_turns", loop.iter)
        for block in tree.find_all(nodes.AssignBlock):
            block.filter = _filtered("_kept", block.filter)
        whole: nodes.Template = _JoinedBounded().visit(tree)
        return whole


class _JoinedBounded(NodeTransformer):
    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        return _filtered("_joined", nodes.List(node.nodes, lineno=node.lineno))


def _filtered(name: str, node: nodes.Node | None) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno if node else 1)


def _turns(values: Iterable[Any]) -> Iterator[Any]:
    """The turns of a loop, until the time is over."""
    for value in values:
        _check(0)
        yield value


def _joined(parts: Iterable[Any]) -> str:
    return str(_kept("".join(map(str, parts))))


def _kept(value: Any) -> Any:
    _check(len(value) if isinstance(value, _SIZED) else 0)
    return value


def _bounded(name: str, use: Callable[..., Any]) -> Callable[..., Any]:
    passed = int(hasattr(use, _PASSED))  # it is given the environment or the like first

    def bounded(*given: Any, **named: Any) -> Any:
        _check_work(name, *given[passed:], *named.values())
        _check_numbers(*given[passed + 1 :], *named.values())
        return _kept(use(*given, **named))

    if passed:
        bounded.__dict__[_PASSED] = getattr(use, _PASSED)
    return bounded


def _check_work(name: str, *given: Any) -> None:
    """Raises SecurityError where a text would grow with the product of what is given."""
    _check(0)
    if name in _GROWING:
        work = 1
        for each in given:
            work *= max(1, len(each) if isinstance(each, _SIZED) else each if isinstance(each, int) else 1)
        if work > _MOST_WORK:
            raise SecurityError(f"{name} would make too long a text; shorten what it is given")


def _check_numbers(*given: Any) -> None:
    if any(isinstance(each, int) and abs(each) > _LARGEST for each in given):
        raise SecurityError(f"a number is larger than {_LARGEST:,}; give a smaller one")


def _check(length: int) -> None:
    """Raises SecurityError where the time is over, or a text or list of this length is too long."""
    if length > LONGEST:
        raise SecurityError(f"it makes a text or list longer than {LONGEST:,}; make it shorter")
    if time.thread_time() > _UNTIL.get(float("inf")):
        raise SecurityError(f"it takes longer than {SECONDS:g} s; leave out loops within loops")
