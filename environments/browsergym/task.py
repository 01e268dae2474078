"""Offer a shop as a BrowserGym task: the browser is behind the proxy, and the nine actions run no code."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, Literal

import numpy as np
from playwright.sync_api import BrowserType, Frame, Page, Request, Response
from playwright.sync_api import Error as PlaywrightError

try:
    from browsergym.core import _get_global_playwright
    from browsergym.core import env as browsergym_env
    from browsergym.core.action.utils import get_elem_by_bid
    from browsergym.core.chat import Chat
    from browsergym.core.env import BrowserEnv
    from browsergym.core.task import AbstractBrowserTask
    from browsergym.utils.obs import flatten_dom_to_str, prune_html
except ModuleNotFoundError as error:
    raise ImportError(f"{error.name} is not installed; install souk[browsergym]") from None

from environments import episode
from environments.action.ways import Ways
from environments.browser import through_proxy
from environments.browser.pool import VIEWPORT, environment, find_browser, flags
from environments.browsergym.observe_around import observe_around
from environments.observation import settling
from environments.observation.observe import NOTHING, ObservationQuery
from environments.observation.stops import Stop
from environments.observation.views import View
from environments.protocol.actions import Action, ActionError, parse_action
from environments.protocol.observation import Observation, Tab, storable
from interventions.edits.in_browser import PageElements

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
"""The result of a step: observation, reward, whether the episode has ended or was cut off, and `info`."""

POLL_MS: Final = 10
"""How often to look whether requests have been answered, in milliseconds.

The page's events are handled meanwhile.
"""


class ShopTask(AbstractBrowserTask):  # type: ignore[misc]
    """The task to shop in the tabs that are open at the start, until a stop condition holds.

    The last tab is active. The reward is 1 when a product was chosen: a choice has no right answer. `script`
    runs in each page before the page's own scripts; `drawn` is what scripts have to draw before a page is
    looked at (`settling.drawn_in`); `facts` are each `info["task_info"]`. `wanted` is read of
    each page when it is observed, of this `page`: what is in the viewport, or all of it.
    """

    def __init__(
        self,
        seed: int,
        *,
        goal: str,
        urls: Sequence[str],
        stops: Sequence[Stop],
        script: str = "",
        drawn: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any],
        wanted: ObservationQuery = NOTHING,
        page: Literal["viewport", "whole"] = "viewport",
    ) -> None:
        super().__init__(seed)
        self.viewport = dict(zip(("width", "height"), VIEWPORT, strict=True))
        self.slow_mo = 0
        self.timeout = episode.ACTION_TIMEOUT_MS
        self.locale, self.timezone_id = "en-US", "UTC"
        self.goal, self.urls, self.stops, self.script, self.facts = goal, urls, stops, script, facts
        self.drawn, self.wanted, self.page = drawn, wanted, page
        self.started: dict[Page, int] = {}
        """The index of the start page that a tab shows, for as long as the agent has not left it."""
        self.stop: Stop | None = None
        """The stop condition that held at the last look."""
        self._pending: set[Request] = set()
        self._stirred = False
        self._documents: list[Response] = []

    def setup(self, page: Page) -> tuple[str, dict[str, Any]]:
        """Open the start tabs; return the goal and the task's facts."""
        if self.script:
            page.context.add_init_script(self.script)
        page.context.add_cookies([through_proxy.MARK])
        page.context.on("response", self._came)
        page.context.on("request", self._began)
        page.context.on("requestfinished", self._ended)
        page.context.on("requestfailed", self._ended)
        for number, url in enumerate(self.urls):
            if number:
                page = page.context.new_page()
            self.started[page] = number
            page.goto(url, wait_until="domcontentloaded", timeout=episode.LOAD_TIMEOUT_MS)
        page.bring_to_front()
        self.settle(page)
        return self.goal, dict(self.facts)

    def settle(self, page: Page) -> None:
        """Wait until the tab is loaded, all requests are answered, and scripts have drawn what they draw."""
        end = time.monotonic() + settling.SETTLE_SECONDS
        while time.monotonic() < end and not page.is_closed():
            try:
                page.wait_for_load_state("domcontentloaded", timeout=1000 * settling.SETTLE_SECONDS)
                page.evaluate(settling.STANDS, True)
                if not self._pending and (not self.drawn or self._is_drawn(page)):
                    return
                page.wait_for_timeout(POLL_MS)
            except PlaywrightError:
                continue  # the page navigated away under the call
        self._pending = {request for request in self._pending if request.resource_type in settling.LASTING}

    def _is_drawn(self, page: Page) -> bool:
        """Whether scripts have drawn a page, and change it no more."""
        if not page.evaluate(settling.DRAWN, self.drawn):
            return False
        stirred, self._stirred = self._stirred, False
        if stirred:
            page.evaluate(settling.STILL, [settling.STILL_MS, settling.STIRRING_MS])
        return not self._pending and not self._stirred

    def validate(
        self, page: Page, chat_messages: Sequence[Mapping[str, Any]]
    ) -> tuple[float, bool, str, dict[str, Any]]:
        """Look whether a stop condition holds; return reward, end, message and facts."""
        try:
            self.stop = self._stop_on(page)
        except PlaywrightError:  # a page that navigates by itself; the second look sees the new page
            self.settle(page)
            self.stop = self._stop_on(page)
        chosen = self.stop is not None and self.stop.outcome == "choice"
        return float(chosen), self.stop is not None, "", dict(self.facts)

    def check_passage(self, page: Page, proxy_url: str) -> None:
        """Check that all documents came through the proxy. Raises BrowserFailure.

        The check is that of `environments.browser.through_proxy.Passage.check`.
        """
        if not page.context.cookies(through_proxy.MARK_URL):
            raise through_proxy.BrowserFailure(through_proxy.NETWORK_DIED)
        while self._documents:
            response = self._documents.pop()
            with suppress(PlaywrightError):  # its tab has been closed
                if not through_proxy.is_proxy(response.server_addr(), proxy_url):
                    raise through_proxy.BrowserFailure(through_proxy.past_proxy(response.url))

    def _stop_on(self, page: Page) -> Stop | None:
        return next((stop for stop in self.stops if holds(stop, page)), None)

    def _came(self, response: Response) -> None:
        if through_proxy.is_shown_document(response):
            self._documents.append(response)

    def _began(self, request: Request) -> None:
        if request.resource_type in settling.AWAITED:
            self._pending.add(request)
            self._stirred = True

    def _ended(self, request: Request) -> None:
        self._pending.discard(request)


def holds(stop: Stop, page: Page) -> bool:
    """Return whether the tab shows the text of a stop condition."""
    shown = page.locator(stop.selector).all_inner_texts()
    wanted = " ".join(stop.text.lower().split())
    return any(wanted in " ".join(text.lower().split()) for text in shown)


class ShopEnv(BrowserEnv):  # type: ignore[misc]
    """BrowserGym's environment with all of its traffic through a proxy, in the browser that Souk uses.

    Without `action_mapping`, actions are parsed and dispatched by `protocol.actions`, and nothing of them
    is ever executed. With one, BrowserGym executes the Python code that it returns. `proxy` is an address,
    `spki` the key of its certificate authority; `options` are those of BrowserGym.
    """

    def __init__(
        self,
        task: Callable[..., ShopTask],
        *,
        proxy: str,
        spki: str,
        action_mapping: Callable[[str], str] | None = None,
        pw_context_kwargs: Mapping[str, Any] | None = None,
        pre_observation_delay: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(
            task,
            action_mapping=action_mapping,
            # Chromium sends loopback past a proxy, silently, unless the bypass list says otherwise.
            pw_context_kwargs={
                **(pw_context_kwargs or {}),
                "proxy": {"server": proxy, "bypass": "<-loopback>"},
                "accept_downloads": False,
            },
            pre_observation_delay=pre_observation_delay,
            **options,
        )
        self._proxy, self._flags = proxy, flags(spki)
        self._folder = TemporaryDirectory(prefix="souk-fonts-", ignore_cleanup_errors=True)
        self._executes = self._may_leave = False
        self.is_unusable = False
        """Whether the last text was no action at all."""
        self.stood: tuple[PageElements | None, PageElements | None] = None, None
        """What stood on the page before the last observation and after it."""
        self._ways = Ways()

    @property
    def way(self) -> tuple[str, ...]:
        """Where the active tab has been since the agent itself last went elsewhere in it (`Look.way`)."""
        return self._ways.of(self.page)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a browser and open the tabs.

        Raises BrowserFailure where a page did not come through the proxy.
        """
        unseen = self.headless and not (self.record_video_dir or self.wait_for_user_message)
        with launched_with(self._flags, Path(self._folder.name)), talking_in(_Unseen if unseen else Chat):
            answer: tuple[dict[str, Any], dict[str, Any]] = super().reset(seed=seed, options=options)
        self.task.check_passage(self.page, self._proxy)
        self._ways = Ways()
        for page, tab in self.task.started.items():
            self._ways.add(page, self.task.urls[tab])
            self._ways.add(page, page.url)
        self.context.on("request", self._asked)
        self.context.on("page", self._opened)
        for page in self.context.pages:
            self._opened(page)
        return answer

    def step(self, action: str) -> Step:
        """Take one action.

        The reason why it could not be taken is the next observation's `last_action_error`.
        """
        self.is_unusable = False
        with suppress(PlaywrightError):  # the tab has been closed
            self.page.wait_for_timeout(0)  # lets in what tabs have said before, which the agent did not cause
        self._may_leave = may_leave(action)
        if self.action_mapping is not None:
            self._executes = True
            return super().step(action)  # type: ignore[no-any-return]
        self.last_action, self.last_action_error = action, ""
        info, *_ = self.pre_step()
        try:
            self._perform(parse_action(action))
        except (ActionError, PlaywrightError, ValueError) as error:
            self.last_action_error = f"{type(error).__name__}: {episode.first_line(error)}"
            self.is_unusable = isinstance(error, ActionError)
        return self.post_step(info)

    def post_step(self, info: dict[str, Any], validate: bool = True) -> Step:
        """Let the page settle, then look at it.

        Raises BrowserFailure where it did not come through the proxy.
        """
        self._executes = False
        self.task.settle(self.page)
        answer: Step = super().post_step(info, validate)
        self.task.check_passage(self.page, self._proxy)
        return answer

    def _get_obs(self) -> dict[str, Any]:
        """Observe the page, and read what stands there; all of it where the agent is given the page."""
        self._may_leave = False
        view = View("whole" if self.use_raw_page_output else self.task.page, screenshot=True)
        take: Callable[[], dict[str, Any]] = super()._get_obs

        def observe() -> dict[str, Any]:
            answer, self.stood = observe_around(lambda: self.page, view, self.task.wanted, take)
            return answer

        try:
            return observe()
        except PlaywrightError:  # a page that navigates by itself; the second sees the new page
            self.task.settle(self.page)
            return observe()

    def _opened(self, page: Page) -> None:
        page.on("framenavigated", self._moved)

    def _asked(self, request: Request) -> None:
        if episode.is_departure(request, self.page):
            self._leave()
            self._ways.add(self.page, request.url)

    def _moved(self, frame: Frame) -> None:
        """Where scripts draw the pages, an agent leaves one without a request for another."""
        if self.task.drawn and frame == self.page.main_frame:
            self._leave()
        if frame == frame.page.main_frame:
            self._ways.add(frame.page, frame.url)

    def _leave(self) -> None:
        """Note that the agent itself goes to another page; where that page leads on to is no doing of its."""
        if self._may_leave:
            self._may_leave = False
            self.task.started.pop(self.page, None)
            self._ways.forget(self.page)

    def _perform(self, action: Action) -> None:
        page: Page = self.page
        match action.name, action.args:
            case (("click" | "fill" | "select_option"), (str(bid), *arguments)):
                element = get_elem_by_bid(page, bid)
                getattr(element, action.name)(*arguments, timeout=episode.ACTION_TIMEOUT_MS)
            case "scroll", (float(dx), float(dy)):
                page.evaluate("([left, top]) => window.scrollBy({left, top, behavior: 'instant'})", [dx, dy])
            case "keyboard_press", (str(key),):
                page.keyboard.press(key)
            case "goto", (str(url),):
                if not re.match(r"https?://", url, re.IGNORECASE):
                    raise ValueError("goto: only http:// and https:// addresses can be opened")
                page.goto(url, wait_until="domcontentloaded", timeout=episode.LOAD_TIMEOUT_MS)
            case (("go_back" | "go_forward"), ()):
                go = getattr(page, action.name)
                go(wait_until="domcontentloaded", timeout=episode.LOAD_TIMEOUT_MS)
            case "tab_focus", (int(index),):
                tabs = page.context.pages
                if not 0 <= index < len(tabs):
                    raise ValueError(f"tab_focus: there is no tab {index}; tabs are 0 to {len(tabs) - 1}")
                tabs[index].bring_to_front()
                super()._activate_page_from_js(tabs[index])
            case _:
                raise AssertionError(f"no dispatch for {action}")

    def _activate_page_from_js(self, page: Page) -> None:
        """Make a new tab the active one, or the tab that an agent's own code brings to the front.

        BrowserGym calls this also for a tab behind the active one, when its last picture has come.
        """
        if self._executes or page not in self.page_history:
            super()._activate_page_from_js(page)


def may_leave(action: str) -> bool:
    """Return whether an agent may leave a page by what it has written, in whatever action space."""
    try:
        return parse_action(action).name not in episode.STAYING
    except ActionError:
        return True


@contextmanager
def launched_with(flags: Sequence[str], folder: Path) -> Iterator[None]:
    """Launch all browsers within the block as Souk launches them, with these switches.

    The folder holds what they need as long as they run (see `environment`).

    BrowserGym lets nobody say with what flags, and for its chat window, which is a second browser, not even
    which program.
    """
    program = find_browser(_get_global_playwright())
    launch = BrowserType.launch

    def launch_ours(self: BrowserType, **options: Any) -> Any:
        ours = {
            "executable_path": program,
            "env": environment(folder),
        }
        return launch(self, **{**ours, **options, "args": [*options.get("args", ()), *flags]})

    setattr(BrowserType, "launch", launch_ours)  # noqa: B010 - mypy forbids to assign to a method
    try:
        yield
    finally:
        setattr(BrowserType, "launch", launch)  # noqa: B010


class _Unseen(Chat):  # type: ignore[misc]
    """BrowserGym's chat without its window: where nobody sees it, only its messages count."""

    page = SimpleNamespace(evaluate=lambda script: None)

    def __init__(self, **_: Any) -> None:
        self.messages: list[dict[str, Any]] = []

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def talking_in(chat: type[Chat]) -> Iterator[None]:
    """Let BrowserGym make this chat within the block."""
    setattr(browsergym_env, "Chat", chat)  # noqa: B010 - as above
    try:
        yield
    finally:
        setattr(browsergym_env, "Chat", Chat)  # noqa: B010


def look_of(
    observation: dict[str, Any],
    step: int,
    stop: Stop | None,
    page: Literal["viewport", "whole"] = "viewport",
    tab: int | None = None,
    stood: tuple[PageElements | None, PageElements | None] = (None, None),
    way: tuple[str, ...] = (),
) -> episode.TabObservation:
    """Turn BrowserGym's observation into Souk's.

    The HTML is BrowserGym's own pruned HTML of what is visible, or of the whole `page`. `tab` and `way`
    are those of the look; `stood`: what stood on the page before the observation and after it.
    """
    if "dom_object" in observation:
        marked, more = observation["dom_object"], observation["extra_element_properties"]
        visible = page == "viewport"
        html = prune_html(flatten_dom_to_str(marked, extra_properties=more, filter_visible_only=visible))
    else:  # the agent asked for the page itself, and may read all of it
        html = observation["page"].content()
    active = int(np.asarray(observation["active_page_index"]).item())
    tabs = tuple(
        Tab(storable(title), url, number == active)
        for number, (title, url) in enumerate(
            zip(observation["open_pages_titles"], observation["open_pages_urls"], strict=True)
        )
    )
    error = storable(observation["last_action_error"])
    return episode.TabObservation(
        Observation(observation["goal"], storable(html), tabs, error, step, page=page),
        observation["url"],
        stop,
        tab=tab,
        before=stood[0],
        standing=stood[1],
        way=way,
    )
