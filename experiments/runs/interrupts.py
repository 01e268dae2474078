"""Handle Ctrl-C in a command that runs trials: the first one cleans up, a second one ends at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

STOPPED: Final = "stopped; what was finished is stored. The same command goes on from here."


@contextmanager
def one_line_when_stopped() -> Iterator[None]:
    """End the process with one line and status 130 where Ctrl-C comes while the block runs."""
    try:
        yield
    except KeyboardInterrupt:
        _end()


def run_until_stopped(main: Coroutine[Any, Any, T]) -> T:
    """Run a task; a first Ctrl-C cancels it, a second one ends the process at once.

    This is `asyncio.run` but for the second Ctrl-C. Python's own answer to the second is an exception in
    whatever is being put away, which leaves threads and processes to be waited for. A process that ends
    closes its pipes, and those it has started end with it. SIGTERM is like Ctrl-C, also where a shell has
    started the program in the background, and Ctrl-C is ignored.
    """

    async def watched() -> T:
        cancel = signal.getsignal(signal.SIGINT)
        if callable(cancel) and cancel is not signal.default_int_handler:

            def interrupted(number: int, frame: Any) -> None:
                signal.signal(signal.SIGINT, _end)
                cancel(number, frame)

            signal.signal(signal.SIGINT, interrupted)
        elif cancel is signal.SIG_IGN and (task := asyncio.current_task()):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await main

    handler, ended = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGTERM, ended)
        if signal.getsignal(signal.SIGINT) not in (handler, _end):
            signal.signal(signal.SIGINT, handler)


def _end(*_: object) -> NoReturn:
    # Not through Python's end, which waits for threads and says what it finds half done.
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    with suppress(OSError):  # whoever reads may be gone
        os.write(2, f"{show_cursor}{STOPPED}\n".encode())
        sys.stdout.flush()
    os._exit(130)
