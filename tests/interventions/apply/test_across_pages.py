"""One plan on all pages of a visit, in shops of several systems: each shows its products as planned.

A page has to be the one that was sent, with the new values in the place of the product's old ones.
"""

import json
import re
from typing import Any, NamedTuple

import pytest

from interventions.apply.consistency import PageFigure, disagreements, sightings
from interventions.yaml.sitemap import Data, SiteMap, load_site_map
from tests.interventions import schema_org_shops
from tests.interventions.rewriting import HTML, rewritten
from tests.interventions.shop_pages import (
    HOST,
    KEY,
    card,
    cart_page,
    category_page,
    home_page,
    product_page,
    related,
)

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
MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)
"""What of a page concerns the product."""
NAME = "Quiet Harbor Oat Cookies"


class Visit(NamedTuple):
    """A shop and a product; its edits; each old text with the one that the pages have to show instead."""

    site: SiteMap
    key: str
    edits: list[dict[str, object]]
    texts: dict[str, str]

    def sent(self, page: str) -> str:
        return MARKED.sub(lambda found: found[1], page)

    def planned(self, page: str) -> str:
        """The page with the new texts where it is marked; no edit changes what a picture shows."""
        old = re.compile(f'(?<!alt=")({"|".join(map(re.escape, self.texts))})')
        return MARKED.sub(lambda found: old.sub(lambda text: self.texts[text[0]], found[1]), page)


MARKET = Visit(
    SITE,
    KEY,
    [
        {"set_price": "8.64"},
        {"set_rating": 92},
        {"set_reviews": 3456},
        {"set_title": "Loud Valley Rye Crackers"},
        {"set_stock": "Only 2 left"},
        {"set_image": f"{HOST}media/rye.jpg"},
    ],
    {
        "27.43": "8.64",
        "54.86": "17.28",  # two of them
        "74.85": "37.27",  # two of them and another product
        "75%": "92%",
        ">75<": ">92<",
        "3.75": "4.6",
        "1729": "3456",
        "1,729": "3,456",
        NAME: "Loud Valley Rye Crackers",
        f">{KEY}<": ">Loud Valley Rye Crackers<",
        f'title="{KEY}"': 'title="Loud Valley Rye Crackers"',
        f"{HOST}media/{KEY}.jpg": f"{HOST}media/rye.jpg",
        f"{HOST}media/{KEY}-2x.jpg 2x": f"{HOST}media/rye.jpg",
        ">In stock<": ">Only 2 left<",
    },
)


def marked(text: str) -> str:
    return f"⟦{text}⟧"


def mine(number: int) -> str:
    own = card(KEY, number, price="$27.43", amount="27.43")
    return marked(own.replace(">12 &nbsp;", ">1,729 &nbsp;"))


def own(extra: str = "") -> str:
    return marked(product_page(reviews=1729, price="$27.43", amount="27.43", extra=extra).decode())


def linked(offers: object, **more: object) -> dict[str, object]:
    rating = {"@type": "AggregateRating", "ratingValue": 3.75, "bestRating": 5, "reviewCount": "1729"}
    return {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": NAME,
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
MINICART = {
    "product_name": NAME,
    "product_url": f"{HOST}{KEY}.html",
    "product_image": {"src": f"{HOST}media/{KEY}.jpg"},
    "product_price": '<span class="price">$27.43</span>',
    "product_price_value": 27.43,
    "qty": 2,
}
SECTIONS = {
    "cart": {
        "items": [MINICART],
        "summary_count": 3,
        "subtotal": '<span class="price">$54.86</span>',
        "subtotalAmount": "54.86",
    }
}
CART = cart_page((KEY, "$27.43", 2, "$54.86"), ("b", "$19.99", 1, "$19.99"), total="$74.85")
OTHER = product_page(extra=related(card("a", 1), mine(2))).decode()
OTHER = OTHER.replace(f'content="{HOST}{KEY}.html"', f'content="{HOST}other.html"')
OWN = f"{HOST}{KEY}.html"
PAGES: dict[str, tuple[Visit, str, str]] = {
    "product": (MARKET, OWN, own()),
    "category": (MARKET, f"{HOST}a.html", category_page(card("a", 1), mine(2), card("b", 3)).decode()),
    "search": (MARKET, f"{HOST}catalogsearch/result/?q=oat", category_page(mine(9), card("b", 3)).decode()),
    "home": (MARKET, HOST, home_page(card("a", 1), mine(2)).decode()),
    "related": (MARKET, f"{HOST}other.html", OTHER),
    "cart": (MARKET, f"{HOST}checkout/cart/", marked(CART.decode())),
    "minicart": (MARKET, f"{HOST}customer/section/load/?sections=cart", marked(json.dumps(SECTIONS))),
}
for name, form in FORMS.items():
    script = f'<script type="application/ld+json">{json.dumps(form)}</script>'
    PAGES[f"linked data: {name}"] = MARKET, OWN, own(script)
for name, shop in schema_org_shops.SHOPS.items():
    visit = Visit(
        load_site_map("schema-org"),
        shop.key,
        [{"set_price": 15.25}, {"set_title": "Brass Whistle"}],
        {"18.50": "15.25", '"18.5"': '"15.25"', "Tin Whistle": "Brass Whistle"},
    )
    PAGES[f"{name}: product"] = visit, f"{schema_org_shops.HOST}/{shop.key}", marked(shop.product)
    PAGES[f"{name}: listing"] = visit, f"{schema_org_shops.HOST}/winds", marked(shop.listing)


def kind_of(text: str) -> str:
    return "application/json" if text.startswith("{") else HTML


def shown(name: str) -> str:
    visit, url, page = PAGES[name]
    sent = visit.sent(page)
    return rewritten(
        sent, visit.key, *visit.edits, site=visit.site, url=url, kind=kind_of(sent)
    ).body.decode()


def squeezed(text: str) -> str:
    """A page without white space, which data that are written anew may lose."""
    return str(json.loads(text)) if text.startswith("{") else "".join(text.split())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_is_planned_and_is_else_as_it_was_sent(name: str) -> None:
    visit, _, page = PAGES[name]
    assert visit.planned(page) != visit.sent(page)
    assert squeezed(shown(name)) == squeezed(visit.planned(page))


def test_all_pages_agree_with_each_other_and_with_the_plan() -> None:
    found = list[PageFigure]()
    for name, (visit, url, _) in PAGES.items():
        text = shown(name)
        if visit is MARKET:
            found += sightings(text.encode(), content_type=kind_of(text), url=url, site=SITE)
    found = [sighting for sighting in found if sighting.product == KEY]
    assert disagreements(found) == []
    values = {(sighting.part, str(round(sighting.value, 2).normalize())) for sighting in found}
    assert values == {("price", "8.64"), ("rating", "92"), ("reviews", "3456")}
    assert len(found) > 60
