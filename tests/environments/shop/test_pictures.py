import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from playwright.async_api import Page, Route

from environments.shop.catalogue import Catalogue
from environments.shop.market import MARKETS
from environments.shop.pictures import picture
from tests.environments.shop.examples import Examples
from tests.environments.shop.test_dom import CATEGORY, SEARCH

SVG = "{http://www.w3.org/2000/svg}"
SHAPE = """() => [...document.body.querySelectorAll("*")].map((element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [element.tagName, x, y, width, height].join(" ");
})"""


@pytest.mark.parametrize("category", MARKETS)
def test_every_category_has_a_small_drawing_with_the_brand_on_it(catalogue: Catalogue, category: str) -> None:
    products = [product for product in catalogue.products if product.category == category]
    for product in products[:20]:
        drawing = picture(product)
        assert len(drawing.encode()) < 4096
        assert "$" not in drawing
        labels = [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]
        assert labels == [product.brand]
    assert len({picture(product) for product in products[:20]}) > 10


def test_a_picture_shows_what_the_name_says(catalogue: Catalogue) -> None:
    def drawn(name: str) -> str:
        return picture(replace(bottle, name=f"{bottle.brand} {name}"))

    def colours(drawing: str) -> set[str]:
        return set(re.findall("#[0-9a-f]{6}", drawing))

    def width(drawing: str) -> float:
        return float(re.findall(r"matrix\(([\d.]+)", drawing)[0])

    bottle = next(product for product in catalogue.products if product.category == "Mouthwash")
    red, green = drawn("Mouthwash, Cherry, 12 fl oz"), drawn("Mouthwash, Spearmint, 12 fl oz")
    assert colours(red) != colours(green)
    assert colours(green) == colours(drawn("Mouthwash, Peppermint, 12 fl oz"))
    assert width(drawn("Mouthwash, 3 fl oz")) < width(green) < width(drawn("Mouthwash, 33.8 fl oz"))
    packs = ("Mouthwash", "Mouthwash, 2 Bottles of 8 fl oz", "Mouthwash, 6 Bottles")
    assert [drawn(name).count("<use") for name in packs] == [0, 1, 2]


def test_a_hostile_brand_stays_text(catalogue: Catalogue) -> None:
    hostile = replace(catalogue.products[0], brand="<script>&$main")
    root = ElementTree.fromstring(picture(hostile))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["<script>&$main"]
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["home", "product", "listing", "search", "cart"])
async def test_a_page_has_its_shape_before_its_pictures_come(
    kind: str, page: Page, base: str, examples: Examples
) -> None:
    """What is in view, and so in an observation, must not hang on how soon a picture is there."""
    addresses = {"home": "", "listing": CATEGORY, "search": SEARCH, "cart": "checkout/cart/"}
    address = base + addresses.get(kind, f"{examples.rated.key}.html")
    if kind == "cart":
        await page.goto(f"{base}{examples.rated.key}.html", wait_until="networkidle")
        await page.locator("#product-addtocart-button").click()
        await page.locator(".message-success").wait_for()
    await page.goto(address, wait_until="networkidle")
    with_pictures = await page.evaluate(SHAPE)
    await page.route("**/*", _unless_picture)
    await page.goto(address, wait_until="networkidle")
    assert await page.evaluate(SHAPE) == with_pictures
    assert len(with_pictures) > 50


async def _unless_picture(route: Route) -> None:
    if route.request.resource_type == "image":
        await route.abort()
    else:
        await route.continue_()
