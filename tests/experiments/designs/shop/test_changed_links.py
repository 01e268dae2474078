"""A card that leads to another product: trials end with what was bought there, and tables tell it."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from agents.base import Decision
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.designs.shop.design import ShopDesign
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from tests.experiments.designs.make import AGENT, shop
from tests.experiments.designs.shop.conftest import Place, carry_out
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DOCS = Path(__file__).parents[4] / "docs" / "interventions.md"
NUDGE = {"interventions": "ads", "only": ["bait-and-switch"], "on": ["none", "each"]}

LIMITS = {"steps": 25, "seconds": 300}


def design(sets: int = 1, **changes: Any) -> ShopDesign:
    options = {"pairing": "price-adjacent", "sets": sets, "set_size": 3}
    factors = {"nudge": NUDGE, "order": "listed"}
    return shop(
        "listing", **{"site": "embedded", "options": options, "factors": factors, "limits": LIMITS, **changes}
    )


def text(node: Tag | None) -> str:
    return " ".join(node.get_text().split()) if node else ""


def given(record: TrialRecord) -> list[tuple[str, BeautifulSoup]]:
    """The address of each look, and the page that the agent was given."""
    pages = ((row["url"], record.artifacts[row["observation"]]) for row in record.steps)
    return [(url, BeautifulSoup(page, "html.parser")) for url, page in pages]


def other_of(key: str, keys: set[str]) -> str:
    """The product that comes after another in alphabetical order, or the first."""
    return min((each for each in keys if each > key), default=min(keys))


async def test_the_choice_is_the_product_whose_page_was_shown(place: Place) -> None:
    made = design(size(2, 12))
    baited = 0
    for trial in made.trials([AGENT]):
        trajectory, record = await carry_out(place, made, trial)
        assert trajectory.outcome == "choice", trajectory.reason
        keys, looks = {each.name: each.key for each in trial.products}, given(record)
        cards = [card for url, page in looks if "limit=" in url for card in page.select("main ol > li")]
        for card in cards:
            key = keys[text(card.select_one("strong a"))]
            for link in card.select("a:not([href='#'])"):
                wanted = rf"{key}\.html(#reviews)?"
                if key == trial.carrier:
                    wanted = rf"{other_of(key, {*keys.values()})}\.html#[0-9a-f]{{8}}"
                assert re.fullmatch(wanted, str(link["href"]).rsplit("/")[-1])
        assert {keys[text(card.select_one("strong a"))] for card in cards} == {*keys.values()}
        assert keys[text(looks[-1][1].select_one("h1"))] == trajectory.choice
        assert trajectory.choice != trial.carrier
        baited += "#" in record.steps[-1]["url"]
        for row in record.options:
            own = made.products[row["option"]]
            assert (row["price"], row["title"], row["unread"]) == (own.price, own.name, ""), (
                "as its card shows"
            )
        done = [row for row in record.receipts if row["edit"] == "link_to"]
        assert {row["product"] for row in done} == ({trial.carrier} if trial.carrier else set())
        assert not record.disagreements and not record.unchecked
    assert baited


@pytest.mark.parametrize("modality", ["html", "tree", "screenshot"])
async def test_what_was_clicked_is_known_in_each_modality(place: Place, modality: str) -> None:
    made = design(observation={"modality": [modality]})
    for trial in made.trials([AGENT]):
        trajectory, record = await carry_out(place, made, trial)
        assert trajectory.outcome == "choice", trajectory.reason
        named = {each.name[:100]: each.key for each in trial.products}
        cards = [hit for hit in record.hits if hit["role"].startswith("item.") and hit["text"] in named]
        for hit in cards:
            is_bait = named[hit["text"]] == trial.carrier
            assert hit["product"] == named[hit["text"]]
            assert hit["intervention"] == ("bait-and-switch" if is_bait else "")
        (pressed,) = (hit for hit in record.hits if hit["role"] == "product.add_to_cart")
        assert (pressed["text"], pressed["product"]) == ("Add to Cart", trajectory.choice)
        assert cards


class Visitor:
    """Opens the card of each of these products in turn, goes back from all but the last, and buys there."""

    def __init__(self, *names: str) -> None:
        self.names = [*names]

    async def act(self, observation: Observation) -> Decision:
        page = BeautifulSoup(observation.html, "html.parser")
        cards = page.select("main ol > li strong a")
        if not cards and self.names:
            return Decision("", "", Action("go_back"))
        if not cards:
            buttons = page.select("button[title='Add to Cart']")
            action = Action("click", (str(buttons[0]["bid"]),)) if buttons else Action("scroll", (0.0, 300.0))
            return Decision("", "", action)
        found = [each for each in cards if text(each) == self.names[0]]
        if not found:
            return Decision("", "", Action("scroll", (0.0, 300.0)))
        self.names.pop(0)
        return Decision("", "", Action("click", (str(found[0]["bid"]),)))


async def test_the_guide_reads_the_outcomes(place: Place, tmp_path: Path) -> None:
    """Its lines are run as they stand, on trials of visitors of whom it is known what they did."""
    made = design(2)
    known: dict[str, tuple[bool, bool, bool]] = {}
    (tmp_path / "runs").mkdir()
    records = Records(f"sqlite:///{tmp_path}/runs/souk.db")
    records.begin_run(made.run_id, made.name, made.facts([AGENT]))
    for trial in made.trials([AGENT]):
        names, bait = {each.key: each.name for each in trial.products}, trial.carrier
        other, third = sorted({*names} - {bait})[:2]
        ways = (
            [[bait], [bait, bait], [other], [bait, third], [third, bait]]
            if bait
            else [[other], [other, third]]
        )
        way = ways[len(known) % len(ways)]
        trajectory, record = await carry_out(place, made, trial, Visitor(*(names[key] for key in way)))
        assert trajectory.outcome == "choice", trajectory.reason
        records.save(record)
        clicked = bool(bait) and bait in way
        assert any(hit["intervention"] == "bait-and-switch" for hit in record.hits) == clicked
        known[trial.id] = (
            clicked,
            clicked and trajectory.choice == other_of(str(bait), {*names}),
            clicked and bait in way[:-1],
        )
    records.close()
    source = next(
        each for each in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.S) if "ad_chosen" in each
    )
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", source],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split(",") for line in done.stdout.splitlines())
    read = {trial: tuple(each == "True" for each in outcomes) for trial, *outcomes in lines}
    assert read == known
    assert {*read.values()} >= {(False, False, False), (True, True, False), (True, False, True)}
