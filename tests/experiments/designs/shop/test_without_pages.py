"""Trials without pages: what they are, and what is refused before the first of them."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from agents.language_model.step_prompt import build_prompt
from environments.observation.views import VIEWS
from environments.protocol.observation import Observation, ShopTool
from experiments.designs.shop.design import ShopDesign
from interventions.errors import UserError
from tests.experiments.designs.make import shop, source

AGENT = "simulated:balanced"
NUDGE = {"interventions": "nudges", "only": ["wirecutter"], "on": ["none", "each"]}


def test_the_same_cells_are_run_by_each_interface() -> None:
    made = shop("interfaces")
    trials = list(islice(made.trials([AGENT]), made.block_size()))
    by_way = {
        way: {(t.products, t.carrier, t.ordering) for t in trials if t.modality == way} for way in VIEWS
    }
    assert {way for way, cells in by_way.items() if cells} == {"html", "screenshot", "feed", "mcp"}
    assert by_way["html"] == by_way["feed"] == by_way["mcp"] == by_way["screenshot"]
    assert len({trial.id for trial in trials}) == len(trials) == 24
    assert {trial.interface for trial in trials} == {"page", "feed", "mcp"}


def test_what_shows_on_a_products_page_is_planned_for_data_on_any() -> None:
    made = shop("interfaces")
    for trial in islice(made.trials([AGENT]), 24):
        treatments = [each for each in made.plan(trial).treatments if each.intervention != "show-rating"]
        pages = {each.pages for each in treatments}
        assert pages <= ({("product", "listing", "home")} if trial.interface == "page" else {("data",)})
        assert len(treatments) == len(trial.carried)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"factors": {"nudge": {"interventions": "looks", "on": ["each"]}}},
            "observation: feed cannot carry bg-contrast, scale-120, scale-80, card-border, card-shadow",
        ),
        (
            {"task": "listing"},
            "observation: by feed a few products are compared, and one of them carries the intervention;",
        ),
        (
            {
                "site": "embedded",
                "ends": "order",
                "factors": {
                    "nudge": {"interventions": "checkout", "only": ["total-plus-20"], "on": ["none", "shop"]}
                },
            },
            "observation: by feed a few products are compared, and one of them carries the intervention;",
        ),
        (
            {"environment": "http://shop.test", "live": {"stop_before": ["x"]}, "options": {"file": "a.csv"}},
            "observation: feed needs the embedded shop; write environment: shop, or remove feed",
        ),
        ({"prompt": "mine"}, "prompt: by feed language models have a prompt of their own; remove this key"),
        ({"observation": "fed"}, '"fed" is no modality; did you mean "feed"?'),
    ],
)
def test_what_cannot_be_done_without_pages_is_refused(changes: dict[str, Any], message: str) -> None:
    given = {"observation": ["feed"], "factors": {"nudge": NUDGE}} | changes
    with pytest.raises(UserError) as refused:
        ShopDesign(source("interfaces", **given))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("pages", "edit", "refused"),
    [
        ("[cart, checkout, order]", "set_price: 5", False),
        ("[order, checkout, cart, product]", "set_price: 5", False),
        ("[product]", "set_price: 5", False),
        ("[cart]", "set_price: 5", True),
        ("[product, cart]", "set_price: 5", True),
        ("[checkout, order]", "set_price: 5", True),
        ("[listing]", "set_price: 5", True),
        ("[cart, checkout, order]", "set_rating: 90", True),
        ("[cart, checkout, order]", "insert_text: {after: product.title, text: New}", True),
    ],
)
def test_what_has_no_place_in_lines_of_the_cart_is_refused(
    tmp_path: Path, pages: str, edit: str, refused: bool
) -> None:
    file = tmp_path / "late.yaml"
    text = "interventions: [{id: late, kind: nudge, family: x, direction: 1, pages: %s, edits: [{%s}]}]\n"
    file.write_text(text % (pages, edit))
    nudge = {"interventions": str(file), "on": ["none", "each"]}
    changes = {"observation": ["feed"], "factors": {"nudge": nudge, "order": "listed"}}
    if not refused:
        ShopDesign(source("interfaces", **changes))
        return
    with pytest.raises(UserError, match="observation: feed cannot carry late; remove feed"):
        ShopDesign(source("interfaces", **changes))


LATE = (
    "id: late, kind: nudge, family: x, direction: 1, pages: [cart, checkout, order], edits: [{set_price: 5}]"
)
TOLD = "id: told, kind: nudge, family: x, direction: 1, tool: get_product, edits: [{%s}]"
TEXT = "insert_text: {after: product.title, text: New}"


@pytest.mark.parametrize(
    ("item", "changes", "message"),
    [
        (LATE, {"match": ["price"]}, "late has two prices, and the design sets the price itself; remove one"),
        (
            LATE,
            {"attributes": {"price": [10, 20]}},
            "late has two prices, and the design sets the price itself",
        ),
        (
            TOLD % TEXT,
            {"observation": ["feed", "mcp"]},
            "observation: feed cannot carry told, which a tool says",
        ),
        (TOLD % TEXT, {"observation": []}, "observation: html cannot carry told, which a tool says; write"),
        (
            TOLD % "set_price: 5",
            {"observation": ["mcp"]},
            "edits[0]: a tool says texts only; write insert_text",
        ),
        (TOLD.replace("get_product", "a.html") % TEXT, {"observation": ["mcp"]}, "interventions[0].tool: "),
    ],
)
def test_what_a_nudge_cannot_do_is_refused(
    tmp_path: Path, item: str, changes: dict[str, Any], message: str
) -> None:
    (tmp_path / "own.yaml").write_text(f"interventions: [{{{item}}}]\n")
    nudge = {"interventions": str(tmp_path / "own.yaml"), "on": ["none", "each"]}
    given = {"observation": ["feed"], "factors": {"nudge": nudge, "order": "listed"}} | changes
    with pytest.raises(UserError) as refused:
        ShopDesign(source("interfaces", **given))
    assert message in str(refused.value)


def test_a_badge_that_a_tool_says_is_refused_with_pages(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(f"interventions: [{{{TOLD % TEXT}}}]\n")
    badges = {"interventions": str(tmp_path / "own.yaml"), "only": ["told"]}
    attributes = {"badges": badges}
    changes = {"attributes": attributes, "factors": {"order": "latin-square"}}
    ShopDesign(source("interfaces", observation=["mcp"], **changes))
    with pytest.raises(UserError, match="html cannot carry told, which a tool says; write observation"):
        ShopDesign(source("interfaces", observation=["html", "mcp"], **changes))


def test_a_currency_without_hundredths_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("name,price,rating,reviews,category\nA,100,80,1,Tea\nB,110,90,2,Tea\n")
    options = {"catalogue": str(own), "currency": "JPY", "sets": 1}
    changes = {"options": options, "factors": {"order": "both"}}
    ShopDesign(source("interfaces", observation=["html"], **changes))
    with pytest.raises(UserError, match="observation: feed needs amounts in hundredths, and JPY has none"):
        ShopDesign(source("interfaces", observation=["feed"], **changes))


def test_experiments_without_interfaces_are_the_same_runs_as_before() -> None:
    assert "prompt_of_data" not in shop("modality").inputs
    assert {"prompt_of_data", "site_map_of_data"} <= shop("interfaces").inputs.keys()
    assert not shop("modality").shop.interfaces
    assert shop("interfaces").shop.interfaces


TOOL = ShopTool("get_product", "Get a product. <b>Now</b>", '{"properties":{"catalog":{}}}')


@pytest.mark.parametrize("way", ["feed", "mcp"])
def test_a_language_model_is_told_the_data_the_actions_and_the_tools(way: str) -> None:
    made = shop("interfaces")
    trial = next(each for each in made.trials([AGENT]) if each.modality == way)
    observation = Observation(
        "Buy one",
        "",
        (),
        marks=False,
        interface=trial.interface,
        data='{"products": ["<i>"]}',
        shop_tools=(TOOL,) if way == "mcp" else (),
    )
    system, user = build_prompt(observation, (), made.prompt_for(trial))
    assert '{"products": ["<i>"]}' in user
    assert "Buy one" in user
    assert ("add_to_cart(id: str)" in system) == (way == "feed")
    assert ("call_tool(name: str, arguments: str)" in system) == (way == "mcp")
    assert (f"{TOOL.name}: {TOOL.description}\n  Arguments: {TOOL.schema}" in system) == (way == "mcp")
    assert "click(" not in system + user
    long = build_prompt(
        Observation("Buy one", "", (), marks=False, interface=trial.interface, data="x " * 300_000),
        (),
        made.prompt_for(trial),
    )
    assert "[the rest of the answer is left out]" in long.user
    assert len(long.user) < 200_000
