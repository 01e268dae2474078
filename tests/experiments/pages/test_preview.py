"""A preview is the page as the proxy would rewrite it, or one line that says why it cannot be."""

# ruff: noqa: E501 - files and messages stand as they are

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import repeat
from pathlib import Path

import pytest
from playwright.async_api import Page as BrowserPage
from starlette.responses import RedirectResponse, Response, StreamingResponse

from environments.browser.pool import run_browsers
from experiments.pages.preview import Preview, fetched, on_path, preview, site_of
from experiments.pages.side_by_side import write_side_by_side
from experiments.pages.site_mapping import map_site, save
from interventions.errors import UserError
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.variables import read_values
from tests.experiments.drawn_shop import DrawnShop
from tests.interventions.shop_pages import KEY, card, category_page, product_page, shop_page
from tests.support import pages, serve

pytestmark = pytest.mark.usefixtures("one_driver")

SITE = load_site_map("onestopmarket")
FILE = """
interventions:
  - id: two-left
    kind: nudge
    edits: [{insert_text: {after: product.price_box, text: "Only 2 left", style: badge}}]
  - {id: dear, kind: price, edits: [{set_price: 99.5}]}
  - {id: facts, kind: nudge, edits: [{set_title: "${product.name}, rated ${product.rating} by ${product.reviews}"}]}
  - {id: table, kind: nudge, edits: [{set_title: "${place}"}]}
  - {id: first, kind: order, edits: [{reorder: {rank: 1}}]}
  - {id: nowhere, kind: remove, edits: [{remove: product.option}], pages: [product]}
  - {id: cart-only, kind: price, pages: [cart], edits: [{set_price: 1}]}
  - {id: ratings, kind: display, edits: [{show_rating_text: {}}]}
tables:
  place: {Cookies: the biscuit aisle}
"""
CARDS = [card("one", 1), card("two", 2, "$5.00", "5"), card("three", 3, rating=None)]


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[str]:
    answers = {
        f"/{KEY}.html": product_page(),
        "/shelf": category_page(*CARDS),
        "/moved": lambda request: RedirectResponse("/shelf"),
        "/about": shop_page("cms", "<p>About us</p>", "<title>About</title>"),
        "/broken": lambda request: Response(status_code=503),
        "/endless": lambda request: StreamingResponse(repeat(b" " * 65536), media_type="text/html"),
        "/picture": lambda request: Response(b"GIF89a", media_type="image/gif"),
    }
    async with pages(answers) as base:
        yield base


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("preview") / "mine.yaml"
    path.write_text(FILE)
    return path


@pytest.fixture
def find(file: Path, shop: str):  # type: ignore[no-untyped-def]
    async def find(id: str, path: str, product: str | None = None, **values: str) -> Preview:
        intervention: Intervention = load_interventions(file, SITE)[id]
        given = {name.replace("_", "."): value for name, value in values.items()}
        async with fetched(shop + path, product) as page:
            return preview(page, intervention, SITE, product=product, values=given)

    return find


async def test_a_products_own_page(find) -> None:  # type: ignore[no-untyped-def]
    found = await find("two-left", f"{KEY}.html?x=1")
    assert found.page_type == "product"
    assert found.after.count(b"Only 2 left") == 1
    (receipt,) = found.receipts
    assert (receipt.role, receipt.product, receipt.after) == ("product.price_box", KEY, "Only 2 left")


@pytest.mark.slow
async def test_every_product_of_a_list_or_the_one_that_is_named(find) -> None:  # type: ignore[no-untyped-def]
    found = await find("two-left", "moved")
    assert found.page.url.endswith("/shelf")
    assert [receipt.product for receipt in found.receipts] == ["one", "two", "three"]
    found = await find("two-left", "shelf", "two")
    assert [product.key for product in found.products] == ["two"]
    with pytest.raises(UserError, match=r'--product tow: not on .*; did you mean "two"\?'):
        await find("two-left", "shelf", "tow")


async def test_an_edit_of_one_product_has_one(find) -> None:  # type: ignore[no-untyped-def]
    found = await find("first", "shelf")
    assert [receipt.product for receipt in found.receipts] == ["three"]
    names = re.findall(r'href="[^"]*/(one|two|three)\.html"', found.page.text(found.after))
    assert names[0] == "three"


async def test_an_edit_for_every_page_concerns_what_has_its_target(find) -> None:  # type: ignore[no-untyped-def]
    assert [r.product for r in (await find("ratings", "shelf")).receipts] == ["one", "two"]


async def test_facts_come_from_the_page(find) -> None:  # type: ignore[no-untyped-def]
    found = await find("facts", f"{KEY}.html")
    assert found.receipts[0].after == "Quiet Harbor Oat Cookies, rated 75 by 12"


@pytest.mark.slow
async def test_what_the_page_does_not_tell_is_given(find) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as error:
        await find("table", f"{KEY}.html")
    assert re.fullmatch(
        r".*mine\.yaml:8:\d+: interventions\[3\]\.edits\[0\]\.set_title: "
        rf'the product "{KEY}" has no category that this page tells; '
        r"give it with --var product\.category=VALUE",
        str(error.value),
    )
    found = await find("table", f"{KEY}.html", product_category="Cookies")
    assert found.receipts[0].after == "the biscuit aisle"
    assert (await find("table", f"{KEY}.html", place="shelf 5")).receipts[0].after == "shelf 5"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "path", "message"),
    [
        ("cart-only", "shelf", r"cannot be treated: cart-only changes nothing on a page of the type listing; it is for cart: .*"),
        ("two-left", "about", r"cannot be treated: two-left changes nothing on a page of the type other; .*"),
        ("nowhere", f"{KEY}.html", r"cannot be treated: remove product.option: nothing on the page matches .*; choose another role .*"),
        ("two-left", "none", r"the shop answers 404 Not Found; check the address"),
        ("two-left", "broken", r"the shop answers 503 Service Unavailable; check the address"),
        ("two-left", "endless", r"larger than 32 MiB; give the address of a page"),
        ("two-left", "picture", r"cannot be treated: it is no page but image/gif; give the address of a page"),
    ],
)  # fmt: skip
async def test_a_page_that_cannot_be_treated(find, shop: str, id: str, path: str, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as error:
        await find(id, path)
    assert re.fullmatch(f"{re.escape(shop + path)}: {message}", str(error.value))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "nowhere",
            r"nowhere: no address of a page; write http://\.\.\., or shop:KEY, shop:/, shop:cart or shop:path",
        ),
        ("http://127.0.0.1:1/", r"http://127.0.0.1:1/: cannot be fetched \(.+\); is the shop running, .*"),
        ("http://[::1/", r"http://\[::1/: cannot be fetched \(.+\); .*"),
        (
            "shop:no-such-product",
            r"shop:no-such-product: the shop has no such product; find a key at shop:/",
        ),
    ],
)
async def test_an_address_that_leads_nowhere(url: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        async with fetched(url, None):
            pass
    assert re.fullmatch(message, str(error.value))


def test_values() -> None:
    assert read_values(["a=b", "c=d=e", "f="]) == {"a": "b", "c": "d=e", "f": ""}
    for wrong in ("a", "=b"):
        with pytest.raises(UserError, match=f"--var {wrong}: not a value; write NAME=VALUE"):
            read_values([wrong])


@pytest.mark.browser
async def test_the_picture_shows_both_and_outlines_what_differs(find, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = await find("dear", "shelf", "two")
    file = tmp_path / "dear.png"
    assert await write_side_by_side(found, "dear", file) == []
    async with run_browsers() as pool, pool.context(None) as context:
        page = await context.new_page()
        await page.goto(file.as_uri())
        before, after = await asyncio.gather(_red(page, 0), _red(page, 1))
    assert before > 100
    assert after > 100
    unwritable = tmp_path / "none" / "x.png"
    with pytest.raises(UserError, match=r"--png .*x\.png: cannot be written \(.*\); choose another file"):
        await write_side_by_side(found, "dear", unwritable)


@pytest.mark.thorough
@pytest.mark.browser
async def test_the_picture_of_a_page_that_scripts_draw_shows_the_edit(tmp_path: Path) -> None:
    """Its scripts run in the picture too, so that an edit of the drawn page alone would be gone."""
    edits = "edits: [{set_price: 949}]"
    (tmp_path / "dear.yaml").write_text(f"interventions: [{{id: dear, kind: price, {edits}}}]\n")
    async with serve(DrawnShop("shell").app()) as address:
        url = f"{address}lamps/harbour-lamp"
        site, _ = save(await map_site(url, address, name="lamps", render=True), tmp_path / "lamps.yaml")
        dear = load_interventions(str(tmp_path / "dear.yaml"), site)["dear"]
        async with fetched(url, None, drawn=True) as page:
            found = preview(page, dear, site, values={})
            assert await write_side_by_side(found, "dear", tmp_path / "dear.png") == []
    async with run_browsers() as pool, pool.context(None) as context:
        shown = await context.new_page()
        await shown.goto((tmp_path / "dear.png").as_uri())
        assert await _red(shown, 1) > 100


async def _red(page: BrowserPage, half: int) -> int:
    """How many pixels of one half of the picture have the colour of the outline."""
    count: int = await page.evaluate(
        """half => {
            const image = document.images[0], canvas = document.createElement("canvas");
            const width = image.naturalWidth / 2, height = image.naturalHeight;
            [canvas.width, canvas.height] = [width, height];
            const context = canvas.getContext("2d");
            context.drawImage(image, half * width, 0, width, height, 0, 0, width, height);
            const data = context.getImageData(0, 0, width, height).data;
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                count += data[i] === 217 && data[i + 1] === 48 && data[i + 2] === 37;
            return count;
        }""",
        half,
    )
    return count


async def test_the_way_to_an_order_is_shown_page_by_page() -> None:
    """A fee is on no page before the one where it starts, and in the sum of each page from there on."""
    assert on_path("shop:cart", None) == ["shop:cart"]
    product, *stages = on_path("shop:path", None)
    assert stages == ["shop:cart", "shop:checkout", "shop:order"]
    site = load_site_map(site_of("shop:path", "onestopmarket"))
    fee = load_interventions("checkout", site)["service-fee-checkout"]
    told = {}
    for address in (product, *stages):
        async with fetched(address, None) as page:
            found = preview(page, fee, site, values={}, must_change=False)
        assert (found.after == page.body) == (not found.receipts)
        told[found.page_type] = [receipt.after for receipt in found.receipts]
    assert [*told] == ["product", "cart", "checkout", "order"]
    assert told["product"] == told["cart"] == [] and len(told["checkout"]) == 1
    assert told["checkout"] == told["order"] and told["order"][0].startswith("Service fee $")
