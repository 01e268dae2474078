"""Every shipped experiment in a real browser: the choice is the one that the agent's weights give."""

import base64
import random
import re
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.base import Agent, Decision
from agents.simulated.agent import SimulatedAgent
from agents.simulated.tab_shopper import shipped_profile, taste_for
from agents.simulated.utility import DisplayedOption, choice_probabilities, draw
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.listing import ShowOnly, category_address
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import Testbed, open_testbed
from experiments.records.record import Start, without_screenshot
from experiments.treatment.trajectory import Trajectory, as_stored, trace
from interventions.yaml.sitemap import product_key
from interventions.yaml.yaml_source import parse_yaml
from proxy.server import Slot
from proxy.session import Session
from tests.support import usual

PROFILE = "balanced"


@pytest.fixture(scope="module")
async def testbed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Testbed, Slot]]:
    async with open_testbed(tmp_path_factory.mktemp("testbed")) as opened:
        yield opened, await opened.proxy.open_slot()


def design(name: str, **changes: Any) -> ShopDesign:
    """A shipped experiment with other values under some keys."""
    data = {**experiment_source(name).data, **changes}
    return ShopDesign(parse_yaml(yaml.safe_dump(data), "test.yaml"))


def trials(made: ShopDesign) -> Iterator[ShopTrial]:
    return made.trials([f"simulated:{PROFILE}"])


async def carry_out(
    testbed: tuple[Testbed, Slot], made: ShopDesign, trial: ShopTrial, agent: Agent | None = None
) -> tuple[Trajectory, Session]:
    opened, slot = testbed
    episodes = ShopTrialRunner(made, opened.base_url)
    session = slot.session = episodes.session(trial)
    try:
        async with opened.browsers.context(slot.url) as context:
            return await episodes.episode(trial, agent or shopper(made, trial), context, session), session
    finally:
        slot.session = None


def shopper(made: ShopDesign, trial: ShopTrial) -> SimulatedAgent:
    return SimulatedAgent(shipped_profile(PROFILE), seed=trial.seed, nudges=made.declared_nudges(trial))


def expected(made: ShopDesign, trial: ShopTrial) -> str:
    """What the shopper has to choose, by its weights, the displayed facts and its seed."""
    first = len(trial.products) - 1 if made.experiment.task == "compare-tabs" else 0
    alternatives = [
        DisplayedOption(
            price=product.price,
            rating=product.rating,
            reviews=product.reviews or 0,
            cue=trial.nudge.direction if trial.nudge and product.key == trial.carrier else 0,
            viewed_first=index == first,
        )
        for index, product in enumerate(trial.products)
    ]
    probabilities = choice_probabilities(taste_for(trial.goal, shipped_profile(PROFILE).taste), alternatives)
    return trial.products[draw(probabilities, random.Random(trial.seed).random())].key


SHIPPED = (
    "nudges", "nudges-mr", "nudges-mrap", "trios", "profiles", "sensitivity", "sensitivity-rating",
    "listing", "search", "prices", "attributes",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("name", usual(SHIPPED, 3))
async def test_a_shipped_experiment_gives_the_weights_choices(
    name: str, testbed: tuple[Testbed, Slot]
) -> None:
    made = design(name)
    assert 300 <= sum(1 for _ in trials(made)) <= 3000
    assert not made.notes([])
    treated = (trial for trial in trials(made) if trial.carrier or trial.nudge is None)
    for trial in islice(treated, 0, 30, 15):
        trajectory, session = await carry_out(testbed, made, trial)
        assert (trajectory.outcome, trajectory.choice) == ("choice", expected(made, trial)), trajectory.reason
        record = ShopTrialRunner(made, "http://shop.test/").record(
            trial, trajectory, session, start=Start.now(), attempts=1
        )
        assert record.trial.profile == trial.profile
        assert record.disagreements == []
        rows = [(row["option"], row["price"], row["nudged"]) for row in record.options]
        assert rows == [(p.key, p.price, int(p.key == trial.carrier)) for p in trial.products]


@pytest.mark.browser
async def test_a_listing_shows_the_choice_set_alone_and_in_order(testbed: tuple[Testbed, Slot]) -> None:
    made = design("listing", match=["price"])
    nudged = next(trial for trial in trials(made) if trial.carrier and trial.ordering == "reversed")
    trajectory, session = await carry_out(testbed, made, nudged)
    assert trajectory.outcome == "choice", trajectory.reason
    html = trajectory.looks[0].observation.html
    cards = re.findall(r'<strong>\s*<a bid="\w+" href="([^"]+)"', html)
    assert [product_key(address) for address in cards] == [product.key for product in nudged.products]
    price = nudged.products[0].price
    assert html.count(f"${price:,.2f}") == 2
    assert html.count(nudged.nudge.text.split("$")[0] if nudged.nudge else "") == 1
    receipts = {(r.edit, r.product, r.page_type) for r in session.receipts if r.page_type == "listing"}
    assert {("set_price", product.key, "listing") for product in nudged.products} <= receipts
    assert ("insert_text", nudged.carrier, "listing") in receipts
    assert ("show_only", nudged.products[0].key, "listing") in receipts
    record = ShopTrialRunner(made, "http://shop.test/").record(
        nudged, trajectory, session, start=Start.now(), attempts=1
    )
    assert [(row["position"], row["viewed_first"]) for row in record.options] == [(0, 1), (1, 0)]


class Scripted:
    """Clicks, one after the other, on the control that follows a text in the page."""

    def __init__(self, *wanted: str) -> None:
        self._wanted = list(wanted)
        self.seen: list[str] = []

    async def act(self, observation: Observation) -> Decision:
        self.seen.append(observation.html)
        pattern = self._wanted.pop(0)
        if pattern.startswith("goto "):
            return Decision("", "", Action("goto", (pattern.removeprefix("goto "),)))
        found = re.search(pattern, observation.html, re.S)
        assert found, f"{pattern} is not in {observation.html}"
        return Decision("", "", Action("click", (found[1],)))


ADD = r'.*?<button bid="(\w+)"[^>]*>Add to Cart'


@pytest.mark.browser
async def test_a_product_can_be_chosen_from_its_card(testbed: tuple[Testbed, Slot]) -> None:
    made = design("listing")
    for trial in islice(trials(made), 1, 3):
        second = trial.products[1]
        trajectory, session = await carry_out(testbed, made, trial, Scripted(f"{second.key}.html{ADD}"))
        assert (trajectory.outcome, trajectory.choice) == ("choice", second.key), trajectory.reason
        assert {receipt.page_type for receipt in session.receipts} == {"listing"}


@pytest.mark.browser
async def test_a_product_outside_the_set_is_no_choice(testbed: tuple[Testbed, Slot]) -> None:
    made = design("search")
    trial = next(trials(made))
    agent = Scripted(r'Product Showcases.*?<button bid="(\w+)"[^>]*>Add to Cart')
    trajectory, _ = await carry_out(testbed, made, trial, agent)
    assert trajectory.outcome == "no_choice"
    assert "which is not in the choice set" in trajectory.reason


@pytest.mark.browser
async def test_what_tells_of_other_products_is_taken_from_a_listing(testbed: tuple[Testbed, Slot]) -> None:
    made = design("listing")
    trial = next(trials(made))
    trajectory, _ = await carry_out(testbed, made, trial)
    assert trajectory.outcome == "choice", trajectory.reason
    text = re.sub("<[^>]+>", " ", trajectory.looks[0].observation.html)
    assert trial.products[0].name.split(",")[0] in text
    assert not re.search(r"Items\s+1|Sort By|per page|Shopping Options|Compare Products", text)


@pytest.mark.browser
@pytest.mark.parametrize("task", ["listing", "search"])
async def test_an_untreated_list_fails_closed(
    task: str, testbed: tuple[Testbed, Slot], tmp_path: Path
) -> None:
    """The site map does not know this shop's cards: they show untreated, and the choice is none."""
    site = tmp_path / "site.yaml"
    site.write_text("name: blind\nextends: onestopmarket\nroles: {item: li.no-such-card}\n")
    made = design(task, site=str(site))
    trial = next(trials(made))
    product = trial.products[0]
    opened, _ = testbed
    agent = Scripted(f"goto {opened.base_url}{product.key}.html", f"Add.*?Qty{ADD}|{ADD.lstrip('.*?')}")
    trajectory, _ = await carry_out(testbed, made, trial, agent)
    assert trajectory.outcome == "treatment_failed", (trajectory.outcome, trajectory.reason)
    assert trajectory.reason == "show-only: no page has listed the choice set"


def test_the_goal_names_the_category_and_the_page_is_the_categorys() -> None:
    made = design("search")
    for trial in islice(trials(made), 0, 60, 6):
        assert f'"{trial.products[0].category}"' in trial.goal
        assert trial.start == ("",)
    listing = design("listing")
    for trial in islice(trials(listing), 0, 60, 6):
        assert trial.start == (category_address(trial.products[0].category),)
        (edit,) = [e for t in listing.plan(trial).everywhere for e in t.edits if isinstance(e, ShowOnly)]
        assert edit.keys == tuple(product.key for product in trial.products)


@pytest.mark.thorough
@pytest.mark.browser
async def test_all_that_an_agent_was_given_is_kept(testbed: tuple[Testbed, Slot]) -> None:
    made = design("nudges", observation={"tree": True, "screenshot": True})
    trajectory, _ = await carry_out(testbed, made, next(trials(made)))
    steps, artifacts = trace(trajectory)
    page, look = artifacts[steps[0]["observation"]], trajectory.looks[0].observation
    assert look.tree
    assert page.startswith(look.html)
    assert look.tree in page
    (name,) = re.findall(r"<!-- screenshot (\w+) -->", page)
    assert base64.b64decode(artifacts[name]) == look.screenshot
    assert look.screenshot.startswith(b"\x89PNG")
    assert without_screenshot(page) == as_stored(look)
