"""Trials in chains, which share a browser context, each beside the same trial in a context of its own."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response

from environments.browser.pool import BrowserPool, run_browsers
from environments.shop.app import create_app
from environments.shop.catalogue import generate
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed
from experiments.executors.executor import Attempt
from experiments.records.record import Start
from experiments.replay.replay import NeverAway
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import run_proxy
from tests.journeys.two_episodes import essence
from tests.support import serve

EXPERIMENTS: Final = ("nudges", "attributes", "profiles", "listing", "search", "trios")
AGENTS: Final = ("simulated:balanced", "simulated:random", "simulated:price")
PICTURES: Final = {"tree": True, "screenshot": True}
STATIC: Final = ("script", "style", "font", "image")
OF_THE_RUN: Final = ("host", "referer", "origin", "cookie")
"""The headers that name the shop's port, or an id that it has drawn."""

Asked = list[tuple[str, str, dict[str, str]]]


@dataclass
class Chain:
    """A shop, and two ways to run a trial of an experiment in it: after others, and alone."""

    kept: BrowserExecutor[ShopTrial]
    fresh: BrowserExecutor[ShopTrial]
    browsers: BrowserPool
    trials: list[ShopTrial]
    asked: Asked = field(default_factory=list)
    """What the shop was asked for: method, address and headers, without what differs in each run."""

    async def note(self, request: Request, answer: RequestResponseEndpoint) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in OF_THE_RUN}
        headers["cookie"] = ",".join(sorted(request.cookies))
        headers["content-type"] = headers.get("content-type", "").partition("boundary")[0]
        if headers.get("sec-fetch-dest") not in STATIC:
            self.asked.append((request.method, request.url.path, headers))
        return await answer(request)

    async def run(self, executor: BrowserExecutor[ShopTrial], trial: ShopTrial) -> dict[str, Any]:
        """Run a trial; return all that was asked for and seen."""
        self.asked.clear()
        record = await executor.run(Attempt(trial, 1, Start.now()))
        pictures = [record.artifacts[each["screenshot"]] for each in record.steps if each.get("screenshot")]
        asked = sorted(self.asked, key=repr)
        return essence(record) | {"pictures": pictures, "asked": asked, "options": record.options}


def chained(name: str, *, pictures: bool, contexts: Literal["kept", "fresh"]) -> ShopDesign:
    source = experiment_source(name).data
    observation = {"observation": PICTURES} if pictures else {}
    return ShopDesign(parse_yaml(yaml.safe_dump(source | observation | {"contexts": contexts}), name))


@asynccontextmanager
async def chain(folder: Path, name: str, seed: int, *, pictures: bool) -> AsyncIterator[Chain]:
    """Start the shop and a browser, for trials of a shipped experiment in random order."""
    kept = chained(name, pictures=pictures, contexts="kept")
    fresh = chained(name, pictures=pictures, contexts="fresh")
    trials = list(kept.trials(AGENTS))
    random.Random(seed).shuffle(trials)
    found: list[Chain] = []

    async def note(request: Request, answer: RequestResponseEndpoint) -> Response:
        return await found[0].note(request, answer)

    app = create_app(generate(0))
    app.add_middleware(BaseHTTPMiddleware, dispatch=note)
    async with (
        serve(app) as url,
        run_proxy(folder / "ca") as proxy,
        run_browsers(proxy.spki, pictures=pictures) as browsers,
    ):
        testbed = Testbed(url, NeverAway(url), proxy, browsers)
        executors = [BrowserExecutor(ShopTrialRunner(each, url), testbed, 1) for each in (kept, fresh)]
        found.append(Chain(*executors, browsers, trials))
        yield found[0]


async def differences(folder: Path, pairs: int, seed: int = 0) -> AsyncIterator[tuple[str, ShopTrial, str]]:
    """Run pairs of trials of all experiments, a fifth of them with pictures; yield what differs in a pair."""
    for number, (name, pictures, share) in enumerate(shares(pairs)):
        async with chain(folder / f"{name}-{pictures}", name, seed + number, pictures=pictures) as place:
            again = 0
            for trial in place.trials[:share]:
                after, alone = await place.run(place.kept, trial), await place.run(place.fresh, trial)
                again += bool(place.browsers._kept)
                assert alone["asked"] and alone["looks"], "nothing was run"
                for each in after:
                    if after[each] != alone[each]:
                        yield each, trial, f"{after[each]}\n!=\n{alone[each]}"
            assert again >= 0.9 * share, "contexts are used again"


def shares(pairs: int) -> Iterator[tuple[str, bool, int]]:
    """Yield each experiment with and without pictures, and how many of the pairs it has."""
    for name in EXPERIMENTS:
        pictured = max(2, pairs // 5 // len(EXPERIMENTS))
        yield name, False, max(2, pairs // len(EXPERIMENTS) - pictured)
        yield name, True, pictured
