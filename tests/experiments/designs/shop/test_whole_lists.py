"""Lists that are shown as the shop has them, with a nudge on one of their products.

The oracles are the shopper's known weights, and a reader of its own: Playwright, card by card.
"""

import csv
import random
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from playwright.async_api import BrowserContext
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from analysis.choice.effects.effects import choice_effects
from analysis.choice.exact.exact import exact_tests
from environments.shop.shop import Shop as ServedShop
from experiments.designs.catalogue.importer import Importer
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import simulated_trials
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner, start_urls
from experiments.executors.browser import open_testbed
from experiments.fitting.shopper_fit import fit_shopper
from experiments.fitting.shown_choices import shown_choices
from experiments.records import tables
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.experiments.designs.make import AGENT
from tests.experiments.designs.shop.conftest import Place, carry_out
from tests.experiments.designs.shop.test_tasks import Scripted
from tests.ground_truth import Done, assert_chosen_as_known, probabilities
from tests.ground_truth import carry_out as carry_out_many
from tests.lab.storefronts import hard_cases
from tests.simulated_choices import with_choices
from tests.support import serve, size
from tests.true_effects import true_effects

COLOURS = (
    "Amber Birch Coral Dusk Ember Fern Grey Hazel Ivory Jade "
    "Kelp Lilac Moss Night Ochre Plum Quartz Rose Sand Teal"
).split()
NUDGE = "This product is a best seller!"


def own_products(folder: Path, categories: int = 2) -> str:
    """A table of twenty products in each category; the embedded shop sells them."""
    chance, file = random.Random(4), folder / "own.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["name", "price", "rating", "reviews", "category"])
        for form in ("Lamp", "Desk", "Chair", "Vase", "Clock", "Shelf", "Stool", "Tray")[:categories]:
            for colour in COLOURS:
                price, rating = 20 * 1.3 ** chance.uniform(-1, 1), chance.randint(60, 95)
                rows.writerow(
                    [f"{colour} {form}", f"{price:.2f}", f"{rating}%", chance.randint(1, 99), f"{form}s"]
                )
    return str(file)


def design(**changes: Any) -> ShopDesign:
    told = {
        "name": "whole",
        "task": "listing",
        "goal": "Add the best product on this page to the shopping cart.",
        "factors": {
            "nudge": {"interventions": "nudges", "only": ["best-seller"], "on": ["none", "random"]},
            "order": "listed",
        },
        "limits": {"steps": 60},
        "seed": 5,
        **changes,
        "options": {"pairing": "whole-list", **changes.get("options", {})},
    }
    return ShopDesign(parse_yaml(yaml.safe_dump(told, sort_keys=False), "whole.yaml"))


READ = """() => [...document.querySelectorAll(CARDS)].map((card) => {
  const { left, top } = card.getBoundingClientRect();
  const link = [...card.querySelectorAll("a")].find((one) => one.textContent.trim());
  return { left, top, text: card.innerText, href: link.getAttribute("href"), html: card.innerHTML };
}).sort((a, b) => a.top - b.top || a.left - b.left)"""


async def read_cards(context: BrowserContext, url: str, css: str) -> list[tuple[str, float, bool]]:
    """The cards of a list by a reader of its own, as they stand on the screen: key, price, nudged or not."""
    page = await context.new_page()
    await page.goto(url)
    cards = await page.evaluate(READ.replace("CARDS", repr(css)))
    await page.close()
    found = []
    for card in cards:
        (price,) = re.findall(r"\$([\d,]+\.\d\d)", card["text"])
        key = card["href"].rsplit("/", 1)[-1].removesuffix(".html")
        found.append((key, float(price.replace(",", "")), NUDGE in card["text"]))
    return found


def recorded(rows: list[Any]) -> list[tuple[str, float, bool]]:
    """The same of a trial's record."""
    assert [row["position"] for row in rows] == list(range(len(rows)))
    return [(row["option"], row["price"], bool(row["nudged"])) for row in rows if row["unread"] == ""]


async def assert_read_as_recorded(done: Done, folder: Path, css: str = "li.product-item") -> None:
    """Each list of the trials, card by card, and the one product that carries the nudge."""
    options = done.rows(tables.options)
    folder.mkdir()
    async with open_testbed(folder, done.design.shop) as testbed:
        runner = ShopTrialRunner(done.design, testbed.base_url)
        slot = await testbed.proxy.open_slot()
        for name, trial in done.trials.items():
            slot.session = runner.session(trial)
            async with testbed.browsers.context(slot.url) as context:
                (start,) = start_urls(testbed.base_url, trial)
                cards = await read_cards(context, start, css)
            assert cards == recorded(options[name])
            assert [key for key, _, nudged in cards if nudged] == [trial.carrier] * bool(trial.carrier)
    slot.session = None


@pytest.mark.browser
async def test_a_list_of_twenty_is_shown_uncut_and_chosen_from_by_the_weights(tmp_path: Path) -> None:
    made = design(options={"catalogue": own_products(tmp_path)}, repeats=size(1, 10))
    trials = list(made.trials([AGENT]))
    assert {len(trial.products) for trial in trials} == {20}
    done = await carry_out_many(tmp_path, made.source, AGENT, len(trials), 2)
    assert done.records.outcomes(made.run_id) == {"choice": len(trials)}
    assert done.table.groupby("trial").size().eq(20).all()
    assert done.table["attr_in_view"].eq(1).all()
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    await assert_read_as_recorded(done, tmp_path / "again")


@pytest.mark.browser
async def test_a_trial_begins_on_the_home_page(tmp_path: Path) -> None:
    made = design(task="home")
    done = await carry_out_many(tmp_path, made.source, AGENT, 2, 2)
    assert done.records.outcomes(made.run_id) == {"choice": 2}
    assert {trial.start for trial in done.trials.values()} == {("",)}
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    await assert_read_as_recorded(done, tmp_path / "again")
