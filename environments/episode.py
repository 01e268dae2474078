"""Run one episode in the browser: open the tabs, observe, act."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from playwright.async_api import BrowserContext, Frame, Page, Request, Response
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from environments.action.pointer import (
    ACTED_ON,
    NAMED,
    Hit,
    acted_at,
    acted_on,
    dismiss,
    hit_at,
    point,
    roles_in_json,
)
from environments.action.ways import Ways
from environments.browser.listeners import EventListeners
from environments.browser.through_proxy import MARK, BrowserFailure, is_shown_document
from environments.observation.accessibility import BID
from environments.observation.observe import (
    NOTHING,
    ObservationQuery,
    PageDisturbed,
    PageObservation,
    observe,
)
from environments.observation.page_watch import PageWatch
from environments.observation.settling import SETTLE_SECONDS, Settling
from environments.observation.stops import Stop
from environments.observation.views import View
from environments.observation.zoom import ViewportPart, part_of
from environments.protocol.actions import ON_MARKS, POINTER, Action, ActionError, points_at
from environments.protocol.observation import Observation, Tab, storable
from environments.protocol.shown_product import product_spots, shown_product
from environments.protocol.time_limit import NOBODY, Silent, time_limit
from interventions.data_file import read_source
from interventions.edits.in_browser import PageElements
from interventions.yaml.sitemap import SiteMap

# What a page does when it is scrolled begins with the next frame; a tab that shows nothing has none.
SCROLL: Final = read_source(__file__, "scroll.js")

ACTION_TIMEOUT_MS: Final = 5_000
LOAD_TIMEOUT_MS: Final = 30_000
ACT_SECONDS: Final = 60.0
"""The longest time of an action; nearly all have shorter time-outs of their own."""

STOOD_SECONDS: Final = 3.0
"""An action that had its time-out says nothing when something stood still for so long meanwhile."""

ANSWER_SECONDS: Final = 2.0
"""How long a page may take to answer after an action has had its time-out."""

LOOK_SECONDS: Final = 30.0
"""The longest time in which a page is read; one whose script never ends cannot be."""

MAX_TABS: Final = 20
"""The most open tabs; further tabs are closed as they open.

A page may open any number of tabs, and the agent has to read the list of them all.
"""

STAYING: Final = frozenset({"scroll", "tab_focus", "scroll_at", "mouse_move", "wait", "zoom"})
"""Actions by which an agent does not leave a page.

If the page changes meanwhile, the agent did not cause it.
"""

DEFAULT_VIEW: Final = View()


@dataclass(frozen=True, slots=True)
class TabObservation:
    """One look at the active tab: the observation, and the stop condition that holds, if any.

    `said` is the text by which the stop condition holds. `tab` is the index of the start page that the tab
    shows; None: the agent has left it. `standing` is what was read of the page besides; None where nothing
    can be read. `before`: the same, read before the observation, where that takes its time. `way`: the
    addresses at which the tab has been since the agent itself last went elsewhere in it, in order.
    """

    observation: Observation
    url: str
    stop: Stop | None
    said: str = ""
    tab: int | None = None
    standing: PageElements | None = None
    before: PageElements | None = None
    way: tuple[str, ...] = ()


def load(page: Page, url: str) -> asyncio.Future[Response | None]:
    """Begin to load a tab."""
    loading = asyncio.ensure_future(page.goto(url, wait_until="domcontentloaded", timeout=LOAD_TIMEOUT_MS))
    # Where another tab has failed, nobody asks how this one ended.
    loading.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return loading


async def title_of(page: Page) -> str:
    """Return the title of a page; empty where for two seconds others are on their way in its place."""
    for _ in range(40):
        title = await page.title()
        if not re.match(r"Loading https?://", title):  # what Playwright says meanwhile
            return storable(title)
        await asyncio.sleep(0.05)
    return ""


class Episode:
    """The tabs of one browser context, on which one agent acts."""

    def __init__(
        self,
        context: BrowserContext,
        goal: str,
        stops: Sequence[Stop] = (),
        view: View = DEFAULT_VIEW,
        wanted: ObservationQuery = NOTHING,
        site: SiteMap | None = None,
        silent: Silent = NOBODY,
    ) -> None:
        """Prepare the episode; `silent`: of the parts of the infrastructure besides the pages."""
        self._context = context
        self._goal = goal
        self._stops = tuple(stops)
        self._view = view
        self._site = site
        spots = (*wanted.spots, *(product_spots(site) if site else ()))
        self._wanted = replace(wanted, spots=tuple(dict.fromkeys(spots)))
        self._started: dict[Page, int] = {}
        self._may_leave = False
        self._ways = Ways()
        self._pages: list[Page] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._titles: dict[Page, str] = {}
        self._active: Page
        self._error = ""
        self._arrived = False
        self.hits: tuple[Hit, ...] = ()
        """What stood at the points of the last action, or the element that it named, before it."""
        self._pointers: dict[Page, tuple[float, float]] = {}
        self._step = 0
        self._crashed = False
        self._part: ViewportPart | None = None
        self.listeners = EventListeners()
        """What ends with the episode."""
        self._watch = PageWatch(context, lambda: self._active, silent)
        self._settling = Settling(
            context, self.listeners, self._watch, site, self._wanted, self._is_gone, self._asked
        )
        self.listeners.on(context, "page", self._opened)

    @property
    def silent(self) -> Silent:
        """By part of the infrastructure, for how many seconds it has not answered."""
        return self._watch.silent

    async def open(self, urls: Sequence[str]) -> None:
        """Open one tab per URL, in this order; the last becomes active.

        The first is opened alone until the shop knows its visitor. Else each tab would begin a session of its
        own, and the last one's cookies would make the others' forms worthless.

        Raises:
            BrowserFailure: a tab could not be loaded.
        """
        try:
            await self._open(urls)
        except TimeoutError:
            raise BrowserFailure("its network service does not answer") from None
        except PlaywrightError as error:
            raise BrowserFailure(first_line(error)) from error

    async def _open(self, urls: Sequence[str]) -> None:
        blank = list(self._context.pages)  # those that the context has kept
        for page in blank[: len(urls)]:
            self._opened(page)
        with self._watch.asking():
            for page in blank[len(urls) :]:
                await page.close()
            first = blank[0] if blank else await self._context.new_page()
            self._started[first] = 0
            answered = asyncio.Event()

            def note(response: Response) -> None:
                if is_shown_document(response):
                    answered.set()

            self.listeners.on(first, "response", note)
            loading = load(first, urls[0])
            loading.add_done_callback(lambda _: answered.set())
            rest = blank[1 : len(urls)]
            while len(rest) < len(urls) - 1:
                rest.append(await self._context.new_page())  # while the shop answers
            self._started |= {page: number for number, page in enumerate(rest, start=1)}
            await answered.wait()
            async with time_limit(SETTLE_SECONDS, self.silent):  # a network service that has died is silent
                cookies = await self._context.cookies()
        if all(cookie["name"] == MARK["name"] for cookie in cookies):
            with self._watch.asking():
                await loading
            self._active = first  # its scripts may still begin a session
            await self._settle()
        with self._watch.asking():
            await asyncio.gather(
                loading, *(load(page, url) for page, url in zip(rest, urls[1:], strict=True))
            )
            pages = [first, *rest]
            # What pages opened is last.
            self._pages.sort(key=lambda page: self._started.get(page, len(pages)))
            for page in pages[:-1]:  # a look at the last one reads its title
                self._titles[page] = await title_of(page)
        if self._site and self._site.dismiss:
            for page in pages:
                await self._focus(page)
                await self._settle()
                with self._watch.asking():
                    await dismiss(page, self._site.dismiss)
        await self._focus(pages[-1])
        await self._settle()

    async def look(self) -> TabObservation:
        """Observe the active tab.

        Raises:
            BrowserFailure: the tab or the browser is gone.
        """
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                seen = await self._observe()
        except TimeoutError:
            raise BrowserFailure("the page does not answer") from None
        except (PlaywrightError, PageDisturbed) as error:
            raise BrowserFailure(first_line(error)) from error
        self._titles[self._active] = seen.title
        observation = Observation(
            self._goal,
            seen.html,
            tuple(Tab(self._titles.get(page, ""), page.url, page is self._active) for page in self._pages),
            self._error,
            self._step,
            tree=seen.tree,
            screenshot=seen.screenshot,
            page=self._view.page,
            product=shown_product(seen.standing, self._site) if self._site else None,
            drawn=seen.drawn,
            marks=self._view.names_elements,
            pointer=self._view.pointer,
            arrived=self._arrived,
            zoomed=self._part is not None,
        )
        stop = self._stops[seen.stop] if seen.stop >= 0 else None
        return TabObservation(
            observation,
            seen.url,
            stop,
            seen.said,
            self._started.get(self._active),
            seen.standing,
            way=self._ways.of(self._active),
        )

    async def act(self, action: Action) -> str:
        """Take one action and wait until the page has settled.

        Returns:
            Why the action could not be taken, or an empty string. The next observation carries it too.

        Raises:
            BrowserFailure: the browser is gone.
        """
        self._step += 1
        self._may_leave = action.name not in STAYING
        self._arrived, active, self._part = False, self._active, None
        self.hits = ()
        self._error = await self._take(action)
        await self._settle(acted=action.name not in STAYING)
        self._may_leave = False
        self._arrived = self._arrived or self._active is not active
        return self._error

    async def _take(self, action: Action) -> str:
        """Take an action; return why it could not be taken, or an empty string."""
        try:
            async with self._watch.moving(ACT_SECONDS, drawn=True) as count:
                return await self._dispatch(action) or ""
        except (PlaywrightTimeout, TimeoutError) as error:
            if count.stood > STOOD_SECONDS or not await self._answers():
                raise BrowserFailure("the page does not answer") from error
            return f"{action.name}: {first_line(error)}"
        except PlaywrightError as error:
            if self._is_gone():
                raise BrowserFailure(first_line(error)) from error
            return f"{action.name}: {first_line(error)}"

    async def _settle(self, *, acted: bool = False) -> None:
        try:
            await self._settling.settle(lambda: self._active, acted=acted)
        except PlaywrightError as error:
            raise BrowserFailure(first_line(error)) from error

    async def _answers(self) -> bool:
        """Whether the active tab answers and is drawn, or loads another page: else no agent is to blame."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._watch.move_and_draw()
        except TimeoutError:
            return self._settling.is_loading
        except PlaywrightError:
            return not self._is_gone()
        return True

    async def _observe(self) -> PageObservation:
        # A page that navigates by itself destroys the first call's context; the second sees the new page.
        try:
            with self._watch.asking():
                return await observe(self._active, self._view, self._stops, self._wanted, self._part)
        except PlaywrightError:
            await self._settle()
            with self._watch.asking():
                return await observe(self._active, self._view, self._stops, self._wanted, self._part)

    async def _dispatch(self, action: Action) -> str | None:
        page = self._active
        if action.name in ON_MARKS and not self._view.names_elements:
            return f"{action.name}: no marks are shown; act at points of the picture"
        if action.name in POINTER or action.name == "keyboard_hold":
            return await self._point(action)
        match action.name, action.args:
            case (("click" | "fill" | "select_option"), (str(bid), *arguments)):
                return await self._on_element(bid, action.name, *map(str, arguments))
            case "scroll", (float(dx), float(dy)):
                with suppress(TimeoutError):
                    async with time_limit(SETTLE_SECONDS, self.silent):
                        await page.evaluate(SCROLL, [dx, dy])
            case "keyboard_press", (str(key),):
                with self._watch.asking():
                    await page.keyboard.press(key)
            case "goto", (str(url),):
                if not re.match(r"https?://", url, re.IGNORECASE):
                    return "goto: only http:// and https:// addresses can be opened"
                with self._watch.asking():
                    await page.goto(url, wait_until="domcontentloaded", timeout=LOAD_TIMEOUT_MS)
            case (("go_back" | "go_forward" | "reload"), ()):
                with self._watch.asking():
                    go = getattr(page, action.name)
                    await go(wait_until="domcontentloaded", timeout=LOAD_TIMEOUT_MS)
            case (("tab_focus" | "close_tab"), (int(index),)) if not 0 <= index < len(self._pages):
                return f"{action.name}: there is no tab {index}; tabs are 0 to {len(self._pages) - 1}"
            case "tab_focus", (int(index),):
                await self._focus(self._pages[index])
            case "new_tab", ():
                if len(self._pages) >= MAX_TABS:
                    return f"new_tab: {MAX_TABS} tabs are open, which is the most"
                with self._watch.asking():
                    await self._context.new_page()
            case "close_tab", (int(index),):
                if len(self._pages) == 1:
                    return "close_tab: it is the only tab"
                with self._watch.asking():
                    await self._pages[index].close()
            case _:
                raise AssertionError(f"no dispatch for {action}")
        return None

    async def _point(self, action: Action) -> str:
        if not self._view.pointer:
            return f"{action.name}: no picture is shown; name an element by its bid"
        if action.name == "zoom":
            return self._zoom(action)
        with self._watch.asking():
            try:
                points, page = points_at(action), self._active
                acted = acted_at(action, self._pointers.get(page, (0.0, 0.0)))
            except ActionError as error:
                return str(error)
            hits = [await hit_at(page, *at, self._site) for at in acted]
            self.hits = tuple(hits)
            problem = await point(page, action)
            if points and acted and not problem:
                self._pointers[page] = points[-1]
            return problem

    def _zoom(self, action: Action) -> str:
        """Let the next picture be that of a part; return why it cannot."""
        size = self._active.viewport_size or {"width": 0, "height": 0}
        try:
            self._part = part_of(action, size["width"], size["height"])
        except ActionError as error:
            return str(error)
        return ""

    async def _on_element(self, bid: str, method: str, *arguments: str) -> str | None:
        locator, roles, found = self._find(bid), roles_in_json(self._site), None
        if locator:
            found = acted_on(await self._active.evaluate(NAMED, [bid, roles]))
        if locator and found is None:  # a frame or a shadow tree, into which only Playwright's script looks
            found = acted_on(await locator.evaluate_all(ACTED_ON, roles))
        if found is None:
            return f"{method}: no element has bid {bid!r} on this page"
        dialog, self.hits = found
        if dialog:
            return f"{method}: the dialog {dialog!r} is open over it; close it first"
        await getattr(locator, method)(*arguments, timeout=ACTION_TIMEOUT_MS)
        return None

    def _find(self, bid: str) -> Any:
        """The marked element; a mark such as `7f3` is element 3 of the frame that is marked 7."""
        if not BID.match(bid):
            return None
        *frames, _ = _accumulate_frames(bid)
        scope: Any = self._active
        for frame in frames:
            scope = scope.frame_locator(f'[bid="{frame}"]')
        return scope.locator(f'[bid="{bid}"]').first

    async def _focus(self, page: Page) -> None:
        self._active = page
        if len(self._pages) > 1:
            with self._watch.asking():
                await page.bring_to_front()

    def _opened(self, page: Page) -> None:
        self.listeners.on(page, "close", self._settling.forget)
        if len(self._pages) >= MAX_TABS:
            self._closing.add(task := asyncio.create_task(close(page)))
            task.add_done_callback(self._closing.discard)
            return
        self._pages.append(page)
        self._active = page
        self.listeners.on(page, "close", self._closed)
        self.listeners.on(page, "crash", self._note_crash)
        self.listeners.on(page, "framenavigated", self._moved)

    def _moved(self, frame: Frame) -> None:
        """Where scripts draw the pages, an agent leaves one without a request for another."""
        if not self._active.is_closed() and frame == self._active.main_frame:
            self._arrived = True
        if self._site and self._site.drawn and frame == self._active.main_frame:
            self._leave()
        if frame == frame.page.main_frame:
            self._ways.add(frame.page, frame.url)

    def _leave(self) -> None:
        """Note that the agent itself goes to another page; where that page leads on to is no doing of its."""
        if self._may_leave:
            self._may_leave = False
            self._started.pop(self._active, None)
            self._ways.forget(self._active)

    def _closed(self, page: Page) -> None:
        self._pages.remove(page)
        self._titles.pop(page, None)
        self._pointers.pop(page, None)
        self._ways.forget(page)
        if page is self._active and self._pages:
            self._active = self._pages[-1]

    def _note_crash(self, _: Page) -> None:
        self._crashed = True

    def _is_gone(self) -> bool:
        browser = self._context.browser
        return self._crashed or self._active.is_closed() or browser is None or not browser.is_connected()

    def _asked(self, request: Request) -> None:
        if is_departure(request, self._active):
            self._leave()
            self._ways.add(self._active, request.url)


def _accumulate_frames(bid: str) -> list[str]:
    """Return the marks on the way to an element: `7f3f9` gives `7`, `7f3`, `7f3f9`."""
    parts = bid.split("f")
    return ["f".join(parts[: index + 1]) for index in range(len(parts))]


def is_departure(request: Any, page: Any) -> bool:
    """Return whether a tab asks the network for another page, in either API of Playwright.

    What a page makes of itself (another address, a page made by its own scripts) is not another page.
    """
    try:
        return (
            request.is_navigation_request()
            and request.url.startswith(("http:", "https:"))
            and bool(request.frame == page.main_frame)
        )
    except PlaywrightError:
        return False


async def close(page: Page) -> None:
    """Close a tab that may be closing by itself."""
    with suppress(PlaywrightError):
        await page.close()


def first_line(error: Exception) -> str:
    """Return the first line of an error, without the call log that Playwright adds."""
    return storable(
        str(error).strip().split("\n", 1)[0].removeprefix("Page.evaluate: ").removeprefix("Error: ")
    )
