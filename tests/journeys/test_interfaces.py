"""The same treatment and the same tastes without pages: by product data (feed), and by a shop's tools (MCP).

The oracle of a choice is that of pages: it follows from the shopper's weights, the seed and the true facts.
That of the treatment is a client of its own, which asks the same shop without the proxy.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from starlette.responses import JSONResponse, Response

from environments.protocol.actions import Action
from environments.protocol.shown_data import products_in
from environments.shop.shop import Shop
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.data_episode import not_shown
from experiments.records.tables import options, receipts, steps
from interventions.edits.registry import edit_from_dict
from interventions.errors import UserError
from tests.experiments.designs.make import source
from tests.ground_truth import Done, assert_chosen_as_known, carry_out, probabilities
from tests.journeys.without_pages import Scripted, foreign, one_trial, product, whole
from tests.support import size

WAYS = ("html", "feed", "mcp")


@pytest.mark.browser
@pytest.mark.slow
async def test_the_same_tastes_choose_by_every_interface(tmp_path: Path) -> None:
    made = source(
        "interfaces",
        observation=[*WAYS],
        attributes={"price": ["-20%", "0%", "+20%"], "rating": [60, 75, 90], "reviews": [10, 100, 1000]},
    )
    done = await carry_out(tmp_path, made, "simulated:balanced", size(36, 600), 2, step=7)
    counts = done.table.drop_duplicates("trial").groupby("modality")["outcome"].agg(["size", set])
    assert set(counts.index) == {*WAYS}
    assert all(each == {"choice"} for each in counts["set"])
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    assert_shown_as_planned(done)


def assert_shown_as_planned(done: Done) -> None:
    """What agents were given is what was drawn, and only the carrier has the text; each with its receipts."""
    shown, made, seen = done.rows(options), done.rows(receipts), done.rows(steps)
    for name, trial in done.trials.items():
        facts = {product.key: product for product in trial.products}
        for row in shown[name]:
            planned = facts[row["option"]]
            assert (row["price"], row["rating"]) == pytest.approx((planned.price, planned.rating))
        if trial.interface == "page":
            continue
        carriers = {key for key, nudge in trial.carried.items() if nudge}
        assert {row["product"] for row in made[name] if row["role"] == "data.told"} == carriers
        assert {row["edit"] for row in made[name]} >= {"set_price", "set_rating"}
        assert {row["page_type"] for row in made[name]} == {"data"}
        given = " ".join(filter(None, (done.records.kept(row["observation"]) for row in seen[name])))
        texts = {edit.words() for each in done.design.plan(trial).treatments for edit in each.edits} - {""}
        assert all(json.dumps(text, ensure_ascii=False)[1:-1] in given for text in texts)
        assert bool(texts) == bool(carriers)


TOOL = """\
interventions:
  - id: said-by-tool
    kind: nudge
    family: authority
    tool: get_product
    edits:
      - insert_text: {after: product.title, text: "Our editors recommend ${product.name}."}
"""


@pytest.mark.browser
@pytest.mark.slow
async def test_what_a_tool_says_of_a_product_moves_the_choice_as_known(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(TOOL)
    nudge = {"interventions": str(tmp_path / "tool.yaml"), "on": ["none", "each"]}
    factors = {"nudge": nudge, "order": "both"}
    made = source("interfaces", observation=["mcp"], factors=factors)
    done = await carry_out(tmp_path, made, "simulated:balanced", size(18, 180), 2, step=5)
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    for name, trial in done.trials.items():
        said = {(row["product"], row["after"][:100]) for row in done.rows(receipts).get(name, ())}
        names = {each.key: each.name for each in trial.products}
        told = {("tool/get_product", f"Our editors recommend {names[key]}."[:100]) for key in trial.carried}
        assert said == told
    with pytest.raises(UserError, match="feed and html cannot carry said-by-tool, which a tool says"):
        ShopDesign(source("interfaces", observation=["html", "feed", "mcp"], factors=factors))


@pytest.mark.browser
@pytest.mark.slow
async def test_a_tool_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(TOOL.replace("tool: get_product", "tool: find_product"))
    nudge = {"interventions": str(tmp_path / "tool.yaml"), "on": ["none", "each"]}
    made = source("interfaces", observation=["mcp"], factors={"nudge": nudge, "order": "listed"})
    done = await carry_out(tmp_path, made, "simulated:balanced", 3, 2)
    ends = {
        trial.condition: set(done.table[done.table["trial"] == name]["outcome"])
        for name, trial in done.trials.items()
    }
    assert ends == {"control": {"choice"}, "nudged": {"treatment_failed"}}


@pytest.mark.browser
@pytest.mark.slow
async def test_what_an_agent_does_wrongly_is_told_and_ends_nothing(tmp_path: Path) -> None:
    async with one_trial(tmp_path, "mcp") as (_, run):
        agent = Scripted(
            Action("call_tool", ("get_prodct", "{}")),
            Action("call_tool", ("get_product", "{")),
            Action("call_tool", ("get_product", "[]")),
            Action("call_tool", ("get_product", '{"catalog": 3}')),
            Action(
                "call_tool",
                ("search_catalog", '{"catalog": {"query": "a", "filters": {"price": {"min": 1}}}}'),
            ),
            Action(
                "call_tool",
                ("create_cart", '{"cart": {"line_items": [{"item": {"id": "?"}, "quantity": 1}]}}'),
            ),
            Action("give_up", ("enough",)),
        )
        record = await run(agent)
    assert (record.trial.outcome, record.trial.reason) == ("no_choice", "the agent gave up: enough")
    errors = [each.error for each in agent.seen]
    assert errors[0] == ""
    assert errors[1].startswith("call_tool: there is no tool 'get_prodct'; there are search_catalog, ")
    assert errors[2].startswith("call_tool: the arguments are no JSON: ")
    assert errors[3] == "call_tool: the arguments have to be a JSON object"
    assert errors[4].startswith("call_tool: get_product: catalog: ")
    assert errors[5] == "call_tool: filters.price cannot be used here; leave it out"
    assert errors[6] == ""  # the shop has answered that there is no such item
    assert "not_found" in agent.seen[6].data
    assert [row["error"] for row in record.steps[:6]] == errors[1:7]
    assert [(row["opened"], row["viewed_first"]) for row in record.options] == [(0, 0), (0, 0)]
    names = [tool.name for tool in agent.seen[0].shop_tools]
    assert {"search_catalog", "get_product", "create_cart"} <= {*names}
    assert all("meta" not in json.loads(tool.schema)["properties"] for tool in agent.seen[0].shop_tools)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("catalog", "told"),
    [
        ('{"id": "\\ud800"}', "the arguments are no JSON: "),
        ('{"id": "x", "y": ' + "[" * 240 + "]" * 240 + "}", "the arguments are too large: at most "),
        ('{"id": "x", "y": ' + "[" * 600 + "]" * 600 + "}", "the arguments are too large: at most "),
        (json.dumps({"id": "x" * 300_000}), "the arguments are too large: at most "),
    ],
    ids=["half a character", "deep", "deeper", "long"],
)
async def test_what_cannot_be_sent_is_the_agents_mistake_and_no_failure_of_the_shop(
    tmp_path: Path, catalog: str, told: str
) -> None:
    async with one_trial(tmp_path, "mcp") as (_, run):
        agent = Scripted(
            Action("call_tool", ("get_product", f'{{"catalog": {catalog}}}')), Action("give_up", ("enough",))
        )
        record = await run(agent)
    assert (record.trial.outcome, record.trial.reason) == ("no_choice", "the agent gave up: enough")
    assert agent.seen[1].error.startswith(f"call_tool: {told}")


@pytest.mark.browser
@pytest.mark.slow
async def test_a_product_that_is_not_in_the_choice_set_is_no_choice(tmp_path: Path) -> None:
    async with one_trial(tmp_path, "mcp") as (design, run):
        mine = {product.key for product in next(iter(design.sets.values()))}
        other = next(
            each
            for each in design.shop.catalogue.products
            if each.in_stock and not each.options and each.key not in mine
        )
        lines = [{"item": {"id": other.sku}, "quantity": 1}]
        record = await run(
            Scripted(Action("call_tool", ("create_cart", json.dumps({"cart": {"line_items": lines}}))))
        )
    assert record.trial.outcome == "no_choice"
    async with one_trial(tmp_path, "feed") as (_, run):
        agent = Scripted(Action("add_to_cart", (other.sku,)), Action("give_up", ()))
        record = await run(agent)
    assert record.trial.outcome == "no_choice"
    assert agent.seen[1].error.startswith(f"add_to_cart: there is no product '{other.sku}'; the ids are ")


CASES: dict[str, tuple[str, str]] = {
    "no JSON": ("infra_error", "/catalog/lookup: HTTP 200, and no JSON"),
    "refused": ("infra_error", "/catalog/lookup: HTTP 404"),
    "no list": ("infra_error", "the shop has no product "),
    "a list as id": ("infra_error", "the shop has no product "),
    "half a character": ("infra_error", "/catalog/lookup: HTTP 200, and no JSON"),
    "a price without end": ("treatment_failed", ""),
    "a product is gone": ("infra_error", "the shop has no product "),
    "an empty cart": ("no_choice", "the agent gave up"),
    "another price in the cart": ("choice", ""),
    "as it should be": ("choice", ""),
}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
async def test_what_a_foreign_shop_does_is_recorded(tmp_path: Path, case: str) -> None:
    skus = {each.sku: each.key for each in Shop().catalogue.products}

    def answers(path: str, asked: Any) -> Response:
        match case, path:
            case "no JSON", "/catalog/lookup":
                return Response("{", media_type="application/json")
            case "refused", "/catalog/lookup":
                return JSONResponse({"code": "x", "content": "y"}, 404)
            case "no list", "/catalog/lookup":
                return JSONResponse({"products": 5})
            case "a list as id", "/catalog/lookup":
                return JSONResponse({"products": [product("x", asked["ids"][0]) | {"id": [1]}]})
            case "half a character", "/catalog/lookup":
                products = [product("\ud800", each) for each in asked["ids"]]
                return Response(json.dumps({"products": products}), media_type="application/json")
            case "a price without end", "/catalog/lookup":
                products = [product("x", each, 10**400) | {"variants": 5} for each in asked["ids"]]
                return JSONResponse({"products": products})
            case "a product is gone", "/catalog/lookup":
                return JSONResponse({"products": [product("x", asked["ids"][0])]})
            case "an empty cart", "/carts":
                return JSONResponse(
                    {"id": "c1", "line_items": [], "messages": [{"content": "sold out"}]}, 201
                )
            case "another price in the cart", "/carts":
                return whole(path, asked, skus, price=1999)
        return whole(path, asked, skus)

    outcome, reason = CASES[case]
    async with foreign(answers) as shop, one_trial(tmp_path, "feed", shop) as (design, run):
        first = next(iter(design.sets.values()))[0].key
        sku = next(sku for sku, key in skus.items() if key == first)
        record = await run(Scripted(Action("add_to_cart", (sku,)), Action("give_up", ())))
    told = record.trial.reason
    if case == "no JSON":  # the proxy, which could not edit it, says so
        assert record.trial.outcome == "treatment_failed"
        return
    assert (record.trial.outcome, told[: len(reason)]) == (outcome, reason)
    assert [row["text"] for row in record.disagreements] == (
        [f"price of {first}: 12.99, 19.99"] if case == "another price in the cart" else []
    )
    if outcome == "choice":
        assert record.trial.choice == first


async def test_a_shop_in_trials_speaks_only_by_what_is_treated(tmp_path: Path) -> None:
    for observation, status in ((["html"], 404), (["html", "feed"], 200)):
        async with (
            ShopDesign(source("interfaces", observation=observation)).shop.opened() as base,
            httpx.AsyncClient() as client,
        ):
            answer = await client.get(f"{base}.well-known/ucp")
            assert answer.status_code == status


@pytest.mark.browser
@pytest.mark.slow
async def test_what_an_agent_had_not_read_when_it_chose_was_not_shown(tmp_path: Path) -> None:
    """Of several calls in one answer the results of the first ones are not known at the later ones."""
    async with one_trial(tmp_path, "mcp") as (design, run):
        first, second = (each.key for each in next(iter(design.sets.values())))
        skus = {each.key: each.sku for each in design.shop.catalogue.products}
        ask = [
            Action("call_tool", ("get_product", json.dumps({"catalog": {"id": skus[key]}})))
            for key in (first, second)
        ]
        lines = {"cart": {"line_items": [{"item": {"id": skus[second]}, "quantity": 1}]}}
        buy = Action("call_tool", ("create_cart", json.dumps(lines)))
        read = await run(Scripted(*ask, Action("call_tool", ("nothing", "{}")), ask[0], buy))
        at_once = await run(Scripted(*ask, buy, looked=(True, True, False)))
    assert (read.trial.outcome, read.trial.choice) == ("choice", second)
    assert {row["option"]: row["opened"] for row in read.options} == {first: 2, second: 1}
    assert at_once.trial.outcome == "treatment_failed"
    assert at_once.trial.reason == f"the agent was not given {second} before it chose"
    assert {row["option"]: row["opened"] for row in at_once.options} == {first: 1, second: 0}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("way", ["feed", "mcp"])
async def test_a_new_name_stands_wherever_the_product_does(tmp_path: Path, way: str) -> None:
    """From what the agent is told first to the line of the cart; the shop's own name stands nowhere."""
    new = "A plain and simple thing"
    file = tmp_path / "names.yaml"
    renamed = {"id": "renamed", "kind": "nudge", "direction": 1, "edits": [{"set_title": new}]}
    file.write_text(yaml.safe_dump({"interventions": [renamed]}))
    factors = {"nudge": {"interventions": str(file), "on": ["each"]}}
    async with one_trial(tmp_path, way, factors=factors) as (design, run):
        trial = next(iter(design.trials(["simulated:balanced"])))
        carrier = next(each for each in design.shop.catalogue.products if each.key == trial.carrier)
        ask = Action("call_tool", ("get_product", json.dumps({"catalog": {"id": carrier.sku}})))
        lines = {"cart": {"line_items": [{"item": {"id": carrier.sku}, "quantity": 1}]}}
        buy = Action("call_tool", ("create_cart", json.dumps(lines)))
        script = [ask, buy] if way == "mcp" else [Action("add_to_cart", (carrier.sku,))]
        record = await run(agent := Scripted(*script))
    assert (record.trial.outcome, record.trial.choice) == ("choice", carrier.key)
    pages = [record.artifacts[step["observation"]] for step in record.steps]
    assert len(pages) == len(agent.seen) + 1
    assert all(new in page for page in pages)
    assert not any(carrier.name in page for page in pages)


def test_every_price_of_a_product_is_read() -> None:
    """One that was left over in a variant is no price that was planned."""
    shown = [{"amount": cents, "currency": "USD"} for cents in (1299, 1399, 1499)]
    product = {
        "id": "a",
        "price_range": {"min": shown[0], "max": shown[1]},
        "variants": [{"price": shown[2]}],
    }
    (read,) = products_in(json.dumps({"products": [product]}))
    assert (read.price, read.prices) == (12.99, (12.99, 13.99, 14.99))
    left = not_shown(edit_from_dict({"set_price": 12.99}), read)
    assert left == "price 13.99, and 12.99 was planned"
