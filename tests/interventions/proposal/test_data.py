"""Rules for the JSON that a page's scripts fetched, found by the name and the price on the page."""

import json
from decimal import Decimal
from typing import Any

import pytest

from interventions.proposal.data import FetchedAnswer, fetched_data
from interventions.yaml.sitemap import SiteMap
from tests.interventions.rewriting import rewritten

PAGE = "https://shop.example/lamps/harbour-lamp"
SHOWN = {"lamps/harbour-lamp": ("Harbour Lamp", Decimal("1299.00"))}
OTHER = {"href": "/lamps/other", "title": "Other", "price": 5}


def graphql(price: str) -> dict[str, Any]:
    return {"data": {"product": {"slug": "harbour-lamp", "name": "Harbour Lamp", "price": {"value": price}}}}


FETCHED: dict[str, tuple[str, Any, Any, Any]] = {
    "cents and a slug": (
        "/api/lamps/harbour-lamp",
        {"slug": "harbour-lamp", "name": "Harbour Lamp", "cents": 129900},
        "/api/lamps/*",
        {"slug": "harbour-lamp", "name": "Harbour Lamp", "cents": 94900},
    ),
    "GraphQL": ("/shop-api", graphql("1299.00"), "/shop-api", graphql("949")),
    "a list with addresses": (
        "/lamps.json",
        [OTHER, {"href": "/lamps/harbour-lamp", "title": "Harbour Lamp", "price": 1299}],
        "/lamps.json",
        [OTHER, {"href": "/lamps/harbour-lamp", "title": "Harbour Lamp", "price": 949}],
    ),
}


def variants(cents: int) -> dict[str, Any]:
    """As Vendure sends what is in a collection."""
    found = {"id": "1", "name": "Harbour Lamp", "priceWithTax": cents, "product": {"slug": "harbour-lamp"}}
    other = {"id": "2", "name": "Other", "priceWithTax": 500, "product": {"slug": "other"}}
    return {"data": {"collection": {"productVariants": {"items": [found, other]}}}}


FETCHED["a slug in an inner object"] = ("/shop-api", variants(129900), "/shop-api", variants(94900))


@pytest.mark.parametrize("name", FETCHED)
def test_the_rule_changes_what_was_fetched(name: str) -> None:
    path, fetched, pattern, changed = FETCHED[name]
    url, text = f"https://shop.example{path}", json.dumps(fetched)
    (found,) = fetched_data([FetchedAnswer(url, text, PAGE)], SHOWN)
    assert found.rule.url == pattern
    site = SiteMap(name="proposed", data=(found.rule,))
    price = {"set_price": 949}
    done = rewritten(text, "lamps/harbour-lamp", price, site=site, url=url, kind="application/json")
    assert json.loads(done.body) == changed


def test_the_id_of_the_request_is_found_in_what_was_fetched() -> None:
    fetched = {"slug": "harbour-lamp", "name": "Harbour Lamp", "price": 1299, "in": {"gid": "gid://7"}}
    (found,) = fetched_data([FetchedAnswer("https://shop.example/g", json.dumps([fetched]), PAGE)], SHOWN)
    assert [place.path for place in found.with_id("gid://7").rule.roles["id"]] == ["$.in.gid"]
    assert found.with_id("gid://8") == found


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[1, 2]", '{"name": "Harbour Lamp"}', '{"name": "Harbour Lamp", "stock": 1299.5}']
)
def test_what_holds_no_product_gives_no_rule(text: str) -> None:
    assert list(fetched_data([FetchedAnswer("https://shop.example/api", text, PAGE)], SHOWN)) == []
