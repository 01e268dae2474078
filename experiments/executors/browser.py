"""Run attempts in the browser: slots, each with a proxy port and a fresh browser context per episode."""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import psutil
from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from agents.base import Agent, is_command, is_simulated
from environments.browser.pool import VIEWPORT, BrowserPool, run_browsers
from environments.browser.through_proxy import BrowserFailure
from environments.episode import first_line
from environments.protocol.time_limit import Silent
from environments.shop.shop import USUAL, Shop
from experiments.designs.design import Trial
from experiments.executors.executor import Attempt, T_contra
from experiments.executors.shop_watch import ShopWatch, watch_shop
from experiments.executors.turns import Turn, Turns, open_turns
from experiments.records.record import Start, TrialRecord
from experiments.treatment.trajectory import Trajectory
from proxy.lent import Leftovers
from proxy.session import Session
from proxy.trust import trusting

if TYPE_CHECKING:
    from proxy.guests import Guests
    from proxy.server import Proxy, Slot

logger = logging.getLogger(__name__)

BYTES_OF_EPISODE: Final = 100 * 2**20
"""The memory that is free for each episode at once; one takes half of it, with its part of the browser's."""
MOST_IN_A_BROWSER: Final = 64
"""The most episodes that a browser has at once: with more, its pages wait for each other."""


@dataclass(frozen=True, slots=True)
class Testbed:
    """The shop, the proxy in front of it and the browser, started for episodes."""

    base_url: str
    shop: ShopWatch
    proxy: "Proxy"
    browsers: BrowserPool
    turns: Turns = field(default_factory=Turns)


@asynccontextmanager
async def open_testbed(
    folder: Path,
    shop: Shop = USUAL,
    upstream_ca: Path | None = None,
    say: Callable[[str], None] = logger.warning,
    guests: "Guests | None" = None,
    cores: int | None = None,
    *,
    pictures: bool = True,
    viewport: tuple[int, int] = VIEWPORT,
) -> AsyncIterator[Testbed]:
    """Start the shop, the proxy (its certificate authority lives in `folder`) and the browser.

    A shop that runs already may have a certificate of one of the authorities in the file `upstream_ca`. `say`
    is told where a shop that was started has to be started again. `guests` are subjects with browsers of
    their own. `cores`: how many processors episodes may keep busy, by default all. Without `pictures` the
    browser loads none. `viewport`: the width and height of its pages.
    """
    from proxy.server import run_proxy  # noqa: PLC0415 - half a second that trials without pages need not wait

    async with (
        shop.opened(say) as shop_url,
        watch_shop(shop_url, trusting(upstream_ca)) as shop_watch,
        run_proxy(folder / "ca", upstream_ca=upstream_ca, guests=guests) as proxy,
        run_browsers(proxy.spki, pictures=pictures, viewport=viewport) as browsers,
        open_turns(cores) as turns,
    ):
        yield Testbed(shop_url, shop_watch, proxy, browsers, turns)


T = TypeVar("T", bound=Trial)


class TrialRunner(Protocol[T_contra]):
    """The protocol by which an executor runs one kind of trials."""

    def agent(self, trial: T_contra) -> Agent:
        """Make a fresh agent for one attempt."""

    def session(self, trial: T_contra) -> Session:
        """Make a fresh session of the proxy for one attempt."""

    def keeps_context(self, trial: T_contra) -> bool:
        """Whether a trial's browser context can be cleared after it, for other trials."""

    def without_browser(
        self, trial: T_contra, agent: Agent, session: Session, proxy: str, silent: Silent
    ) -> Awaitable[Trajectory] | None:
        """Run one attempt whose traffic passes through the session's proxy port, at `proxy`.

        Returns None where the trial needs a browser. For `silent` see `episode`.
        """

    async def episode(
        self, trial: T_contra, agent: Agent, context: BrowserContext, session: Session, silent: Silent
    ) -> Trajectory:
        """Run one attempt in a fresh context whose traffic passes through the session's proxy port.

        `silent` tells for how long a part of the infrastructure has not answered.
        """

    def record(
        self, trial: T_contra, trajectory: Trajectory, session: Session, *, start: Start, attempts: int
    ) -> TrialRecord:
        """Make the record of a finished trial."""


class BrowserExecutor(Generic[T]):
    """Runs attempts in this process, each in a slot of the proxy and a fresh browser context."""

    def __init__(self, episodes: TrialRunner[T], testbed: Testbed, slots: int) -> None:
        self.slots = slots
        self._episodes = episodes
        self._testbed = testbed
        self._free: list[Slot] = []

    async def run(self, attempt: Attempt[T]) -> TrialRecord:
        """Run one attempt; how it ended stands in its record."""
        episodes, shop, proxy = self._episodes, self._testbed.shop, self._testbed.proxy
        async with self._testbed.turns.turn() as turn:
            start, absences = Start.now(), shop.absences
            session, slot = episodes.session(attempt.trial), await self._slot()
            trajectory, drawn = await self._episode(attempt.trial, slot, session, turn)
        if shop.absences > absences:
            trajectory.fail("shop", "the shop went away while the trial ran")
        elif not proxy.listens(slot):
            trajectory.fail("proxy", "the proxy's port was closed while the trial ran")
        self._free.append(slot)
        if trajectory.outcome == "infra_error":
            await shop.until_back()
        record = episodes.record(attempt.trial, trajectory, session, start=start, attempts=attempt.number)
        return replace(record, fonts=await self._testbed.browsers.fonts() if drawn else "")

    async def _slot(self) -> "Slot":
        """One that is free, a new one if there is none; one whose port is closed is left behind."""
        while self._free:
            slot = self._free.pop()
            if self._testbed.proxy.listens(slot):
                return slot
        return await self._testbed.proxy.open_slot()

    async def _episode(self, trial: T, slot: "Slot", session: Session, turn: Turn) -> tuple[Trajectory, bool]:
        """Run an episode; return whether a browser has drawn it, too."""
        slot.session = session
        keep = self._episodes.keeps_context(trial)
        left = Leftovers()
        session.lent = left if keep else None
        agent, browsers = self._episodes.agent(trial), self._testbed.browsers
        silent: Silent = {"browser": browsers.silent, "shop": session.silent}
        try:
            acting = turn.given_by(agent)
            if direct := self._episodes.without_browser(trial, acting, session, slot.url, silent):
                return await direct, False
            async with browsers.lend(slot.url, keep=keep, left=lambda: left.are_there) as lease:
                trajectory = await self._episodes.episode(trial, acting, lease.context, session, silent)
                lease.keep = lease.keep and trajectory.outcome != "infra_error"
                slot.session = None  # what the pages ask for as they are left is nobody's
                return trajectory, True
        except (PlaywrightError, BrowserFailure) as error:
            trajectory = Trajectory()
            trajectory.fail("browser", f"browser: {first_line(error)}")
            return trajectory, True
        finally:
            slot.session = None


def default_slots(agents: Iterable[str], cores: int | None = None) -> int:
    """Return how many trials to run at once.

    These are as many as cores when agents answer at once or are programs, which have browsers of their own.
    For a model they are as many as the memory that is free has room for, up to what a browser can have: when
    an answer comes soon, fewer begin, as each waits until the cores are free.
    """
    all_cores = os.cpu_count() or 1
    cores = cores or all_cores
    if all(is_simulated(agent) or is_command(agent) for agent in agents):
        return cores
    room = int(psutil.virtual_memory().available) * cores // (all_cores * BYTES_OF_EPISODE)
    return min(max(room, 4 * cores), MOST_IN_A_BROWSER)
