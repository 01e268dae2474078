"""What is proposed for a generated shop reads, in its pages, what the generator put there."""

import re
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.proposal.check import faults
from interventions.proposal.scan import Capture, telling_query
from interventions.proposal.site import propose
from interventions.yaml.sitemap import Place, SiteMap
from interventions.yaml.yaml_source import parse_yaml, validate
from tests.interventions.proposal.made_shops import (
    ADDRESSES,
    LANGUAGES,
    LINKS,
    LISTS,
    NAMES,
    RELATED,
    STYLES,
    MadeShop,
)

HOST = "https://shop.test"
SHOPS = st.builds(
    MadeShop,
    language=st.sampled_from(list(LANGUAGES)),
    style=st.sampled_from(list(STYLES)),
    link=st.sampled_from(LINKS),
    address=st.sampled_from(ADDRESSES),
    listed=st.sampled_from(LISTS),
    related=st.booleans(),
    former=st.booleans(),
)


def proposed(shop: MadeShop) -> tuple[SiteMap, str, str]:
    pages = shop.product_page(NAMES[0]), shop.listing_page()
    urls = HOST + shop.path(NAMES[0]), f"{HOST}/lamps"
    captures = [Capture(url, page) for url, page in zip(urls, pages, strict=True)]
    found = propose("made", captures[0], captures[1])
    site = validate(parse_yaml(found.to_yaml(), "made.yaml"), SiteMap)
    assert faults(site, captures[0], captures[1]) == [], found.to_yaml()
    return site, *pages


def read(node: LexborNode, site: SiteMap, role: str) -> list[str]:
    """What the first place of a role shows, by a reader of its own."""
    place: Place = site.roles[role][0]
    texts = (
        found.attributes.get(place.attribute) or "" if place.attribute else found.text()
        for found in node.css(place.css)
    )
    return [text.strip() for text in texts]


def root(html: str) -> LexborNode:
    node = LexborHTMLParser(html).root
    assert node is not None
    return node


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_shop_in_each_language(language: str) -> None:
    check(MadeShop(language=language))


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("listed", LISTS)
def test_names_that_tell_and_names_that_do_not(style: str, link: str, listed: str) -> None:
    check(MadeShop(style=style, link=link, listed=listed, related=True))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(SHOPS)
def test_any_made_shop(shop: MadeShop) -> None:
    check(shop)


def check(shop: MadeShop) -> None:
    site, product, listing = proposed(shop)
    names = [*NAMES, *(RELATED if shop.related else ())]
    keys = {name: site.key(HOST + shop.path(name)) for name in names}
    assert len(set(keys.values())) == len(names), f"products are told apart by their addresses: {keys}"
    telling = re.search(r"(\w+)=\{number\}", shop.address)
    assert site.query == ((telling[1],) if telling else ())
    # The product's page, and that of another product: what holds for one only is no role.
    for name in NAMES[:2]:
        page = root(product if name == NAMES[0] else shop.product_page(name))
        assert read(page, site, "product.name") == [name]
        assert read(page, site, "product.price") == [shop.price(name)]
        assert read(page, site, "product.add_to_cart") == [shop.button]
        assert site.pages["product"].css
        assert page.css_first(site.pages["product"].css) is not None
    assert root(listing).css_first(site.pages["product"].css) is None
    cards = root(listing).css(site.roles["item"][0].css)
    assert [read(card, site, "item.link")[0] for card in cards] == [shop.path(name) for name in NAMES]
    assert [read(card, site, "item.name") for card in cards] == [[name] for name in NAMES]
    assert [read(card, site, "item.price") for card in cards] == [[shop.price(name)] for name in NAMES]
    if shop.related:
        kind = next(kind for kind in site.cards if root(product).css(site.roles[kind][0].css))
        others = root(product).css(site.roles[kind][0].css)
        assert [read(card, site, f"{kind}.link")[0] for card in others] == list(map(shop.path, RELATED))
        assert [read(card, site, f"{kind}.price") for card in others] == [[shop.price(n)] for n in RELATED]
    if shop.style not in ("told", "css modules", "none"):
        made = {
            STYLES[shop.style](word)
            for word in ("product-title", "product-price", "card-title", "product-card")
        }
        selectors = [place.css for places in site.roles.values() for place in places]
        assert not [
            css for css in selectors for name in " ".join(made).split() if re.search(rf"\.{name}\b", css)
        ]


NOISE = st.dictionaries(st.sampled_from(["pos", "ref", "from", "token"]), st.integers(0, 9), max_size=3)


@given(st.sampled_from(["id", "product_id", "sku", "item"]), st.lists(NOISE, min_size=2, max_size=12))
def test_whatever_else_stands_in_a_query_the_product_is_told(name: str, noise: list[dict[str, int]]) -> None:
    """Each product may be linked several times, by other queries."""
    products = [number // 2 for number in range(len(noise) + 1)]
    parts = [{**more, name: product} for more, product in zip([{}, *noise], products, strict=True)]
    links = [f"/item?{urlencode(each)}" for each in parts]
    site = SiteMap.model_validate({"name": "made", "query": telling_query(links, HOST)})
    keys = [site.key(HOST + link) for link in links]
    told = dict(zip(keys, products, strict=True))
    assert len(told) == len(set(products)), "one key for each product"
    assert [told[key] for key in keys] == products
