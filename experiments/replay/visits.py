"""Take the stored steps of a guest again: open its pages, scroll, click and change tabs as it did."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

from agents.replay import OVER, origin
from environments.browser.pool import VIEWPORT
from environments.browser.through_proxy import BrowserFailure
from environments.episode import SCROLL, first_line
from environments.protocol.actions import EVERY, Action, ActionError, parse_action
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import GuestTrials, shop_origin
from experiments.executors.browser import Testbed
from experiments.executors.executor import Attempt
from experiments.executors.programs import ProgramGuests, ProgramVisit
from experiments.records.record import Row, TrialRecord
from experiments.treatment.trajectory import Trajectory
from proxy.reverse import Origin

_SECONDS: Final = 10.0
"""How long a page is waited for, or the end of the trial."""
_REPORTED: Final = (
    """(path) => performance.getEntriesByType("resource").some(({ name }) => name.endsWith(path))"""
)


class Visits:
    """Runs the trials of guests again, each as a guest of the proxy with a fresh browser context."""

    def __init__(
        self,
        trials: GuestTrials,
        testbed: Testbed,
        guests: ProgramGuests,
        stored: Callable[[str], TrialRecord],
        seconds: float,
        slots: int,
    ) -> None:
        """Prepare to run trials, `slots` at once, each in at most so many seconds.

        stored: gives a trial as it was stored, by its id.
        """
        self.slots, self._seconds = slots, seconds
        self._trials, self._testbed, self._guests, self._stored = trials, testbed, guests, stored
        self._origin = Origin.of(shop_origin(testbed.base_url))

    async def run(self, attempt: Attempt[ShopTrial]) -> TrialRecord:
        """Run one trial again; how it ended stands in its record."""
        slot = await self._testbed.proxy.open_slot(named=self._origin)
        visit = ProgramVisit(self._trials, attempt)
        self._guests.guests.seat(slot.port, visit.guest)
        trajectory = Trajectory()
        trajectory.end("agent_error", OVER)
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._testbed.browsers.context(slot.url) as context,
            ):
                await self._visit(context, visit, self._stored(attempt.trial.id))
        except TimeoutError:
            trajectory.end("agent_limit", f"{self._seconds:g} seconds have passed")
        except ActionError as error:
            trajectory.end("agent_error", f"a stored action cannot be taken again: {error}")
        except (PlaywrightError, BrowserFailure) as error:
            trajectory.fail("browser", f"browser: {first_line(error)}")
        finally:
            self._guests.guests.unseat(slot.port)
            await self._testbed.proxy.close_slot(slot)
        visit.guest.end(trajectory)
        return visit.result(None, "")

    async def _visit(self, context: BrowserContext, visit: ProgramVisit, stored: TrialRecord) -> None:
        way = _Way(context, visit.guest.urls[0], stored.steps, self._guests.reports_to)
        await way.begin()
        for step, following in pairwise(stored.steps):
            if visit.over.is_set():
                return
            await way.go_on(step, following)
        if stored.trial.outcome == "choice":
            with suppress(TimeoutError):
                await asyncio.wait_for(visit.over.wait(), _SECONDS)
        elif stored.trial.outcome == "no_choice":
            visit.guest.gave_up()


class _Way:
    """The tabs of a guest that is played again."""

    def __init__(self, context: BrowserContext, url: str, steps: Sequence[Row], reports_to: str) -> None:
        self._context, self._steps, self._reports_to = context, steps, reports_to
        self._then, self._now = origin(steps[0]["url"]) if steps else "", origin(url)
        self._tabs: list[Page] = []
        self._active = 0
        context.on("page", self._opened)

    def _opened(self, page: Page) -> None:
        self._tabs.append(page)

    async def begin(self) -> None:
        """Open the first page."""
        for step in self._steps[:1]:
            await self._open(step)

    async def go_on(self, step: Row, following: Row) -> None:
        """Do what was done at a step, and wait for the page of the following one."""
        action = parse_action(step["action"], EVERY) if step["action"] else Action("wait", (0.0,))
        page = self._tabs[self._active]
        match action.name, action.args:
            case "tab_focus", (int(tab),):
                self._active = min(tab, len(self._tabs))
                if self._active == len(self._tabs):
                    await self._open(following)
                await self._tabs[self._active].bring_to_front()
                if not _same(self._tabs[self._active].url, following["url"]):
                    await self._go(following)
            case "goto", _:
                await self._go(following)
            case "go_back", _:
                await page.go_back(wait_until="domcontentloaded")
            case "go_forward", _:
                await page.go_forward(wait_until="domcontentloaded")
            case "scroll", (float(dx), float(dy)):
                await page.evaluate(SCROLL, [dx, dy])
            case "mouse_click", (float(x), float(y), *more):
                await _click(page, x, y, *map(str, (*more[:1], *more[2:])))
        await self._arrive(following)

    async def _open(self, step: Row) -> None:
        await self._context.new_page()
        self._active = len(self._tabs) - 1
        await self._go(step)
        await self._arrive(step)

    async def _go(self, step: Row) -> None:
        url = step["url"]
        if origin(url) == self._then:
            url = self._now + url.removeprefix(self._then)
        await self._tabs[self._active].goto(url, wait_until="domcontentloaded")

    async def _arrive(self, step: Row) -> None:
        """Wait until the page of a step is there, and has been reported. Another page is found later."""
        page = self._tabs[self._active]
        with suppress(PlaywrightError):
            if not _same(page.url, step["url"]):
                await page.wait_for_url(
                    lambda url: _same(url, step["url"]),
                    wait_until="domcontentloaded",
                    timeout=_SECONDS * 1000,
                )
            await page.wait_for_function(_REPORTED, arg=self._reports_to, timeout=_SECONDS * 1000)


async def _click(page: Page, x: float, y: float, button: str = "left", modifiers: str = "") -> None:
    """Click at a point of the page, which is brought into view if it is not."""
    left, top = await page.evaluate("[scrollX, scrollY]")
    width, height = VIEWPORT
    if not (left <= x < left + width and top <= y < top + height):
        await page.evaluate(SCROLL, [x - left - width / 2, y - top - height / 2])
        left, top = await page.evaluate("[scrollX, scrollY]")
    held = [each for each in modifiers.split("+") if each]
    for each in held:
        await page.keyboard.down(each)
    await page.mouse.click(x - left, y - top, button=button)  # type: ignore[arg-type]
    for each in reversed(held):
        await page.keyboard.up(each)


def _same(one: str, other: str) -> bool:
    """Whether two addresses are the same but for their host."""
    return urlsplit(one)[2:4] == urlsplit(other)[2:4]
