"""The protocol of executors, which run attempts at trials: this process, or workers."""

from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from experiments.designs.design import Trial
from experiments.records.record import Start, TrialRecord

MAX_ATTEMPTS: Final = 3
"""How often a trial is tried when the infrastructure fails. Nothing else is ever repeated."""


T_co = TypeVar("T_co", bound=Trial, covariant=True)
T_contra = TypeVar("T_contra", bound=Trial, contravariant=True)


@dataclass(frozen=True, slots=True)
class Attempt(Generic[T_co]):
    """An attempt at a trial: its number from 1, and the start of the first one."""

    trial: T_co
    number: int
    start: Start


class Executor(Protocol[T_contra]):
    """The protocol of all that runs attempts at trials of one kind, several at a time."""

    @property
    def slots(self) -> int:
        """The number of attempts that can run at the same time."""

    async def run(self, attempt: Attempt[T_contra]) -> TrialRecord:
        """Run one attempt and return its record, which says how the attempt ended.

        Raises:
            WorkerDied: the process that ran it is gone.
            UserError: nothing will work until the user mends it.
        """


class WorkerDied(Exception):
    """A worker is gone, and with it the attempts that it was running."""


def first_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error in a group of errors, however nested: it stopped the others."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
