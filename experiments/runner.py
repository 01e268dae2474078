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
from typing import Final

from playwright.async_api import Error as PlaywrightError

from agents.registry import close_agents, make_agent
from environments.browser import BrowserPool, run_browsers
from environments.shop.server import shop
from experiments.design import Design, Trial
from experiments.records import Records, TrialRecord
from experiments.shop_watch import ShopWatch, watch_shop
from experiments.trial import Course, run_episode, to_record
from proxy.server import Proxy, Slot, run_proxy
from proxy.session import AllowList, Session

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


class Runner:
    """Takes trials from a queue into free slots until none is left. Finished trials are stored at once."""

    def __init__(self, design: Design, records: Records, stage: Stage) -> None:
        self.design = design
        self.records = records
        self.stage = stage
        self._allow = AllowList.of(stage.base_url)
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")

    async def run(self, trials: Iterable[Trial], slots: int, finished: Callable[[TrialRecord], None]) -> None:
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
        self, queue: Iterator[Trial], slots: int, finished: Callable[[TrialRecord], None]
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(slots):
                slot = await self.stage.proxy.open_slot()
                group.create_task(self._work(slot, queue, finished))

    async def _work(
        self, slot: Slot, queue: Iterable[Trial], finished: Callable[[TrialRecord], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        for trial in queue:
            record = await self._run_trial(trial, slot)
            await loop.run_in_executor(self._writer, self.records.save, record)
            finished(record)

    async def _run_trial(self, trial: Trial, slot: Slot) -> TrialRecord:
        began = time.time()
        for attempt in range(1, MAX_ATTEMPTS + 1):
            session = Session(self.design.plan(trial), self.design.site, self._allow)
            absences = self.stage.shop.absences
            course = await self._attempt(trial, slot, session)
            if self.stage.shop.absences > absences:
                course.end("infra_error", "the shop went away while the trial ran")
            if course.outcome != "infra_error":
                break
            logger.warning("trial %s, attempt %d: %s", trial.id, attempt, course.reason)
            await self.stage.shop.until_back()
        return to_record(trial, self.design, course, session, began=began, attempts=attempt)

    async def _attempt(self, trial: Trial, slot: Slot, session: Session) -> Course:
        slot.session = session
        agent = make_agent(trial.agent, seed=trial.seed)
        try:
            async with self.stage.browsers.context(slot.url) as context:
                return await run_episode(trial, self.design, agent, context, session, self.stage.base_url)
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
