"""Souk's pruned HTML and BrowserGym's, made of the same pages in the same state in real Chromium."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, sync_playwright

from environments.browser.pool import VIEWPORT, find_browser
from environments.observation.observe import NOTHING, OBSERVE, asked, parsed
from environments.observation.views import View
from environments.shop.catalogue import generate
from environments.shop.server import shop
from tests.support import usual

pytestmark = [pytest.mark.browser]

observation = pytest.importorskip("browsergym.core.observation")
obs = pytest.importorskip("browsergym.utils.obs")

PRODUCT = max(generate().products, key=lambda product: product.reviews).key
PAGES = {
    "product": f"{PRODUCT}.html",
    "listing": "electronics/headphones/earbud-headphones.html",
    "search": "catalogsearch/result/?q=oat",
    "home": "",
}
PSEUDO = ("<::before>", "<::after>", "<::marker>")
"""What BrowserGym writes in the place of decorations; they have no text."""


@pytest.fixture(scope="module")
async def base_url() -> AsyncIterator[str]:
    async with shop() as url:
        yield url


@pytest.fixture(scope="module")
def browser_page() -> Iterator[tuple[ThreadPoolExecutor, Page]]:
    """A tab, and the thread in which it lives: BrowserGym knows synchronous Playwright only."""

    def start() -> Page:
        playwright = sync_playwright().start()
        browser = playwright.chromium.launch(
            executable_path=find_browser(playwright),
            args=["--disable-features=OverlayScrollbars,ExtendedOverlayScrollbars"],
            ignore_default_args=["--hide-scrollbars"],
        )
        width, height = VIEWPORT
        stops.extend([browser.close, playwright.stop])
        return browser.new_page(viewport={"width": width, "height": height})

    stops = []
    with ThreadPoolExecutor(max_workers=1) as thread:
        yield thread, thread.submit(start).result()
        for stop in stops:
            thread.submit(stop).result()


def theirs(page: Page) -> BeautifulSoup:
    observation._pre_extract(page, tags_to_mark="standard_html", lenient=False)
    dom = observation.extract_dom_snapshot(page)
    extra = observation.extract_dom_extra_properties(dom, scale_factor=1.0)
    observation._post_extract(page)
    html = obs.prune_html(obs.flatten_dom_to_str(dom, extra_properties=extra, filter_visible_only=True))
    for name in PSEUDO:
        html = html.replace(name.replace("<", "&lt;").replace(">", "&gt;"), "")
    return BeautifulSoup(html, "lxml")


def ours(page: Page) -> BeautifulSoup:
    seen = parsed(page.evaluate(OBSERVE, asked(View(), (), NOTHING)))
    return BeautifulSoup(seen["html"], "lxml")


def text(element: Tag) -> str:
    return " ".join(element.get_text(" ").split())


def interactive(html: BeautifulSoup) -> dict[str, tuple[str, str]]:
    """Tag and text (else name) of each element that one can click or fill, by its mark."""
    selector = (
        "a[href], button, select, textarea, summary, input:not([type=hidden]), [role=button], [role=link], "
        "[role=tab], [role=checkbox], [role=radio], [tabindex='0']"
    )
    return {
        str(element["bid"]): (element.name, text(element) or str(element.get("name", "")))
        for element in html.select(selector)
        if element.get("bid")
    }


@pytest.mark.thorough
@pytest.mark.parametrize("kind", usual(PAGES, 3))
def test_they_show_the_same_text_and_the_same_elements(base_url, browser_page, kind) -> None:
    def compare(page: Page) -> None:
        page.goto(base_url + PAGES[kind], wait_until="networkidle")
        for offset in (0, 600):
            page.evaluate("top => window.scrollTo({top, behavior: 'instant'})", offset)
            # BrowserGym first: Souk keeps the marks that it finds, BrowserGym refuses a page that has some.
            gym, souk = theirs(page), ours(page)
            # Of a drop-down list that is closed BrowserGym shows no options, although one can choose them.
            for option in [*souk("option"), *gym("option")]:
                option.decompose()
            assert text(souk) == text(gym)
            assert interactive(souk) == interactive(gym)
            assert len(interactive(souk)) > 3

    thread, page = browser_page
    thread.submit(compare, page).result()


DIFFERENT = """<!doctype html><title>Different</title><style>p::after { content: "decoration" }</style>
<p>Plain</p><p style="visibility: hidden">unseen</p>
<input type="password">
<select><option>one</option><option selected>two</option></select>"""


def test_where_they_differ(browser_page: tuple[ThreadPoolExecutor, Page]) -> None:
    """What no one can see is not in Souk's, and what one can choose is."""

    def compare(page: Page) -> None:
        page.set_content(DIFFERENT)
        page.locator("input").fill("hunter2")
        gym, souk = theirs(page), ours(page)
        assert (text(gym), text(souk)) == ("Plain unseen", "Plain one two")
        assert ("hunter2" in str(gym), "hunter2" in str(souk)) == (True, False)

    thread, page = browser_page
    thread.submit(compare, page).result()
