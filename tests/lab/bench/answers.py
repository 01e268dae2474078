"""Trials per minute without pages, and rewriting an answer of a hundred products against its JSON alone."""

import json
import tempfile
from itertools import islice
from pathlib import Path

import httpx

from environments.shop.server import shop
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, open_testbed
from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from tests.experiments.designs.make import source
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import all_ended, rate_of_the_middle
from tests.lab.bench.timing import in_turn, rows, times_as_many

REPETITIONS = 50
TRIALS = 800
GOAL = 1_000
MOST = 1.5
EDITS: tuple[dict[str, object], ...] = (
    {"set_price": 12.5},
    {"set_rating": 80},
    {"set_reviews": 12},
    {"insert_text": {"after": "product.title", "text": "Bought by 50,000+ customers"}},
)


async def run() -> Result:
    """The answer in turns with its JSON; then the trials."""
    url, body, key = await answer()
    plan = Plan((Treatment("bench", key, tuple(map(edit_from_dict, EDITS))),))
    site = load_site_map("ucp")

    def edited() -> bytes:
        return rewrite(body, content_type="application/json", url=url, plan=plan, site=site).body

    assert b"50,000+" in edited()
    ours, alone = "rewritten with four edits", "its JSON read and written"
    times = in_turn({ours: edited, alone: lambda: json.dumps(json.loads(body)).encode()}, REPETITIONS)
    ratio, rate = 1 / times_as_many(times, alone, ours), await feeds()
    return Result(
        what="trials without pages: their rate, and rewriting an answer of a hundred products",
        against="reading and writing the answer's JSON",
        figure=f"{ratio:.1f} times that; {rate:,.0f} trials a minute",
        goal=f"at most {MOST:g} times; {GOAL:,} a minute",
        reached=ratio <= MOST and rate >= GOAL,
        times=rows(times),
        how=(
            f"An answer of the embedded shop by UCP, {len(body):,} bytes. {TRIALS} trials of `interfaces` by "
            "`feed` with simulated:balanced, in one process, two at a time, recorded; the middle half counts."
        ),
        notes=(),
    )


async def answer() -> tuple[str, bytes, str]:
    """The answer to a search, its address, and the key of one of its products."""
    headers = {"UCP-Agent": 'profile="https://platform.test/p.json"'}
    async with shop(interfaces=True) as base, httpx.AsyncClient(headers=headers) as client:
        url, found = f"{base}ucp/catalog/search", list[dict[str, object]]()
        cursor = ""
        while len(found) < 100:
            page = {"limit": 50} | ({"cursor": cursor} if cursor else {})
            asked = {"query": "for", "pagination": page}
            said = (await client.post(url, json=asked)).json()
            found += said["products"]
            cursor = said["pagination"]["cursor"]
        return url, json.dumps(said | {"products": found[:100]}).encode(), str(found[50]["handle"])


async def feeds() -> float:
    """Trials by feed in a minute."""
    design = ShopDesign(source("interfaces", observation=["feed"], repeats=4))
    trials = islice(design.trials(["simulated:balanced"]), TRIALS)
    with tempfile.TemporaryDirectory() as folder:
        async with open_testbed(Path(folder), design.shop) as testbed:
            runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, 2)
            return rate_of_the_middle(await all_ended(runner, design, trials, f"sqlite:///{folder}/t.db"))
