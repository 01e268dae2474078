"""What tests of trials without pages share: an agent with a script, one trial, a shop of somebody else."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.base import Agent, Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, open_testbed
from experiments.executors.executor import Attempt
from experiments.records.record import Start, TrialRecord
from tests.experiments.designs.make import source
from tests.support import serve


class Scripted:
    """Takes the given actions one after the other, and keeps what it was shown.

    looked: of each, whether the observation was shown to it before.
    """

    def __init__(self, *actions: Action, looked: tuple[bool, ...] = ()) -> None:
        self.actions, self.seen, self.looked = list(actions), list[Observation](), list(looked)

    async def act(self, observation: Observation) -> Decision:
        self.seen.append(observation)
        looked = self.looked.pop(0) if self.looked else True
        return Decision("", "", self.actions.pop(0), looked=looked)


@asynccontextmanager
async def one_trial(
    folder: Path, way: str, shop: Shop | None = None, **changes: Any
) -> AsyncIterator[tuple[ShopDesign, Callable[[Agent], Any]]]:
    """A design, and a function that lets an agent act in its first trial with a nudge."""
    design = ShopDesign(source("interfaces", observation=[way], **changes))
    trial = next(each for each in design.trials(["simulated:balanced"]) if each.condition == "nudged")
    async with open_testbed(folder, shop or design.shop) as testbed:

        class Runner(ShopTrialRunner):
            acting: Agent

            def agent(self, trial: Any) -> Agent:
                return self.acting

        runner = Runner(design, testbed.base_url)
        executor = BrowserExecutor(runner, testbed, 1)

        async def run(agent: Agent) -> TrialRecord:
            runner.acting = agent
            return await executor.run(Attempt(trial, 1, Start.now()))

        yield design, run


def product(key: str, sku: str, price: int = 1299) -> dict[str, Any]:
    amount = {"amount": price, "currency": "USD"}
    return {
        "id": sku,
        "title": key,
        "url": f"http://127.0.0.1/{key}.html",
        "description": {"plain": "All about it"},
        "price_range": {"min": amount, "max": amount},
        "variants": [{"id": sku, "title": key, "description": {"plain": key}, "price": amount}],
    }


Answers = Callable[[str, Any], Response]


@asynccontextmanager
async def foreign(answers: Answers) -> AsyncIterator[Shop]:
    """A shop of somebody else that speaks UCP over REST, as `answers` says for each path."""

    async def answer(request: Request) -> Response:
        body = await request.body()
        if request.method == "GET":  # by which it is seen that the shop is there
            return Response()
        return answers(request.url.path.removeprefix("/ucp"), json.loads(body) if body else {})

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    async with serve(app) as url:
        yield Shop(f"{url.rstrip('/')}/")


def whole(path: str, asked: Any, keys: dict[str, str], *, price: int = 1299) -> Response:
    if path == "/catalog/lookup":
        return JSONResponse({"products": [product(keys[each], each) for each in asked["ids"][::-1]]})
    item = asked["line_items"][0]["item"]["id"]
    line = {"id": "1", "item": {"id": item, "title": keys[item], "price": price}, "quantity": 1}
    return JSONResponse({"id": "c1", "currency": "USD", "line_items": [line], "totals": []}, 201)
