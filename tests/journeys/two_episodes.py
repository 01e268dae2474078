"""Two episodes at once in one browser: a page of the first is hostile, and the second must not notice."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from mitmproxy import http
from playwright.async_api import BrowserContext
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from agents.base import Agent, Decision
from environments.browser import pool as browser
from environments.browser.pool import BrowserPool, run_browsers
from environments.protocol.observation import Observation
from environments.protocol.time_limit import NOBODY, Silent
from environments.shop.app import create_app
from environments.shop.catalogue import generate
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed
from experiments.executors.executor import Attempt
from experiments.records.record import Start, TrialRecord
from experiments.replay.replay import NeverAway
from experiments.treatment.trajectory import Trajectory
from interventions.yaml import sitemap
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import run_proxy
from proxy.session import Session
from tests.support import own_processes, serve

SITE_MAPS = Path(sitemap.__file__).parents[1] / "sitemaps"
EXPERIMENT = {
    "name": "hostile",
    "goal": "Add the best product from the open tabs to the shopping cart.",
    "options": {"sets": 2},
    "limits": {"steps": 8, "seconds": 60},
}
EDITS = [
    {"insert_text": {"after": "product.title", "text": "This product is a best seller!"}},
    {"set_price": 0.77},  # this agent buys the cheapest
]
BOUGHT = "/bought/"
"""Pages at which the site map takes a product as chosen."""
THROUGH = "x-test-through-proxy"

Turn = Callable[[BrowserContext, Observation, Agent], Awaitable[Decision]]


async def as_ever(context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
    """Let the agent decide."""
    return await agent.act(observation)


class ThroughProxy:
    """Marks what has come through the proxy."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        flow.request.headers[THROUGH] = "yes"


class Acting:
    """An agent in whose turns something may happen."""

    def __init__(self, inner: Agent, context: BrowserContext, turn: Turn) -> None:
        self._inner, self._context, self._turn = inner, context, turn

    async def act(self, observation: Observation) -> Decision:
        return await self._turn(self._context, observation, self._inner)


@dataclass
class Stage:
    """A shop, and two trials of it. `hostile` products' pages hold the `markup` while its trial runs.

    `struck` is set once the hostile page was sent, or by a turn; the quiet trial goes on then.
    """

    design: ShopDesign
    hostile: ShopTrial
    quiet: ShopTrial
    markup: str = ""
    turn: Turn = as_ever
    struck: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)
    """The paths that the shop was asked for."""
    answered: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    """By path: set once the hostile trial's browser was given an answer."""
    happens: Callable[[str], None] = lambda _: None
    """Called with `request` and `answer` when the shop is asked and has answered."""
    direct: list[str] = field(default_factory=list)
    """What came to the shop past the proxy."""
    url: str = ""
    browsers: BrowserPool = field(default_factory=lambda: BrowserPool(None))
    executor: BrowserExecutor[ShopTrial] | None = None

    @property
    def path(self) -> str:
        """The path of the page that may be hostile: the agent looks at it first, and before it buys."""
        return f"/{self.hostile.carrier}.html"

    @property
    def rival(self) -> str:
        """The key of the other product."""
        return self.hostile.products[0].key

    async def answer(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        path = request.url.path
        self.asked.append(path)
        if THROUGH not in request.headers:
            self.direct.append(path)
        self.happens("request")
        if path.startswith(BOUGHT):
            return HTMLResponse("<title>Thank you</title>")
        response = await answer(request)
        self.happens("answer")
        if path != self.path or not self.markup:
            return response
        page = b"".join([part async for part in response.body_iterator])  # type: ignore[attr-defined]
        self.struck.set()
        return HTMLResponse(page.replace(b"</body>", self.markup.encode() + b"</body>"))

    async def quietly(self, context: BrowserContext, observation: Observation, agent: Agent) -> Decision:
        await self.struck.wait()
        return await agent.act(observation)

    async def both(
        self, markup: str = "", turn: Turn = as_ever, *, strikes: bool = False
    ) -> tuple[TrialRecord, TrialRecord]:
        """Run the two trials at the same time, each once; `strikes`: the turn sets `struck`."""
        self.markup, self.turn = markup, turn
        self.struck.clear()
        self.asked.clear()
        self.answered.clear()
        if not markup and not strikes:
            self.struck.set()
        hostile, quiet = await asyncio.gather(self.run(self.hostile), self.run(self.quiet))
        return hostile, quiet

    async def run(self, trial: ShopTrial) -> TrialRecord:
        assert self.executor is not None
        return await self.executor.run(Attempt(trial, 1, Start.now()))


class Episodes(ShopTrialRunner):
    """Runs the trials of a stage."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.design, stage.url)
        self._stage = stage

    async def episode(
        self,
        trial: ShopTrial,
        agent: Agent,
        context: BrowserContext,
        session: Session,
        silent: Silent = NOBODY,
    ) -> Trajectory:
        stage = self._stage
        is_hostile = trial is stage.hostile
        if is_hostile:
            context.on("response", lambda response: stage.answered[urlsplit(response.url).path].set())
        acting = Acting(agent, context, stage.turn if is_hostile else stage.quietly)
        return await super().episode(trial, acting, context, session, silent)


def design_in(folder: Path, contexts: str = "kept") -> ShopDesign:
    """Make an experiment in the embedded shop, with a text and a price on one product of each set."""
    nudge = {"id": "both", "kind": "nudge", "family": "scarcity", "direction": 1, "edits": EDITS}
    (folder / "edits.yaml").write_text(yaml.safe_dump({"interventions": [nudge]}))
    site = yaml.safe_load((SITE_MAPS / "onestopmarket.yaml").read_text())
    site["choice"]["address"] = f"{BOUGHT}(.*)"
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    factors = {"nudge": {"interventions": str(folder / "edits.yaml")}, "order": "listed"}
    source = EXPERIMENT | {"contexts": contexts, "factors": factors, "site": str(folder / "site.yaml")}
    return ShopDesign(parse_yaml(yaml.safe_dump(source), "hostile"))


@asynccontextmanager
async def staged(
    folder: Path, *flags: str, routes: Starlette | None = None, contexts: str = "kept"
) -> AsyncIterator[Stage]:
    """Start a stage; `flags`: further switches of its browser, of which nothing may be left at the end."""
    design = design_in(folder, contexts)
    trials = [each for each in design.trials(["simulated:price"]) if each.carrier]
    hostile = next(each for each in trials if each.carrier == each.products[-1].key)
    quiet = next(each for each in trials if each.set != hostile.set)
    stage = Stage(design, hostile, quiet)
    app = create_app(generate(0))
    app.router.routes[:0] = routes.routes if routes else []
    app.add_middleware(BaseHTTPMiddleware, dispatch=stage.answer)
    others = own_processes("chrom")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browser, "FLAGS", (*browser.FLAGS, *flags))
        async with (
            serve(app) as stage.url,
            run_proxy(folder / "ca") as proxy,
            run_browsers(proxy.spki) as stage.browsers,
        ):
            proxy._master.addons.add(ThroughProxy())
            testbed = Testbed(stage.url, NeverAway(stage.url), proxy, stage.browsers)
            stage.executor = BrowserExecutor(Episodes(stage), testbed, 2)
            yield stage
    assert stage.direct == []
    assert own_processes("chrom") <= others, "a process of the browser is left"


def essence(record: TrialRecord) -> dict[str, Any]:
    """Return what of a trial is the same whenever it is run undisturbed."""
    receipts = [
        {name: value for name, value in each.items() if not name.startswith("page_hash")}
        for each in record.receipts
    ]
    return {
        "outcome": record.trial.outcome,
        "choice": record.trial.choice,
        "reason": record.trial.reason,
        "receipts": receipts,
        "looks": [record.artifacts[each["observation"]] for each in record.steps],
        "actions": [each["action"] for each in record.steps],
        "on_screen": record.on_screen,
    }
