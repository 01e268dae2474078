"""The consistency check: what pages say of a product, and where they disagree."""

import json
from decimal import Decimal

import pytest

from interventions.apply.consistency import PageFigure, disagreements, sightings
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.interventions.rewriting import site_of
from tests.interventions.shop_pages import HOST, HTML, KEY, product_page

SHOP = load_site_map("onestopmarket")
SECTION = f"{HOST}customer/section/load/?sections=cart"


def minicart(price: str, amount: float) -> bytes:
    item = {"product_url": f"{HOST}{KEY}.html", "product_price": price, "product_price_value": amount}
    return json.dumps({"cart": {"items": [item]}}).encode()


def seen(
    body: bytes, url: str = f"{HOST}{KEY}.html", kind: str = HTML, site: SiteMap = SHOP
) -> list[PageFigure]:
    return sightings(body, content_type=kind, url=url, site=site)


def test_pages_that_disagree_are_named_with_their_values() -> None:
    page = seen(product_page())
    price = next(s.value for s in page if s.part == "price")
    cart = seen(
        minicart(f'<span class="price">${price + 1}</span>', float(price) + 1), SECTION, "application/json"
    )
    assert {s.value for s in cart} == {price + 1}
    (line,) = disagreements([*page, *cart])
    assert line == (
        f"{KEY}: price is {price} as product.price on {HOST}{KEY}.html, "
        f"but {price + 1} as data.price on {SECTION}"
    )
    assert disagreements(seen(minicart(f"${price}", float(price)), SECTION, "application/json") + page) == []


@pytest.mark.parametrize(
    ("body", "kind", "url"),
    [
        (b"{", "application/json", SECTION),
        (b"{}", "application/json", HOST),
        (b"\xff\xfe<", "text/html; charset=utf-16", HOST),
        (b"plain", "text/plain", HOST),
        (b"", HTML, HOST),
    ],
)
def test_what_cannot_be_read_says_nothing(body: bytes, kind: str, url: str) -> None:
    assert seen(body, url, kind) == []


SCRIPT = {"css": "script", "roles": {"rating": {"path": "$.ratingValue", "scale": 5}}}


@pytest.mark.parametrize(
    ("text", "data", "agrees"), [("4.1", 4.14, True), ("4.1", 4.3, False), ("4", 4.0, True)]
)
def test_ratings_on_a_scale_agree_up_to_rounding(text: str, data: float, agrees: bool) -> None:
    place = {"css": ".stars", "pattern": "([0-9.]+) out of", "scale": 5}
    body = f"""<h1>x</h1><p class=stars>{text} out of 5 stars</p>
        <script type="application/ld+json">{json.dumps({"ratingValue": data})}</script>"""
    found = seen(body.encode(), site=site_of({"product.rating": place}, data=[SCRIPT]))
    assert [s.value for s in found] == [Decimal(text) * 20, Decimal(str(data)) * 20]
    assert (disagreements(found) == []) is agrees


def test_ratings_in_words_agree_with_figures() -> None:
    site = site_of({"product.rating": {"css": ".s", "attribute": "class", "words": ["One", "Two"]}})
    assert [s.value for s in seen(b'<h1>x</h1><p class="s Two">', site=site)] == [100]


def test_an_untreated_cart_of_two_pieces_agrees_with_the_page() -> None:
    cents = {
        "url": "/api/*",
        "items": "$..lines[*]",
        "link": {"path": "$.slug", "page": "/${value}"},
        "roles": {"price": {"path": "$.unit", "factor": 100}, "quantity": "$.quantity", "subtotal": "$.line"},
        "totals": "$.total",
    }
    site = site_of({"product.price": ".price"}, data=[cents])
    cart = {"lines": [{"slug": "lamp", "unit": 129900, "quantity": 2, "line": 259800}], "total": 259800}
    page = seen(b"<h1>Lamp</h1><p class=price>1.299,00 &euro;</p>", f"{HOST}lamp", site=site)
    data = seen(json.dumps(cart).encode(), f"{HOST}api/cart", "application/json", site)
    assert [(s.product, s.value) for s in [*page, *data]] == [("lamp", 1299), ("lamp", 1299)]
    assert disagreements([*page, *data]) == []
    cart["lines"][0]["unit"] = 129901  # type: ignore[index]
    dearer = seen(json.dumps(cart).encode(), f"{HOST}api/cart", "application/json", site)
    assert len(disagreements([*page, *dearer])) == 1


def test_a_number_in_data_has_as_many_decimals_as_it_has() -> None:
    (sighting,) = (s for s in seen(minicart("soon", 12.125), SECTION, "application/json"))
    assert sighting.value == Decimal("12.125")
