"""Whose the lines of an order are, also where the shop has a line of the same name."""

from dataclasses import replace
from decimal import Decimal

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from experiments.episodes.orders import order_rows
from experiments.episodes.placed_order import OrderLine, PlacedOrder, placed_order, untreated_on_the_way
from interventions.apply.engine import Receipt
from interventions.apply.plan import Plan, Treatment
from interventions.edits.charge import Charge
from interventions.edits.checkout_option import CheckoutOption
from interventions.edits.dialog import Dialog
from interventions.edits.fee import Fee
from interventions.edits.insert_text import InsertText
from interventions.edits.order_total import OrderTotal
from interventions.edits.set_price import SetPrice
from interventions.edits.style import Style
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import load_site_map
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
    rows = order_rows(trial, session, order, [], {}, ())
    (told,) = rows["orders"]
    assert told["placed_total"] - told["advertised_total"] == pytest.approx(2 + 4.5 * wrapped)
    assert {row["name"]: row["value"] for row in rows["outcomes"]}["added"] == wrapped


DRIFT = OrderTotal(factor="1.5", start="order")


@pytest.mark.parametrize(("told", "edits"), [("$30.00", (DRIFT,)), ("$30.01", ()), ("$20.00", ())])
async def test_an_order_is_charged_the_drift_that_was_planned_and_no_other(
    slot: Slot, client: httpx.AsyncClient, told: str, edits: tuple[OrderTotal, ...]
) -> None:
    page = PAGE if edits else PAGE.replace("$20.00", told)
    app = Starlette(routes=[Route("/done", lambda _: HTMLResponse(page))])
    async with serve(app) as url:
        session = slot.session = Session(Plan((Treatment("made", None, edits),)), SITE, AllowList.of(url))
        shown = await client.get(f"{url}done", headers=BROWSES)
    trial = next(shop().trials(["a"]))
    if told == "$30.01":
        with pytest.raises(CannotEdit, match="do not add up"):
            placed_order(trial, session)
        return
    rows = order_rows(trial, session, placed_order(trial, session), [shown.text], {}, ())
    (order,) = rows["orders"]
    facts = {row["name"]: row["value"] for row in rows["outcomes"]}
    assert (order["placed_total"], order["advertised_total"]) == (30 if edits else 20, 20)
    assert sum(line["amount"] for line in rows["order_lines"]) == 20
    assert facts["paid_more"] == facts["deceived"] == facts["exposed"] == bool(edits)


@pytest.mark.parametrize("look", [True, False])
@pytest.mark.parametrize("charge", [DRIFT, Fee(label="Packing", amount="10", start="order")])
async def test_a_look_of_a_product_announces_no_charge(
    slot: Slot, client: httpx.AsyncClient, charge: Charge, look: bool
) -> None:
    """A text beside the product does, as the pattern total-announced has it."""
    other = (
        Style(role="product.price", colour="red") if look else InsertText(after="product.price", text="More")
    )
    app = Starlette(routes=[Route("/done", lambda _: HTMLResponse(PAGE))])
    async with serve(app) as url:
        plan = Plan((Treatment("made", None, (other, charge)),))
        session = slot.session = Session(plan, SITE, AllowList.of(url))
        shown = await client.get(f"{url}done", headers=BROWSES)
    before = replace(session.receipts[0], edit=other.kind(), page_type="product", after=other.words())
    session.receipts.insert(0, before)  # the product's page was met first
    trial = next(shop().trials(["a"]))
    rows = order_rows(trial, session, placed_order(trial, session), [shown.text], {}, ())
    facts = {row["name"]: row["value"] for row in rows["outcomes"]}
    assert (rows["orders"][0]["placed_total"], facts["paid_more"]) == (30, look)
    assert rows["orders"][0]["advertised_total"] == (20 if look else 30)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("with Packing", {"Packing"}),
        ("and for handling", {"Handling"}),
        ("plus 50% each", {""}),
        ("More", ()),
    ],
)
async def test_of_several_charges_a_text_announces_the_one_that_it_names(
    slot: Slot, client: httpx.AsyncClient, text: str, told: set[str]
) -> None:
    other, costs = InsertText(after="product.price", text=text), {"Packing": 10, "Handling": 5, "": 10}
    fees = [Fee(label=label, amount=str(costs[label]), start="order") for label in ("Packing", "Handling")]
    app = Starlette(routes=[Route("/done", lambda _: HTMLResponse(PAGE))])
    async with serve(app) as url:
        plan = Plan((Treatment("made", None, (other, *fees, DRIFT)),))
        session = slot.session = Session(plan, SITE, AllowList.of(url))
        shown = await client.get(f"{url}done", headers=BROWSES)
    before = replace(session.receipts[0], edit=other.kind(), page_type="product", after=text)
    session.receipts.insert(0, before)
    trial = next(shop().trials(["a"]))
    (order,) = order_rows(trial, session, placed_order(trial, session), [shown.text], {}, ())["orders"]
    hidden = sum(cost for label, cost in costs.items() if label not in told)
    assert (order["placed_total"], order["advertised_total"]) == (45, 45 - hidden)


def test_what_no_page_has_shown_is_neither_seen_nor_has_to_be_refused() -> None:
    """The shop's own line of the same name is no exposure, and a dialog that was never met is not kept."""
    trial, host = next(shop().trials(["a"])), AllowList.of("http://shop.test/")
    tax = Session(
        Plan((Treatment("made", None, (Fee(label="Tax", amount="2", start="order"),)),)), SITE, host
    )
    rows = order_rows(trial, tax, None, ["Tax $0.00"], {}, ("cart",))
    assert {row["name"]: row["value"] for row in rows["outcomes"]}["exposed"] == 0
    box = CheckoutOption(label="Wrap it", line="Gift wrap", price="4.50", ticked=True)
    nag = Dialog(text="Cover it?", accept="Yes", decline="No", before="cart")
    met = Session(Plan((Treatment("made", None, (nag, box)),)), SITE, host)
    met.receipts.append(
        Receipt("made", "checkout_option", "checkout.place", "checkout", "", 1, "", box.label, "", "")
    )
    met.step = 3
    met.take_form({box.name: ""})
    rows = order_rows(trial, met, None, ["", "Gift wrap $4.50", "Wrap it"], {}, ("checkout",))
    facts = {row["name"]: row["value"] for row in rows["outcomes"]}
    assert (facts["exposed"], facts["shown_at"], facts["resisted_at"]) == (1, 1, 2)
    assert rows["dialogs"] == []


KEY = "lamp"


def shown_line(*, is_linked: bool = True) -> str:
    """A line of one product, as the embedded shop's checkout and order have it."""
    name = f'<a href="/{KEY}.html">Lamp</a>' if is_linked else "Lamp"
    return (
        f'<strong class="product-item-name">{name}</strong>'
        '<div class="details-qty"><span class="value">1</span></div>'
        '<div class="subtotal"><span class="price">$20.00</span></div>'
    )


def checkout(line: str) -> str:
    body = f'<aside id="opc-sidebar"><ul><li class="product-item">{line}</li></ul></aside>'
    return f'<!doctype html><body class="checkout-index-index">{body}'


@pytest.mark.parametrize(("pages", "told"), [
    ([checkout(shown_line())], ""),
    ([checkout(shown_line()), checkout("")], ""),
    ([checkout(shown_line()), '<!doctype html><body class="checkout-index-index">Your address'], ""),
    ([checkout(shown_line(is_linked=False))], "no page of the type checkout has a receipt for lamp"),
    ([checkout(shown_line()), checkout(shown_line(is_linked=False))], "not every page of the type checkout"),
])  # fmt: skip
async def test_each_page_with_lines_on_the_way_needs_a_receipt_of_a_late_price(
    slot: Slot, client: httpx.AsyncClient, pages: list[str], told: str
) -> None:
    plan = Plan((Treatment("rise", KEY, (SetPrice("24.00"),), ("cart", "checkout", "order")),))
    app = Starlette(routes=[Route("/{at}", lambda asked: HTMLResponse(pages[int(asked.path_params["at"])]))])
    async with serve(app) as url:
        session = slot.session = Session(plan, load_site_map("embedded"), AllowList.of(url))
        for at in range(len(pages)):
            await client.get(f"{url}{at}", headers=BROWSES)
    line = OrderLine("Lamp", KEY, "product", 2, Decimal(48), wanted=True)
    order = PlacedOrder("1", "USD", Decimal(48), (line,))
    found = untreated_on_the_way(order, session)
    assert found.startswith(f"rise: {told}") if told else found == ""
    cheap = order._replace(lines=(line._replace(amount=Decimal(40)),))
    if not told:
        assert untreated_on_the_way(cheap, session).endswith("a price of 24.00 was planned")
