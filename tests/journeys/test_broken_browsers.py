"""Pages that break the browser, or keep it busy for ever: their trial ends truly, another one as ever."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from playwright.async_api import BrowserContext

from agents.base import Agent, Decision
from environments.protocol import time_limit
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.protocol.time_limit import Part
from tests.journeys.two_episodes import Stage, Turn, essence, staged
from tests.support import THOROUGH, network_services, own_processes

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HEAP = "--js-flags=--max-old-space-size=100"
"""A page's scripts may use so many megabytes; without it the same takes some gigabytes, and longer."""

LEAVING = """for (const name of ["beforeunload", "pagehide", "unload"])
  addEventListener(name, (event) => { %s });"""
NEVER = "infra_error", r"browser: .*|the page did not answer for \d+ seconds"
CHOICE = "choice", "You added"


class Broken(NamedTuple):
    """What a page's script does, and how its trial has to end: its outcome and its reason."""

    script: str
    ends: tuple[str, str]
    turn: str = ""
    """What happens in the agent's second turn."""
    floods: bool = False
    """Its messages keep the browser busy: where time is short, the quiet trial is repeated."""


PAGES = {
    "computes for ever": Broken("for (;;);", NEVER),
    "opens dialogs for ever": Broken("setTimeout(() => { for (;;) alert(1); })", NEVER),
    "asks and asks": Broken("setInterval(() => { confirm(1); prompt(2); print(); }, 50)", CHOICE),
    "eats memory": Broken(
        "const kept = []; for (;;) kept.push(new Array(1e5).fill(Math.random()));",
        # The page may be given up before its memory is full.
        ("infra_error", "browser: .*(crash|closed).*|the page did not answer for 3 seconds"),
    ),
    "loops as it is left": Broken(LEAVING % "for (;;);", NEVER, "leave"),
    # The browser refuses each of these dialogs by a message in the console.
    "opens dialogs as it is left": Broken(LEAVING % "for (;;) alert(1);", NEVER, "leave", floods=True),
    "wants to be stayed on": Broken(
        LEAVING % "event.preventDefault(); event.returnValue = 1;", CHOICE, "leave"
    ),
    "takes long as it is left": Broken(
        LEAVING % "const now = Date.now(); while (Date.now() - now < 300);", CHOICE, "leave"
    ),
    "moves within itself for ever": Broken(
        "let n = 0; "
        "setInterval(() => { for (let i = 0; i < 200; i++) history.pushState(0, '', `?${n++}`); }, 1)",
        CHOICE,
    ),
    "loads itself for ever": Broken("setTimeout(() => location.reload())", NEVER),
    "closes itself": Broken("setTimeout(() => close(), 50)", CHOICE),
    "crashes": Broken("", ("infra_error", "browser: .*crash.*"), "crash"),
    "crashes the GPU process": Broken("", CHOICE, "GPU"),
}
USUAL = (
    "opens dialogs for ever",
    "eats memory",
    "loops as it is left",
    "moves within itself for ever",
    "crashes",
    "crashes the GPU process",
)


class World(NamedTuple):
    stage: Stage
    calm: list[dict[str, Any]]
    """How the two trials end where nothing breaks."""
    others: set[int]
    """The processes of browsers of other tests."""


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    others = own_processes("chrom")
    async with staged(tmp_path_factory.mktemp("shop"), HEAP, contexts="fresh") as stage:
        calm = [essence(each) for each in await stage.both()]
        assert [each["outcome"] for each in calm] == ["choice", "choice"]
        yield World(stage, calm, others)


def kill(processes: set[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):  # it was on its way out
            os.kill(process, signal.SIGKILL)


async def crash(context: BrowserContext) -> None:
    """Crash the process that draws the hostile page, as the page itself would by a fault of the browser."""
    page = context.pages[-1]
    session = await context.new_cdp_session(page)
    async with page.expect_event("crash"):
        crashing = asyncio.ensure_future(session.send("Page.crash"))
    crashing.cancel()


def turn_of(world: World, what: str) -> Turn:
    """A turn in which something happens, and the agent goes on."""

    async def turn(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        stage = world.stage
        if observation.step == 0 and what == "leave":
            await context.pages[-1].mouse.click(5, 5)  # only what was touched may ask not to be left
            return Decision("", "", Action("goto", (stage.url,)))
        if observation.step == 1 and what == "leave":
            return Decision("", "", Action("go_back", ()))
        if observation.step == 1 and what == "crash":
            await crash(context)
        if what == "GPU":
            kill(own_processes("--type=gpu-process") - world.others)
        if what == "network":
            kill(network_services() - world.others)
        stage.struck.set()
        return await agent.act(observation)

    return turn


async def nothing_is_left(world: World) -> None:
    """Neither trial has left a context, nor a process that draws pages."""
    browser = await world.stage.browsers.browser()
    assert browser.contexts == []
    async with asyncio.timeout(20):
        while own_processes("--type=renderer") - world.others:
            await browser.new_browser_cdp_session()  # lets the browser's process act


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PAGES if THOROUGH else USUAL)
async def test_a_page_that_breaks_the_browser_disturbs_no_other_trial(
    kind: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(time_limit.PARTS, "page", Part("browser", 10.0, "the page did not answer"))
    broken = PAGES[kind]
    markup = f"<script>{broken.script}</script>" if broken.script else ""
    hostile, quiet = await world.stage.both(markup, turn_of(world, broken.turn), strikes=True)
    outcome, reason = broken.ends
    assert hostile.trial.outcome == outcome, hostile.trial.reason
    assert re.fullmatch(reason, hostile.trial.reason)
    if outcome == "choice":
        assert hostile.trial.choice == world.calm[0]["choice"]
    else:
        assert (hostile.trial.choice, hostile.cause) == (None, "browser")
    if broken.floods and quiet.trial.outcome == "infra_error":
        assert (quiet.trial.choice, quiet.cause) == (None, "browser")
    else:
        assert essence(quiet) == world.calm[1]
    await nothing_is_left(world)


@pytest.mark.skipif(not THOROUGH, reason="test_network_death.py does the same, one trial at a time")
async def test_a_crash_of_the_network_process_ends_all_trials_and_they_are_repeated(world: World) -> None:
    ended = await world.stage.both(turn=turn_of(world, "network"), strikes=True)
    for record in ended:
        assert (record.trial.outcome, record.cause) == ("infra_error", "browser"), record.trial.reason
        assert "network service" in record.trial.reason
    await nothing_is_left(world)
    assert [essence(each) for each in await world.stage.both()] == world.calm
