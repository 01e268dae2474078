"""Whose the lines of an order are, also where the shop has a line of the same name."""

from decimal import Decimal

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from experiments.episodes.orders import order_rows, placed_order
from interventions.apply.plan import Plan, Treatment
from interventions.edits.checkout_option import CheckoutOption
from interventions.edits.fee import Fee
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.experiments.designs.make import shop
from tests.proxy.test_orders import BROWSES, SITE
from tests.support import serve

LINES = "".join(
    f"<div><span>{label}</span><span>${amount}</span></div>"
    for label, amount in (("Bulky goods", "7.00"), ("Handling", "3.00"), ("Gift wrap", "10.00"))
)
PAGE = f'<!doctype html><body class="done">{LINES}<div class="last">Due <b class="due">$20.00</b></div>'


@pytest.mark.parametrize("wrapped", [True, False])
async def test_a_line_of_the_shop_with_an_edits_name_stays_the_shops(
    slot: Slot, client: httpx.AsyncClient, wrapped: bool
) -> None:
    wrap = CheckoutOption(label="Gift wrap", price="4.50", ticked=wrapped)
    plan = Plan((Treatment("made", None, (Fee(label="Handling", amount="2", start="order"), wrap)),))
    app = Starlette(routes=[Route("/done", lambda _: HTMLResponse(PAGE))])
    async with serve(app) as url:
        session = slot.session = Session(plan, SITE, AllowList.of(url))
        await client.get(f"{url}done", headers=BROWSES)
    trial = next(shop().trials(["a"]))
    order = placed_order(trial, session)
    assert order is not None
    ours = [("Handling", "fee", Decimal("2.00"))] + [("Gift wrap", "option", Decimal("4.50"))] * wrapped
    shops = [("Bulky goods", "7"), ("Handling", "3"), ("Gift wrap", "10")]
    assert [(line.label, line.kind, line.amount) for line in order.lines] == [
        *((label, "shop", Decimal(amount)) for label, amount in shops),
        *ours,
    ]
    rows = order_rows(trial, session, [])
    (told,) = rows["orders"]
    assert told["placed_total"] - told["advertised_total"] == pytest.approx(2 + 4.5 * wrapped)
    assert {row["name"]: row["value"] for row in rows["outcomes"]}["added"] == wrapped
