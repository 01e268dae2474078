"""A process of the browser that stands still while an agent acts: no fault of the agent's, and repeated."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Request

from agents.base import Agent, Decision
from environments import episode
from environments.browser import pulse
from environments.browser.pool import run_browsers
from environments.observation import settling
from environments.protocol import time_limit
from environments.protocol.observation import Observation
from environments.protocol.time_limit import Part
from tests.journeys import two_episodes
from tests.journeys.two_episodes import Stage, essence, staged
from tests.support import network_services, own_processes, usual

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LIMIT_SECONDS = 15
"""The time limit of a trial; an undisturbed one takes less than one."""
STANDSTILL_SECONDS = 3
"""An attempt is given up when a part has stood still for so long."""

PROCESSES: dict[str, Callable[[], set[int]]] = {
    "renderer": lambda: own_processes("--type=renderer"),
    "network service": network_services,
    "GPU process": lambda: own_processes("--type=gpu-process"),
    "browser": lambda: own_processes("--remote-debugging-pipe"),
    "Playwright": lambda: own_processes("run-driver"),
}
MOMENTS = ("as the agent acts", "as the shop is asked for the product")
CASES = [(process, moment) for process in PROCESSES for moment in MOMENTS]
CASES.remove(("GPU process", MOMENTS[1]))  # only what is clicked has to be drawn


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    with pytest.MonkeyPatch.context() as patch:
        limits = two_episodes.EXPERIMENT["limits"] | {"seconds": LIMIT_SECONDS}  # type: ignore[operator]
        patch.setitem(two_episodes.EXPERIMENT, "limits", limits)
        # Without a watch over what stands still, these alone would be longer than the trial's limit.
        patch.setattr(episode, "SETTLE_SECONDS", 2 * LIMIT_SECONDS)
        patch.setattr(settling, "SETTLE_SECONDS", 2 * LIMIT_SECONDS)
        patch.setattr(episode, "ACTION_TIMEOUT_MS", 2_000 * LIMIT_SECONDS)
        patch.setattr(pulse, "STANDSTILL_SECONDS", STANDSTILL_SECONDS + 1)
        for name in ("browser", "page"):
            patch.setitem(
                time_limit.PARTS, name, Part("browser", STANDSTILL_SECONDS, f"the {name} stood still")
            )
        async with staged(tmp_path_factory.mktemp("shop")) as there:
            yield there


@pytest.fixture(scope="module")
async def calm(stage: Stage) -> dict[str, Any]:
    """How the trial ends where nothing stands still."""
    return essence((await stage.both())[0])


@pytest.mark.thorough
@pytest.mark.parametrize(("process", "moment"), usual(CASES, 2))
async def test_the_trial_is_repeated_and_ends_as_ever(
    process: str, moment: str, stage: Stage, calm: dict[str, Any]
) -> None:
    stopped: set[int] = set()

    def stop() -> None:
        for each in PROCESSES[process]() if not stopped else ():
            with suppress(ProcessLookupError):  # it was on its way out
                os.kill(each, signal.SIGSTOP)
                stopped.add(each)

    def stop_at(request: Request) -> None:
        if request.method == "POST":
            stop()

    async def turn(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        decision = await agent.act(observation)
        if decision.action.name == "click" and moment == MOMENTS[0]:
            stop()
        elif decision.action.name == "click":
            context.on("request", stop_at)
        return decision

    stage.turn = turn
    try:
        record = await stage.run(stage.hostile)
    finally:
        for each in stopped:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)
    assert stopped
    assert (record.trial.outcome, record.cause) == ("infra_error", "browser"), record.trial.reason
    stage.turn = two_episodes.as_ever
    assert essence(await stage.run(stage.hostile)) == calm


async def test_the_end_of_the_driver_is_no_news_of_asyncio(caplog: pytest.LogCaptureFixture) -> None:
    others = PROCESSES["Playwright"]()
    async with run_browsers() as pool:
        first = await pool.browser()
        (driver,) = PROCESSES["Playwright"]() - others
        os.kill(driver, signal.SIGKILL)
        while driver in PROCESSES["Playwright"]():  # noqa: ASYNC110 - asyncio tells of children, not of others
            await asyncio.sleep(0)
        async with pool.context(None) as context:
            await context.new_page()
    del first
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.text == ""
