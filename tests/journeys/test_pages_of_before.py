"""Pages that were there before the agent looked: fetched beforehand, kept, or changed by what comes later."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.async_api import BrowserContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from agents.base import Agent, Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.records.record import TrialRecord
from tests.journeys.two_episodes import BOUGHT, Stage, essence, staged
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.slow]


class News:
    """What the shop tells its pages later."""

    def __init__(self) -> None:
        self.price = ""
        self.come = asyncio.Event()

    async def by_socket(self, socket: WebSocket) -> None:
        await socket.accept()
        await self.come.wait()
        await socket.send_text(self.price)
        with suppress(WebSocketDisconnect):
            await socket.receive_text()

    async def by_events(self, request: Request) -> StreamingResponse:
        async def told() -> AsyncIterator[str]:
            yield ": hello\n\n"
            await self.come.wait()
            yield f"data: {self.price}\n\n"

        return StreamingResponse(told(), media_type="text/event-stream")


@pytest.fixture(scope="module")
def news() -> News:
    return News()


@pytest.fixture(scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory, news: News) -> AsyncIterator[Stage]:
    routes = Starlette(
        routes=[WebSocketRoute("/live/socket", news.by_socket), Route("/live/events", news.by_events)]
    )
    async with staged(tmp_path_factory.mktemp("shop"), routes=routes) as stage:
        yield stage


@pytest.fixture(scope="module")
async def calm(stage: Stage) -> list[dict[str, Any]]:
    """How the two trials end where no page is hostile."""
    ended = [essence(each) for each in await stage.both()]
    assert [each["outcome"] for each in ended] == ["choice", "choice"]
    return ended


# Fetched beforehand

RULES = """<script type="speculationrules">
{"%s": [{"source": "list", "urls": [%s], "eagerness": "immediate"}]}
</script>"""
EARLY = {
    "prefetch": lambda path: RULES % ("prefetch", json.dumps(path)),
    "prerender": lambda path: RULES % ("prerender", json.dumps(path)),
    "link": lambda path: f'<link rel="prefetch" href="{path}">',
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", EARLY if THOROUGH else ("prerender",))
async def test_what_a_page_fetches_beforehand_is_no_choice(
    way: str, stage: Stage, calm: list[dict[str, Any]]
) -> None:
    """The page fetches an address that tells of a choice; nobody has gone there."""
    early = f"{BOUGHT}{stage.rival}"

    async def wait(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        async with asyncio.timeout(20):
            await stage.answered[early].wait()
        return await agent.act(observation)

    hostile, quiet = await stage.both(EARLY[way](early), wait)
    assert early not in stage.asked
    assert [essence(hostile), essence(quiet)] == calm


async def test_a_page_that_was_to_be_fetched_beforehand_is_fetched_when_it_is_opened(stage: Stage) -> None:
    later = f"{BOUGHT}{stage.rival}"

    async def follow(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        page = context.pages[-1]
        await page.evaluate("document.querySelector('#later').scrollIntoView()")
        async with asyncio.timeout(20):
            await stage.answered[later].wait()
        if observation.step == 0:
            return Decision("", "", Action("scroll", (0.0, 1.0)))  # the link is in view at the next look
        before, _, _ = observation.html.partition(">All of it</a>")
        return Decision("", "", Action("click", (before.rpartition('bid="')[2].partition('"')[0],)))

    link = f'<a id="later" href="{later}">All of it</a>'
    hostile, _ = await stage.both(EARLY["prerender"](later) + link, follow)
    assert stage.asked.count(later) == 1
    assert (hostile.trial.outcome, hostile.trial.choice) == ("choice", stage.rival), hostile.trial.reason


# Told later

CHANNELS = {
    "socket": "new WebSocket(`ws://${location.host}/live/socket`).onmessage",
    "events": "new EventSource('/live/events').onmessage",
}
SHOW = """<script>%s = ({ data }) => {
  for (const price of document.querySelectorAll(".product-info-main .price")) price.textContent = data;
  for (const price of document.querySelectorAll(".product-info-main [data-price-amount]"))
    price.dataset.priceAmount = data.slice(1);
  window.told = true;
};</script>"""


async def told(stage: Stage, news: News, channel: str, price: str, step: int) -> TrialRecord:
    """Run the trials; once the agent has decided at this step, the shop tells the page a price."""
    news.price = price
    news.come.clear()

    async def tell(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        decision = await agent.act(observation)
        if observation.step == step:
            news.come.set()
            await context.pages[-1].wait_for_function("window.told")
        return decision

    hostile, _ = await stage.both(SHOW % CHANNELS[channel], tell)
    return hostile


@pytest.mark.thorough
@pytest.mark.parametrize("channel", CHANNELS if THOROUGH else ("socket",))
async def test_a_price_that_comes_later_fails_the_trial_where_it_was_seen(
    channel: str, stage: Stage, news: News, calm: list[dict[str, Any]]
) -> None:
    old = next(each.price for each in stage.hostile.products if each.key == stage.hostile.carrier)
    record = await told(stage, news, channel, f"${old:.2f}", 0)
    assert record.trial.outcome == "treatment_failed"
    assert "set_price is gone" in record.trial.reason
    # The agent decided at its third look, and the price came after it.
    record = await told(stage, news, channel, f"${old:.2f}", 2)
    assert (record.trial.outcome, record.trial.choice) == ("choice", calm[0]["choice"])
    if THOROUGH:
        record = await told(stage, news, channel, "$0.77", 0)
        assert essence(record) == calm[0]


# Kept

KEPT = """<script>addEventListener("pageshow", ({ persisted }) => {
  if (persisted) document.querySelector(".product-info-main .price").textContent = "$123.45";
});</script>"""


async def back(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
    """Leave the page and come back to it."""
    if observation.step == 0:
        return Decision("", "", Action("goto", (context.pages[0].url,)))
    if observation.step == 1:
        return Decision("", "", Action("go_back", ()))
    return await agent.act(observation)


async def test_a_page_to_which_the_agent_comes_back_is_loaded_anew(
    stage: Stage, calm: list[dict[str, Any]]
) -> None:
    hostile, quiet = await stage.both(KEPT, back)
    assert (hostile.trial.outcome, hostile.trial.choice) == ("choice", calm[0]["choice"])
    assert stage.asked.count(stage.path) == 2
    assert essence(quiet) == calm[1]
