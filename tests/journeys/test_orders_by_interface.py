"""Orders by pages, by product data and by tools: prices that rise late, stops on the way, foreign shops."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from bs4 import BeautifulSoup
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agents.base import Agent, Decision, GaveUp
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.shop.app import create_app
from environments.shop.shop import Shop
from experiments.records import tables
from tests.experiments.designs.make import source
from tests.ground_truth import assert_chosen_as_known, carry_out, probabilities
from tests.journeys.without_pages import Scripted, foreign, one_trial, whole
from tests.support import serve, size

WAYS = ("html", "feed", "mcp")


RISE = """\
interventions:
  - id: price-rise
    kind: nudge
    family: price rise
    direction: -1
    pages: [cart, checkout, order]
    deceived_when: paid_more
    edits:
      - set_price: ${product.price+20%}
"""
ORDER = """\
Add the best of the products that you are shown to the shopping cart, go to the checkout and place the order.
Order one piece of one product, and nothing else. Your name is Kim Sample, 1 Example Street, 01101
Springfield, kim@example.org, phone 555 0100.
"""
TO_THE_ORDER = {"site": "embedded", "goal": ORDER, "ends": "order", "limits": {"steps": 40, "seconds": 300}}
LOW = RISE.replace("[cart, checkout, order]", "[product, listing, home]").replace("+20%", "-20%")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("text", "shown", "asked"), [(RISE, 1, 1.2), (LOW, 0.8, 1)], ids=["later", "before"])
async def test_a_price_rises_after_the_catalogue_alike_by_every_interface(
    tmp_path: Path, text: str, shown: float, asked: float
) -> None:
    """What was advertised is what was shown first, and what was paid is what was planned, to the cent."""
    (tmp_path / "rise.yaml").write_text(text)
    nudge = {"interventions": str(tmp_path / "rise.yaml"), "on": ["none", "each"]}
    factors = {"nudge": nudge, "order": "listed"}
    made = source("interfaces", observation=[*WAYS], factors=factors, **TO_THE_ORDER)
    done = await carry_out(tmp_path, made, "simulated:balanced", size(27, 270), 2, step=4)
    assert_chosen_as_known(done, probabilities(done.table.assign(direction=0), "balanced"))
    orders, lines, found = done.rows(tables.orders), done.rows(tables.order_lines), set()
    for name, trial in done.trials.items():
        (order,), (product, shipping) = orders[name], lines[name]
        own = next(each.price for each in trial.products if each.key == product["product"])
        rise = product["product"] == trial.carrier
        told, paid = (
            (Decimal(str(own)) * Decimal(str(factor if rise else 1))).quantize(Decimal("0.01"), ROUND_HALF_UP)
            for factor in (shown, asked)
        )
        assert product["amount"] == float(paid)
        assert order["advertised_total"] == pytest.approx(float(told) + shipping["amount"])
        assert order["placed_total"] == pytest.approx(float(paid) + shipping["amount"])
        assert (order["number"] != "", order["last_stage"]) == (True, "order")
        facts = {row["name"]: row["value"] for row in done.rows(tables.outcomes)[name]}
        assert facts["deceived"] == facts["paid_more"] == rise
        # A lower price is seen in the catalogue, whatever is bought then.
        assert facts["exposed"] == (rise if text == RISE else trial.carrier is not None)
        assert facts["task_ok"] == facts["ordered"] == 1
        found.add((trial.modality, rise))
    assert found == {(way, risen) for way in WAYS for risen in (True, False)}
    assert not done.rows(tables.disagreements)


@pytest.mark.browser
@pytest.mark.slow
async def test_a_checkout_that_does_not_say_whose_price_it_shows_fails_the_trial(tmp_path: Path) -> None:
    """The shop's checkout has no link to the product, so that its price there is the shop's own."""

    class Unlinked(BaseHTTPMiddleware):
        async def dispatch(self, request: Request, call_next: Any) -> Response:
            answer = await call_next(request)
            body = b"".join([part async for part in answer.body_iterator])
            if request.url.path == "/checkout/":
                body = re.sub(
                    rb"(<strong class=.product-item-name.>\s*)<a [^>]*>(.*?)</a>", rb"\1\2", body, flags=re.S
                )
            headers = [(name, value) for name, value in answer.raw_headers if name != b"content-length"]
            made = Response(body, answer.status_code)
            made.raw_headers = [*headers, (b"content-length", str(len(body)).encode())]
            return made

    (tmp_path / "rise.yaml").write_text(RISE)
    nudge = {"interventions": str(tmp_path / "rise.yaml"), "on": ["each"]}
    factors = {"nudge": nudge, "order": "listed"}
    app = create_app(Shop().catalogue)
    app.add_middleware(Unlinked)
    async with serve(app) as url:
        made = source("interfaces", observation=["html"], factors=factors, **TO_THE_ORDER)
        done = await carry_out(tmp_path, made, "simulated:balanced", 6, 2, base_url=url)
    with done.records.engine.connect() as connection:
        ends = connection.execute(sql.select(tables.trials.c.trial, tables.trials.c.reason)).all()
    lines = done.rows(tables.order_lines)
    dear = {
        name
        for name, trial in done.trials.items()
        if trial.carrier in {row["product"] for row in lines[name]}
    }
    assert 0 < len(dear) < 6
    told = "price-rise: no page of the type checkout has a receipt for "
    assert {name for name, reason in ends if reason.startswith(told)} == dear


@pytest.mark.browser
@pytest.mark.slow
async def test_an_agent_can_change_its_mind_before_the_order(tmp_path: Path) -> None:
    async with one_trial(tmp_path, "feed", **TO_THE_ORDER) as (design, run):
        skus = {each.key: each.sku for each in design.shop.catalogue.products}
        first, second = (skus[each.key] for each in next(iter(design.sets.values())))
        agent = Scripted(
            Action("place_order", ()),
            Action("add_to_cart", (first,)),
            Action("add_to_cart", (second,)),
            Action("place_order", ()),
        )
        record = await run(agent)
    assert agent.seen[1].error == "place_order: nothing is in the cart"
    assert (record.trial.outcome, record.trial.reason) == ("choice", "the order was placed")
    (line, shipping) = record.order_lines
    assert (line["quantity"], shipping["kind"]) == (1, "shop")
    assert {row["name"] for row in record.outcomes if row["value"]} == {"exposed", "ordered", "task_ok"}
    async with one_trial(tmp_path, "mcp", **TO_THE_ORDER) as (_, run):
        lines = {"line_items": [{"item": {"id": first}, "quantity": 1}]}
        record = await run(
            Scripted(
                Action("call_tool", ("create_checkout", json.dumps({"checkout": lines}))),
                Action("give_up", ("too dear",)),
            )
        )
    assert record.trial.outcome == "no_choice"
    assert [row["last_stage"] for row in record.orders] == [""]  # nothing was planned for the cart
    assert not record.order_lines


class Stopping:
    """Takes the given actions, and then raises that it gives up."""

    def __init__(self, *actions: Action) -> None:
        self.actions = list(actions)

    async def act(self, observation: Observation) -> Decision:
        if not self.actions:
            raise GaveUp("enough")
        return Decision("", "", self.actions.pop(0))


class Clicking:
    """Clicks on the links and buttons with these words, one after the other, and then gives up."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    async def act(self, observation: Observation) -> Decision:
        if not self.words:
            return Decision("", "", Action("give_up", ("enough",)))
        for tag in BeautifulSoup(observation.html, "html.parser").select("a[bid], button[bid]"):
            if self.words[0].casefold() in tag.get_text().casefold():
                self.words.pop(0)
                return Decision("", "", Action("click", (str(tag["bid"]),)))
        return Decision("", "", Action("scroll", (0.0, 500.0)))


EITHER = {**TO_THE_ORDER, "ends": "either"}


@pytest.mark.browser
@pytest.mark.slow
async def test_who_stops_on_the_way_has_chosen_the_one_product_that_is_left_in_the_cart(
    tmp_path: Path,
) -> None:
    async def ends(way: str, *agents: Agent) -> list[tuple[str, str | None]]:
        async with one_trial(tmp_path, way, **EITHER) as (_, run):
            records = [await run(agent) for agent in agents]
        assert not any(row["name"] == "ordered" and row["value"] for each in records for row in each.outcomes)
        return [(each.trial.outcome, each.trial.choice) for each in records]

    async with one_trial(tmp_path, "mcp", **EITHER) as (design, _):
        skus = {each.key: each.sku for each in design.shop.catalogue.products}
        one, other = (each.key for each in next(iter(design.sets.values())))

    def tool(name: str, **arguments: Any) -> Action:
        return Action("call_tool", (name, json.dumps(arguments)))

    def cart(key: str) -> Action:
        lines = [{"item": {"id": skus[key]}, "quantity": 1}]
        return tool("create_cart", cart={"line_items": lines})

    looks = [tool("get_product", catalog={"id": skus[key]}) for key in (one, other)]
    stays = [("choice", one), ("no_choice", None)]
    assert stays == await ends("mcp", Stopping(*looks, cart(one)), Stopping(*looks, cart(one), cart(other)))
    chosen, changed = (Action("add_to_cart", (skus[key],)) for key in (one, other))
    assert await ends("feed", Stopping(chosen), Stopping(chosen, changed)) == [
        ("choice", one),
        ("choice", other),
    ]
    page = "add to cart", "shopping cart"
    (kept, emptied) = await ends("html", Clicking(*page), Clicking(*page, "remove item"))
    assert kept[0] == "choice"
    assert kept[1] in (one, other)
    assert emptied == ("no_choice", None)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("totals", "outcome", "told"),
    [
        ({"subtotal": 1299, "fulfillment": 500, "total": 1799}, "choice", "the order was placed"),
        (
            {"subtotal": 1299, "total": 1799},
            "treatment_failed",
            "the lines of the order do not add up to its",
        ),
        (
            {"subtotal": 1299},
            "treatment_failed",
            "the answer with the order does not say what all of it comes",
        ),
        (None, "no_choice", "the agent gave up: enough"),
    ],
    ids=["whole", "a sum is missing", "no total", "never completed"],
)
async def test_what_a_foreign_shop_says_of_an_order_is_checked(
    tmp_path: Path, totals: dict[str, int] | None, outcome: str, told: str
) -> None:
    skus = {each.sku: each.key for each in Shop().catalogue.products}
    sums = [{"type": kind, "amount": amount} for kind, amount in (totals or {}).items()]

    def answers(path: str, asked: Any) -> Response:
        if path == "/catalog/lookup":
            return whole(path, asked, skus)
        if path.endswith("/complete"):
            done = {"status": "completed", "order": {"id": "7"}} if totals else {"status": "incomplete"}
            return JSONResponse(
                {"id": "c1", "currency": "USD", "line_items": [bought], "totals": sums} | done
            )
        item = asked["line_items"][0]["item"]["id"]
        own = {"id": item, "title": skus[item], "price": 1299}
        bought.update({"item": own, "quantity": 1, "totals": [{"type": "total", "amount": 1299}]})
        answer = {"id": "c1", "status": "ready_for_complete", "currency": "USD"}
        return JSONResponse(answer | {"line_items": [bought], "totals": []}, 201)

    bought: dict[str, Any] = {}
    async with foreign(answers) as shop, one_trial(tmp_path, "feed", shop, **TO_THE_ORDER) as (design, run):
        first = next(iter(design.sets.values()))[0].key
        sku = next(sku for sku, key in skus.items() if key == first)
        buy = (Action("add_to_cart", (sku,)), Action("place_order", ()), Action("give_up", ("enough",)))
        record = await run(Scripted(*buy))
    assert record.trial.outcome == outcome
    assert record.trial.reason.startswith(told)
    assert bool(record.order_lines) == (outcome == "choice")
