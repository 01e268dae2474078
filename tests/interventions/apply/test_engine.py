"""Plans on the pages of a shop: what changes, what stays, what is proved and what fails."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.engine import EditFailed, Rewrite, page_hash, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.interventions.shop_pages import (
    HOST,
    HTML,
    KEY,
    card,
    cart_page,
    category_page,
    home_page,
    product_page,
    shop_page,
)
from tests.support import size

SITE = load_site_map("onestopmarket")
NUDGE = {"insert_text": {"after": "product.title", "text": "This product is a best seller!"}}


def treatment(*edits: dict[str, object], product: str | None = KEY, pages: tuple[str, ...] = ()) -> Treatment:
    return Treatment("the-id", product, tuple(edit_from_dict(edit) for edit in edits), pages)


def run(
    body: bytes, *treatments: Treatment, url: str = f"{HOST}a/page.html", site: SiteMap = SITE
) -> Rewrite:
    return rewrite(body, content_type=HTML, url=url, plan=Plan(treatments), site=site)


def texts(body: bytes, css: str) -> list[str]:
    return [" ".join(node.text().split()) for node in LexborHTMLParser(body, scripting=True).css(css)]


def attributes(body: bytes, css: str, name: str) -> list[str | None]:
    return [node.attributes[name] for node in LexborHTMLParser(body, scripting=True).css(css)]


def inserted(before: bytes, after: bytes) -> bytes:
    """What was put in at one place."""
    start = next(i for i in range(len(before)) if before[i : i + 1] != after[i : i + 1])
    end = len(after) - len(before) + start
    while before[start:] != after[end:]:
        start, end = start - 1, end - 1
    return after[start:end]


LISTS: st.SearchStrategy[list[str]] = st.lists(
    st.sampled_from(["h1", "body > h1", ".name", "div *", "h1, .name", ":is(h1, .name)"]),
    min_size=1,
)


@given(LISTS)
@settings(max_examples=size(20, 200))
def test_a_selector_of_several_finds_each_element_once(selectors: list[str]) -> None:
    css = ", ".join(selectors)
    site = SiteMap.model_validate({"name": "t", "pages": {"product": "h1"}, "roles": {"product.title": css}})
    body = b"<body><p class=name>X</p><h1 class=name>Lamp</h1><div id=top><b class=name>Y</b></div>"
    tree = LexborHTMLParser(body)
    found = {node.mem_id for each in selectors for node in tree.css(each)}
    nudge = {"insert_text": {"after": "product.title", "text": "Best seller"}}
    (receipt,) = run(body, treatment(nudge, product=None), site=site).receipts
    assert receipt.matches == len(found)


# What only the parser makes


def test_an_element_that_no_tag_has_written_fails_closed() -> None:
    """`<table><tr>` makes a tbody that stands nowhere in the source."""
    page = product_page(extra="<table id='sizes'><tr><td>One size</td></tr></table>")
    with pytest.raises(EditFailed, match="cannot be found in the page's source"):
        run(page, treatment({"remove": "css:#sizes tbody"}))


ROWS = """name: test
pages: {product: h1}
roles:
  product.price: b
  row: .row
  row.link: {css: a, attribute: href}
  row.quantity: {css: input, attribute: value}
  row.subtotal: i
"""


@pytest.mark.parametrize("hidden", ['style="display: none;"', "hidden"])
@pytest.mark.parametrize("product", [KEY, None])
def test_a_template_that_scripts_fill_is_no_line_of_the_cart(
    hidden: str, product: str | None, tmp_path: Path
) -> None:
    (tmp_path / "test.yaml").write_text(ROWS)
    site = load_site_map(tmp_path / "test.yaml")
    row = '<p class=row><a href="#">Name</a><input><i>Price</i></p>'
    page = f"<h1>Lamp</h1><b>$10.00</b><div {hidden}>{row}</div>".encode()
    price = treatment({"set_price": 5}, product=product)
    done = run(page, price, url=f"{HOST}{KEY}.html", site=site)
    assert texts(done.body, "b, i") == ["$5.00", "Price"]
    shown = page.replace(hidden.encode(), b"")
    with pytest.raises(EditFailed, match="exactly one figure"):
        run(shown, price, url=f"{HOST}{KEY}.html", site=site)


# Pages that are not concerned


@pytest.mark.parametrize(
    ("plan", "body", "content_type"),
    [
        (Plan(), product_page(), HTML),
        (Plan((treatment(NUDGE),)), b"", HTML),
        (Plan((treatment(NUDGE),)), b'{"html": "<div>"}', "application/json"),
        (Plan((treatment(NUDGE, product="another"),)), product_page(), HTML),
        (Plan((treatment(NUDGE, pages=("listing",)),)), product_page(), HTML),
        (Plan((treatment(NUDGE),)), category_page(card("another", 1)), HTML),
        (
            Plan((treatment(NUDGE),)),
            category_page(card("another", 1).replace('href="http', 'href="http://[')),
            HTML,
        ),
        (Plan((treatment(NUDGE),)), shop_page("contact", "<h1>Contact</h1>", "<title>x</title>"), HTML),
    ],
)
def test_a_page_that_is_not_concerned_is_the_same_object(plan: Plan, body: bytes, content_type: str) -> None:
    result = rewrite(body, content_type=content_type, url=HOST + "x.html", plan=plan, site=SITE)
    assert result.body is body
    assert result.receipts == ()


@pytest.mark.parametrize(
    ("body", "page_type", "product"),
    [
        (product_page(), "product", KEY),
        (category_page(card("a", 1)), "listing", None),
        (home_page(card("a", 1)), "home", None),
        (cart_page(("a", "$1.00", 1, "$1.00")), "cart", None),
        (shop_page("contacts-index-index", "<h1>Contact Us</h1>", "<title>Contact</title>"), "other", None),
    ],
)
def test_page_types(body: bytes, page_type: str, product: str | None) -> None:
    result = run(body, treatment(NUDGE, product="nowhere"), url=HOST)
    assert (result.page_type, result.product) == (page_type, product)


@pytest.mark.parametrize("address", ["?options=cart", "#reviews", "?p=2&x=.html", "/"])
def test_a_product_page_is_known_by_its_product_not_by_its_address(address: str) -> None:
    page = product_page()
    url = f"HTTP://SHOP.TEST:80/Grocery/{KEY.upper()}.html{address}"
    assert run(page, treatment(NUDGE), url=url).receipts
    without_link = page.replace(b'property="og:url"', b'property="og:u"')
    assert run(without_link, treatment(NUDGE), url=f"http://127.0.0.1:7770/{KEY}.html{address}").receipts


def test_the_page_at_a_planned_address_is_treated_whatever_product_it_names() -> None:
    page = product_page().replace(
        f'content="{HOST}{KEY}.html"'.encode(), b'content="http://x/canonical.html"'
    )
    result = run(page, treatment(NUDGE), url=f"{HOST}{KEY}.html?options=cart")
    assert (result.product, len(result.receipts)) == (KEY, 1)
    assert run(page, treatment(NUDGE, product="canonical")).product == "canonical"


def test_a_planned_address_has_to_show_a_product_page() -> None:
    page = shop_page("x", "<h1>Quiet Harbor</h1>", "<title>Another theme</title>")
    with pytest.raises(
        EditFailed, match="not a product's page as the site map onestopmarket knows it"
    ) as failure:
        run(page, treatment(NUDGE), url=f"{HOST}{KEY}.html")
    assert (failure.value.intervention, failure.value.edit) == ("the-id", "insert_text")
    assert run(page, treatment(NUDGE, pages=("listing",)), url=f"{HOST}{KEY}.html").body is page


def test_cards_may_have_relative_links() -> None:
    page = category_page(card(KEY, 1).replace(HOST, "/"))
    assert run(page, treatment(NUDGE), url=f"{HOST}grocery/cookies.html").receipts


# Each edit


def test_a_nudge_on_the_product_page_changes_nothing_else() -> None:
    before = product_page()
    after = run(before, treatment(NUDGE)).body
    assert inserted(before, after) == (
        b'<h2 class="product-title-details" style="display:block;margin:4px 0">'
        b"This product is a best seller!</h2>"
    )
    assert texts(after, "div.page-title-wrapper.product + h2") == ["This product is a best seller!"]


@pytest.mark.parametrize("page", [category_page, home_page])
def test_a_nudge_follows_its_product_to_its_card(page: object) -> None:
    after = run(page(card("first", 1), card(KEY, 2), card("last", 3)), treatment(NUDGE), url=HOST).body  # type: ignore[operator]
    assert texts(after, "li.product-item .product-title-details") == ["This product is a best seller!"]
    assert texts(after, "#product-item-info_2 strong + span") == ["This product is a best seller!"]


@pytest.mark.parametrize("style", ["plain", "badge", "note"])
@pytest.mark.parametrize("where", ["after", "before", "prepend", "append"])
def test_text_can_be_put_around_and_into_an_element(where: str, style: str) -> None:
    edit = {"insert_text": {where: "product.stock", "text": "Only 3 left", "style": style}}
    after = run(product_page(), treatment(edit)).body
    expected = {
        "after": "div.stock > span:not([class]) + span",
        "before": "div.stock > span.product-stock-details:first-child",
        "prepend": "div.stock > span > span",
        "append": "div.stock > span > span:last-child",
    }
    assert texts(after, expected[where]) == ["Only 3 left"]


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1).filter(
        lambda t: t.strip(" \t\n\f\r")
    )
)
@settings(max_examples=60, deadline=None)
def test_any_text_is_only_text(text: str) -> None:
    edit = {"insert_text": {"after": "product.title", "text": text.replace("${", "$")}}
    result = run(product_page(), treatment(edit))
    (shown,) = LexborHTMLParser(result.body, scripting=True).css("h2")
    assert [child.tag for child in shown.traverse()] == ["h2"]
    assert result.receipts[0].after[:199] in shown.text()


def test_hostile_text_stays_text() -> None:
    text = "</h2><script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt;\"'"
    after = run(product_page(), treatment({"insert_text": {"after": "product.title", "text": text}})).body
    assert texts(after, "h2.product-title-details") == [text]
    assert len(texts(after, "script")) == len(texts(product_page(), "script"))


def test_a_price_holds_in_every_place_of_the_product_page() -> None:
    after = run(product_page(), treatment({"set_price": 1234.5})).body
    assert texts(after, "span.price") == ["$1,234.50"]
    assert attributes(after, "span.price-wrapper", "data-price-amount") == ["1234.5"]
    assert attributes(after, "meta[itemprop=price]", "content") == ["1234.5"]
    assert attributes(after, 'meta[property="product:price:amount"]', "content") == ["1234.5"]
    assert b"19.99" not in after


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("$1,999.00", "$12.50"), ("1.999,00 €", "12,50 €"), ("US$ 5", "US$ 12.50"), ("&#36;19.99", "$12.50")],
)
def test_a_price_keeps_its_format(shown: str, expected: str) -> None:
    assert texts(run(product_page(price=shown), treatment({"set_price": "12.50"})).body, "span.price") == [
        expected
    ]


def test_a_price_holds_on_cards_and_leaves_other_products_alone() -> None:
    page = category_page(card(KEY, 1), card("other", 2))
    after = run(page, treatment({"set_price": 5}), url=HOST).body
    assert texts(after, "span.price") == ["$5.00", "$19.99"]
    assert attributes(after, "span.price-wrapper", "data-price-amount") == ["5", "19.99"]


def test_a_price_holds_in_the_cart_and_its_totals() -> None:
    page = cart_page((KEY, "$19.99", 3, "$59.97"), ("other", "$1,000.00", 1, "$1,000.00"), total="$1,059.97")
    first = treatment({"set_price": 10})
    assert texts(run(page, first).body, "span.price") == [
        "$1,030.00", "$1,030.00", "$10.00", "$30.00", "$1,000.00", "$1,000.00",
    ]  # fmt: skip
    both = run(page, first, treatment({"set_price": 1.5}, product="other"))
    assert texts(both.body, "span.price") == ["$31.50", "$31.50", "$10.00", "$30.00", "$1.50", "$1.50"]


def test_a_price_over_several_elements_is_refused() -> None:
    page = product_page(price="<sup>$</sup>1,<i>999</i>")
    with pytest.raises(EditFailed, match='the figure 1,999 in "\\$1,999" is spread over several elements'):
        run(page, treatment({"set_price": 5}))


def test_a_rating_holds_in_every_place() -> None:
    after = run(product_page(), treatment({"set_rating": 90})).body
    assert attributes(after, "div.rating-result", "title") == ["90%"]
    assert attributes(after, "div.rating-result > span", "style") == ["width: 90%"]
    assert texts(after, "[itemprop=ratingValue], [itemprop=bestRating]") == ["90", "100"]
    cards = run(category_page(card(KEY, 1)), treatment({"set_rating": 90}), url=HOST).body
    assert attributes(cards, "div.rating-result", "title") == ["90%"]
    assert attributes(cards, "div.rating-result > span", "style") == ["width: 90%"]
    assert texts(cards, "div.rating-result") == ["90%"]


@pytest.mark.parametrize(("count", "word"), [(1, "Review"), (2, "Reviews"), (12345, "Reviews")])
def test_a_number_of_reviews_holds_in_every_place(count: int, word: str) -> None:
    after = run(product_page(), treatment({"set_reviews": count})).body
    assert texts(after, "a.action.view") == [f"{count:,} {word}"]
    assert texts(after, "#tab-label-reviews-title") == [f"Reviews {count:,}"]
    cards = run(category_page(card(KEY, 1)), treatment({"set_reviews": count}), url=HOST).body
    assert texts(cards, "a.action.view") == [f"{count:,} {word}"]


def test_the_stock_is_told_on_the_product_page_only() -> None:
    edit = treatment({"set_stock": "Only 2 left & <going>"})
    assert texts(run(product_page(), edit).body, "div.stock") == ["Only 2 left & <going>"]
    page = category_page(card(KEY, 1))
    assert run(page, edit, url=HOST).body is page


def test_removal() -> None:
    edit = treatment({"remove": "product.reviews_summary"}, {"remove": "product.price_box"})
    after = run(product_page(), edit).body
    assert texts(after, ".product-reviews-summary, .price-box") == []
    assert texts(after, "#product-addtocart-button, div.stock") == ["In stock", "Add to Cart"]
    cards = run(category_page(card(KEY, 1), card("other", 2)), edit, url=HOST).body
    assert len(texts(cards, ".product-reviews-summary")) == len(texts(cards, ".price-box")) == 1


def test_the_rating_is_shown_as_text_wherever_there_is_one() -> None:
    show = treatment({"show_rating_text": {}}, product=None)
    page = product_page()
    assert inserted(page, run(page, show).body) == (
        b'<span class="product-rating-details" style="margin:0 8px">Rating: 75%</span>'
    )
    unrated = product_page(reviews=0)
    assert run(unrated, show).body is unrated
    cards = run(
        category_page(card("a", 1, rating=100), card("b", 2, rating=None), card("c", 3, rating=20)), show
    )
    assert texts(cards.body, "div.rating-summary + span") == ["Rating: 100%", "Rating: 20%"]
    assert [receipt.product for receipt in cards.receipts] == ["a", "c"]


def test_a_rating_that_says_so_itself_is_not_announced_twice() -> None:
    show = treatment({"show_rating_text": {}}, product=None)
    page = product_page().replace(b'title="75%"', b'title="Rating: 75%"')
    assert page != product_page()
    assert texts(run(page, show).body, ".product-rating-details") == ["Rating: 75%"]


def test_the_shown_rating_is_the_one_that_was_set_and_absent_where_it_was_removed() -> None:
    show = treatment({"show_rating_text": {}}, product=None)
    assert b"Rating: 90%" in run(product_page(), treatment({"set_rating": 90}), show).body
    assert (
        b"Rating: 75%" not in run(product_page(), treatment({"remove": "product.reviews_summary"}), show).body
    )


def test_a_selector_can_stand_for_a_role_on_the_product_page() -> None:
    edit = treatment({"insert_text": {"after": "css:button.tocart", "text": "Ships today"}})
    assert texts(run(product_page(), edit).body, "button + span") == ["Ships today"]
    page = category_page(card(KEY, 1))
    assert run(page, edit, url=HOST).body is page


def test_item_roles_stay_on_cards() -> None:
    edit = treatment({"insert_text": {"after": "item.title", "text": "Look"}})
    page = product_page()
    assert run(page, edit).body is page
    assert texts(run(category_page(card(KEY, 1)), edit, url=HOST).body, "li strong + span") == ["Look"]


def test_a_card_on_another_product_page_is_edited_too() -> None:
    page = product_page(extra=card("other", 2))
    after = run(page, treatment({"set_price": 3}, product="other")).body
    assert texts(after, "span.price") == ["$19.99", "$3.00"]


def test_insertions_at_one_place_keep_the_order_of_the_plan() -> None:
    nudges = [{"insert_text": {"after": "product.title", "text": text}} for text in ("one", "two", "three")]
    assert texts(run(product_page(), treatment(*nudges)).body, "h2") == ["one", "two", "three"]


# Failures


@pytest.mark.parametrize(
    ("body", "edit", "role", "reason"),
    [
        (product_page(reviews=0), {"set_rating": 50}, "product.rating", "nothing on the page matches"),
        (product_page(reviews=0), {"set_reviews": 5}, "product.reviews", "nothing on the page matches"),
        (product_page(price="soon"), {"set_price": 5}, "product.price", 'no figure in "soon"'),
        (product_page(), {"remove": "css:.nowhere"}, "css:.nowhere", "nothing on the page matches"),
        (product_page(), {"remove": "product.colour"}, "product.colour", "onestopmarket has no such role"),
        (
            product_page(extra="<select><option id=o>x</select>"),
            {"remove": "css:#o"},
            "css:#o",
            "inside <select>",
        ),
        (product_page(), {"set_price": "${value}"}, "product.price", "not filled in"),
        (
            category_page(card(KEY, 1, rating=None)),
            {"set_rating": 5},
            "item.rating",
            "nothing on the page matches",
        ),
        ("é".encode("utf-16")[:-1] + product_page(), {"set_price": 5}, "", "not valid utf-16-le"),
    ],
)
def test_an_edit_that_cannot_be_made_fails(
    body: bytes, edit: dict[str, object], role: str, reason: str
) -> None:
    with pytest.raises(EditFailed, match=reason) as failure:
        run(body, treatment(edit))
    error = failure.value
    assert error.role == role
    assert error.url == f"{HOST}a/page.html"
    if role:
        assert (error.intervention, error.edit) == ("the-id", next(iter(edit)))


def test_two_edits_of_one_place_conflict_unless_they_agree() -> None:
    five, six = treatment({"set_price": 5}), treatment({"set_price": 6})
    with pytest.raises(EditFailed, match=r'an earlier edit has made the text "\$5.00"'):
        run(product_page(), five, six)
    agreed = run(product_page(), five, treatment({"set_price": "5.00"}))
    assert texts(agreed.body, "span.price") == ["$5.00"]
    assert len(agreed.receipts) == 2
    inside = treatment(
        {"insert_text": {"after": "product.stars", "text": "x"}}, {"remove": "product.reviews_summary"}
    )
    with pytest.raises(
        EditFailed, match=r"remove product\.reviews_summary changes the same place"
    ) as failure:
        run(product_page(), inside, treatment({"set_stock": "x"}))
    assert (failure.value.edit, failure.value.role) == ("insert_text", "product.stars")


def test_a_failure_names_the_edit_whose_surroundings_are_irregular() -> None:
    page = product_page(extra="<table><tr id=row><td>x</td></tr></table>")
    edit = treatment({"set_price": 5}, {"insert_text": {"after": "css:#row", "text": "x"}}, {"set_rating": 5})
    with pytest.raises(EditFailed, match="too irregular for a safe edit") as failure:
        run(page, edit)
    assert (failure.value.edit, failure.value.role) == ("insert_text", "css:#row")


# Finding the source of an element


@pytest.mark.parametrize(
    "title",
    [
        "<DIV CLASS='page-title-wrapper product'>",
        '<div class="p&#97;ge-title-wrapper product">',
        '<div title="a > b" class="page-title-wrapper product">',
        '<div data-x="<div page-title-wrapper" class="page-title-wrapper product">',
        '<div class="page-title-wrapper\tproduct" class=x\n>',
        '<p title=<div/page-title-wrapper><!-- <div class="page-title-wrapper product"> -->'
        '<div class="page-title-wrapper product">',
    ],
)
def test_unusual_ways_to_write_the_target(title: str) -> None:
    page = product_page().replace(b'<div class="page-title-wrapper&#x20;product">', title.encode())
    assert page != product_page()
    after = run(page, treatment(NUDGE)).body
    assert texts(after, "div.page-title-wrapper.product + h2") == ["This product is a best seller!"]
    assert after.replace(inserted(page, after), b"") == page


@pytest.mark.parametrize("codec", ["gbk", "utf-16", "cp1252", "shift_jis"])
def test_other_charsets(codec: str) -> None:
    page = product_page().decode().replace('<meta charset="utf-8"/>', "").encode(codec)
    content_type = f"text/html; charset={codec}" if codec != "utf-16" else "text/html"
    edit = treatment({"insert_text": {"after": "product.title", "text": "Süß — 甜"}}, {"set_price": 5})
    after = rewrite(page, content_type=content_type, url=HOST, plan=Plan((edit,)), site=SITE).body
    text = after.decode(codec)
    assert texts(text.encode(), "h2, span.price") == ["Süß — 甜", "$5.00"]


# Receipts


def test_receipts_prove_what_was_shown() -> None:
    before = product_page()
    result = run(before, treatment(NUDGE, {"set_price": 5}, {"set_reviews": 1}, {"remove": "product.stock"}))
    hashes = [hashlib.sha256(body).hexdigest()[:32] for body in (before, result.body)]
    assert [
        (r.edit, r.role, r.matches, r.before, r.after) for r in result.receipts
    ] == [
        ("insert_text", "product.title", 1, "", "This product is a best seller!"),
        ("set_price", "product.price", 4, "$19.99", "$5.00"),
        ("set_reviews", "product.reviews", 2, "12 Reviews", "1 Review"),
        ("remove", "product.stock", 1, "In stock", ""),
    ]  # fmt: skip
    for receipt in result.receipts:
        assert (receipt.intervention, receipt.page_type, receipt.product) == ("the-id", "product", KEY)
        assert [receipt.page_hash_before, receipt.page_hash_after] == hashes
        assert json.loads(json.dumps(receipt.to_dict())) == receipt.to_dict()


@pytest.mark.parametrize("written", ["127.0.0.1:{}", "127.0.0.1%3A{}", "127.0.0.1%3a{}"])
def test_hashes_of_a_page_do_not_depend_on_the_port_of_its_shop(written: str) -> None:
    page = '<a href="http://{0}/x"></a><i>127.0.0.1:1234</i>'
    hashes = {
        page_hash(page.format(written.format(port)).encode(), f"http://127.0.0.1:{port}/a")
        for port in (80, 7770, 45_123)
    }
    assert len(hashes) == 1
    assert page_hash(page.format("127.0.0.1:12345").encode(), "http://127.0.0.1:1234/") not in hashes
    body = page.format("127.0.0.1:7770").encode()
    assert page_hash(body, "http://127.0.0.1/") == hashlib.sha256(body).hexdigest()[:32]


def test_receipts_hold_long_texts_in_part() -> None:
    edit = {"insert_text": {"after": "product.title", "text": "x" * 500}}
    (receipt,) = run(product_page(), treatment(edit)).receipts
    assert len(receipt.after) == 200


def test_card_receipts_name_the_role_of_the_card() -> None:
    (receipt,) = run(category_page(card(KEY, 1)), treatment(NUDGE), url=HOST).receipts
    assert (receipt.role, receipt.page_type, receipt.product) == ("item.title", "listing", KEY)


def test_a_page_that_claims_offsets_of_its_own_is_not_believed() -> None:
    page = product_page(extra='<div data-souk-at="3" data-souk-00000000="5" class="note">x</div>')
    edit = treatment({"insert_text": {"after": "css:div.note", "text": "after"}})
    assert texts(run(page, edit).body, "div.note + span") == ["after"]


def test_every_match_of_a_role_is_edited() -> None:
    page = product_page(extra='<i class="note">a</i> <i class="note">b</i>')
    result = run(page, treatment({"insert_text": {"append": "css:i.note", "text": "!"}}))
    assert texts(result.body, "i.note") == ["a!", "b!"]
    assert result.receipts[0].matches == 2


def test_a_title_test_needs_the_exact_title() -> None:
    other = home_page(card(KEY, 1)).replace(
        b"<title>One Stop Market</title>", b"<title>One Stop Market 2</title>"
    )
    assert run(other, treatment(NUDGE)).page_type == "other"
    assert replace(run(home_page(card(KEY, 1)), treatment(NUDGE)), body=b"").page_type == "home"
