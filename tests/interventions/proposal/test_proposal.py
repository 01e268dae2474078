"""Proposed site maps, on shops whose authors had other things in mind."""

# ruff: noqa: E501 - markup stands as shops write it

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.proposal.check import faults
from interventions.proposal.embedded import FoundData
from interventions.proposal.purchase import PurchaseRules
from interventions.proposal.roles import FoundRole
from interventions.proposal.scan import Capture, names_price, number
from interventions.proposal.selectors import is_stable, line_selector, unique_selector
from interventions.proposal.site import Proposal, cards_on, first_product, propose
from interventions.yaml.choice import CartRequest, Choice, Message
from interventions.yaml.sitemap import Data, Place, SiteMap, Value
from interventions.yaml.yaml_source import parse_yaml, validate
from tests.interventions import shop_pages
from tests.interventions.schema_org_shops import HOST, SHOPS, Shop


def proposed(key: str, product: str, listing: str | None = None) -> tuple[Proposal, SiteMap]:
    """The proposal, and what comes of its YAML."""
    pages = Capture(f"{HOST}/{key}", product), Capture(f"{HOST}/winds", listing) if listing else None
    found = propose("test", *pages)
    site = validate(parse_yaml(found.to_yaml(), "test.yaml"), SiteMap)
    assert faults(site, *pages) == []
    return found, site


@pytest.mark.parametrize("shop", SHOPS.values(), ids=SHOPS)
def test_a_proposal_can_be_used_as_it_is(shop: Shop) -> None:
    found, site = proposed(shop.key, shop.product, shop.listing)
    texts = {role.role: role.text for role in found.roles}
    assert texts["product.name"] == texts["item.name"] == "Tin Whistle"
    assert "18.50" in texts["product.price"]
    assert "18.50" in texts["item.price"]
    assert found.missing in ([], ["product.add_to_cart"])
    assert site.cards == ["item"]
    rated = "product.rating" in texts
    assert [place.scale for place in site.role("product.rating")[:1]] == [5] * rated
    assert bool(site.role("product.reviews")) == rated


@pytest.mark.parametrize(
    ("shown", "role", "found"),
    [
        # Rather no price is proposed than that of a unit; what is called the price is one of goods by weight.
        ("<p class=now>฿๓๗๔.๐๐ <span class=each>(฿๑๒๔.๖๗/ชิ้น)</span></p>", "price", ""),
        ("<p class=now>3,74 €</p><p class=each>1,25 € / 100 g</p>", "price", "3,74 €"),
        ("<p class=each>($1.25 per piece)</p><p class=now>$3.74</p>", "price", "$3.74"),
        ("<p class=now>3,74 € / Stück</p>", "price", ""),
        ("<p class=price>12,99 €/kg</p>", "price", "12,99 €/kg"),
        # What is called a discount is a saving only beside a price.
        ("<p><b class=discount>€ 39.90</b></p>", "price", "€ 39.90"),
        ("<p><b class=price>€ 49.90</b><b class=discount>€ 39.90</b></p>", "price", "€ 49.90"),
        ("<div><span><b>49.90</b>&nbsp;<i>₪</i></span></div>", "price", "49.90\xa0₪"),
        # Beside a rating in words, `show_rating_text` would write it a second time: it has no stars.
        ("<p class=rating>4,4 von 5</p>", "rating", "4,4 von 5"),
        ("<p class=rating><i class=star></i> <b class=score>4.4</b></p>", "rating", "4.4"),
        ('<p class=rating title="4.4 out of 5"></p>', "rating stars", "4.4 out of 5"),
        ('<p class=rating><span style="width: 88%"></span></p>', "rating stars", "width: 88%"),
        ('<p class=rating><span style="width: 88%"><span>88%</span></span></p>', "rating stars", "88%"),
        ('<p class="star-rating Four"><i class=icon-star></i></p>', "rating stars", "star-rating Four"),
    ],
)
def test_what_is_taken_for_a_price_or_a_rating(shown: str, role: str, found: str) -> None:
    page = f"<main><h1>Lamp</h1>{shown}<button class=buy>Buy</button></main>"
    roles = {r.role: r.text for r in propose("test", Capture(f"{HOST}/lamp", page), None).roles}
    assert roles.get(f"product.{role.partition(' ')[0]}", "") == found
    assert ("product.stars" in roles) == ("stars" in role)


def test_a_map_like_the_one_written_by_hand() -> None:
    product = shop_pages.product_page().decode()
    cards = [
        shop_pages.card(key, number) for number, key in enumerate(("oat-cookies", "ginger-nuts", "rusks"), 1)
    ]
    listing = shop_pages.category_page(*cards).decode()
    url = f"{shop_pages.HOST}{shop_pages.KEY}.html"
    found = propose("own", Capture(url, product), Capture(f"{shop_pages.HOST}cookies.html", listing))
    site = validate(parse_yaml(found.to_yaml(), "own.yaml"), SiteMap)
    assert site.pages["product"].css == 'meta[property="og:type"][content="product"]'
    assert site.role("item") == (Place(css="li.product-item"),)
    assert site.role("item.link") == (Place(css="a.product-item-link", attribute="href"),)
    assert site.role("item.title") == (Place(css="strong.product-item-name"),)
    assert site.role("product.add_to_cart") == (Place(css="button#product-addtocart-button"),)
    attributes = {place.attribute for place in site.role("product.price")}
    assert attributes == {None, "data-price-amount", "content"}
    assert {place.attribute for place in site.role("product.rating")} == {None, "title", "style"}
    assert len(site.role("product.reviews")) == 2
    assert site.role("product.stock")


def test_a_name_is_found_in_what_readers_of_html_are_given() -> None:
    page = """<main><h1>Oak Lamp</h1><img class=photo src=a.png alt="Oak Lamp"><img class=other alt="Elm Lamp">
        <button class=more aria-label="One more Oak Lamp">+</button><p class=now>$3.74</p><button>Buy</button></main>
        <footer><img class=ad alt="Oak Lamp"></footer>"""
    places = next(
        r.places
        for r in propose("test", Capture(f"{HOST}/lamp", page), None).roles
        if r.role == "product.name"
    )
    assert [(place.css, place.attribute) for place in places[1:]] == [
        ("img.photo", "alt"),
        ("button.more", "aria-label"),
    ]


def test_data_of_a_script_are_found_by_what_the_page_shows() -> None:
    page = """<title>Tin Whistle</title><body class="product-page"><h1>Tin Whistle</h1><p class="price">$18.50</p>
<script>window.state = {"shop": "The Reed", "items": [{"title": "Tin Whistle", "cost": {"amount": 18.5, "text": "$18.50"}}]};</script>"""
    _, site = proposed("tin-whistle", page)
    (rule,) = site.data
    assert rule.items == "$..[?@.title && @.cost]"
    assert [value.path for value in rule.roles["price"]] == ["$.cost.amount", "$.cost.text"]


def test_roles_that_only_scripts_make_are_marked() -> None:
    sent = Capture(f"{HOST}/lamp", "<title>Lamp</title><body class=detail><h1>Lamp</h1><div id=app></div>")
    drawn = Capture(sent.url, sent.html.replace("<div id=app>", '<div id=app><p class="price">$5.00</p>'))
    found = propose("test", drawn, None, raw=[sent])
    assert {role.role: role.scripted for role in found.roles} == {
        "product.title": False, "product.name": False, "product.price": True, "product.price_box": True,
    }  # fmt: skip
    assert "only after scripts ran" in found.to_yaml()


def test_what_is_missing_is_said() -> None:
    found = propose("test", Capture(f"{HOST}/about", "<title>About</title><h1>About us</h1>"), None)
    assert "product.price" in found.missing
    assert "# not found: product.price" in found.to_yaml()
    assert cards_on(Capture(f"{HOST}/about", "<ul><li><a href=/a>A</a><li><a href=/b>B</a></ul>")) == set()


@pytest.mark.parametrize(
    "name", ["product-title", "price_color", "tocart", "ProductForm", "js_price", "heading_two"]
)
def test_names_that_tell_what_a_thing_is(name: str) -> None:
    assert is_stable(name)


@pytest.mark.parametrize(
    "name",
    ["css-1x2y3z", "sc-bdVaJa", "styles__price--2Kx9a", "mt-4", "flex", "col-sm-6", "md:flex", "post-1234", "text-2xl", "instock", "inline-flex", "btn", "tin-whistle-card"],
)  # fmt: skip
def test_names_that_do_not(name: str) -> None:
    assert not is_stable(name, "shop/tin-whistle")


@pytest.mark.parametrize(
    "text", ["$1,234.00", "19,90 €", "EUR 5", "kr 1.299", "₹ 499", "12.50 CHF", "R$ 19,90", "49,- Kč", "zł 9"]
)
def test_prices_of_many_countries(text: str) -> None:
    assert names_price(text)
    assert number(text) is not None


@pytest.mark.parametrize("text", ["12 reviews", "Room 5", "2.4 GHz", "Euro 2024 fan scarf", "4.5 out of 5"])
def test_what_is_no_price(text: str) -> None:
    assert not names_price(text)


@given(
    st.lists(st.sampled_from(["price", "old", "name", "mt-4", "x9Kq2"]), min_size=1, max_size=8), st.data()
)
def test_a_selector_finds_its_element_and_no_other(classes: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(0, len(classes) - 1))
    items = "".join(f'<p class="{name}" id="n{i}">{i}</p>' for i, name in enumerate(classes))
    tree = LexborHTMLParser(f"<main><div class=list>{items}</div></main>")
    root, node = tree.root, tree.css_first(f"#n{wanted}")
    assert root is not None
    selector = unique_selector([(root, node)])
    if selector is not None:
        assert [found.mem_id for found in tree.css(selector)] == [node.mem_id]


@given(st.text(max_size=300))
def test_any_page_can_be_looked_at(html: str) -> None:
    found = propose(
        "test", Capture(f"{HOST}/p", f"<h1>{html}</h1><p class=price>{html}"), Capture(HOST, html)
    )
    validate(parse_yaml(found.to_yaml(), "test.yaml"), SiteMap)


@given(st.text(), st.text("aon1 .:#,[]{}'\"\\\t\n\x07\x85\u2028"))
@example("on", "a\nroles: {}")
def test_whatever_a_shop_says_stays_what_it_said(one: str, other: str) -> None:
    role = FoundRole("product.name", (Place(css="h1", attribute=other),), one, "high", other)
    data = FoundData(Data(url=other, roles={"name": (Value(path="$.name"),)}), "", one)
    choice = Choice(
        request=(CartRequest(path="/cart", operation=one, refused_by=re.escape(other)),),
        message=(Message(css="p", says=one.replace("$", "")),),
        address=(re.escape(other),),
    )
    reasons = dict.fromkeys(("request", "message", "address"), other)
    found = Proposal(
        one, other, one, {"product": "h1"}, (role,), (data,), (other, one), PurchaseRules(choice, reasons, ())
    )
    read = parse_yaml(found.to_yaml(), "test.yaml")
    assert read.problems == ()
    assert (read.data["name"], read.data["query"]) == (one, [other, one])
    assert read.data["pages"] == {"product": "h1"}
    assert read.data["roles"] == {"page.body": "body", "product.name": {"css": "h1", "attribute": other}}
    assert read.data["data"] == [{"url": other, "items": "$", "roles": {"name": "$.name"}}]
    assert Choice.model_validate(read.data["choice"]) == choice


IDLE = (
    '<div class="h0"><a href="/">Haus</a><a href="/korb">Korb (0) <b>0,00 €</b></a></div>',
    '<div class="q2"><a href="/a/{0}">Lampe {0}</a><div class="q5">4,2 von 5</div><div class="q4">{0},50 €</div></div>',
    '<div class="z1"><h1>Lampe 10</h1><p class="z3">4,2 von 5 Sternen</p><p class="z6">27 Bewertungen</p>'
    '<p class="z4">10,50 €</p><form><button>In den Warenkorb</button></form><p class="z9">Gut.</p></div>',
)
"""A header with a basket, a card and a product's page, all with class names that say nothing."""


def test_where_nothing_else_tells_a_place_it_is_told_by_a_name_that_says_nothing() -> None:
    header, card, product = IDLE
    listing = f"{header}<h1>Hallo</h1><div>{''.join(map(card.format, range(10, 22)))}</div>"
    found, site = proposed("a/10", header + product, listing)
    css = {role: site.role(role)[0].css for role in ("product.rating", "product.reviews", "item.price")}
    assert css == {"product.rating": "p.z3", "product.reviews": "p.z6", "item.price": "div.q4"}
    doubted = {role.role for role in found.roles if "may not last" in role.reason}
    assert css.keys() | {"item.rating"} <= doubted
    assert all(role.confidence == "low" for role in found.roles if role.role in doubted)
    assert not site.role("item.stars"), "its rating is in words"


def test_a_basket_in_the_header_makes_a_listing_no_products_page() -> None:
    header, card, product = IDLE
    cards = "".join(map(card.format, range(10, 22)))
    home = Capture("http://shop.test/", f"{header}<h1>Hallo</h1><div>{cards}</div>")
    assert first_product(home) == "http://shop.test/a/10"
    without_button = re.sub("<form>.*</form>", "", product)
    page = Capture("http://shop.test/a/10", f"{header}{without_button}<div>{cards}</div>")
    assert first_product(page) is None


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_line_of_the_cart_is_found_for_any_number_of_lines(lines: int) -> None:
    line = "<tr><td><a href=/p/{0}>{0}</a></td><td>$20.00</td><td><input value=1></td></tr>"
    cart = "<table><tr><th>Item</th></tr>{}<tr><td>Total</td><td>$20.00</td></tr></table>"
    tree = LexborHTMLParser(cart.format(line.format("lamp")))
    row = tree.css("tr")[1]
    assert tree.root is not None
    css = line_selector(tree.root, row, "p/lamp")
    assert css is not None and "+" not in css
    several = cart.format("".join(line.format(name) for name in ("lamp", "oil", "tin")[:lines]))
    assert len(LexborHTMLParser(several).css(css)) == lines


@pytest.mark.parametrize("alike", [False, True])
def test_a_first_page_that_shows_the_same_product_is_no_other_page(alike: bool) -> None:
    """Servers of pages that scripts draw often answer every address alike."""
    page = "<main class=product-page><h1>{}</h1><b class=price>$5.00</b><button>Add to cart</button></main>"
    here = Capture(f"{HOST}/lamp", page.format("Lamp"))
    found = propose("test", here, None, home=Capture(f"{HOST}/", page.format("Lamp" if alike else "Shop")))
    assert found.listing_url is None
    assert ("product" in found.pages) == alike
