"""Which of several amounts is proposed as the price, against blocks of prices that were made of it."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from interventions.apply.following import uncovered_on
from interventions.apply.mapped_page import MappedPage
from interventions.edits.showing import FOLLOWERS
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.proposal.scan import Capture, number
from interventions.proposal.site import propose
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import parse_yaml, validate
from tests.interventions.proposal.price_blocks import PriceBlock, made
from tests.support import size

HOST = "https://shop.test"


def pages(block: PriceBlock) -> tuple[Capture, Capture | None]:
    listing = Capture(f"{HOST}/lamps", block.listing) if block.listing else None
    return Capture(f"{HOST}/lamp", block.product), listing


def plain(text: str) -> str:
    return "".join(LexborHTMLParser(text).text().split())


@pytest.mark.parametrize("seed", range(size(60, 1200)))
def test_the_price_is_the_one_that_agrees_elsewhere(seed: int) -> None:
    """It is the true one or none; each other amount has the role that its words say, or is told."""
    block = made(seed)
    found = propose("test", *pages(block))
    texts = {role.role: role.text for role in found.roles}
    if "product.price" not in texts:
        assert "product.price" in found.missing
        return
    assert number(texts["product.price"]) == block.price
    site = validate(parse_yaml(found.to_yaml(), "test.yaml"), SiteMap)
    page = Page(block.product.encode(), "text/html; charset=utf-8", Marks(frozenset()), f"{HOST}/lamp")
    left = plain(" ".join(uncovered_on(MappedPage(page, site))))
    for role, text in block.others:
        held = [page.value(node, None) for place in site.role(role) for node in page.find(place.css)]
        assert any(each and plain(each) in plain(text) for each in held) or plain(text) in left, text
    followers = {role for role in texts if role.startswith("product.")} & set(FOLLOWERS)
    assert followers <= {role for role, _ in block.others}
