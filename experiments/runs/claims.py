"""The queue of a run that several processes may work on: a trial comes out once this one has claimed it."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

from experiments.designs.design import Trial
from experiments.records.control import Claimed, named

MOST_AT_ONCE: Final = 500
"""Trials claimed in one transaction: what this process has claimed and not started, others wait for."""

SAY_AFTER: Final = 3
"""Looks in vain for a trial to run, a second apart, before it says what it waits for."""

T = TypeVar("T", bound=Trial)
Claim = Callable[[Sequence[str]], Awaitable[Claimed]]


class ClaimedTrials(Generic[T]):
    """Trials in order, but those that another process has claimed: they come if that process is gone."""

    def __init__(
        self,
        trials: Iterable[T],
        claim: Claim,
        at_once: int,
        *,
        elsewhere: Callable[[int], None],
        say: Callable[[str], None],
    ) -> None:
        """`elsewhere` is told how many trials other processes have ended, `say` what is waited for."""
        self._trials = iter(trials)
        self._claim = claim
        self._at_once = min(at_once, MOST_AT_ONCE)
        self._elsewhere = elsewhere
        self._say = say
        self._ready: deque[T] = deque()
        self._held: list[T] = []
        self._in_vain = 0

    @property
    def waits(self) -> bool:
        """Whether trials are left that another process runs."""
        return bool(self._held)

    async def next(self) -> T | None:
        """The next trial; None when there is none, or none for now (see `waits`). Raises UserError."""
        while not self._ready:
            fresh = list(islice(self._trials, self._at_once))
            wanted = [*self._held, *fresh]
            if wanted:
                self._sort(wanted, await self._claim([trial.id for trial in wanted]))
            if not fresh:
                break
        return self._ready.popleft() if self._ready else None

    def _sort(self, wanted: list[T], claimed: Claimed) -> None:
        self._ready += (trial for trial in wanted if trial.id in claimed.own)
        self._held = [trial for trial in wanted if trial.id in claimed.others]
        if ended := len(wanted) - len(claimed.own) - len(self._held):
            self._elsewhere(ended)
        self._in_vain += len(self._held) == len(wanted)
        if self._in_vain == SAY_AFTER:
            who = ", ".join(named(process) for process in sorted(set(claimed.others.values())))
            self._say(f"waiting for {len(self._held):,} trials that {who} runs")
