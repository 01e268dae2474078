"""The queue of a run that several processes may share: it gives only trials that this process has claimed."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Final, Generic, TypeVar

from experiments.designs.design import Trial
from experiments.records.control import ClaimResult, named

MOST_AT_ONCE: Final = 500
"""The most trials claimed in one transaction.

Other processes wait for trials that this one has claimed and not started.
"""

SAY_AFTER: Final = 3
"""The number of looks for a trial without success after which the user is told.

The looks are a second apart.
"""

T = TypeVar("T", bound=Trial)
Claim = Callable[[Sequence[str]], Awaitable[ClaimResult]]


class ClaimedTrials(Generic[T]):
    """Trials in order, without those that another process has claimed.

    These come later if that process is gone.
    """

    def __init__(
        self,
        trials: Iterable[T],
        claim: Claim,
        at_once: int,
        *,
        elsewhere: Callable[[int], None],
        say: Callable[[str], None],
    ) -> None:
        """Take the trials of the run.

        `elsewhere` is told how many trials other processes have ended, `say` what is waited for.
        """
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
        """Return the next trial; None when there is none, or none for now (see `waits`).

        Raises UserError.
        """
        while not self._ready:
            fresh = list(islice(self._trials, self._at_once))
            wanted = [*self._held, *fresh]
            if wanted:
                self._sort(wanted, await self._claim([trial.id for trial in wanted]))
            if not fresh:
                break
        return self._ready.popleft() if self._ready else None

    def _sort(self, wanted: list[T], claimed: ClaimResult) -> None:
        self._ready += (trial for trial in wanted if trial.id in claimed.own)
        self._held = [trial for trial in wanted if trial.id in claimed.others]
        if ended := len(wanted) - len(claimed.own) - len(self._held):
            self._elsewhere(ended)
        self._in_vain += len(self._held) == len(wanted)
        if self._in_vain == SAY_AFTER:
            who = ", ".join(named(process) for process in sorted(set(claimed.others.values())))
            self._say(f"waiting for {len(self._held):,} trials that {who} runs")
