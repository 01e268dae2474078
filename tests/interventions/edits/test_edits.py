"""What each edit shows on a product's page, on its card and in the cart; what it refuses.

The values of products on all of a shop's pages: tests/interventions/apply/test_across_pages.py.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page as Tab
from pydantic import ValidationError

from agents.simulated.readers.facts import rating_in
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment, compile_treatment
from interventions.edits.place_values import value_at
from interventions.edits.registry import edit_from_dict
from interventions.edits.show_rating_text import said
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import Place, load_site_map
from tests.interventions.rewriting import HTML, LINK, Edit, plan_of, read, rewritten, site_of
from tests.interventions.shop_pages import (
    HOST,
    KEY,
    OPTIONS,
    card,
    cart_page,
    category_page,
    home_page,
    product_page,
    shop_page,
)

SITE = load_site_map("onestopmarket")
DESCRIBED = '<div id="description">Oat <b>oats</b>, Oat&#32;and Oat\n milk &amp; more</div>'
PRODUCT = product_page(extra=OPTIONS + DESCRIBED)
PARTED = product_page(extra='<div id="description">Oat <b>Cookies</b> Oat Cookies</div>')
LISTING = category_page(card("first", 1), card(KEY, 2), card("third", 3), card("last", 4))
CART = cart_page((KEY, "$19.99", 2, "$39.98"), ("other", "$1,000.00", 1, "$1,000.00"), total="$1,039.98")
HOME = home_page(card(KEY, 1), card("other", 2))
OTHER = shop_page("contact", "<h1>Contact Us</h1>", "<title>Contact</title>")
RANGE = product_page(price="$10.00 – $24.90")
SOURCES = PRODUCT.replace(
    b'<div class="product media"><img',
    b'<div class="product media"><picture><source srcset="a.webp 1x, b.webp 2x"><img data-src="late.jpg"',
)
LONG_TITLE = PRODUCT.replace(
    b"<title>Quiet Harbor Oat Cookies", b"<title>Buy Quiet Harbor Oat Cookies | Shop"
)


def run(body: bytes, *edits: Edit, product: str | None = KEY) -> Rewrite:
    return rewritten(body, product, *edits, site=SITE, url=f"{HOST}page")


def mistake(edit: Edit) -> str:
    """What is wrong with an edit as it is written."""
    with pytest.raises(ValidationError) as error:
        edit_from_dict(edit)
    return error.value.errors()[0]["msg"].removeprefix("Value error, ")


def ranks(body: bytes) -> list[str]:
    """The keys of the cards in their order."""
    links = read(body, "ol.product-items a.product-item-link@href")
    return [link.removeprefix(HOST).removesuffix(".html") for link in links]


def insert(where: str, role: str, text: str = "Only 3 left") -> Edit:
    return {"insert_text": {where: role, "text": text}}


def replace(old: str, new: str, role: str = "product.description") -> Edit:
    return {"replace_text": {"in": role, "from": old, "to": new}}


NUDGE = insert("after", "product.title")
HIDDEN: list[Edit] = [{"remove": "product.reviews_summary"}, {"remove": "product.price_box"}]
SAID: Edit = {"set_attribute": {"role": "product.image", "name": "ALT", "value": 'say "oats" & <more>'}}
ADDRESS = "/pictures/plain.png?a=1&b=2"
CHEAPER: list[Edit] = [{"set_price": 9.5}, {"strike_price": {}}]
TWICE_REPLACED = [replace("Oat", "Rye"), replace("milk & more", "Oat")]


@pytest.mark.parametrize(
    ("body", "edits", "where", "shown"),
    [
        (PRODUCT, [NUDGE], "div.page-title-wrapper.product + h2", ["Only 3 left"]),
        (LISTING, [NUDGE], "#product-item-info_2 strong + span", ["Only 3 left"]),
        (LISTING, [NUDGE], ".product-title-details", ["Only 3 left"]),
        (HOME, [NUDGE], ".product-title-details", ["Only 3 left"]),
        (PRODUCT, [insert("after", "product.stock", "!")], "div.stock > span:not([class]) + span", ["!"]),
        (PRODUCT, [insert("before", "product.stock", "!")], "span.product-stock-details:first-child", ["!"]),
        (PRODUCT, [insert("prepend", "product.stock", "!")], "div.stock > span > span:first-child", ["!"]),
        (PRODUCT, [insert("append", "product.stock", "!")], "div.stock > span > span:last-child", ["!"]),
        (PRODUCT, [insert("after", "product.title", text) for text in "abc"], "h2", ["a", "b", "c"]),
        (PRODUCT, [insert("after", "css:button.tocart")], "button + span", ["Only 3 left"]),
        (PRODUCT, [insert("append", "css:div.choice .label", "!")], "div.choice", ["Navy Blue!", "Red!"]),
        (LISTING, [insert("after", "item.title", "!")], "li strong + span", ["!"]),
        (PRODUCT, HIDDEN, ".product-reviews-summary, .price-box", []),
        (LISTING, HIDDEN, ".product-reviews-summary .action, .price-box", ["12 Reviews", "$19.99"] * 3),
        (PRODUCT, [{"set_title": "Loud & <Harbor>"}], "h1, title", ["Loud & <Harbor>"] * 2),
        (PRODUCT, [{"set_title": "Loud & <H>"}], 'meta[property="og:title"]@content', ["Loud & <H>"]),
        (LONG_TITLE, [{"set_title": "Loud"}], "title", ["Buy Loud | Shop"]),
        (PRODUCT, [replace("Oat", "Rye")], "#description", ["Rye oats, Rye and Rye milk & more"]),
        (PRODUCT, TWICE_REPLACED, "#description", ["Rye oats, Rye and Rye Oat"]),
        (PARTED, [replace("Oat Cookies", "Rye")], "#description", ["Oat Cookies Rye"]),
        (PRODUCT, [SAID], ".media img@alt", ['say "oats" & <more>']),
        (LISTING, [SAID], "li img@alt", ["Image", 'say "oats" & <more>', "Image", "Image"]),
        (CART, [SAID], "td img@alt", ['say "oats" & <more>', ""]),
        (PRODUCT, [{"set_image": ADDRESS}], ".media img@src", [ADDRESS]),
        (PRODUCT, [{"set_image": ADDRESS}], ".media img@srcset", [ADDRESS]),
        (SOURCES, [{"set_image": ADDRESS}], "source@srcset", [ADDRESS]),
        (SOURCES, [{"set_image": ADDRESS}], ".media img@data-src", [ADDRESS]),
        (PRODUCT, CHEAPER, "del", ["was $19.99"]),
        (LISTING, CHEAPER, "del", ["was $19.99"]),
        (CART, CHEAPER, "del", ["was $19.99"]),
        (CART, CHEAPER, "td.subtotal span.price", ["$19.00", "$1,000.00"]),
        (CART, CHEAPER, "#cart-totals span.price", ["$1,019.00", "$1,019.00"]),
        (RANGE, CHEAPER, "del", ["was $10.00 – $24.90"]),
        (RANGE, CHEAPER, "span.price", ["$9.50 – $23.66"]),
        (RANGE, [{"strike_price": {"was": 20}}], "del", ["was $20.00 – $49.80"]),
        (PRODUCT, [{"banner": {"text": "Sale"}}], ".page-banner-details", ["Sale"]),
        (PRODUCT, [{"hide_option": "navy blue"}], "div.choice", ["Red"]),
    ],
)  # fmt: skip
def test_what_an_edit_shows(body: bytes, edits: list[Edit], where: str, shown: list[str]) -> None:
    assert read(run(body, *edits).body, where) == shown


@pytest.mark.parametrize(
    ("body", "edit"),
    [
        (LISTING, insert("after", "css:button.tocart")),
        (PRODUCT, insert("after", "item.title")),
        (LISTING, {"set_stock": "Gone"}),
        (LISTING, {"banner": {"text": "Sale"}}),
        (PRODUCT, {"reorder": {"rank": 1}}),
        (CART, {"reorder": {"rank": 1}}),
        (LISTING, {"swap": "nowhere"}),
        (LISTING, {"hide_option": "Red"}),
    ],
)  # fmt: skip
def test_a_page_on_which_an_edit_has_nothing_to_do_stays_as_it_is(body: bytes, edit: Edit) -> None:
    assert run(body, edit).body is body


@pytest.mark.parametrize(
    ("body", "edit", "role", "before", "after"),
    [
        (PRODUCT, NUDGE, "product.title", "", "Only 3 left"),
        (LISTING, NUDGE, "item.title", "", "Only 3 left"),
        (PRODUCT, {"set_title": "Loud & <H>"}, "product.name", "Quiet Harbor Oat Cookies", "Loud & <H>"),
        (PARTED, replace("Oat Cookies", "x"), "product.description", "Oat Cookies " * 2, "Oat Cookies x"),
        (LISTING, SAID, "item.image", "Image", 'say "oats" & <more>'),
        (LISTING, {"reorder": {"rank": 99}}, "item", "rank 2 of 4", "rank 4 of 4"),
        (PRODUCT, {"hide_option": "navy blue"}, "product.option", "navy blue", ""),
        (PRODUCT, insert("after", "product.title", "x" * 500), "product.title", "", "x" * 199 + "…"),
    ],
)  # fmt: skip
def test_receipts_tell_what_stood_there_and_what_stands_there(
    body: bytes, edit: Edit, role: str, before: str, after: str
) -> None:
    (receipt,) = run(body, edit).receipts
    assert (receipt.role, receipt.before, receipt.after) == (role, before.strip(), after)


UNRATED = product_page(reviews=0)
TABLE = product_page(extra="<table id=sizes><tr id=row><td>One size</td></tr></table>")
SELECT = product_page(extra="<select><option id=o>x</select>")
UNRATED_CARD = category_page(card(KEY, 1, rating=None))
TWO_PRICES = product_page(price="$10.00 and $20.00")
OVERLAPPING = [replace(words, "x", "product.name") for words in ("Quiet Harbor", "Harbor Oat")]
OWN_PRICE = "the price is the shop's own; write was, or set_price before this edit"


@pytest.mark.parametrize(
    ("body", "edits", "role", "reason"),
    [
        (UNRATED, [{"set_rating": 50}], "product.rating", "nothing on the page matches"),
        (UNRATED, [{"set_reviews": 5}], "product.reviews", "nothing on the page matches"),
        (UNRATED_CARD, [{"set_rating": 5}], "item.rating", "nothing on the page matches"),
        (product_page(price="soon"), [{"set_price": 5}], "product.price", 'no figure in "soon"'),
        (PRODUCT, [{"remove": "css:.nowhere"}], "css:.nowhere", "nothing on the page matches"),
        (PRODUCT, [{"remove": "product.colour"}], "product.colour", "onestopmarket has no such role"),
        (SELECT, [{"remove": "css:#o"}], "css:#o", "inside <select>"),
        (PRODUCT, [{"set_price": "${value}"}], "product.price", "not filled in"),
        ("é".encode("utf-16")[:-1] + PRODUCT, [{"set_price": 5}], "", "not valid utf-16-le"),
        # `<table><tr>` makes a tbody that stands nowhere in the source.
        (TABLE, [{"remove": "css:#sizes tbody"}], "css:#sizes tbody", "cannot be found in the page's source"),
        (TABLE, [{"set_price": 5}, insert("after", "css:#row")], "css:#row", "too irregular for a safe edit"),
        (PRODUCT, [replace("Out", "x", "product.stock")], "product.stock", "not stand there in one piece"),
        (PRODUCT, OVERLAPPING, "product.name", "replace_text product.name changes the same place"),
        (PRODUCT, [insert("after", "product.stars"), *HIDDEN], "product.stars", "changes the same place"),
        (PRODUCT, [{"strike_price": {}}], "product.price", OWN_PRICE),
        (PRODUCT, [{"strike_price": {}}, {"set_price": 5}], "product.price", OWN_PRICE),
        (TWO_PRICES, [{"strike_price": {"was": 30}}], "product.price", "does not hold exactly one figure"),
        (PRODUCT, [{"set_price": 5}, {"set_price": 6}], "product.price", 'has made the text "$5.00"'),
        (PRODUCT, [{"hide_option": "Green"}], "product.option", 'no option "Green"; there are: Navy'),
    ],
)  # fmt: skip
def test_an_edit_that_cannot_be_made_fails(body: bytes, edits: list[Edit], role: str, reason: str) -> None:
    with pytest.raises(EditFailed) as failure:
        run(body, *edits)
    error = failure.value
    assert reason in error.reason
    assert (error.role, error.url) == (role, f"{HOST}page")
    if role:
        assert error.intervention == "the-id"
        assert error.edit in {name for edit in edits for name in edit}


def test_two_edits_that_agree_are_both_made() -> None:
    agreed = run(PRODUCT, {"set_price": 5}, {"set_price": "5.00"})
    assert read(agreed.body, "span.price") == ["$5.00"]
    assert len(agreed.receipts) == 2


def test_the_rating_is_shown_as_text_wherever_there_is_one() -> None:
    def done(body: bytes, *edits: Edit) -> Rewrite:
        own, show = plan_of(KEY, *edits), plan_of(None, {"show_rating_text": {}})
        plan = Plan((*own.treatments, *show.treatments))
        return rewrite(body, content_type=HTML, url=f"{HOST}page", plan=plan, site=SITE)

    told = "div.rating-summary + .product-rating-details"
    assert read(done(PRODUCT).body, told) == ["Rating: 75%"]
    assert read(done(PRODUCT, {"set_rating": 90}).body, told) == ["Rating: 90%"]
    assert read(done(PRODUCT, *HIDDEN).body, ".product-rating-details") == []
    assert done(UNRATED).body is UNRATED
    cards = done(category_page(card("a", 1, rating=100), card("b", 2, rating=None), card("c", 3, rating=20)))
    assert read(cards.body, told) == ["Rating: 100%", "Rating: 20%"]
    assert [receipt.product for receipt in cards.receipts] == ["a", "c"]
    twice = PRODUCT.replace(b'title="75%"', b'title="Rating: 75%"')
    assert read(done(twice).body, told) == ["Rating: 75%"], "it says so itself"


# As written


@pytest.mark.parametrize("name", ["onclick", "style", "href", "SRC", "srcdoc", "formaction"])
def test_attributes_that_run_code_or_lead_away_are_refused(name: str) -> None:
    edit = {"set_attribute": {"role": "product.image", "name": name, "value": "x"}}
    assert "may run code or lead away" in mistake(edit)


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:image/png,x", "a b.png", "http://["])
def test_what_is_no_address_of_a_picture(address: str) -> None:
    assert mistake({"set_image": address}).endswith("write https://host/path or /path")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"set_attribute": {"role": "page.body", "name": "a b", "value": ""}}, "is no name for an attribute"),
        ({"countdown": {"minutes": 0}}, "write a whole number from 1 to 1440"),
        ({"countdown": {"minutes": 1441}}, "write a whole number from 1 to 1440"),
        ({"countdown": {"minutes": 1.5}}, "write a whole number from 1 to 1440"),
        ({"countdown": {"minutes": "soon"}}, "write a whole number from 1 to 1440"),
        ({"countdown": {"minutes": True}}, "write a whole number from 1 to 1440"),
        ({"countdown": {"text": "Hurry"}}, 'the text must hold "{time}" once'),
        ({"reorder": {}}, "write rank with a position, or shuffle"),
        ({"reorder": {"rank": 1, "shuffle": 2}}, "write rank with a position, or shuffle"),
    ],
)  # fmt: skip
def test_what_is_written_wrongly_is_told(edit: Edit, message: str) -> None:
    assert message in mistake(edit)


def test_a_picture_may_be_loaded() -> None:
    assert run(PRODUCT, {"set_image": ADDRESS}).inline.images == {f"{HOST}{ADDRESS[1:]}"}


# Figures


@pytest.mark.parametrize(
    ("shown", "count", "after"),
    [
        ("12 Reviews", 1, "1 Review"),
        ("1 review", 1234, "1,234 reviews"),
        ("1,200 REVIEWS", 1, "1 REVIEW"),
        ("1 REVIEW", 2, "2 REVIEWS"),
        ("(12)", 3, "(3)"),
        ("12 ratings", 1, "1 rating"),
        ("Rating: 12 customer reviews", 1, "Rating: 1 customer review"),
        ("12 previews", 1, "1 previews"),
    ],
)
def test_the_word_for_reviews_agrees_with_their_number(shown: str, count: int, after: str) -> None:
    link = b'<span itemprop="reviewCount">12</span>&nbsp;\n          <span>Reviews</span></a>'
    page = PRODUCT.replace(link, shown.encode() + b"</a>")
    assert page != PRODUCT
    result = run(page, {"set_reviews": count})
    assert read(result.body, "a.action.view") == [after]
    assert result.receipts[0].after == after


@pytest.mark.parametrize(
    ("shown", "percent", "after"),
    [
        ("4.2 out of 5 stars", 87, "4.4 out of 5 stars"),
        ("Rated 4.20 out of 5", 92, "Rated 4.60 out of 5"),
        ("4 out of 5", 60, "3 out of 5"),
        ("5 stars: 4.9 out of 5", 0, "5 stars: 0.0 out of 5"),
    ],
)
def test_a_rating_on_a_scale(shown: str, percent: int, after: str) -> None:
    place = {"css": "p", "pattern": "([0-9.,]+) out of", "scale": 5}
    done = rewritten(
        f"<h1>Oats</h1><p>{shown}</p>", KEY, {"set_rating": percent}, site=site_of({"product.rating": place})
    )
    assert read(done.body, "p") == [after]


# What is put beside


@pytest.mark.parametrize(
    ("edit", "css", "text"),
    [
        ({"badge": {"text": "Best <seller>"}}, ".product-badge-details", "Best <seller>"),
        ({"strike_price": {"was": 1234.5}}, "del.product-was-details", "was $1,234.50"),
        ({"strike_price": {"was": 30, "label": ""}}, "del.product-was-details", "$30.00"),
        ({"countdown": {"minutes": 90}}, ".product-countdown-details", "Offer ends in 1:30:00"),
        ({"countdown": {"text": "{time} left!"}}, ".product-countdown-details", "15:00 left!"),
    ],
)
def test_what_is_put_beside_a_product_shows_on_every_page(edit: Edit, css: str, text: str) -> None:
    for body in (PRODUCT, LISTING, CART, HOME):
        result = run(body, edit)
        (shown,) = (re.sub(r"\(\(\) =>.*", "", found) for found in read(result.body, css))
        assert shown == text
        assert result.receipts[0].after == text
        assert (result.receipts[0].matches, result.receipts[0].before) == (1, "")
        (style,) = read(result.body, f"{css}@style")
        assert result.inline.styles == {style}


def test_a_badge_stands_before_a_title_inside_a_link() -> None:
    page = category_page(f'<li class="product-item"><a class="product-item-link" href="{KEY}.html">'
                         '<strong class="product-item-name">Oats</strong></a></li>')  # fmt: skip
    after = run(page, {"badge": {"text": "New"}}).body
    assert read(after, "a.product-item-link") == ["NewOats"]
    assert read(after, "a > span:first-child + strong") == ["Oats"]


def test_what_belongs_beside_a_cell_of_a_table_stands_in_it() -> None:
    cell = SITE.role("product.price")[0].model_copy(update={"css": "td.cost"})
    site = SITE.model_copy(update={"roles": SITE.roles | {"product.price": (cell,)}})
    body = product_page(
        extra="<table><tr><th>Price</th><td class=cost>$19.99</td><td>In stock</td></tr></table>"
    )
    edits = [*CHEAPER, insert("before", "product.price", "Only")]
    after = rewritten(body, KEY, *edits, site=site, url=f"{HOST}page").body
    assert read(after, "table tr > *") == ["Price", "Only$9.50was $19.99", "In stock"]


@pytest.mark.parametrize("body", [PRODUCT, LISTING, CART, OTHER, HOME])
def test_a_banner_for_every_product_is_on_every_page(body: bytes) -> None:
    after = run(body, {"banner": {"text": "Sale", "style": "offer"}}, product=None)
    assert read(after.body, "body > div.page-banner-details:first-child") == ["Sale"]
    assert after.receipts[0].role == "page.body"


@pytest.mark.parametrize("start", [b"text", b"<p>text</p></head>", b"<div>x</div></head>\n"])
def test_a_banner_in_a_body_that_has_begun_before_is_refused(start: bytes) -> None:
    page = product_page().replace(b"</head>\n<body", b"</head><body")
    page = page.replace(b"</head><body", start + b"<body")
    with pytest.raises(EditFailed, match="too irregular"):
        run(page, {"banner": {"text": "Sale"}})


@pytest.mark.browser
def test_a_countdown_counts_down(tab: Tab) -> None:
    page = run(LISTING, {"countdown": {"minutes": 61}}).body.decode()
    tab.clock.install(time=0)
    tab.clock.pause_at(1)  # else real time counts too
    tab.route("**/*", lambda route: route.fulfill(body=page, content_type=HTML))
    tab.goto(HOST)
    shown = tab.locator(".product-countdown-details > [data-seconds]")
    assert shown.inner_text() == "1:01:00"
    readings = []
    for seconds in (1, 59, 60, 3539, 1, 1000):
        tab.clock.run_for(seconds * 1000)
        readings.append(shown.inner_text())
    assert readings == ["1:00:59", "1:00:00", "59:00", "0:01", "0:00", "0:00"]


# Order


def test_a_shuffle_is_the_same_for_a_seed_whatever_the_order_was() -> None:
    cards = [card(f"product-{n}", n) for n in range(6)]
    orders = {
        tuple(ranks(run(category_page(*order), {"reorder": {"shuffle": seed}}, product=None).body))
        for order in (cards, cards[::-1])
        for seed in (1, "1", "${not} a number")
    }
    assert len(orders) == 2
    assert {tuple(sorted(order)) for order in orders} == {tuple(f"product-{n}" for n in range(6))}


@settings(max_examples=30)
@given(st.permutations(range(5)), st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=3))
def test_moves_come_one_after_the_other(order: list[int], moves: list[tuple[int, int]]) -> None:
    page = category_page(*(card(f"p{n}", n) for n in order))
    plan = Plan(
        tuple(Treatment("x", f"p{n}", (edit_from_dict({"reorder": {"rank": rank}}),)) for n, rank in moves)
    )
    after = rewrite(page, content_type=HTML, url=HOST, plan=plan, site=SITE).body
    wanted = [f"p{n}" for n in order]
    # As a page is read: each product's moves when its card comes.
    for n in order:
        for moved, rank in moves:
            if moved == n:
                wanted.remove(f"p{n}")
                wanted.insert(rank - 1, f"p{n}")
    assert ranks(after) == wanted


def test_two_products_change_places_with_their_edits() -> None:
    for other in ("last", f"{HOST}Last.html?a=b"):
        after = run(LISTING, {"swap": other}, {"set_price": 5}, {"badge": {"text": "New"}}).body
        assert ranks(after) == ["first", "last", "third", KEY]
        assert read(after, "li:nth-child(4) .price") == ["$5.00"]
        assert read(after, "li:nth-child(4) .product-badge-details") == ["New"]


def test_what_cannot_be_done_to_every_product(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("interventions: [{id: a, kind: order, edits: [{swap: x}]}, "
                    "{id: b, kind: order, edits: [{reorder: {rank: 1}}]}, "
                    "{id: c, kind: order, edits: [{reorder: {shuffle: 1}}]}]")  # fmt: skip
    loaded = load_interventions(file)
    for name in ("a", "b"):
        with pytest.raises(Exception, match="cannot be done to every product at once"):
            compile_treatment(loaded[name], None)
    assert compile_treatment(loaded["c"], None).edits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pieces", "line", "total"), [(1, "$25.00", "$1,025.00"), (3, "$75.00", "$1,075.00")]
)
def test_a_line_of_the_cart_that_shows_only_its_sum_follows(pieces: int, line: str, total: str) -> None:
    row = '<li><a href="/{key}">{key}</a> <input value={pieces}> <b>${total:,.2f}</b></li>'
    rows = row.format(key="lamp", pieces=pieces, total=10.0 * pieces)
    rows += row.format(key="other", pieces=1, total=1000.0)
    quantity = {"css": "input", "attribute": "value"}
    roles = {"row": "li", "row.link": LINK, "row.quantity": quantity, "row.subtotal": "b", "cart.total": "i"}
    body = f"<!doctype html><ul>{rows}</ul><i>${1000 + 10 * pieces:,.2f}</i>"
    site = site_of(roles, pages={"cart": "li"})
    done = rewritten(body, "lamp", {"set_price": 25}, site=site, url="http://shop.test/cart")
    assert read(done.body, "b") == [line, "$1,000.00"]
    assert read(done.body, "i") == [total]
    assert [(receipt.role, receipt.after) for receipt in done.receipts] == [("row.subtotal", line)]


STARS = ("One", "Two", "Three", "Four", "Five")


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("75%", {"attribute": "title"}, "75%"),
        ("star-rating Four", {"attribute": "class", "words": STARS}, "4 out of 5"),
        ("star-rating", {"attribute": "class", "words": STARS}, "star-rating"),
        ("width: 86%", {"attribute": "style", "pattern": "([0-9.]+)%"}, "86%"),
        ("4.3", {"attribute": "data-score", "scale": 5}, "4.3 out of 5"),
        (
            "4,50 von 5 Sternen",
            {"attribute": "title", "pattern": "([0-9,]+) von", "scale": 5},
            "4.5 out of 5",
        ),
        ("9", {"attribute": "data-score", "scale": 10}, "9 out of 10"),
    ],
)
def test_a_rating_is_said_as_people_say_it(text: str, place: dict[str, Any], expected: str) -> None:
    where = Place(css="p", **place)
    assert said(text, where) == expected
    if (rating := value_at(where, text)) is not None:
        assert rating_in(f"Rating: {expected}") == pytest.approx(float(rating))
