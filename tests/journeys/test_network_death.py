"""The network service is killed in real episodes: nothing goes past the proxy, and nothing wrong counts."""

import asyncio
import os
import random
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from playwright.async_api import Page, Route
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from agents.base import Agent, Decision
from environments.browser import through_proxy
from environments.browser.pool import BrowserPool, run_browsers
from environments.browser.through_proxy import BrowserFailure
from environments.protocol.observation import Observation
from environments.shop.app import create_app
from environments.shop.catalogue import generate
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed
from experiments.executors.executor import MAX_ATTEMPTS, Attempt
from experiments.records.record import Start, TrialRecord
from experiments.replay.replay import NeverAway
from interventions.apply.plan import Plan
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from proxy.allow_list import AllowList
from proxy.server import Proxy, run_proxy
from proxy.session import Session
from tests.support import THOROUGH, listening, network_services, pages, serve, size

THROUGH = "x-test-through-proxy"
EXPERIMENT = """\
name: deaths
goal: Add the best product from the open tabs to the shopping cart.
options: {sets: 1}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
"""
NUDGE = "best seller"
MOMENTS = size(8, 12)
"""Kills, each in an attempt of its own."""


class ThroughProxy:
    """Marks what has come through the test's proxy."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        flow.request.headers[THROUGH] = "yes"


@dataclass
class World:
    """A shop that knows who came past the proxy, a port that nobody may contact, and a moment to strike."""

    others: set[int] = field(default_factory=network_services)
    direct: list[str] = field(default_factory=list)
    contacts: list[bytes] = field(default_factory=list)
    forbidden: int = 0
    requests: int = 0
    decisions: int = 0
    strike_at: tuple[str, int] | None = None

    def now(self, event: str, number: int) -> None:
        """Kill the network service if its moment has come."""
        if self.strike_at == (event, number):
            self.strike_at = None
            (ours,) = network_services() - self.others
            os.kill(ours, signal.SIGKILL)

    async def note(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        if THROUGH not in request.headers:
            self.direct.append(str(request.url))
        self.requests += 1
        self.now("request", self.requests)
        response = await answer(request)
        self.now("answer", self.requests)
        # Every page asks the browser for something at the forbidden port.
        response.headers["link"] = f"<http://127.0.0.1:{self.forbidden}/>; rel=preload; as=image"
        return response

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.contacts.append(await reader.read(200))
        writer.close()


class Struck:
    """An agent during whose turns the network service may die."""

    def __init__(self, inner: Agent, world: World) -> None:
        self._inner, self._world = inner, world

    async def act(self, observation: Observation) -> Decision:
        self._world.decisions += 1
        self._world.now("look", self._world.decisions)
        decision = await self._inner.act(observation)
        self._world.now("decision", self._world.decisions)
        return decision


class StruckEpisodes(ShopTrialRunner):
    def __init__(self, design: ShopDesign, base_url: str, world: World) -> None:
        super().__init__(design, base_url)
        self._world = world

    def agent(self, trial: ShopTrial) -> Agent:
        return Struck(super().agent(trial), self._world)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    async with listening(world.converse, "127.0.0.1", 0) as server:
        world.forbidden = server.sockets[0].getsockname()[1]
        yield world


def carrier_looks(record: TrialRecord, carrier: str | None) -> list[str]:
    """What the agent was shown of the page of the option that carries the nudge."""
    wanted = f"/{carrier}.html"
    return [record.artifacts[step["observation"]] for step in record.steps if wanted in step["url"]]


@pytest.mark.skipif(not THOROUGH, reason="make faults kills network services")
async def test_what_counts_is_what_an_undisturbed_run_gives(world: World, tmp_path: Path) -> None:
    design = ShopDesign(parse_yaml(EXPERIMENT, "e"))
    trials = list(design.trials(["simulated:balanced"]))
    app = create_app(generate(0))
    app.add_middleware(BaseHTTPMiddleware, dispatch=world.note)
    async with (
        serve(app) as url,
        run_proxy(tmp_path / "ca") as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        proxy._master.addons.add(ThroughProxy())
        episodes = StruckEpisodes(design, url, world)
        runner: BrowserExecutor[Any] = BrowserExecutor(
            episodes, Testbed(url, NeverAway(url), proxy, browsers), 1
        )

        async def attempt(trial: ShopTrial, moment: tuple[str, int] | None) -> TrialRecord:
            world.requests = world.decisions = 0
            world.strike_at = moment
            return await runner.run(Attempt(trial, 1, Start.now()))

        calm = {trial.id: await attempt(trial, None) for trial in trials}
        requests, decisions = world.requests, world.decisions
        events = {"request": requests, "answer": requests, "look": decisions, "decision": decisions}
        assert {record.trial.outcome for record in calm.values()} == {"choice"}
        dice = random.Random(14)
        outcomes = []
        for number in range(MOMENTS):
            trial = trials[number % len(trials)]
            event = list(events)[number % len(events)]
            record = await attempt(trial, moment := (event, dice.randint(1, events[event])))
            outcomes.append(record.trial.outcome)
            came = world.strike_at is None
            assert outcomes[-1] in (("choice", "infra_error") if came else ("choice",)), moment
            for _ in range(MAX_ATTEMPTS - 1):
                if record.trial.outcome == "infra_error":  # repeated, as a run does
                    record = await attempt(trial, None)
            assert record.trial.choice == calm[trial.id].trial.choice, moment
            looks = carrier_looks(record, trial.carrier)
            assert all(re.search(NUDGE, look) for look in looks), moment
            assert bool(looks) == (trial.carrier is not None)
    assert outcomes.count("infra_error") >= MOMENTS // 2, "most moments came, and the deaths were noticed"
    assert (world.direct, world.contacts) == ([], [])


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
    monkeypatch.setattr(through_proxy, "PATIENCE_SECONDS", 0.5)
    others = network_services()
    async with run_browsers(proxy.spki) as browsers:
        with pytest.raises(BrowserFailure, match="does not answer"):
            async with visited(proxy, browsers):
                (ours,) = network_services() - others
                os.kill(ours, signal.SIGSTOP)
                while not stands_still(ours):
                    pass
        os.kill(ours, signal.SIGCONT)
