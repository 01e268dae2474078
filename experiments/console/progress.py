"""Show the progress of a run: a bar with rate and time left on a terminal, else a line now and then."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from experiments.console.terminal import stderr_console

LINE_EVERY_SECONDS: Final = 15.0
QUIET_SECONDS: Final = 2.0


class RunProgress:
    """Counts finished trials and shows the progress."""

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self.finished = 0
        """The number of trials that this command has finished."""
        self._failed = 0
        self._console = console
        self._total = total
        self._resumed = done
        self._began = time.monotonic()
        self._last_line = self._began
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[pace]}"),
                TimeElapsedColumn(),
                console=console,
            )
            self._task = self._bar.add_task("trials", total=total, completed=done, pace="")

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def note(self, _: object, failed: int = 0) -> None:
        """Count one finished trial, and how many of its requests to models failed."""
        self.finished += 1
        self._failed += failed
        now = time.monotonic()
        if self._bar and self._task is not None:
            self._bar.update(self._task, advance=1, pace=self.pace())
        elif now - self._last_line >= LINE_EVERY_SECONDS:
            self._last_line = now
            self._console.print(f"{self._resumed + self.finished}/{self._total} trials, {self.pace()}")

    def note_elsewhere(self, trials: int) -> None:
        """Count trials that another command has finished."""
        self._resumed += trials
        if self._bar and self._task is not None:
            self._bar.update(self._task, advance=trials, pace=self.pace())

    def expect(self, fewer: int) -> None:
        """Count fewer trials than were wanted."""
        self._total = max(self._total - fewer, self._resumed + self.finished)
        if self._bar and self._task is not None:
            self._bar.update(self._task, total=self._total)

    def say(self, line: str) -> None:
        """Show a line above the bar: that the run is paused, or what it waits for."""
        self._console.print(line, style="yellow", highlight=False, markup=False, soft_wrap=True)

    def pace(self) -> str:
        """Return rate, time left and failures: `82/min, 6 min left, 3 requests failed`."""
        elapsed = time.monotonic() - self._began
        rate = self.finished / elapsed if elapsed > 0 else 0.0
        left = (self._total - self._resumed - self.finished) / rate if rate else 0.0
        failed = f", {self._failed:,} requests failed" if self._failed else ""
        return f"{rate * 60:,.0f}/min, {duration(left)} left{failed}"


def duration(seconds: float) -> str:
    """Write seconds as `45 s`, `6 min` or `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def counting() -> Iterator[Callable[[str, int, int], None]]:
    """Show how far a long command is; yields a function of what is done, how much of it, and of how much.

    What takes less than two seconds shows nothing. The time left follows from the pace since the last time
    that nothing was done.
    """
    console, began = stderr_console(), time.monotonic()
    last = since = began
    status = console.status("") if console.is_terminal else None

    def tell(what: str, done: int, total: int) -> None:
        nonlocal last, since
        now = time.monotonic()
        since = since if done else now
        left = f", {duration((now - since) / done * (total - done))} left" if done else ""
        line = f"{what}: {done:,} of {total:,}{left}"
        if now - began < QUIET_SECONDS:
            return
        if status:
            status.update(line)
            status.start()
        elif done and (now - last >= LINE_EVERY_SECONDS or last == began):
            last = now
            console.print(line, highlight=False, markup=False)

    try:
        yield tell
    finally:
        if status:
            status.stop()
