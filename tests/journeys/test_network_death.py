"""The network service is killed in real episodes: nothing goes past the proxy, and nothing wrong counts."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, Route

from agents.base import Agent, Decision
from environments.browser import through_proxy
from environments.browser.pool import BrowserPool, run_browsers
from environments.browser.through_proxy import BrowserFailure
from environments.protocol.observation import Observation
from experiments.executors.executor import MAX_ATTEMPTS
from interventions.apply.plan import Plan
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Proxy, run_proxy
from proxy.session import Session
from tests.journeys.two_episodes import essence, staged
from tests.support import THOROUGH, listening, network_services, pages, size

EVENTS = ("request", "answer", "look", "decision")
MOMENTS = size(8, 12)
"""Kills, each in an attempt of its own."""


class Moments:
    """Counts what happens in a trial, and kills the network service at one of these moments."""

    def __init__(self) -> None:
        self.counted = Counter[str]()
        self.strike: tuple[str, int] | None = None
        self._others = network_services()

    def happens(self, event: str) -> None:
        self.counted[event] += 1
        if self.strike == (event, self.counted[event]):
            self.strike = None
            (ours,) = network_services() - self._others
            os.kill(ours, signal.SIGKILL)

    async def turn(self, context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        self.happens("look")
        decision = await agent.act(observation)
        self.happens("decision")
        return decision


@pytest.mark.skipif(not THOROUGH, reason="make faults kills network services")
async def test_what_counts_is_what_an_undisturbed_run_gives(tmp_path: Path) -> None:
    """Each page asks the browser for something at a port that nobody may contact; see also `staged`."""
    moments, contacts = Moments(), list[bytes]()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        contacts.append(await reader.read(200))
        writer.close()

    async with listening(converse, "127.0.0.1", 0) as server, staged(tmp_path) as stage:
        forbidden = server.sockets[0].getsockname()[1]
        stage.markup = f'<link rel="preload" as="image" href="http://127.0.0.1:{forbidden}/">'
        stage.happens, stage.turn = moments.happens, moments.turn
        calm = essence(await stage.run(stage.hostile))
        counted, dice, outcomes = moments.counted, random.Random(14), list[str]()
        assert calm["outcome"] == "choice"
        for number in range(MOMENTS):
            event = EVENTS[number % len(EVENTS)]
            moment = moments.strike = event, dice.randint(1, counted[event])
            moments.counted = Counter()
            record = await stage.run(stage.hostile)
            outcomes.append(record.trial.outcome)
            came = moments.strike is None
            assert outcomes[-1] in (("choice", "infra_error") if came else ("choice",)), moment
            for _ in range(MAX_ATTEMPTS - 1):
                if record.trial.outcome == "infra_error":  # repeated, as a run does
                    record = await stage.run(stage.hostile)
            assert essence(record) == calm, moment
    assert outcomes.count("infra_error") >= MOMENTS // 2, "most moments came, and the deaths were noticed"
    assert contacts == []


@pytest.fixture
async def proxy(tmp_path: Path) -> AsyncIterator[Proxy]:
    async with run_proxy(tmp_path / "ca") as proxy:
        yield proxy


@asynccontextmanager
async def visited(proxy: Proxy, browsers: BrowserPool) -> AsyncIterator[Page]:
    """A tab behind the proxy, in which a page of a shop is open."""
    async with pages({"/": "<title>Oats</title>"}) as url:
        slot = await proxy.open_slot()
        slot.session = Session(Plan(()), load_site_map("onestopmarket"), AllowList.of(url))
        async with browsers.context(slot.url) as context:
            page = await context.new_page()
            await page.goto(url)
            yield page


async def test_a_page_that_does_not_come_through_the_proxy_is_a_failure(proxy: Proxy) -> None:
    async def answer(route: Route) -> None:
        await route.fulfill(body="<title>From nowhere</title>")

    async with run_browsers(proxy.spki) as browsers:
        async with visited(proxy, browsers):
            pass
        with pytest.raises(BrowserFailure, match=r"^http://x\.test/ did not come through the proxy$"):
            async with visited(proxy, browsers) as page:
                await page.route("http://x.test/", answer)
                await page.goto("http://x.test/")
        async with visited(proxy, browsers) as page:  # what scripts make comes from no server
            await page.evaluate("location = URL.createObjectURL(new Blob(['<title>Made</title>']))")
            await page.wait_for_url("blob:**")


def stands_still(process: int) -> bool:
    """Whether all threads of a stopped process stand still: the signal takes a moment to reach them."""
    states = (path.read_text().rpartition(") ")[2] for path in Path(f"/proc/{process}/task").glob("*/stat"))
    return all(state.startswith("T") for state in states)


async def test_a_network_service_that_hangs_is_a_failure(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = network_services()
    async with run_browsers(proxy.spki) as browsers:
        with pytest.raises(BrowserFailure, match="does not answer"):
            async with visited(proxy, browsers):
                monkeypatch.setattr(through_proxy, "PATIENCE_SECONDS", 0.5)  # while it moves it has longer
                (ours,) = network_services() - others
                os.kill(ours, signal.SIGSTOP)
                while not stands_still(ours):
                    pass
        os.kill(ours, signal.SIGCONT)
