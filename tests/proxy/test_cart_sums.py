"""The sums of a cart over the pages of an episode: where a new price has not reached one, it is told."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import combinations
from typing import Any

import httpx
import pytest
from babel.numbers import format_currency, get_currency_precision
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mitmproxy import http

from interventions.apply import sums
from interventions.apply.consistency import disagreements
from interventions.apply.engine import PlaceMemory
from interventions.apply.plan import Plan, Treatment
from interventions.edits.set_price import SetPrice
from interventions.edits.showing import Earlier
from interventions.yaml.sitemap import SiteMap
from proxy.addon import may_change, treat
from proxy.server import Slot
from proxy.session import Session
from proxy.shown_page import ShownPage
from tests.interventions.rewriting import LINK, site_of
from tests.support import pages, size

HOST = "http://shop.test/"
ROLES = {
    "product.title": "h1",
    "product.price": "main .price",
    "row": "tr.line",
    "row.link": LINK,
    "row.price": ".price",
    "row.quantity": ".pieces",
    "row.subtotal": ".sum",
    "cart.total": ".total",
}
DATA = {
    "url": "/api/*",
    "items": "$.lines[*]",
    "link": "$.url",
    "roles": {"price": "$.price", "quantity": "$.pieces", "subtotal": "$.sum"},
    "totals": ["$.total"],
}


def a_site(roles: dict[str, Any] = ROLES, **more: Any) -> SiteMap:
    return site_of(roles, pages={"product": "h1", "cart": "table"}, data=[DATA], **more)


SITE = a_site()


@dataclass
class Shown:
    """The pages that a session passes on, one after the other."""

    session: Session

    def page(self, path: str, body: str, kind: str = "text/html; charset=utf-8") -> str:
        response = http.Response.make(200, body.encode(), {"content-type": kind})
        session = self.session
        treat(http.Request.make("GET", HOST + path), response, session, PlaceMemory(), session.changes)
        return response.content.decode() if response.content else ""

    @property
    def told(self) -> list[str]:
        return disagreements(self.session.sightings())


def cheaper(site: SiteMap = SITE, **prices: float) -> Shown:
    treatments = [Treatment("cheap", key, (SetPrice(Decimal(str(new))),)) for key, new in prices.items()]
    return Shown(Session(Plan(tuple(treatments)), site))


LINE = (
    "<tr class=line><td><a href=/lamp>Lamp</a><i class=price>{}</i><i class=pieces>{}</i><b class=sum>{}</b>"
)
CART = f"<table>{LINE}</table><b class=total>{{}}</b>"


def test_a_total_in_a_header_follows_the_cart_until_that_may_have_changed() -> None:
    shown = cheaper(lamp=949)
    vase = "<header>Cart: <b class=total>{}</b></header><main><h1>Vase</h1><p class=price>$10.00</p></main>"
    before = vase.format("$2,598.00")
    assert shown.page("vase", before) == before, "nothing is known of the cart yet"
    shown.page("cart", CART.format("$1,299.00", 2, "$2,598.00", "$2,598.00"))
    assert shown.page("vase", before) == vase.format("$1,898.00")
    checkout = "<p>Total <b class=total>$2,598.00</b></p>"
    assert shown.page("checkout", checkout) == checkout, (
        "it may have lines of the cart that the map does not know"
    )
    assert len([each for each in shown.told if "checkout" in each]) == 1
    emptied = vase.format("$0.00")  # by a link, say
    assert shown.page("vase", emptied) == emptied
    shown.session.changes += 1
    assert shown.page("vase", before) == before


def test_the_sum_of_a_line_is_held_against_the_price_of_a_piece() -> None:
    shown = cheaper(lamp=949)
    shown.page("lamp", "<main><h1>Lamp</h1><p class=price>$1,299.00</p></main>")
    # Only the sum of the line is known here, which no edit of a price then reaches.
    shown.page(
        "api/cart", json.dumps({"lines": [{"url": "/lamp", "pieces": 2, "sum": 2598}]}), "application/json"
    )
    assert shown.told == [
        f"lamp: price is 949.00 as product.price on {HOST}lamp, "
        f"but 1299 as data.subtotal / 2 on {HOST}api/cart (the shop sent 1299.00 and 1299)"
    ]


def test_where_scripts_draw_the_pages_the_page_as_it_is_sent_is_not_compared() -> None:
    """It still has the old prices: its scripts draw it again, and then it is edited."""
    shown = cheaper(a_site(drawn=True), lamp=949)
    line = {"url": "/lamp", "price": 1299, "pieces": 2, "sum": 2400}
    vase = {"url": "/vase", "price": 10, "pieces": 2, "sum": 18}
    drawn = b"<main><h1>Vase</h1><p class=price>$10.00</p></main>"
    shown.session.note_page(ShownPage(HOST + "vase", "text/html", drawn, "vase", drawn=True))
    shown.page(
        "cart", f"<table>{LINE}</table><b class=total>$2,418.00</b>".format("$1,299.00", 2, "$2,400.00")
    )
    shown.page("api/cart", json.dumps({"lines": [line, vase], "total": 2418}), "application/json")
    assert [told for told in shown.told if "sum" in told or "total" in told] == []
    shown.page("api/checkout", json.dumps({"total": 2418}), "application/json")
    assert [told.partition(",")[0] for told in shown.told if "total" in told] == [
        f"the cart: total is 1916 as the lines of /api/* $.lines[*] on {HOST}api/cart"
    ]


DRAWN_CART = f"<main>{CART}</main>"


def drawn(total: str, *, header: str = "", changes: int = 0, answer: tuple[int, ...] = ()) -> list[str]:
    """What is told where scripts draw a cart with two lamps at the new price, and then a page with a header.

    `total` and `header` are the totals there, `changes`: how often the cart may have changed between the
    two, `answer`: the total in an answer in JSON that came before, as sent and as edited.
    """
    session = cheaper(a_site(drawn=True), lamp=949).session
    session.earlier["lamp"] = Earlier(price=Decimal(1299))
    if answer:
        sent, edited = (
            json.dumps({"lines": [{"url": "/lamp", "price": price, "pieces": 2}], "total": each}).encode()
            for price, each in zip((1299, 949), answer, strict=True)
        )
        session.note_page(ShownPage(f"{HOST}api/cart", "application/json", edited, None, sent=sent))
    cart = DRAWN_CART.format("$949.00", 2, "$1,898.00", total).encode()
    session.note_page(ShownPage(f"{HOST}cart", "text/html", cart, None, drawn=True))
    if header:
        vase = f"<main><h1>Vase</h1><p class=price>$10.00</p></main><b class=total>{header}</b>".encode()
        session.note_page(ShownPage(f"{HOST}vase", "text/html", vase, "vase", drawn=True, cart=changes))
    return disagreements(session.sightings())


OLD_SUM = "which is the sum at the old prices"


@pytest.mark.parametrize(
    ("total", "more", "told"),
    [
        ("$2,598.00", {}, f"but 2598.00 as cart.total on {HOST}cart, {OLD_SUM}"),
        # Any other total may hold tax or shipping.
        ("$1,898.00", {}, ""),
        ("$1,903.00", {}, ""),
        ("$2,603.00", {}, ""),
        ("$0.00", {}, ""),
        ("$1,898.00", {"header": "$2,598.00"}, f"but 2598.00 as cart.total on {HOST}vase, {OLD_SUM}"),
        ("$1,898.00", {"header": "$1,898.00"}, ""),
        ("$1,898.00", {"header": "$2,598.00", "changes": 1}, ""),  # it may be another cart
        # With shipping it is held against what the answer told.
        ("$1,908.00", {"answer": (2608, 1908)}, ""),
        ("$2,608.00", {"answer": (2608, 1908)}, "but 2608.00 as cart.total on"),
        ("$2,598.00", {"answer": (3298, 2598)}, ""),  # by chance the old sum without shipping
    ],
)
def test_a_drawn_total_of_the_old_prices_is_told(total: str, more: dict[str, Any], told: str) -> None:
    lines = drawn(total, **more)
    assert len(lines) == bool(told)
    assert all(line.startswith("the cart: total is ") and told in line for line in lines)


def test_a_drawn_line_of_the_old_price_is_told() -> None:
    session = cheaper(a_site(drawn=True), lamp=949).session
    session.earlier["lamp"] = Earlier(price=Decimal(1299))
    for total in ("$2,598.00", "$1,898.00", "$2,400.00"):
        cart = DRAWN_CART.format("$949.00", 2, total, "$5.00").encode()
        session.note_page(ShownPage(f"{HOST}cart", "text/html", cart, None, drawn=True))
        told = disagreements(session.sightings())
        assert ["1299" in line and "row.subtotal / 2" in line for line in told] == [True] * (
            total == "$2,598.00"
        )


@pytest.mark.parametrize(
    ("language", "price", "total", "after"),
    [
        ("en", "$20.00", "$5.00", "-$5.00"),
        ("en", "$20.00", "$1,234.00", "$1,224.00"),
        ("en", "$2,020.00", "$5.00", "-$2,005.00"),
        ("en", "$20.00", "-$5.00", "-$15.00"),
        ("de", "20,00 €", "5,00 €", "-5,00 €"),
        ("de", "5,00 €", "-2,00 €", "3,00 €"),
        ("sv", "20 kr", "5 kr", "−5 kr"),
        ("de-CH", "CHF 20.00", "Total: CHF 5.00", "Total: -CHF 5.00"),
        ("en", "$5.00", "Total $-2.00", "Total $3.00"),
    ],
)
def test_a_total_that_a_discount_makes_negative_has_a_minus(
    language: str, price: str, total: str, after: str
) -> None:
    shown = cheaper(lamp=10)
    html = f"<!doctype html><html lang={language}>{CART}"
    body = shown.page("cart", html.format(price, 1, price, total))
    assert f"<b class=total>{after}</b>" in body
    assert shown.told == []


@pytest.mark.parametrize(
    ("total", "after"),
    [(5, -5), ("5.00", "-5"), ("$5.00", "-$5.00"), ("-$5.00", "-$15.00"), (-5.5, -15.5), ("-5.5", "-15.5")],
)
def test_a_total_in_data_can_be_negative(total: object, after: object) -> None:
    shown = cheaper(lamp=10)
    cart = {"lines": [{"url": "/lamp", "price": 20, "pieces": 1, "sum": 20}], "total": total}
    body = shown.page("api/cart", json.dumps(cart), "application/json")
    assert json.loads(body)["total"] == after
    assert shown.told == []


def test_what_two_lists_of_one_kind_show_is_all_in_the_cart() -> None:
    found, one = sums.CartSums(), Decimal(1)
    found.add_lines("cart", [sums.Line("lamp", one, Decimal(20), [])])
    found.add_lines("cart", [sums.Line("vase", one, None, [("data.subtotal", Decimal(5))])])
    assert found.content == {"cart": (("lamp", one), ("vase", one))}
    assert [total.value for total in found.of_lines] == [20, 5]


def test_where_a_page_shows_the_lines_twice_the_total_follows_once() -> None:
    mini = {"mini": "li", "mini.link": LINK, "mini.price": ".price", "mini.quantity": ".pieces"}
    shown = cheaper(a_site(ROLES | mini), lamp=949)
    small = "<ul><li><a href=/lamp>Lamp</a><i class=price>$1,299.00</i><i class=pieces>2</i></ul>"
    page = shown.page("cart", CART.format("$1,299.00", 2, "$2,598.00", "$2,598.00") + small)
    assert page.count("$1,898.00") == 2
    assert page.count("$949.00") == 2
    assert shown.told == []


def test_a_cart_in_which_something_was_changed_may_show_other_sums() -> None:
    shown = cheaper(lamp=949)
    for pieces, total in ((1, "$1,299.00"), (2, "$2,598.00")):
        shown.page("cart", CART.format("$1,299.00", pieces, total, total))
    assert shown.told == []
    shown.session.changes += 1
    shown.page("checkout", "<b class=total>$80.00</b>")
    assert shown.told == []


@pytest.mark.parametrize(
    ("method", "sent", "changes"),
    [
        ("GET", "", False),
        ("POST", "sku=1", True),
        ("POST", '{"query": "query Cart { cart { total } }"}', False),
        (
            "POST",
            '{"operationName": "Cart", "query": "# the cart\\n, { cart { total } }", "variables": {}}',
            False,
        ),
        ("POST", '[{"query": "fragment F on Cart { total } query { cart { ...F } }"}]', False),
        ("POST", '{"query": "mutation { add(sku: 1) { total } }"}', True),
        ("POST", '{"query": "query A { a } mutation B { add(sku: 1) }", "operationName": "B"}', True),
        ("POST", '[{"query": "{ a }"}, {"id": "stored"}]', True),
        ("POST", '{"query": "subscription { cart { total } }"}', True),
        ("POST", '{"query": {"query": "{"}}', True),
        ("POST", '{"query": "lamps"', True),
        ("POST", "[]", True),
    ],
)
def test_a_graphql_query_changes_no_cart(method: str, sent: str, changes: bool) -> None:
    assert may_change(http.Request.make(method, HOST, sent)) == changes


def test_sums_in_pages_that_came_while_the_cart_was_changed_are_not_compared() -> None:
    session = cheaper(lamp=949).session
    asked = session.changes
    assert session.cart_at("look", asked) == 0
    session.changing.add("add")
    session.changes += 1
    assert session.cart_at("look", asked) is None, "it may show the cart as it was, or as it will be"
    assert session.cart_at("add", 1) == 2, "the answer to the request shows the cart as it is now"
    assert session.cart_at("look", 1) is None
    assert session.cart_at("look", 2) == 2


@dataclass(frozen=True)
class Line:
    """A line of a generated cart; `new` is the edited price, `off` a discount on all its pieces."""

    key: str
    price: Decimal
    pieces: int
    off: Decimal
    new: Decimal | None

    @property
    def sum(self) -> Decimal:
        return self.price * self.pieces - self.off


@dataclass(frozen=True)
class View:
    """A generated page; `extra` is the shipping and tax in its total, below 0 a discount."""

    lines: bool
    sums: bool
    total: bool
    extra: Decimal
    data: bool


@st.composite
def carts(draw: st.DrawFn) -> tuple[str, str, list[Line], list[View]]:
    language, currency = draw(
        st.sampled_from(
            [("en-US", "USD"), ("de-DE", "EUR"), ("de-CH", "CHF"), ("ja-JP", "JPY"), ("en-IN", "INR")]
        )
    )
    unit = Decimal(1).scaleb(-get_currency_precision(currency))
    # Steps that are larger than what a sum of rounded figures may be off.
    amounts = st.integers(1, 30_000).map(lambda n: n * 100 * unit)
    lines = []
    for number in range(draw(st.integers(1, 3))):
        price, pieces = draw(amounts), draw(st.integers(1, 4))
        tenth = (price * pieces / 10).scaleb(-2).quantize(unit, ROUND_HALF_UP).scaleb(2)
        off = tenth if draw(st.booleans()) else Decimal(0)
        new = draw(st.none() | amounts.filter(lambda new, least=off / pieces: new > least))
        lines.append(Line(f"p{number}", price, pieces, off, new))
    extras = st.just(Decimal(0)) | amounts | amounts.map(lambda amount: -amount)
    views = st.builds(View, st.booleans(), st.booleans(), st.booleans(), extras, st.booleans())
    return language, currency, lines, draw(st.lists(views, min_size=1, max_size=4))


def shift(lines: Sequence[Line], view: View) -> Decimal:
    """By how much the edits have changed the total of a page."""
    if not view.lines:
        return Decimal(0)
    edited = [(line, line.new) for line in lines if line.new is not None]
    before = [line.sum if view.sums else line.price * line.pieces for line, _ in edited]
    return sum((new * line.pieces for line, new in edited), Decimal(0)) - sum(before, Decimal(0))


def figures_of(lines: Sequence[Line], view: View) -> set[Decimal]:
    """What a page shows as the total, or what its lines come to, with the edits."""
    total = sum((line.sum for line in lines), view.extra) + shift(lines, view)
    each = [
        (line.price if line.new is None else line.new) * line.pieces
        - line.off * (view.sums and line.new is None)
        for line in lines
    ]
    return {total} if not view.lines else {total, sum(each, Decimal(0))}


@pytest.mark.slow
@settings(max_examples=size(25, 500))
@given(carts())
def test_generated_carts_disagree_exactly_where_an_edit_did_not_reach(
    cart: tuple[str, str, list[Line], list[View]],
) -> None:
    language, currency, lines, views = cart

    def written(value: Decimal) -> str:
        return format_currency(value, currency, locale=language.replace("-", "_"))

    def html(view: View) -> str:
        rows = "".join(
            f"<tr class=line><td><a href=/{line.key}>x</a><i class=price>{written(line.price)}</i>"
            f"<i class=pieces>{line.pieces}</i>" + f"<b class=sum>{written(line.sum)}</b>" * view.sums
            for line in lines
        )
        total = f"<p class=total>{written(sum(line.sum for line in lines) + view.extra)}</p>"
        table = f"<table>{rows * view.lines}</table>"
        return f"<!doctype html><html lang={language}><body>{table}{total * view.total}"

    def answer(view: View) -> str:
        entries = [
            {"url": f"/{line.key}", "price": str(line.price), "pieces": line.pieces}
            | ({"sum": str(line.sum)} if view.sums else {})
            for line in lines
        ]
        total = str(sum(line.sum for line in lines) + view.extra)
        return json.dumps({"lines": entries * view.lines} | ({"total": total} if view.total else {}))

    shown = Shown(
        Session(
            Plan(
                tuple(
                    Treatment("t", line.key, (SetPrice(line.new),)) for line in lines if line.new is not None
                )
            ),
            SITE,
        )
    )
    for line in lines:
        shown.page(
            line.key, f"<html lang={language}><main><h1>x</h1><p class=price>{written(line.price)}</p></main>"
        )
    shown.session.changes += 1
    shifts: dict[str, Decimal] = {}
    for number, view in enumerate(views):
        path = f"{'api/' * view.data}{number}"
        if view.data:
            shown.page(path, answer(view), "application/json")
        else:
            shown.page(path, html(view))
        if view.total or (view.lines and not view.data):
            shifts[HOST + path] = shift(lines, view)
    # Pages of which only some are edited can show the same figures by chance, and then agree.
    by_shift = defaultdict(set)
    for view in views:
        by_shift[shift(lines, view)] |= figures_of(lines, view)
    assume(all(a.isdisjoint(b) for a, b in combinations(by_shift.values(), 2)))
    told = shown.told
    assert all(line.startswith("the cart: total is ") for line in told), told
    for line in told:
        right, wrong = (line.split(f"{HOST}")[n].partition(",")[0].partition(" ")[0] for n in (1, 2))
        assert shifts[HOST + right] != shifts[HOST + wrong], line
    assert bool(told) == (len(set(shifts.values())) > 1), (told, shifts)
    # Each page that differs from the one that the others are held against is told.
    if told:
        right = told[0].split(HOST)[1].partition(",")[0]
        wrong = {HOST + line.split(HOST)[2].partition(" ")[0] for line in told}
        assert wrong == {url for url, by in shifts.items() if by != shifts[HOST + right]}


async def test_requests_that_may_change_the_cart_are_counted(slot: Slot, client: httpx.AsyncClient) -> None:
    cart = CART.format("$1,299.00", 2, "$2,598.00", "$2,598.00")
    async with pages({"/cart": cart, "/add": "added"}) as url:
        slot.session = session = cheaper(lamp=949).session
        for method, path in (("GET", "cart"), ("POST", "add"), ("GET", "cart")):
            await client.request(method, url + path)
    assert [page.cart for page in session.pages] == [0, 2, 2]  # the answer to the POST is a page too
