"""Handle Ctrl-C in a command: the first one cleans up within seconds, a second one ends at once."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TypeVar

from environments.launch.watchdog import watched

T = TypeVar("T")

STOPPED: Final = "stopped; what was finished is stored. The same command goes on from here."
NOTHING_STORED: Final = "stopped; a dry run stores nothing."
CUT_SHORT: Final = "stopped at once; what was stored is safe. The same command goes on from here."
"""The line where nobody waited for what had just finished."""

PATIENCE_SECONDS: Final = 4.0
"""How long cleaning up may take; a second later the watchdog kills what still runs."""


@contextmanager
def one_line_when_stopped(line: str = STOPPED) -> Iterator[None]:
    """End the process with one line and status 130 where Ctrl-C comes while the block runs."""
    try:
        yield
    except KeyboardInterrupt:
        _end(line)


def run_until_stopped(main: Coroutine[Any, Any, T]) -> T:
    """Run a task; a first Ctrl-C cancels it, a second one ends the process at once.

    This is `asyncio.run` but for the second Ctrl-C. Python's own answer to the second is an exception in
    whatever is being put away, which leaves threads and processes to be waited for. A process that ends
    closes its pipes, and its watchdog ends those that it has started. The same happens where cleaning up
    takes longer than PATIENCE_SECONDS. SIGTERM is like Ctrl-C, also where a shell has started the program in
    the background, and Ctrl-C is ignored. Only the main thread of a process gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(main)
    late = threading.Timer(PATIENCE_SECONDS, _end_at_once)
    late.daemon = True

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        handler = signal.getsignal(signal.SIGINT)

        def interrupted(number: int, frame: Any) -> None:
            signal.signal(signal.SIGINT, _end_at_once)
            if not late.is_alive():
                late.start()
            if callable(handler):
                handler(number, frame)
            elif task:
                signal.signal(signal.SIGTERM, _end_at_once)
                loop.call_soon_threadsafe(task.cancel)

        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupted)
        elif handler is signal.SIG_IGN:
            signal.signal(signal.SIGTERM, interrupted)
        return await main

    handler, ended = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    try:
        with watched():
            return asyncio.run(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        main.close()  # it has not begun where there was no event loop
        late.cancel()
        signal.signal(signal.SIGTERM, ended)
        if signal.getsignal(signal.SIGINT) not in (handler, _end_at_once):
            signal.signal(signal.SIGINT, handler)


def _end_at_once(*_: object) -> NoReturn:
    _end(CUT_SHORT)


def _end(line: str) -> NoReturn:
    # Not through Python's end, which waits for threads and says what it finds half done.
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    with suppress(OSError):  # whoever reads may be gone
        os.write(2, f"{show_cursor}{line}\n".encode())
        sys.stdout.flush()
    os._exit(130)
