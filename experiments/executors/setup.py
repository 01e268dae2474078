"""What a process needs to run trials of an experiment, and how it prepares for them."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agents.base import is_command
from agents.providers.batches import BatchQueue
from agents.providers.network import close_connections
from agents.simulated.own_profiles import take
from agents.simulated.tab_shopper import ShopperProfile
from environments.shop.shop import Shop
from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign
from experiments.executors.browser import BrowserExecutor, TrialRunner, open_testbed
from experiments.executors.executor import Attempt, Executor
from experiments.executors.kinds import KINDS, AsText
from experiments.executors.text import allow_connections
from experiments.records.record import TrialRecord
from experiments.treatment.trajectory import Trajectory

if TYPE_CHECKING:
    from experiments.episodes.guest_trial import Observe

logger = logging.getLogger(__name__)

JOURNAL = "batches.jsonl"
"""The file in a run's folder that tells which request went with which batch."""
NOWHERE = "http://127.0.0.1/"


@dataclass(frozen=True, slots=True)
class Setup:
    """An experiment, its shop, and how much to do at once.

    A shop without an address is started by each process. A setup reaches other processes pickled.
    They are ours: they run the same code for the same user, and what they are sent comes from nobody else.
    """

    design: AnyDesign
    folder: Path
    """The folder for the proxy's certificate authority."""
    shop: Shop
    slots: int
    upstream_ca: Path | None = None
    """A file of authorities that may have signed the shop's certificate; it has to be on each node."""
    shoppers: Mapping[str, ShopperProfile] = field(default_factory=dict)
    """The profiles of simulated agents that were read from files, by the agents' names."""
    programs: int = 0
    """How many programs act at once; 0: no agent is one."""
    observe: "Observe | None" = None
    """What counts as shown to programs; None: there are none."""
    database: Path | None = None
    """The file of the run's records, if they are in one."""
    in_batches: bool = False
    """Whether what models are asked goes in batches."""
    cores: int | None = None
    """How many processors of its machine a worker may keep busy; None: all."""
    pictures: bool = True
    """Whether the browser loads the shop's pictures."""

    @property
    def private(self) -> list[Path]:
        """What programs may not read: the run's folder, and its database."""
        return [self.folder, *([self.database] if self.database else [])]

    @property
    def is_text(self) -> bool:
        """Whether the trials need no browser."""
        return self.design.mode == "text"

    def trial_runner(self, base_url: str) -> TrialRunner[Trial]:
        """Make the runner of episodes at a shop with this address."""
        on_pages = KINDS[self.design.kind].on_pages
        if on_pages is None:
            raise TypeError(f"trials of kind {self.design.kind} do not run on pages")
        return on_pages(self.design, base_url)

    def text_executor(self, batches: BatchQueue | None = None) -> AsText[Trial]:
        """Make the executor that asks trials as prompts; batches: collects the requests."""
        as_text = KINDS[self.design.kind].as_text
        if as_text is None:
            raise TypeError(f"trials of kind {self.design.kind} are not asked as text")
        return as_text(self.design, self.slots, batches)

    def lost(self, attempt: Attempt[Trial], reason: str) -> TrialRecord:
        """Make the record of an attempt that never came back from another process."""
        if self.is_text:
            return self.text_executor().lost(attempt, reason)
        trajectory = Trajectory()
        trajectory.fail("worker", reason)
        trial, runner = attempt.trial, self.trial_runner(NOWHERE)
        return runner.record(
            trial, trajectory, runner.session(trial), start=attempt.start, attempts=attempt.number
        )


class _ByAgent:
    """Runs attempts where their agents act: in our browser, or in programs."""

    def __init__(self, browser: Executor[Trial], programs: Executor[Trial]) -> None:
        self.slots = browser.slots
        self._browser, self._programs = browser, programs

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Run one attempt; how it ended stands in its record."""
        executor = self._programs if is_command(attempt.trial.agent) else self._browser
        return await executor.run(attempt)


@asynccontextmanager
async def open_executor(
    setup: Setup, say: Callable[[str], None] = logger.warning
) -> AsyncIterator[Executor[Trial]]:
    """Open the executor of this process.

    For text it needs nothing else, for pages a shop, a proxy and a browser; `say` is told what happens to
    them.

    Raises:
        UserError: one of them does not start.
    """
    take(setup.shoppers)
    try:
        if setup.is_text:
            batches = BatchQueue(setup.folder / JOURNAL, say) if setup.in_batches else None
            if not batches:
                allow_connections(setup.slots)
            try:
                yield setup.text_executor(batches)
            finally:
                if batches:
                    await batches.close()
        elif setup.programs and (open_programs := KINDS[setup.design.kind].on_programs):
            from experiments.executors.programs import ProgramGuests  # noqa: PLC0415 (few runs)

            programs = ProgramGuests()
            async with (
                open_testbed(
                    setup.folder,
                    setup.shop,
                    setup.upstream_ca,
                    say,
                    programs.guests,
                    setup.cores,
                    pictures=setup.pictures,
                ) as testbed,
                open_programs(
                    setup.design, testbed, programs, setup.programs, setup.observe or "page", setup.private
                ) as hosting,
            ):
                yield _ByAgent(
                    BrowserExecutor(setup.trial_runner(testbed.base_url), testbed, setup.slots), hosting
                )
        else:
            async with open_testbed(
                setup.folder, setup.shop, setup.upstream_ca, say, cores=setup.cores, pictures=setup.pictures
            ) as testbed:
                yield BrowserExecutor(setup.trial_runner(testbed.base_url), testbed, setup.slots)
    finally:
        await close_connections()
