"""A study of products in a table: the shop shows them, agents choose, the records have their figures."""

import html
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sql
from PIL import Image
from playwright.async_api import async_playwright

from environments.browser.pool import find_browser
from environments.shop.server import shop
from experiments.designs.catalogue.own_shop import own_catalogue
from experiments.pages.preview import fetched, preview
from experiments.records import tables
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.store import Records
from interventions.errors import UserError
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from tests.experiments.running import run_here
from tests.proxy.test_serve import serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = '<img src=x onerror="alert(1)">{{ 7*7 }}</title><script>alert(2)</script>'
QUOTED = '"' + HOSTILE.replace('"', '""') + '"'
TEAS = f"""\
name,price,rating,reviews,category,picture,description,Origin
Assam,"1.299,00 €",4.5 / 5,212,Tee,assam.png,Malty.,India
Ceylon,"1.350,50",4.3 / 5,98,Tee,,Bright.,Sri Lanka
{QUOTED},"1.400",,,{QUOTED},,{QUOTED},"<b>far</b>"
"""
EXPERIMENT = """name: teas
goal: Put the better one into the cart.
options: {catalogue: teas.csv, currency: EUR, language: de}
factors: {nudge: {interventions: made.yaml, on: [each]}, order: both}
match: [price]
agents: [simulated:balanced]
"""
MADE = """interventions:
  - id: rated
    kind: nudge
    edits: [{set_rating: 95}, {insert_text: {after: product.title, text: "Our pick, ${product.name}"}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "teas.csv").write_text(TEAS, encoding="utf-8")
    (tmp_path / "teas.yaml").write_text(EXPERIMENT)
    (tmp_path / "made.yaml").write_text(MADE)
    Image.new("RGB", (60, 20), (200, 30, 30)).save(tmp_path / "assam.png")
    return tmp_path


def test_episodes_show_the_table_and_its_edits(folder: Path) -> None:
    run_here("teas.yaml", folder)
    with sql.create_engine(f"sqlite:///{folder}/t.db").connect() as db:
        trials = db.execute(sql.select(tables.trials.c.outcome)).all()
        options = db.execute(sql.select(tables.options)).mappings().all()
    assert len(trials) == 4 and {each.outcome for each in trials} == {"choice"}
    assert {(each["name"], each["catalogue_price"], each["catalogue_rating"]) for each in options} == {
        ("Assam", 1299.0, 90),
        ("Ceylon", 1350.5, 86),
    }
    # Matched prices and the nudged rating are those that the pages showed, in German figures.
    assert {each["price"] for each in options} == {1324.75}
    assert {each["sent_price"] for each in options} == {1299.0, 1350.5}
    assert {each["rating"] for each in options if each["nudged"]} == {95}
    assert {each["category"] for each in options} == {"Tee"}
    records = Records(f"sqlite:///{folder}/t.db")
    assert set(tidy_table(records, records.latest_run("teas")["run"])["currency"]) == {"EUR"}


async def test_a_preview_shows_the_experiments_products(folder: Path) -> None:
    site = load_site_map("onestopmarket")
    rated = load_interventions(folder / "made.yaml", site)["rated"]
    for place in ("assam", "cart"):
        async with fetched(f"{folder}/teas.yaml:{place}", None) as page:
            found = preview(page, rated, site, values={"product.category": "Tee"})
        assert [product.name for product in found.products] == ["Assam"]
        assert "Our pick, Assam" in page.text(found.after)
    with pytest.raises(UserError, match=r"teas\.yaml:asam: the shop has no such product"):
        async with fetched(f"{folder}/teas.yaml:asam", None):
            pass


async def test_the_proxy_alone_stands_for_the_experiments_shop(folder: Path) -> None:
    options = ("-i", f"{folder}/made.yaml", "--reverse", f"{folder}/teas.yaml")
    async with (
        serving(*options) as (_, address, _),
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
    ):
        page = await client.get(f"{address}/assam.html")
    assert "Our pick, Assam" in page.text and "1.299,00\xa0€" in page.text


async def test_pages_show_pictures_and_escape_all_text(folder: Path) -> None:
    own = own_catalogue(folder / "teas.csv", "EUR", "de")
    hostile = own.products[2]
    async with shop(own=own) as base, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright))
        page = await browser.new_page()
        dialogs, errors = list[str](), list[str]()
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.on("pageerror", lambda error: errors.append(str(error)))
        await page.goto(f"{base}assam.html")
        assert await page.locator(".product-info-main .price").inner_text() == "1.299,00\xa0€"
        assert await page.locator("html").get_attribute("lang") == "de"
        assert "Origin" in await page.locator("#description").inner_text()
        shot = folder / "shot.png"
        await page.locator("img").nth(1).screenshot(path=shot)
        with Image.open(shot) as image:  # the picture in its own proportions, amid the frame
            middle = image.convert("RGB").getpixel((image.width // 2, image.height // 2))
            top = image.convert("RGB").getpixel((image.width // 2, 10))
        assert middle == (200, 30, 30) and top == (255, 255, 255)
        for path in (f"{hostile.key}.html", own.categories[1].url, "", "catalogsearch/result/?q=script"):
            await page.goto(base + path)
            assert HOSTILE in html.unescape(await page.locator("body").inner_text())
        await page.goto(f"{base}{hostile.key}.html")
        info = page.locator(".product-info-main")
        assert await info.locator(".rating-result").count() == 0
        assert "Reviews" not in await info.inner_text()
        assert "<b>far</b>" in await page.locator("#description").inner_text()
        await page.click("#product-addtocart-button")
        await page.locator("div.message-success").wait_for()
        await page.goto(f"{base}checkout/cart/")
        assert HOSTILE in await page.locator("#shopping-cart-table").inner_text()
        assert (dialogs, errors) == ([], [])
        await browser.close()
