import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.async_api import Page, Route

import environments.shop
from environments.shop.catalogue import Catalogue, Product
from environments.shop.departments import slug
from environments.shop.market import MARKETS
from environments.shop.pictures import picture
from environments.shop.prose import details
from tests.environments.shop.test_dom import CATEGORY, SEARCH

SVG = "{http://www.w3.org/2000/svg}"
SHAPE = """() => [...document.body.querySelectorAll("*")].map((element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return [element.tagName, x, y, width, height].join(" ");
})"""
ART = Path(environments.shop.__file__).parent / "art"
TAG = re.compile(r"<(?!text)[a-z][^$>]*>")
TAGS = {art.stem: frozenset(TAG.findall(art.read_text("utf-8"))) for art in ART.glob("*.svg")}
"""The tags of each drawing that are in its pictures as they are, by which it is known again in a picture."""


def drawing_of(product: Product) -> str:
    """The name of the file that a picture shows."""
    tags = set(TAG.findall(picture(product)))
    (art,) = (art for art, needed in TAGS.items() if needed <= tags)
    return art


def words_of(art: str) -> list[str]:
    return [word for word in art.split(".")[1:] if not word.isdigit()]


def of(catalogue: Catalogue, category: str) -> list[Product]:
    return [product for product in catalogue.products if product.category == category]


@pytest.mark.thorough
def test_every_product_has_a_small_harmless_drawing_with_its_brand_on_it(catalogue: Catalogue) -> None:
    for product in catalogue.everything:
        drawing = picture(product)
        assert len(drawing.encode()) < 4096
        assert "$" not in drawing
        elements = list(ElementTree.fromstring(drawing).iter())
        assert [element.text for element in elements if element.tag == f"{SVG}text"] == [product.brand]
        tags = {element.tag.removeprefix(SVG) for element in elements}
        assert not tags & {"script", "foreignObject", "image"}
        for element in elements:
            for name, value in element.items():
                assert not name.startswith("on")
                assert value.startswith("#") or not name.endswith("href")
                assert value.replace("url(#", "").count("url(") == 0


def test_every_drawing_and_every_word_of_its_name_is_of_use(catalogue: Catalogue) -> None:
    assert set(TAGS) == {drawing_of(product) for product in catalogue.everything}
    texts = dict.fromkeys((slug(product.category) for product in catalogue.everything), "-")
    for product in catalogue.everything:
        told = slug(" ".join((product.name, *(value for _, value in details(product)))))
        texts[slug(product.category)] += f"{told}-"
    unused = [
        (art, word) for art in TAGS for word in words_of(art) if f"-{word}-" not in texts[art.split(".")[0]]
    ]
    assert unused == []


@pytest.mark.parametrize("category", MARKETS)
def test_a_word_of_the_name_decides_the_shape(catalogue: Catalogue, category: str) -> None:
    words = {word for art in TAGS if art.split(".")[0] == slug(category) for word in words_of(art)}
    for product in of(catalogue, category):
        name = f"-{slug(product.name.removeprefix(product.brand))}-"
        told = [(name.index(f"-{word}-"), word) for word in words if f"-{word}-" in name]
        if not told:
            continue
        start, word = min(told)
        while in_a_row := [other for other in words if name.startswith(f"-{other}-", start + 1 + len(word))]:
            start, word = start + 1 + len(word), in_a_row[0]
        assert word in words_of(drawing_of(product)), product.name


def test_where_the_name_tells_no_shape_the_details_do_and_never_the_brand(catalogue: Catalogue) -> None:
    mirror = next(mirror for mirror in of(catalogue, "Mirrors") if mirror.words["shape"] == "Hexagon")
    assert drawing_of(replace(mirror, name=f"{mirror.brand} Mirror")) == "mirrors.hexagon"
    assert drawing_of(replace(mirror, name=f"{mirror.brand} Round Mirror")) == "mirrors.round"
    mini = replace(of(catalogue, "Video Projectors")[0], brand="Marquee Mini", name="Marquee Mini Projector")
    assert "mini" not in words_of(drawing_of(mini))


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
    packs = (
        "Mouthwash",
        "Mouthwash, 2 Bottles of 8 fl oz",
        "Mouthwash, 6 Bottles",
        "Mouthwash, 4 Cans of 5 oz",
    )
    assert [drawn(name).count("<use") for name in packs] == [0, 1, 2, 2]


def test_a_hostile_brand_stays_text(catalogue: Catalogue) -> None:
    hostile = replace(catalogue.products[0], brand="<script>&$main")
    root = ElementTree.fromstring(picture(hostile))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["<script>&$main"]
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.parametrize("kind", ["home", "product", "listing", "search", "cart"])
async def test_a_page_has_its_shape_before_its_pictures_come(kind: str, page: Page, base, examples) -> None:
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
