"""A shop in BrowserGym's environment, in real Chromium behind the real proxy."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse

from environments.browser.through_proxy import BrowserFailure
from environments.observation.observe import ObservationQuery, PageDisturbed
from environments.observation.views import View
from interventions.apply.plan import Plan, Treatment
from interventions.edits.in_browser import ElementQuery, PageElements
from interventions.edits.insert_text import InsertText
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Proxy, run_proxy
from proxy.session import Session
from tests.support import STOPS, listening, network_services, pages

pytest.importorskip("browsergym.core")

from browsergym.core.action.highlevel import HighLevelActionSet

from environments.browsergym.observe_around import observe_around
from environments.browsergym.task import ShopEnv, ShopTask, may_leave

pytestmark = [pytest.mark.browser]

OATS = """<!doctype html><title>Oats</title><meta property="og:type" content="product">
<div class="page-title-wrapper product"><h1><span class="base">Oats</span></h1></div>
<input name="q"><select name="count"><option>one</option><option>two</option></select>
<button onclick="add()">Add to Cart</button> <a href="/other" target="_blank">New tab</a>
<div id="messages"></div><div style="height: 3000px"></div>
<script>
async function add() {
  await fetch("/cart");
  const lines = await (await fetch("/cart")).text();
  document.querySelector("#messages").innerHTML = `<div class="message-success"><div
    data-bind="html: $parent.prepareMessageForHtml(message.text)">${lines}</div></div>`;
}
</script>"""
LATE = asyncio.Event()
"""A picture is held back until then."""


async def late_picture() -> AsyncIterator[bytes]:
    await LATE.wait()
    yield b'<svg xmlns="http://www.w3.org/2000/svg"/>'


LED = threading.Event()
"""Somebody has gone where a page leads by itself."""


def led(_: Request) -> PlainTextResponse:
    LED.set()
    return PlainTextResponse("Led on")


ANSWERS = {
    "/led": led,
    "/oats.html": OATS,
    "/late": "<!doctype html><title>Late</title><img src='/late.svg'>",
    "/late.svg": lambda _: StreamingResponse(late_picture(), media_type="image/svg+xml"),
    "/other": "<!doctype html><title>Other</title><p>Other page</p>",
    "/cart": PlainTextResponse("You added Oats to your cart"),
}
NUDGE = "Best of all oats"
REPLACED = """() => {
  for (const [owner, name] of [[Document.prototype, "querySelectorAll"], [self, "getComputedStyle"],
    [Element.prototype, "getBoundingClientRect"], [Element.prototype, "checkVisibility"], [JSON, "parse"]]) {
    owner[name] = () => { throw new Error("replaced"); };
  }
}"""
CLOSED = """() => {
  const late = document.createElement("div"), closed = document.createElement("div");
  late.id = "late";
  late.innerHTML = "<button>Far below</button>";
  closed.attachShadow({ mode: "closed" }).innerHTML = "<p>Behind closed doors</p>";
  document.body.append(late, closed);
}"""
PLAN = Plan((Treatment("best", "oats", (InsertText(after="product.title", text=NUDGE),)),))


@pytest.fixture(scope="module")
async def proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    async with run_proxy(tmp_path_factory.mktemp("proxy") / "ca") as proxy:
        yield proxy


Use = Callable[[Callable[[ShopEnv], None]], Any]


@pytest.fixture(scope="module")
async def use(proxy: Proxy, browsergym_thread: ThreadPoolExecutor) -> AsyncIterator[Use]:
    """Hands the environment, begun anew, to a function of the test."""
    async with pages(ANSWERS) as base_url:
        slot = await proxy.open_slot()
        slot.session = Session(PLAN, load_site_map("onestopmarket"), AllowList.of(base_url))
        urls = [base_url + "other", base_url + "oats.html"]
        task = partial(ShopTask, goal="Buy oats.", urls=urls, stops=STOPS, facts={"trial": "t"})
        env = ShopEnv(task, proxy=slot.url, spki=proxy.spki)

        def begin(act: Callable[[ShopEnv], None]) -> None:
            env.obs, env.info = env.reset(seed=1)
            act(env)

        loop = asyncio.get_running_loop()
        yield lambda act: loop.run_in_executor(browsergym_thread, begin, act)
        await loop.run_in_executor(browsergym_thread, env.close)


@pytest.mark.parametrize(
    ("action", "leaves"),
    [
        ("scroll(0, 100)", False),
        ("tab_focus(1)", False),
        ("click('12')", True),
        ("page.mouse.wheel(0, 9)", True),
    ],
)
def test_an_agent_may_leave_a_page_by_what_is_not_known_to_stay(action: str, leaves: bool) -> None:
    assert may_leave(action) == leaves


def shown(obs: dict[str, Any]) -> str:
    """All texts of the page that the agent is given."""
    return " ".join(obs["dom_object"]["strings"])


def bid(obs: dict[str, Any], role: str) -> str:
    """The mark of the first element of a role."""
    return next(
        node["browsergym_id"]
        for node in obs["axtree_object"]["nodes"]
        if node["role"]["value"] == role and "browsergym_id" in node
    )


async def test_tabs_are_treated_actions_are_taken_and_a_choice_ends_the_task(use: Use) -> None:
    def act(env: ShopEnv) -> None:
        assert env.obs["open_pages_titles"] == ("Other", "Oats")
        assert env.obs["active_page_index"].item() == 1
        assert NUDGE in shown(env.obs), "loopback goes through the proxy, too"
        assert (env.obs["goal"], env.info["task_info"]) == ("Buy oats.", {"trial": "t"})

        def step(action: str) -> dict[str, Any]:
            obs, reward, terminated, _, _ = env.step(action)
            assert (obs["last_action_error"], reward, terminated) == ("", 0, False)
            return obs

        obs = step(f"fill('{bid(env.obs, 'textbox')}', 'oats & milk')")
        assert "oats & milk" in shown(obs)
        step(f"select_option('{bid(obs, 'combobox')}', 'two')")
        assert env.page.locator("select").input_value() == "two"
        step("scroll(0, 500)")
        assert env.page.evaluate("scrollY") == 500
        step("scroll(0, -500)")
        step("tab_focus(0)")
        assert env.page.title() == "Other"
        obs = step("tab_focus(1)")
        obs = step(f"click('{bid(obs, 'link')}')")
        assert (len(obs["open_pages_urls"]), obs["active_page_index"].item()) == (3, 2)
        step("tab_focus(0)")
        assert list(env.task.started.values()) == [0, 1], "both tabs show what they began with"
        step(f"goto('{env.obs['url']}')")
        assert list(env.task.started.values()) == [1]
        obs = step("go_back()")
        assert obs["url"].endswith("/other")
        obs = step("go_forward()")
        step("keyboard_press('Tab')")
        obs, reward, terminated, truncated, _ = env.step(f"click('{bid(obs, 'button')}')")
        assert "You added Oats" in shown(obs), "the chain of requests is over"
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert env.task.stop == STOPS[0]

    await use(act)


GROWING = """() => {
  let left = 60;
  const grow = () => {
    document.body.prepend("More. ");
    if (left--) setTimeout(grow, 5);
  };
  grow();
}"""
"""For a while other texts come before the title."""


@pytest.mark.thorough
async def test_what_stands_on_a_page_is_read_around_the_observation(use: Use) -> None:
    heading = ElementQuery("h1")
    wanted, view = ObservationQuery((heading,), own=True), View(screenshot=True)

    def act(env: ShopEnv) -> None:
        def read(script: str = "0") -> tuple[PageElements, PageElements]:
            observe = lambda: env.page.evaluate(script)  # noqa: E731
            return observe_around(lambda: env.page, view, wanted, observe)[1]

        def title(standing: PageElements) -> tuple[str, str | None]:
            [element] = standing.found[heading] or ()
            return element.text, element.given

        env.page.evaluate(REPLACED)
        env.page.evaluate(CLOSED)
        assert [title(each) for each in read()] == [("Oats", "Oats")] * 2, "no function of the page is asked"
        before, after = read("document.querySelector('h1').append('!')")
        assert (title(before), title(after)) == (("Oats", "Oats"), ("Oats!", "Oats!"))
        assert {"Far below", "Behind closed doors"} <= set(after.own.split("\n")), "all that a tree tells"
        assert "bid" not in env.page.locator("#late").evaluate("(each) => each.outerHTML"), "it marks nothing"
        env.page.evaluate(GROWING)
        assert [title(each) for each in read()] == [("Oats!", "Oats!")] * 2, "it is looked at again"
        with pytest.raises(PageDisturbed, match="hold still"):
            read("history.pushState(null, '', `/${Math.random()}`)")
        env.page.evaluate("() => { setTimeout(() => location.replace('/led'), 50) }")
        assert LED.wait(60)
        env.step("keyboard_press('Tab')")
        assert env.page.url.endswith("/led")
        assert list(env.task.started.values()) == [0, 1], "no agent has left the tab's first page"

    await use(act)


@pytest.mark.thorough
async def test_what_is_no_action_is_told_and_never_run(use: Use, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    impossible = {
        f"__import__('pathlib').Path({str(trace)!r}).touch()": "ActionError: not a call of an action",
        f"click('1'); open({str(trace)!r}, 'w')": "ActionError: not a single call",
        f"page.screenshot(path={str(trace)!r})": "ActionError",
        "dblclick('1')": "ActionError: unknown action 'dblclick'",
        "click('9999')": 'ValueError: Could not find element with bid "9999"',
        "click('1] , *')": "Error: ",
        "tab_focus(7)": "ValueError: tab_focus: there is no tab 7; tabs are 0 to 1",
        "goto('file:///etc/passwd')": "only http:// and https:// addresses",
        "goto('javascript:alert(1)')": "only http:// and https:// addresses",
        "keyboard_press('NoSuchKey')": "Unknown key",
    }

    def act(env: ShopEnv) -> None:
        for action, reason in impossible.items():
            obs, _, terminated, _, _ = env.step(action)
            assert reason in obs["last_action_error"], action
            assert not terminated
        assert not trace.exists()

    await use(act)


async def test_an_agent_may_bring_its_own_action_space(use: Use) -> None:
    def act(env: ShopEnv) -> None:
        env.action_mapping = HighLevelActionSet(["bid", "infeas"]).to_python_code
        try:
            obs = env.step(f"hover('{bid(env.obs, 'button')}')")[0]
            assert obs["last_action_error"] == ""
            assert env.step("report_infeasible('no oats')")[2]
        finally:
            env.action_mapping = None

    await use(act)


@pytest.mark.thorough
@pytest.mark.parametrize("own", [False, True], ids=["Souk's actions", "an agent's own"])
async def test_a_tab_that_ends_to_load_behind_the_active_one_stays_behind(own: bool, use: Use) -> None:
    def act(env: ShopEnv) -> None:
        LATE.clear()
        env.action_mapping = HighLevelActionSet(["tab", "nav", "bid"]).to_python_code if own else None
        try:
            env.step("tab_focus(0)")
            obs = env.step(f"goto('{env.task.urls[0].replace('other', 'late')}')")[0]
            assert obs["open_pages_titles"][obs["active_page_index"].item()] == "Late"
            obs = env.step("tab_focus(1)")[0]
            assert obs["active_page_index"].item() == 1
            loop.call_soon_threadsafe(LATE.set)
            env.context.pages[0].wait_for_load_state("load")
            env.context.pages[0].evaluate("() => null")  # what follows the load event has come
            obs = env.step("scroll(0, 1)")[0]
            assert (obs["last_action_error"], obs["active_page_index"].item()) == ("", 1)
        finally:
            env.action_mapping = None

    loop = asyncio.get_running_loop()
    await use(act)


@pytest.mark.thorough
async def test_the_death_of_the_network_service_is_a_failure_of_the_browser(use: Use) -> None:
    contacts: list[bytes] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        contacts.append(await reader.read(200))
        writer.close()

    def act(env: ShopEnv) -> None:
        env.close()
        others = network_services()
        env.reset(seed=1)
        for ours in network_services() - others:
            os.kill(ours, signal.SIGKILL)
        with pytest.raises(BrowserFailure, match="network service died"):
            env.step(f"goto('http://127.0.0.1:{port}/')")
        assert NUDGE in shown(env.reset(seed=1)[0]), "it goes on with a new browser"

    async with listening(converse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await use(act)
    assert contacts == []
