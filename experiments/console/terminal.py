"""Make consoles and tables in the house style; the module is light, so that a short command answers at once.

What a page, a model or a stranger's file says is shown and never obeyed: control characters, with which a
text could move the cursor, rename the window or forge lines, are written as escapes.
"""

import logging
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Any, Final

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

PIPE_WIDTH: Final = 120

ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

# C0 but tab and line feed, DEL, C1, what changes the direction of writing, and halves of characters.
_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    r"""Return the text with control characters as `\\u001b`; JSON stays the same JSON."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class _PlainConsole(Console):
    """A console that writes no control characters but its own, and what `:M:` says as it is."""

    def __init__(self, **how: Any) -> None:
        """Make a console of Rich's."""
        super().__init__(emoji=False, **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of what is printed, without control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


class PlainFormatter(logging.Formatter):
    """A log formatter that writes no control characters, and tracebacks only with `SOUK_LOG=DEBUG`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines, of a message."""
        return plain(super().format(record))

    def formatException(self, ei: ExceptionInfo) -> str:
        """Return an exception in one line, or with its traceback where everything is logged."""
        if logging.getLogger().isEnabledFor(logging.DEBUG):
            return super().formatException(ei)
        return traceback.format_exception_only(ei[1])[-1].strip()


def stdout_console() -> Console:
    """Make a console for tables on stdout.

    It is as wide as the terminal, or wide enough for whole rows where there is none.
    """
    console = _PlainConsole()
    return console if console.is_terminal else _PlainConsole(width=PIPE_WIDTH)


def stderr_console() -> Console:
    """Make a console on stderr for what is said beside the results."""
    return _PlainConsole(stderr=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show on a terminal, on stderr, what a command waits for."""
    console = stderr_console()
    with console.status(text) if console.is_terminal else nullcontext():
        yield


def new_table(title: str, *columns: str) -> Table:
    """Make an empty table in the house style."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
