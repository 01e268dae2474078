"""What an agent is told of a product by roles is what it is shown of it."""

import pytest
from playwright.async_api import BrowserContext

from environments.episode import Episode
from environments.protocol.shown_product import ShownProduct
from interventions.yaml.sitemap import SiteMap
from tests.support import pages

pytestmark = pytest.mark.browser

SITE = SiteMap.model_validate(
    {
        "name": "lampen",
        "roles": {
            "product.name": "h1 b",
            "product.price": "p.preis",
            "product.rating": {"css": "p.sterne", "scale": 5},
            "product.reviews": {"css": "p.meinungen", "pattern": r"(\d+) Meinungen"},
            "product.add_to_cart": "div.kauf",
        },
    }
)
PAGE = """<html lang=de><title>Lampe</title><nav>Warenkorb 0,00 € <button>Suchen</button></nav>
<h1>Neu: <b>Lampe</b></h1><p class=preis style="{style}">1.299,00 €</p><p class=sterne>4,3 von 5 Sternen</p>
<p class=meinungen>In 2 Tagen 12 Meinungen</p>
<div class=kauf><span role=button tabindex=0>Mitnehmen</span></div>"""


async def shown(
    context: BrowserContext, html: str, site: SiteMap | None = SITE
) -> tuple[str, ShownProduct | None]:
    async with pages({"/": html}) as url:
        episode = Episode(context, "Buy.", site=site)
        await episode.open([url])
        observation = (await episode.look()).observation
    return observation.html, observation.product


async def test_all_of_a_product(context: BrowserContext) -> None:
    html, product = await shown(context, PAGE.format(style=""))
    assert product is not None
    assert f'bid="{product.add_to_cart}"' in html.partition("Mitnehmen")[0].rpartition("<")[2]
    assert product == ShownProduct("Lampe", 1299.0, 86.0, 12, product.add_to_cart)


@pytest.mark.parametrize("style", ["margin-top: 3000px", "opacity: 0", "display: none"])
async def test_nothing_that_is_not_shown(context: BrowserContext, style: str) -> None:
    _, product = await shown(context, PAGE.format(style=style))
    assert product is not None
    assert (product.name, product.price) == ("Lampe", None)


@pytest.mark.parametrize(("style", "price"), [("", 1299.5), ("display: none", None)])
async def test_a_price_whose_cents_stand_elsewhere(context, style: str, price: float | None) -> None:
    roles = SITE.model_dump(by_alias=True)["roles"] | {
        "product.price": [{"css": "i", "part": "whole"}, {"css": "sup", "part": "fraction"}]
    }
    page = PAGE.format(style="").replace("1.299,00 €", f'<i>1.299</i>,<sup style="{style}">50</sup> €')
    _, product = await shown(context, page, SiteMap.model_validate({"name": "geteilt", "roles": roles}))
    assert product is not None
    assert (product.name, product.price) == ("Lampe", price)


async def test_another_page_or_no_map(context: BrowserContext) -> None:
    assert (await shown(context, "<title>Start</title><p>Hallo</p>"))[1] is None
    assert (await shown(context, PAGE.format(style=""), None))[1] is None
