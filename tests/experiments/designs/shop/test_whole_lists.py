"""Lists that are shown as the shop has them, with a nudge on one of their products.

The oracles are the shopper's known weights, and a reader of its own: Playwright, card by card.
"""

import csv
import random
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import yaml
from playwright.async_api import BrowserContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agents.base import Agent
from agents.simulated.tab_shopper import shipped_taste
from analysis.choice.effects.effects import choice_effects
from analysis.choice.exact.exact import exact_tests
from environments.shop.shop import Shop as ShopServed
from experiments.designs.catalogue.importer import Importer
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from experiments.episodes.guest_trial import Observe
from experiments.episodes.shop_episode import ShopTrialRunner, start_urls
from experiments.executors.browser import open_testbed
from experiments.executors.start_pages import check_start_pages
from experiments.fitting.shopper_fit import fit_shopper
from experiments.fitting.shown_choices import shown_choices
from experiments.records import tables
from experiments.treatment.trajectory import Trajectory
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.experiments.designs.make import AGENT
from tests.experiments.designs.shop.conftest import carry_out
from tests.experiments.designs.shop.test_tasks import Scripted
from tests.experiments.subjects.guest_place import SEEN, opened_place
from tests.ground_truth import Done, assert_chosen_as_known, probabilities
from tests.ground_truth import carry_out as carry_out_many
from tests.lab.storefronts import hard_cases
from tests.simulated_choices import with_choices
from tests.support import serve, size
from tests.true_effects import true_effects

COLOURS = (
    *("Amber", "Birch", "Coral", "Dusk", "Ember", "Fern", "Grey", "Hazel", "Ivory", "Jade"),
    *("Kelp", "Lilac", "Moss", "Night", "Ochre", "Plum", "Quartz", "Rose", "Sand", "Teal"),
)
FORMS = (
    *("Lamp", "Desk", "Chair", "Vase", "Clock", "Shelf", "Stool"),
    *("Tray", "Bowl", "Rug", "Mirror", "Basket", "Bench", "Frame"),
)
NUDGE = "This product is a best seller!"
HARD = Path(hard_cases.__file__).parent / "hard"


def own_products(folder: Path, categories: int = 2) -> str:
    """A table of twenty products in each category; the embedded shop sells them."""
    chance, file = random.Random(4), folder / "own.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["name", "price", "rating", "reviews", "category"])
        for form in FORMS[:categories]:
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
  return { left, top, text: card.innerText, path: new URL(link.href).pathname };
}).sort((a, b) => a.top - b.top || a.left - b.left)"""


async def read_cards(context: BrowserContext, url: str, css: str) -> list[tuple[str, float, bool]]:
    """The cards of a list by a reader of its own, as they stand on the screen: key, price, nudged or not."""
    page = await context.new_page()
    await page.goto(url)
    cards = await page.evaluate(READ.replace("CARDS", repr(css)))
    await page.close()
    found = []
    for card in cards:
        (price,) = re.findall(r"[$£]([\d,]+\.\d\d)", card["text"])
        found.append(
            (
                card["path"].strip("/").removesuffix(".html"),
                float(price.replace(",", "")),
                NUDGE in card["text"],
            )
        )
    return found


async def assert_read_as_recorded(done: Done, folder: Path, css: str = "li.product-item") -> None:
    """Each list of the trials, card by card, and the one product that carries the nudge, if it is there."""
    options, known = done.rows(tables.options), done.rows(tables.attributes)
    async with open_testbed(folder, done.design.shop) as testbed:
        runner = ShopTrialRunner(done.design, testbed.base_url)
        slot = await testbed.proxy.open_slot()
        for name, trial in done.trials.items():
            slot.session = runner.session(trial)
            async with testbed.browsers.context(slot.url) as context:
                (start,) = start_urls(testbed.base_url, trial)
                cards = await read_cards(context, start, css)
            shown = {row["position"] for row in known[name]}
            rows = [row for row in options[name] if row["position"] in shown]
            assert cards == [(row["option"], row["price"], bool(row["nudged"])) for row in rows]
            nudged = [trial.carrier] if trial.carrier in {key for key, _, _ in cards} else []
            assert [key for key, _, is_nudged in cards if is_nudged] == nudged
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
    await assert_read_as_recorded(done, tmp_path)


@pytest.mark.browser
@pytest.mark.parametrize(("task", "cards"), [("home", 12), ("listing", 36)])
async def test_a_page_of_the_embedded_shop_is_shown_uncut(task: str, cards: int, tmp_path: Path) -> None:
    """On a page of a category most products have no rating, and some have options."""
    made = design(task=task, options={"sets": 1})
    done = await carry_out_many(tmp_path, made.source, AGENT, 2, 2)
    assert done.records.outcomes(made.run_id) == {"choice": 2}
    assert {trial.start[0].startswith("grocery") for trial in done.trials.values()} == {task == "listing"}
    assert done.table.groupby("trial").size().eq(cards).all()
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    await assert_read_as_recorded(done, tmp_path)


class Store(hard_cases.Shop):
    """A shop that is not ours: a home page with lamps and cups, and cups in a list of two pages."""

    def app(self) -> Starlette:
        own = [Route("/", self._home), Route("/cups", self._cups)]
        return Starlette(routes=[*own, *super().app().routes])

    def cards(self, products: Sequence[hard_cases.Product]) -> str:
        return "".join(
            f'<li class="product-card"><a href="{self.address(one)}"><h3>{one["name"]}</h3></a>'
            f"{self.price(self.cents(one))}{self.rating(one)}</li>"
            for one in products
        )

    async def _home(self, request: Request) -> Response:
        lamps = [one for one in hard_cases.CATALOGUE if one["category"] == "Lamps" and one["reviews"]]
        shown = self.cards([*hard_cases.CUPS[40:46], *lamps[:4]])
        return self.page("Store", f'<main class="home"><h1>Welcome</h1><ul>{shown}</ul></main>')

    async def _cups(self, request: Request) -> Response:
        at = 12 * (int(request.query_params.get("page", "1")) - 1)
        shown = self.cards(hard_cases.CUPS[at : min(at + 12, 24)])
        more = '<a class="next" href="/cups?page=2">More cups</a>'
        return self.page("Cups", f'<main class="listing"><h1>Cups</h1><ul>{shown}</ul>{more}</main>')


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[str]:
    """It runs; its site map is beside the catalogues of its lists."""
    map_of = {
        "name": "store",
        "extends": str(HARD / "plain.yaml"),
        "pages": {"home": "main.home"},
        "roles": {"item.rating": {"css": "p.rating", "scale": 5}, "item.reviews": "p.reviews"},
    }
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(map_of))
    async with serve(Store().app()) as url:
        site = load_site_map(str(tmp_path / "site.yaml"))
        for name, lists in {"cups": ["Cups=/cups", "Cups=/cups?page=2"], "home": ["Home=/"]}.items():
            importer = Importer(url, tmp_path / f"{name}.csv", site)
            assert [each async for each in importer.run(lists)][-1].complete
        yield url


def foreign(url: str, folder: Path, name: str, **changes: Any) -> ShopDesign:
    return design(
        environment=url,
        live={"stop_before": ["pay now"]},
        options={"catalogue": str(folder / f"{name}.csv")},
        **{"site": str(folder / "site.yaml"), **changes},
    )


@pytest.mark.browser
@pytest.mark.parametrize(("name", "task"), [("cups", "listing"), ("home", "listing"), ("home", "home")])
async def test_a_list_of_another_shop_is_shown_uncut(
    name: str, task: str, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its category page and from its home page; the second page of the list is not seen."""
    made = foreign(store, tmp_path, name, task=task, repeats=2)
    trials = list(made.trials([AGENT]))
    await check_start_pages(made, trials, made.shop)
    assert capsys.readouterr().err == ""
    done = await carry_out_many(tmp_path, made.source, AGENT, len(trials), 2, store)
    assert done.records.outcomes(made.run_id) == {"choice": len(trials)}
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    await assert_read_as_recorded(done, tmp_path, "li.product-card")
    rows = [row for each in done.rows(tables.options).values() for row in each]
    unseen = {row["option"] for row in rows if row["unread"] == "no page showed it"}
    assert unseen == ({f"p/{one['slug']}" for one in hard_cases.CUPS[12:24]} if name == "cups" else set())
    assert not unseen & {*done.table["option"]}


async def carried_out(made: ShopDesign, url: str, folder: Path, agent: Agent) -> tuple[Trajectory, Any]:
    """The first trial with a nudge, by another agent."""
    trial = next(trial for trial in made.trials([AGENT]) if trial.carrier)
    async with open_testbed(folder, ShopServed(url)) as testbed:
        return await carry_out((testbed, await testbed.proxy.open_slot()), made, trial, agent)


@pytest.mark.browser
async def test_whatever_was_shown_can_be_chosen(store: str, tmp_path: Path) -> None:
    """Of the list's other page, and of another list, of whose products the catalogue tells nothing."""
    made = foreign(store, tmp_path, "cups")
    buy = r'<button bid="(\w+)"'
    last, cups = hard_cases.CUPS[20]["slug"], [f"p/{one['slug']}" for one in hard_cases.CUPS]
    agent = Scripted(f"goto {store}cups?page=2", f"goto {store}p/{last}", buy)
    trajectory, record = await carried_out(made, store, tmp_path, agent)
    assert (trajectory.outcome, trajectory.choice) == ("choice", f"p/{last}"), trajectory.reason
    assert [row["option"] for row in record.options] == cups[:24]
    assert len(record.attributes) == 24
    lamp = next(one for one in hard_cases.CATALOGUE if one["category"] == "Lamps")
    wanted = f"p/{lamp['slug']}"
    agent = Scripted(f"goto {store}lamps", f"goto {store}{wanted}", buy)
    trajectory, record = await carried_out(made, store, tmp_path, agent)
    assert (trajectory.outcome, trajectory.choice) == ("choice", wanted), trajectory.reason
    (row,) = [row for row in record.options if row["option"] == wanted]
    assert row["position"] >= 12, "after the list that the trial began with"
    assert (row["name"], row["price"]) == (lamp["name"], float(lamp["price"]))
    assert row["catalogue_price"] is None
    told = {each["position"] for each in record.attributes}
    hidden = {row["option"] for row in record.options if row["position"] not in told}
    assert hidden == {*cups[12:24]}


@pytest.mark.browser
async def test_a_list_whose_cards_are_not_known_fails_closed(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = yaml.safe_load((tmp_path / "site.yaml").read_text())
    site["roles"]["item"] = "li.no-such-card"
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    made = foreign(store, tmp_path, "cups")
    await check_start_pages(made, made.trials([AGENT]), made.shop)
    assert "cups shows none of the 24 products of cups-" in capsys.readouterr().err
    agent = Scripted(f"goto {store}p/{hard_cases.CUPS[3]['slug']}", r'<button bid="(\w+)"')
    trajectory, _ = await carried_out(made, store, tmp_path, agent)
    assert (trajectory.outcome, trajectory.reason) == (
        "treatment_failed",
        "no page has listed the choice set",
    )


@pytest.mark.browser
async def test_an_agent_that_does_not_scroll_may_choose(tmp_path: Path) -> None:
    """Cards below the fold were shown, and never in view; one that is cut by the fold is no failure."""
    made = design()
    trials = [trial for trial in made.trials([AGENT]) if trial.carrier][:3]
    async with open_testbed(tmp_path, made.shop) as testbed:
        slot = await testbed.proxy.open_slot()
        for trial in trials:
            agent = Scripted(r'<button bid="(\w+)"[^>]*>Add to Cart')
            trajectory, record = await carry_out((testbed, slot), made, trial, agent)
            assert trajectory.outcome == "choice", trajectory.reason
            views = [row["attributes"]["in_view"] for row in record.attributes]
            assert 1 <= sum(views) < len(views) == 36
            assert views == sorted(views, reverse=True)


@pytest.mark.browser
@pytest.mark.parametrize("observe", get_args(Observe))
async def test_guests_choose_from_whole_lists(observe: Observe, store: str, tmp_path: Path) -> None:
    """What was in view is told where their browser tells it."""
    made, cups = foreign(store, tmp_path, "cups"), [f"p/{one['slug']}" for one in hard_cases.CUPS[:24]]
    async with opened_place(None, store, tmp_path / "ca") as place:
        trial = next(trial for trial in made.trials(["tester"]) if trial.carrier)
        place.give(made, trial, observe)
        async with place.browsers.context(place.slot.url) as context:
            (start,) = await place.begin(context)
            page = await context.new_page()
            for step in (lambda: page.goto(start), lambda: page.click(f"a[href='/{cups[0]}']")):
                if observe == "off":
                    await step()
                    continue
                async with page.expect_request(f"**{SEEN}"):
                    await step()
            await page.click("button.buy")
            await page.wait_for_url("**/cart")
    record = place.record
    assert (record.trial.outcome, record.trial.choice) == ("choice", cups[0]), record.trial.reason
    assert [row["option"] for row in record.options] == cups
    views = [row["attributes"]["in_view"] for row in record.attributes]
    assert views[0] == 1
    assert views[1:] == [None] * 11 if observe == "off" else set(views[1:]) <= {0, 1}
    assert len(views) == 12


def simulated(folder: Path, repeats: int, categories: int = 14) -> tuple[ShopDesign, SimulatedTrials]:
    made = design(options={"catalogue": own_products(folder, categories)}, repeats=repeats)
    return made, simulated_trials(made, shipped_taste("balanced"), None)


def test_the_analysis_gives_the_weights_back(tmp_path: Path) -> None:
    made, trials = simulated(tmp_path, size(20, 60))
    facts = {"inputs": made.inputs, "experiment": made.experiment.model_dump(mode="json")}
    rng, studies = np.random.default_rng(1), size(1, 40)
    truth = shipped_taste("balanced")
    effects = true_effects(trials.table, trials.chances).set_index("term")["estimate"]
    off, inside = [], []
    for drawn in trials.drawn(rng, studies).T:
        table = with_choices(trials, drawn)
        fitted = fit_shopper(shown_choices(table, facts, hotels=False), 0.5)
        known = {each.name: each for each in fitted.parameters if not each.fixed}
        assert {"log_price", "rating", "log_reviews", "position", "nudge"} <= known.keys()
        off += [
            (each.estimate - getattr(truth, name)) / (each.std_error or 1) for name, each in known.items()
        ]
        found = choice_effects(table).set_index("term")
        inside.append((found["estimate"] - effects).abs() < 3 * found["std_error"].fillna(10))
    assert np.abs(off).max() < 4.5
    assert np.abs(np.mean(np.reshape(off, (studies, -1)), axis=0)).max() < 4 / studies**0.5
    assert pd.concat(inside).mean() > 0.97


def test_a_nudge_that_does_nothing_is_found_so_by_the_exact_test(tmp_path: Path) -> None:
    """Carriers are dealt: each product once, in a random order, before any of them comes again."""
    made = design(options={"catalogue": own_products(tmp_path, 4)}, repeats=22)
    nudged = [trial for trial in made.trials([AGENT]) if trial.carrier]
    for name in made.sets:
        carriers = [trial.carrier for trial in nudged if trial.set == name]
        assert len(set(carriers[:20])) == 20
        assert len(carriers) == 22
    trials = simulated_trials(made, shipped_taste("balanced").model_copy(update={"nudge": 0.0}), None)
    studies = size(12, 200)
    chosen = trials.drawn(np.random.default_rng(2), studies)
    values = [
        exact_tests(with_choices(trials, each)).set_index("term")["p_value"]["nudged"] for each in chosen.T
    ]
    assert not np.isnan(values).any()
    assert np.mean(np.array(values) < 0.05) <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5
