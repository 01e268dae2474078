"""Runs trials: a pool of slots, each with a proxy port and a fresh browser context per episode."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from agents.base import Agent
from agents.registry import close_agents, make_agent
from environments.browser import BrowserPool, run_browsers
from environments.shop.server import shop
from experiments.course import Course
from experiments.records import Records, TrialRecord
from experiments.shop_watch import ShopWatch, watch_shop
from proxy.server import Proxy, Slot, run_proxy
from proxy.session import Session

logger = logging.getLogger(__name__)

MAX_ATTEMPTS: Final = 3
"""How often a trial is tried when the infrastructure fails. Nothing else is ever repeated."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What episodes need: a shop, a proxy in front of it, a browser."""

    base_url: str
    shop: ShopWatch
    proxy: Proxy
    browsers: BrowserPool


@asynccontextmanager
async def open_stage(folder: Path, base_url: str | None = None) -> AsyncIterator[Stage]:
    """Start the shop, the proxy (its certificate authority lives in `folder`) and the browser.

    With `base_url`, the address of a shop that runs already (it ends with a slash), none is started.
    """
    async with (
        shop() if base_url is None else nullcontext(base_url) as shop_url,
        watch_shop(shop_url) as shop_watch,
        run_proxy(folder / "ca") as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        yield Stage(shop_url, shop_watch, proxy, browsers)


class AnyTrial(Protocol):
    """What every trial has."""

    @property
    def id(self) -> str:
        """The same for equal trials, on every machine."""

    @property
    def agent(self) -> str:
        """Who acts."""

    @property
    def seed(self) -> int:
        """For the agent's random numbers."""


T_contra = TypeVar("T_contra", bound=AnyTrial, contravariant=True)


class Episodes(Protocol[T_contra]):
    """What the runner needs to know of one kind of trials."""

    def session(self, trial: T_contra) -> Session:
        """A fresh session of the proxy, for one attempt."""

    async def episode(
        self, trial: T_contra, agent: Agent, context: BrowserContext, session: Session
    ) -> Course:
        """Run one attempt in a fresh context whose traffic passes through the session's proxy port."""

    def record(
        self, trial: T_contra, course: Course, session: Session, *, began: float, attempts: int
    ) -> TrialRecord:
        """The record of a finished trial."""


class Runner(Generic[T_contra]):
    """Takes trials from a queue into free slots until none is left. Finished trials are stored at once."""

    def __init__(self, episodes: Episodes[T_contra], records: Records, stage: Stage) -> None:
        self.episodes = episodes
        self.records = records
        self.stage = stage
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")

    async def run(
        self, trials: Iterable[T_contra], slots: int, finished: Callable[[TrialRecord], None]
    ) -> None:
        """Run all trials; `finished` is called after each has been stored.

        Cancelling stops the running episodes; they leave no record and run again when resumed.
        """
        queue = iter(trials)
        try:
            await self._run_all(queue, slots, finished)
        except BaseExceptionGroup as group:
            # A task of the group failed and stopped the others: its own error is what matters.
            raise first_leaf(group) from None
        finally:
            self._writer.shutdown(wait=True)
            await close_agents()

    async def _run_all(
        self, queue: Iterator[T_contra], slots: int, finished: Callable[[TrialRecord], None]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(slots):
                slot = await self.stage.proxy.open_slot()
                group.create_task(self._work(slot, queue, finished))

    async def _work(
        self, slot: Slot, queue: Iterable[T_contra], finished: Callable[[TrialRecord], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        for trial in queue:
            record = await self._run_trial(trial, slot)
            await loop.run_in_executor(self._writer, self.records.save, record)
            finished(record)

    async def _run_trial(self, trial: T_contra, slot: Slot) -> TrialRecord:
        began = time.time()
        for attempt in range(1, MAX_ATTEMPTS + 1):
            session = self.episodes.session(trial)
            absences = self.stage.shop.absences
            course = await self._attempt(trial, slot, session)
            if self.stage.shop.absences > absences:
                course.end("infra_error", "the shop went away while the trial ran")
            if course.outcome != "infra_error":
                break
            logger.warning("trial %s, attempt %d: %s", trial.id, attempt, course.reason)
            await self.stage.shop.until_back()
        return self.episodes.record(trial, course, session, began=began, attempts=attempt)

    async def _attempt(self, trial: T_contra, slot: Slot, session: Session) -> Course:
        slot.session = session
        agent = make_agent(trial.agent, seed=trial.seed)
        try:
            async with self.stage.browsers.context(slot.url) as context:
                return await self.episodes.episode(trial, agent, context, session)
        except PlaywrightError as error:
            course = Course()
            course.end("infra_error", f"browser: {str(error).splitlines()[0]}")
            return course
        finally:
            slot.session = None


def default_slots(agents: Iterable[str]) -> int:
    """Episodes at once: as many as cores when agents answer at once, more when a provider takes its time."""
    cores = os.cpu_count() or 1
    return cores if all(agent.startswith("simulated:") for agent in agents) else 4 * cores


def first_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group of errors, however nested."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
