"""Shipped experiments in a real browser: the choice is the one that the agent's weights give."""

import base64
import re
from itertools import islice
from pathlib import Path

import pytest

from agents.base import Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.listing import ShowOnly, category_address
from experiments.records.record import without_screenshot
from experiments.treatment.trajectory import as_stored, trace
from interventions.yaml.sitemap import product_key
from tests.experiments.designs.make import AGENT, shop
from tests.experiments.designs.shop.conftest import Place, carry_out
from tests.ground_truth import assert_chosen_as_known, probabilities
from tests.ground_truth import carry_out as carry_out_many
from tests.support import usual


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize(
    "name", usual(("trios", "nudges-mr", "nudges-mrap", "sensitivity", "listing", "search", "prices"), 3)
)
async def test_a_shipped_experiment_gives_the_weights_choices(name: str, tmp_path: Path) -> None:
    done = await carry_out_many(tmp_path, experiment_source(name), AGENT, 4, 2, step=7)
    assert done.records.outcomes(done.design.run_id) == {"choice": 4}
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))


@pytest.mark.browser
async def test_a_listing_shows_the_choice_set_alone_and_in_order(place: Place) -> None:
    made = shop("listing", match=["price"])
    nudged = next(trial for trial in made.trials([AGENT]) if trial.carrier and trial.ordering == "reversed")
    trajectory, record = await carry_out(place, made, nudged)
    assert trajectory.outcome == "choice", trajectory.reason
    html = trajectory.looks[0].observation.html
    cards = re.findall(r'<strong>\s*<a bid="\w+" href="([^"]+)"', html)
    assert [product_key(address) for address in cards] == [product.key for product in nudged.products]
    price = nudged.products[0].price
    assert html.count(f"${price:,.2f}") == 2
    assert html.count(nudged.nudge.text.split("$")[0] if nudged.nudge else "") == 1
    receipts = {(row["edit"], row["product"]) for row in record.receipts if row["page_type"] == "listing"}
    assert {("set_price", product.key) for product in nudged.products} <= receipts
    assert {("insert_text", nudged.carrier), ("show_only", nudged.products[0].key)} <= receipts
    assert [(row["position"], row["viewed_first"]) for row in record.options] == [(0, 1), (1, 0)]
    assert record.disagreements == []
    # What tells of other products is taken away.
    text = re.sub("<[^>]+>", " ", html)
    assert nudged.products[0].name.split(",")[0] in text
    assert not re.search(r"Items\s+1|Sort By|per page|Shopping Options|Compare Products", text)


def test_a_listing_leaves_out_categories_with_few_products_and_says_so() -> None:
    options = {"sets": 1_000, "min_products_per_category": 30}
    every, made = shop("listing", options={"sets": 1_000}), shop("listing", options=options)
    (note,) = [note for note in made.notes([AGENT]) if "categories left out" in note]
    named = {products[0].category for products in every.sets.values()}
    kept = {products[0].category for products in made.sets.values()}
    assert kept == {name for name in named if name not in note} != named


class Scripted:
    """Clicks, one after the other, on the control that follows a text in the page."""

    def __init__(self, *wanted: str) -> None:
        self._wanted = list(wanted)

    async def act(self, observation: Observation) -> Decision:
        pattern = self._wanted.pop(0)
        if pattern.startswith("goto "):
            return Decision("", "", Action("goto", (pattern.removeprefix("goto "),)))
        found = re.search(pattern, observation.html, re.S)
        assert found, f"{pattern} is not in {observation.html}"
        return Decision("", "", Action("click", (found[1],)))


ADD = r'.*?<button bid="(\w+)"[^>]*>Add to Cart'


@pytest.mark.browser
async def test_a_product_can_be_chosen_from_its_card(place: Place) -> None:
    made = shop("listing")
    for trial in islice(made.trials([AGENT]), 1, 3):
        second = trial.products[1]
        trajectory, record = await carry_out(place, made, trial, Scripted(f"{second.key}.html{ADD}"))
        assert (trajectory.outcome, trajectory.choice) == ("choice", second.key), trajectory.reason
        assert {row["page_type"] for row in record.receipts} == {"listing"}


@pytest.mark.browser
async def test_a_product_outside_the_set_is_no_choice(place: Place) -> None:
    made = shop("search")
    agent = Scripted(r'Product Showcases.*?<button bid="(\w+)"[^>]*>Add to Cart')
    trajectory, _ = await carry_out(place, made, next(made.trials([AGENT])), agent)
    assert trajectory.outcome == "no_choice"
    assert "which is not in the choice set" in trajectory.reason


@pytest.mark.browser
@pytest.mark.parametrize("task", ["listing", "search"])
async def test_an_untreated_list_fails_closed(task: str, place: Place, tmp_path: Path) -> None:
    """The site map does not know this shop's cards: they show untreated, and the choice is none."""
    site = tmp_path / "site.yaml"
    site.write_text("name: blind\nextends: onestopmarket\nroles: {item: li.no-such-card}\n")
    made = shop(task, site=str(site))
    trial = next(made.trials([AGENT]))
    page = f"{place[0].base_url}{trial.products[0].key}.html"
    agent = Scripted(f"goto {page}", f"Add.*?Qty{ADD}|{ADD.lstrip('.*?')}")
    trajectory, _ = await carry_out(place, made, trial, agent)
    assert trajectory.outcome == "treatment_failed", (trajectory.outcome, trajectory.reason)
    assert trajectory.reason == "show-only: no page has listed the choice set"


def test_the_goal_names_the_category_and_the_page_is_the_categorys() -> None:
    for trial in islice(shop("search").trials([AGENT]), 0, 60, 6):
        assert f'"{trial.products[0].category}"' in trial.goal
        assert trial.start == ("",)
    listing = shop("listing")
    for trial in islice(listing.trials([AGENT]), 0, 60, 6):
        assert trial.start == (category_address(trial.products[0].category),)
        (edit,) = [e for t in listing.plan(trial).everywhere for e in t.edits if isinstance(e, ShowOnly)]
        assert edit.keys == tuple(product.key for product in trial.products)


@pytest.mark.thorough
@pytest.mark.browser
async def test_all_that_an_agent_was_given_is_kept(place: Place) -> None:
    made = shop(observation={"tree": True, "screenshot": True})
    trajectory, _ = await carry_out(place, made, next(made.trials([AGENT])))
    steps, artifacts = trace(trajectory)
    page, look = artifacts[steps[0]["observation"]], trajectory.looks[0].observation
    assert look.tree
    assert page.startswith(look.html)
    assert look.tree in page
    (name,) = re.findall(r"<!-- screenshot (\w+) -->", page)
    assert base64.b64decode(artifacts[name]) == look.screenshot
    assert look.screenshot.startswith(b"\x89PNG")
    assert without_screenshot(page) == as_stored(look)
