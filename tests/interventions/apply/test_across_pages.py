"""One plan on all pages of a visit: nowhere does a product show as it was."""

import json
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.consistency import disagreements, sightings
from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import Data, load_site_map
from tests.interventions.shop_pages import (
    HOST,
    HTML,
    KEY,
    card,
    cart_page,
    category_page,
    home_page,
    product_page,
    related,
)

OLD_NAME, NEW_NAME = "Quiet Harbor Oat Cookies", "Loud Valley Rye Crackers"
LINKED_DATA = [
    Data.model_validate(
        {
            "css": 'script[type="application/ld+json"]',
            "items": items,
            "link": "$.url",
            "roles": {
                "name": "$.name",
                "image": ["$.image", "$.image[*]"],
                "price": ["$.offers.price", "$.offers[*].price", "$.offers.lowPrice", "$.offers.highPrice"],
                "rating": {"path": "$.aggregateRating.ratingValue", "scale": 5},
                "reviews": ["$.aggregateRating.reviewCount", "$.aggregateRating.ratingCount"],
            },
        }
    )
    for items in ("$", '$..[?@["@type"] == "Product"]')
]
SITE = load_site_map("onestopmarket")
SITE = SITE.model_copy(update={"data": (*SITE.data, *LINKED_DATA)})
EDITS = [
    {"set_price": "8.64"},
    {"set_rating": 92},
    {"set_reviews": 3456},
    {"set_title": NEW_NAME},
    {"set_stock": "Only 2 left"},
    {"set_image": f"{HOST}media/rye.jpg"},
]
PLAN = Plan((Treatment("other-product", KEY, tuple(edit_from_dict(edit) for edit in EDITS)),))
SECTIONS = {
    "cart": {
        "items": [
            {
                "product_name": OLD_NAME,
                "product_url": f"{HOST}{KEY}.html",
                "product_image": {"src": f"{HOST}media/{KEY}.jpg"},
                "product_price": '<span class="price">$27.43</span>',
                "product_price_value": 27.43,
                "qty": 2,
            }
        ],
        "subtotal": '<span class="price">$54.86</span>',
        "subtotalAmount": "54.86",
    }
}


def mine(number: int) -> str:
    return card(KEY, number, price="$27.43", amount="27.43").replace(">12 &nbsp;", ">1,729 &nbsp;")


def linked(offers: object, **more: object) -> dict[str, object]:
    rating = {"@type": "AggregateRating", "ratingValue": 3.75, "bestRating": 5, "reviewCount": "1729"}
    return {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": OLD_NAME,
        "image": [f"{HOST}media/{KEY}.jpg"],
        "offers": offers,
        "aggregateRating": rating,
        **more,
    }


OFFER = {"@type": "Offer", "price": "27.43", "priceCurrency": "USD"}
FORMS: dict[str, Any] = {
    "offer": linked(OFFER),
    "number": linked(OFFER | {"price": 27.43}),
    "list": linked([OFFER, OFFER]),
    "aggregate": linked({"@type": "AggregateOffer", "lowPrice": 27.43, "highPrice": "27.43"}),
    "graph": {"@graph": [{"@type": "WebSite", "url": HOST}, linked(OFFER, url=f"{HOST}{KEY}.html")]},
    "in-a-list": [{"@type": "BreadcrumbList"}, linked(OFFER, url=f"/{KEY}.html")],
    "in-a-page": {"@type": "ItemPage", "mainEntity": linked(OFFER)},
}
PAGES: dict[str, tuple[str, bytes]] = {
    "product": (f"{HOST}{KEY}.html", product_page(reviews=1729, price="$27.43", amount="27.43")),
    "category": (f"{HOST}cookies.html", category_page(card("a", 1), mine(2), card("b", 3))),
    "search": (f"{HOST}catalogsearch/result/?q=oat", category_page(mine(9), card("b", 3))),
    "home": (HOST, home_page(card("a", 1), mine(2))),
    "related": (f"{HOST}other.html", product_page(extra=related(card("a", 1), mine(2))).replace(
        f'content="{HOST}{KEY}.html"'.encode(), f'content="{HOST}other.html"'.encode()
    )),
    "cart": (f"{HOST}checkout/cart/", cart_page(
        (KEY, "$27.43", 2, "$54.86"), ("b", "$19.99", 1, "$19.99"), total="$74.85"
    )),
    "minicart": (f"{HOST}customer/section/load/?sections=cart", json.dumps(SECTIONS).encode()),
} | {
    f"linked data: {name}": (f"{HOST}{KEY}.html", product_page(
        reviews=1729, price="$27.43", amount="27.43",
        extra=f'<script type="application/ld+json">{json.dumps(form)}</script>',
    ))
    for name, form in FORMS.items()
}  # fmt: skip


def rewritten(name: str) -> bytes:
    url, body = PAGES[name]
    content_type = "application/json" if body.startswith(b"{") else HTML
    return rewrite(body, content_type=content_type, url=url, plan=PLAN, site=SITE).body


def seen(name: str, body: bytes) -> list[Any]:
    content_type = "application/json" if body.startswith(b"{") else HTML
    return sightings(body, content_type=content_type, url=PAGES[name][0], site=SITE)


def shown(body: bytes) -> str:
    """A page's bytes, of a page with other products what it shows of this one."""
    tree = LexborHTMLParser(body, scripting=True)
    cards = [node.html or "" for node in tree.css(f'li.product-item:has(a[href="{HOST}{KEY}.html"])')]
    return "".join(cards) or body.decode()


@pytest.mark.parametrize("name", PAGES)
def test_a_product_shows_nowhere_as_it_was(name: str) -> None:
    before, after = shown(PAGES[name][1]), shown(rewritten(name))
    old = [
        "27.43",
        "54.86",
        "74.85",
        "75%",
        ">75<",
        "3.75",
        "1729",
        "1,729",
        f"media/{KEY}.jpg",
        ">In stock<",
        OLD_NAME,
    ]
    assert [text for text in old if text in before]
    assert [text for text in old if text in after] == []


def test_all_pages_agree_with_each_other_and_with_the_plan() -> None:
    found = [sighting for name in PAGES for sighting in seen(name, rewritten(name))]
    assert disagreements([sighting for sighting in found if sighting.product == KEY]) == []
    values = {(s.part, str(round(s.value, 2).normalize())) for s in found if s.product == KEY}
    assert values == {("price", "8.64"), ("rating", "92"), ("reviews", "3456")}
    assert len([s for s in found if s.product == KEY]) > 60


@pytest.mark.parametrize("name", ["category", "search", "home", "related", "cart"])
def test_other_products_show_as_they_were(name: str) -> None:
    def others(body: bytes) -> list[tuple[str, str, str]]:
        return [(s.product, s.role, str(s.value)) for s in seen(name, body) if s.product != KEY]

    assert others(rewritten(name)) == others(PAGES[name][1])
    assert others(rewritten(name))


@pytest.mark.parametrize("name", FORMS)
def test_linked_data_follow_in_each_of_their_forms(name: str) -> None:
    text = rewritten(f"linked data: {name}").partition(b'ld+json">')[2].partition(b"</script>")[0].decode()
    expected = json.dumps(FORMS[name])
    for old, new in [
        ("27.43", "8.64"),
        ("3.75", "4.6"),
        ("1729", "3456"),
        (OLD_NAME, NEW_NAME),
        (f"media/{KEY}.jpg", "media/rye.jpg"),
    ]:
        expected = expected.replace(old, new)
    assert json.loads(text) == json.loads(expected)


def test_the_cart_counts_two_of_them() -> None:
    tree = LexborHTMLParser(rewritten("cart"))
    assert [node.text() for node in tree.css("span.price")] == [
        "$37.27", "$37.27", "$8.64", "$17.28", "$19.99", "$19.99",
    ]  # fmt: skip
    root = json.loads(rewritten("minicart"))["cart"]
    assert (root["subtotal"], root["subtotalAmount"]) == ('<span class="price">$17.28</span>', "17.28")
