"""Plans on the pages of a shop: what changes, what stays, what is proved and what fails."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.engine import EditFailed, Rewrite, page_hash, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.interventions.rewriting import LINK, site_of
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


ROWS = site_of(
    {
        "product.price": "b",
        "row": ".row",
        "row.link": LINK,
        "row.quantity": {"css": "input", "attribute": "value"},
        "row.subtotal": "i",
    }
)


@pytest.mark.parametrize("hidden", ['style="display: none;"', "hidden"])
@pytest.mark.parametrize("product", [KEY, None])
def test_a_template_that_scripts_fill_is_no_line_of_the_cart(hidden: str, product: str | None) -> None:
    row = '<p class=row><a href="#">Name</a><input><i>Price</i></p>'
    page = f"<h1>Lamp</h1><b>$10.00</b><div {hidden}>{row}</div>".encode()
    price = treatment({"set_price": 5}, product=product)
    done = run(page, price, url=f"{HOST}{KEY}.html", site=ROWS)
    assert texts(done.body, "b, i") == ["$5.00", "Price"]
    shown = page.replace(hidden.encode(), b"")
    with pytest.raises(EditFailed, match="exactly one figure"):
        run(shown, price, url=f"{HOST}{KEY}.html", site=ROWS)


# Pages that are not concerned


CARD = card("another", 1)
CONTACT = shop_page("contacts-index-index", "<h1>Contact Us</h1>", "<title>Contact</title>")


@pytest.mark.parametrize(
    ("treatments", "body", "content_type"),
    [
        ([], product_page(), HTML),
        ([treatment(NUDGE)], b"", HTML),
        ([treatment(NUDGE)], b'{"html": "<div>"}', "application/json"),
        ([treatment(NUDGE, product="another")], product_page(), HTML),
        ([treatment(NUDGE, pages=("listing",))], product_page(), HTML),
        ([treatment(NUDGE)], category_page(CARD), HTML),
        ([treatment(NUDGE)], category_page(CARD.replace('href="http', 'href="http://[')), HTML),
        ([treatment(NUDGE)], CONTACT, HTML),
    ],
)
def test_a_page_that_is_not_concerned_is_the_same_object(
    treatments: list[Treatment], body: bytes, content_type: str
) -> None:
    plan = Plan(tuple(treatments))
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
        (CONTACT, "other", None),
        # Its title has to be exactly that of the first page.
        (home_page(card("a", 1)).replace(b"Market</title>", b"Market 2</title>"), "other", None),
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


# Texts


def test_a_nudge_on_the_product_page_changes_nothing_else() -> None:
    before = product_page()
    after = run(before, treatment(NUDGE)).body
    nudge = b'<h2 class="product-title-details" style="display:block;margin:4px 0">%b</h2>'
    nudge %= NUDGE["insert_text"]["text"].encode()
    assert after.count(nudge) == 1
    assert after.replace(nudge, b"") == before


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


def test_a_page_that_claims_offsets_of_its_own_is_not_believed() -> None:
    page = product_page(extra='<div data-souk-at="3" data-souk-00000000="5" class="note">x</div>')
    edit = treatment({"insert_text": {"after": "css:div.note", "text": "after"}})
    assert texts(run(page, edit).body, "div.note + span") == ["after"]
