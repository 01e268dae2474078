"""What each edit shows on a product's page, on its card and in the cart; what it refuses."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page as Tab
from pydantic import ValidationError
from selectolax.lexbor import LexborHTMLParser

from agents.simulated.readers.facts import rating_in
from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.edits.place_values import value_at
from interventions.edits.registry import EDITS, edit_from_dict, edit_to_dict
from interventions.edits.show_rating_text import said
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import Place, SiteMap, load_site_map
from tests.interventions.shop_pages import (
    HOST,
    HTML,
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
PRODUCT = product_page(extra=OPTIONS)
LISTING = category_page(card("first", 1), card(KEY, 2), card("third", 3), card("last", 4))
CART = cart_page((KEY, "$19.99", 2, "$39.98"), ("other", "$1,000.00", 1, "$1,000.00"), total="$1,039.98")
OTHER = shop_page("contact", "<h1>Contact Us</h1>", "<title>Contact</title>")


def run(body: bytes, *edits: dict[str, object], product: str | None = KEY) -> Rewrite:
    treatment = Treatment("the-id", product, tuple(edit_from_dict(edit) for edit in edits))
    return rewrite(body, content_type=HTML, url=f"{HOST}page", plan=Plan((treatment,)), site=SITE)


def reason(body: bytes, *edits: dict[str, object]) -> str:
    """Why the edits cannot be made."""
    with pytest.raises(EditFailed) as failure:
        run(body, *edits)
    return failure.value.reason


def mistake(edit: dict[str, object]) -> str:
    """What is wrong with an edit as it is written."""
    with pytest.raises(ValidationError) as error:
        edit_from_dict(edit)
    return error.value.errors()[0]["msg"].removeprefix("Value error, ")


def texts(body: bytes, css: str) -> list[str]:
    return [" ".join(node.text().split()) for node in LexborHTMLParser(body, scripting=True).css(css)]


def attributes(body: bytes, css: str, name: str) -> list[str | None]:
    return [node.attributes.get(name) for node in LexborHTMLParser(body, scripting=True).css(css)]


def ranks(body: bytes) -> list[str]:
    """The keys of the cards in their order."""
    links = attributes(body, "ol.product-items a.product-item-link", "href")
    return [(link or "").removeprefix(HOST).removesuffix(".html") for link in links]


# Titles and texts


def test_a_title_is_another_one_wherever_the_page_names_the_product() -> None:
    after = run(PRODUCT, {"set_title": "Loud & <Harbor>"})
    assert texts(after.body, "h1, title") == ["Loud & <Harbor>", "Loud & <Harbor>"]
    assert attributes(after.body, 'meta[property="og:title"]', "content") == ["Loud & <Harbor>"]
    assert [(r.role, r.matches, r.before, r.after) for r in after.receipts] == [
        ("product.name", 3, "Quiet Harbor Oat Cookies", "Loud & <Harbor>")
    ]
    assert texts(run(LISTING, {"set_title": "Loud"}).body, ".product-item-name") == [
        "First", "Loud", "Third", "Last",
    ]  # fmt: skip
    cart = run(CART, {"set_title": "Loud"}).body
    assert texts(cart, ".product-item-name") == ["Loud", "other"]
    assert attributes(cart, "a.product-item-photo", "title") == ["Loud", "other"]


def test_a_longer_title_of_the_window_keeps_what_the_shop_adds() -> None:
    page = PRODUCT.replace(b"<title>Quiet Harbor Oat Cookies", b"<title>Buy Quiet Harbor Oat Cookies | Shop")
    assert texts(run(page, {"set_title": "Loud"}).body, "title") == ["Buy Loud | Shop"]


def test_words_are_replaced_every_time_they_stand_there() -> None:
    page = product_page(
        extra='<div id="description">Oat <b>oats</b>, Oat&#32;and Oat\n milk &amp; more</div>'
    )
    oat = {"replace_text": {"in": "product.description", "from": "Oat", "to": "Rye"}}
    result = run(page, oat)
    assert texts(result.body, "#description") == ["Rye oats, Rye and Rye milk & more"]
    assert (result.receipts[0].before, result.receipts[0].after) == (
        "Oat oats, Oat and Oat milk & more",
        "Rye oats, Rye and Rye milk & more",
    )
    twice = run(
        page, oat, {"replace_text": {"in": "product.description", "from": "milk & more", "to": "Oat"}}
    )
    assert twice.receipts[1].after == "Rye oats, Rye and Rye Oat"
    assert texts(twice.body, "#description") == ["Rye oats, Rye and Rye Oat"]


def test_words_that_do_not_stand_there_in_one_piece() -> None:
    edit = {"replace_text": {"in": "product.stock", "from": "Out of stock", "to": "x"}}
    assert reason(PRODUCT, edit) == 'the text "Out of stock" does not stand there in one piece'
    parted = product_page(extra='<div id="description">Oat <b>Cookies</b> Oat Cookies</div>')
    result = run(parted, {"replace_text": {"in": "product.description", "from": "Oat Cookies", "to": "Rye"}})
    assert result.receipts[0].after == "Oat Cookies Rye"


def test_two_replacements_of_the_same_words_conflict() -> None:
    edits = (
        {"replace_text": {"in": "product.name", "from": f, "to": "x"}} for f in ("Quiet Harbor", "Harbor Oat")
    )
    assert "replace_text product.name changes the same place" in reason(PRODUCT, *edits)


# Attributes and pictures


def test_an_attribute_is_added_or_changed() -> None:
    edit = {"set_attribute": {"role": "product.image", "name": "ALT", "value": 'say "oats" & <more>'}}
    assert attributes(run(PRODUCT, edit).body, ".media img", "alt") == ['say "oats" & <more>']
    result = run(LISTING, edit)
    assert attributes(result.body, "li img", "alt") == ["Image", 'say "oats" & <more>', "Image", "Image"]
    assert (result.receipts[0].before, result.receipts[0].after) == ("Image", 'say "oats" & <more>')
    assert attributes(run(CART, edit).body, "td img", "alt") == ['say "oats" & <more>', None]


@pytest.mark.parametrize("name", ["onclick", "style", "href", "SRC", "srcdoc", "formaction"])
def test_attributes_that_run_code_or_lead_away_are_refused(name: str) -> None:
    edit = {"set_attribute": {"role": "product.image", "name": name, "value": "x"}}
    assert "may run code or lead away" in mistake(edit)


def test_a_name_that_is_none_is_refused() -> None:
    edit = {"set_attribute": {"role": "product.image", "name": "a b", "value": "x"}}
    assert mistake(edit) == '"a b" is no name for an attribute; write it like title or data-price'


def test_a_picture_is_another_one_on_every_page() -> None:
    edit = {"set_image": "/pictures/plain.png?a=1&b=2"}
    after = run(PRODUCT, edit)
    assert attributes(after.body, ".media img", "src") == ["/pictures/plain.png?a=1&b=2"]
    assert attributes(after.body, ".media img", "srcset") == ["/pictures/plain.png?a=1&b=2"]
    assert attributes(after.body, 'meta[property="og:image"]', "content") == ["/pictures/plain.png?a=1&b=2"]
    assert after.inline.images == {f"{HOST}pictures/plain.png?a=1&b=2"}
    assert attributes(run(LISTING, edit).body, "li img", "src")[1] == "/pictures/plain.png?a=1&b=2"
    assert attributes(run(CART, edit).body, "td img", "src") == [
        "/pictures/plain.png?a=1&b=2",
        f"{HOST}media/other.jpg",
    ]


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:image/png,x", "a b.png", "http://["])
def test_what_is_no_address_of_a_picture(address: str) -> None:
    assert mistake({"set_image": address}).endswith("write https://host/path or /path")


def test_the_other_sources_of_a_picture_follow() -> None:
    page = PRODUCT.replace(
        b'<div class="product media"><img',
        b'<div class="product media"><picture><source srcset="a.webp 1x, b.webp 2x"><img data-src="late.jpg"',
    )
    after = run(page, {"set_image": "/x.png"}).body
    assert attributes(after, "source", "srcset") == attributes(after, ".media img", "data-src") == ["/x.png"]


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
    assert texts(result.body, "a.action.view") == [after]
    assert result.receipts[0].after == after


@pytest.mark.parametrize(
    ("shown", "percent", "after"),
    [
        ("4.2 out of 5 stars", 90, "4.5 out of 5 stars"),
        ("4.2 out of 5 stars", 87, "4.4 out of 5 stars"),
        ("4,2 out of 5", 90, "4,5 out of 5"),
        ("Rated 4.20 out of 5", 92, "Rated 4.60 out of 5"),
        ("4 out of 5", 92, "4.6 out of 5"),
        ("4 out of 5", 60, "3 out of 5"),
        ("5 stars: 4.9 out of 5", 0, "5 stars: 0.0 out of 5"),
    ],
)
def test_a_rating_on_a_scale(shown: str, percent: int, after: str) -> None:
    site = SiteMap.model_validate(
        {
            "name": "x",
            "extends": "onestopmarket",
            "pages": {"product": "h1"},
            "roles": {"product.rating": {"css": "p", "pattern": "([0-9.,]+) out of", "scale": 5}},
        }
    )
    plan = Plan((Treatment("x", KEY, (edit_from_dict({"set_rating": percent}),)),))
    page = f"<h1>Oats</h1><p>{shown}</p>".encode()
    after_page = rewrite(page, content_type=HTML, url=f"{HOST}{KEY}.html", plan=plan, site=site).body
    assert texts(after_page, "p") == [after]


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
def test_what_is_put_beside_a_product_shows_on_every_page(
    edit: dict[str, object], css: str, text: str
) -> None:
    for body in (PRODUCT, LISTING, CART, home_page(card(KEY, 1), card("other", 2))):
        result = run(body, edit)
        (shown,) = (re.sub(r"\(\(\) =>.*", "", found) for found in texts(result.body, css))
        assert shown == text
        assert result.receipts[0].after == text
        assert (result.receipts[0].matches, result.receipts[0].before) == (1, "")
        (style,) = attributes(result.body, css, "style")
        assert result.inline.styles == {style}


def test_a_badge_stands_before_a_title_inside_a_link() -> None:
    page = category_page(f'<li class="product-item"><a class="product-item-link" href="{KEY}.html">'
                         '<strong class="product-item-name">Oats</strong></a></li>')  # fmt: skip
    after = run(page, {"badge": {"text": "New"}}).body
    assert texts(after, "a.product-item-link") == ["NewOats"]
    assert texts(after, "a > span:first-child + strong") == ["Oats"]


def test_the_old_price_is_the_shops_own_unless_another_is_named() -> None:
    for body in (PRODUCT, LISTING, CART):
        after = run(body, {"set_price": 9.5}, {"strike_price": {}}).body
        (own,) = {text for text in texts(after, "del")}
        assert own == "was $19.99"
        assert "$9.50" in texts(after, "span.price")
    alone = "the price is the shop's own; write was, or set_price before this edit"
    assert reason(PRODUCT, {"strike_price": {}}) == alone
    assert reason(PRODUCT, {"strike_price": {}}, {"set_price": 5}) == alone
    of_several = product_page(price="$10.00 and $20.00")
    assert "does not hold exactly one figure" in reason(of_several, {"strike_price": {"was": 30}})


def test_the_old_price_of_a_range_is_the_range() -> None:
    of_a_range = product_page(price="$10.00 – $24.90")
    after = run(of_a_range, {"set_price": 9.5}, {"strike_price": {}}).body
    assert texts(after, "del") == ["was $10.00 – $24.90"]
    assert "$9.50 – $23.66" in texts(after, "span.price")
    after = run(of_a_range, {"strike_price": {"was": 20}}).body
    assert texts(after, "del") == ["was $20.00 – $49.80"]


def test_what_belongs_beside_a_cell_of_a_table_stands_in_it() -> None:
    cell = SITE.role("product.price")[0].model_copy(update={"css": "td.cost"})
    site = SITE.model_copy(update={"roles": SITE.roles | {"product.price": (cell,)}})
    body = product_page(
        extra="<table><tr><th>Price</th><td class=cost>$19.99</td><td>In stock</td></tr></table>"
    )
    edits = (
        {"set_price": 9.5},
        {"strike_price": {}},
        {"insert_text": {"before": "product.price", "text": "Only"}},
    )
    treatment = Treatment("the-id", KEY, tuple(edit_from_dict(edit) for edit in edits))
    plan = Plan((treatment,))
    after = rewrite(body, content_type=HTML, url=f"{HOST}page", plan=plan, site=site).body
    assert texts(after, "table tr > *") == ["Price", "Only$9.50was $19.99", "In stock"]


def test_a_struck_price_in_the_cart_changes_no_total() -> None:
    after = run(CART, {"set_price": 10}, {"strike_price": {}}).body
    assert texts(after, "td.subtotal span.price") == ["$20.00", "$1,000.00"]
    assert texts(after, "#cart-totals span.price") == ["$1,020.00", "$1,020.00"]


@pytest.mark.parametrize("body", [PRODUCT, LISTING, CART, OTHER, home_page(card(KEY, 1))])
def test_a_banner_for_every_product_is_on_every_page(body: bytes) -> None:
    after = run(body, {"banner": {"text": "Sale", "style": "offer"}}, product=None)
    assert texts(after.body, "body > div.page-banner-details:first-child") == ["Sale"]
    assert after.receipts[0].role == "page.body"


def test_a_banner_for_one_product_is_on_its_own_page() -> None:
    banner = {"banner": {"text": "Sale"}}
    assert texts(run(PRODUCT, banner).body, ".page-banner-details") == ["Sale"]
    assert run(LISTING, banner).body is LISTING


@pytest.mark.parametrize("start", [b"text", b"<p>text</p></head>", b"<div>x</div></head>\n"])
def test_a_banner_in_a_body_that_has_begun_before_is_refused(start: bytes) -> None:
    page = product_page().replace(b"</head>\n<body", b"</head><body")
    page = page.replace(b"</head><body", start + b"<body")
    assert "too irregular" in reason(page, {"banner": {"text": "Sale"}})


@pytest.mark.parametrize("minutes", [0, 1441, 1.5, "soon", True])
def test_a_countdown_of_no_length(minutes: object) -> None:
    assert mistake({"countdown": {"minutes": minutes}}).endswith("write a whole number from 1 to 1440")


def test_a_countdown_has_its_time_once() -> None:
    assert mistake({"countdown": {"text": "Hurry"}}).startswith('the text must hold "{time}" once')


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


# Order and options


def test_a_product_moves_to_a_rank() -> None:
    assert ranks(run(LISTING, {"reorder": {"rank": 1}}).body) == [KEY, "first", "third", "last"]
    assert ranks(run(LISTING, {"reorder": {"rank": "3"}}).body) == ["first", "third", KEY, "last"]
    result = run(LISTING, {"reorder": {"rank": 99}})
    assert ranks(result.body) == ["first", "third", "last", KEY]
    assert (result.receipts[0].before, result.receipts[0].after) == ("rank 2 of 4", "rank 4 of 4")
    assert run(PRODUCT, {"reorder": {"rank": 1}}).body is PRODUCT
    assert run(CART, {"reorder": {"rank": 1}}).body is CART


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
    result = run(LISTING, {"swap": "last"}, {"set_price": 5}, {"badge": {"text": "New"}})
    assert ranks(result.body) == ["first", "last", "third", KEY]
    assert texts(result.body, "li:nth-child(4) .price, li:nth-child(4) .product-badge-details") == [
        "New",
        "$5.00",
    ]
    assert run(LISTING, {"swap": "nowhere"}).body is LISTING
    assert ranks(run(LISTING, {"swap": f"{HOST}Last.html?a=b"}).body) == ["first", "last", "third", KEY]


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


@pytest.mark.parametrize("arguments", [{}, {"rank": 1, "shuffle": 2}])
def test_an_order_is_a_rank_or_a_shuffle(arguments: dict[str, object]) -> None:
    assert mistake({"reorder": arguments}).startswith("write rank with a position, or shuffle")


def test_an_option_less() -> None:
    result = run(PRODUCT, {"hide_option": "navy blue"})
    assert texts(result.body, "div.choice") == ["Red"]
    assert (result.receipts[0].before, result.receipts[0].after) == ("navy blue", "")
    assert reason(PRODUCT, {"hide_option": "Green"}) == 'no option "Green"; there are: Navy Blue, Red'
    assert run(LISTING, {"hide_option": "Red"}).body is LISTING


# As written


EXAMPLES = [
    {"insert_text": {"after": "product.title", "text": "${text}"}},
    {"set_price": "${figure}"},
    {"set_rating": "${figure}"},
    {"set_reviews": "${figure}"},
    {"set_stock": "${text}"},
    {"set_title": "${text} ${product.name}"},
    {"set_image": "/${address}.png"},
    {"set_attribute": {"role": "product.title", "name": "title", "value": "${text}"}},
    {"replace_text": {"in": "product.name", "from": "${word}", "to": "${text}"}},
    {"badge": {"text": "${text}"}},
    {"banner": {"text": "${text}"}},
    {"strike_price": {"was": "${figure}", "label": "${text}"}},
    {"countdown": {"minutes": "${figure}", "text": "${text} {time}"}},
    {"reorder": {"rank": "${figure}"}},
    {"reorder": {"shuffle": "${figure}"}},
    {"swap": "${address}"},
    {"hide_option": "${word}"},
]


@pytest.mark.parametrize("edit", EXAMPLES, ids=lambda edit: next(iter(edit)))
def test_variables_stand_in_every_argument_that_says_what_is_shown(
    edit: dict[str, object], tmp_path: Path
) -> None:
    import json

    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({"interventions": [{"id": "a", "kind": "nudge", "edits": [edit]}]}))
    values = {"text": "New", "figure": 7, "address": "third", "word": "Quiet"}
    treatment = compile_treatment(
        load_interventions(file)["a"], ProductFacts(KEY, name="Quiet Oats"), **values
    )
    (filled,) = treatment.edits
    expected = json.dumps(edit).replace("${product.name}", "Quiet Oats")
    for name, value in values.items():
        expected = expected.replace(f"${{{name}}}", str(value))
    assert edit_to_dict(filled) == edit_to_dict(edit_from_dict(json.loads(expected)))
    assert "${" not in json.dumps(edit_to_dict(filled))


def test_every_edit_says_what_it_does() -> None:
    for name, kind in EDITS.items():
        assert kind.__doc__ and kind.__module__ == f"interventions.edits.{name}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pieces", "line", "total"), [(1, "$25.00", "$1,025.00"), (3, "$75.00", "$1,075.00")]
)
def test_a_line_of_the_cart_that_shows_only_its_sum_follows(pieces: int, line: str, total: str) -> None:
    row = '<li><a href="/{key}">{key}</a> <input value={pieces}> <b>${total:,.2f}</b></li>'
    rows = row.format(key="lamp", pieces=pieces, total=10.0 * pieces)
    rows += row.format(key="other", pieces=1, total=1000.0)
    site = SiteMap.model_validate(
        {
            "name": "sums",
            "pages": {"cart": "li"},
            "roles": {
                "row": "li",
                "row.link": {"css": "a", "attribute": "href"},
                "row.quantity": {"css": "input", "attribute": "value"},
                "row.subtotal": "b",
                "cart.total": "i",
            },
        }
    )
    body = f"<!doctype html><ul>{rows}</ul><i>${1000 + 10 * pieces:,.2f}</i>".encode()
    plan = Plan((Treatment("dear", "lamp", (edit_from_dict({"set_price": 25}),)),))
    done = rewrite(body, content_type="text/html", url="http://shop.test/cart", plan=plan, site=site)
    assert texts(done.body, "b") == [line, "$1,000.00"]
    assert texts(done.body, "i") == [total]
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
