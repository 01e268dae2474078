"""Makes the screenshots of the README and the docs: a page, a card, and the viewer's screens.

`souk run nudges --agent simulated:balanced --limit 60` makes the run that the viewer shows, and then
`python -m tests.screenshots sqlite:///runs/souk.db nudges` the pictures.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page, sync_playwright

from environments.browser.pool import find_browser, run_browsers
from experiments.pages.preview import fetched, preview
from experiments.pages.side_by_side import open_version
from experiments.records.store import Records
from interventions.cards.page import ANSWER_PATH, render_page
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from tests.experiments.viewer.made_run import viewing

DOCS: Final = Path(__file__).parents[1] / "docs"
SIZE: Final = {"width": 1100, "height": 700}
LARGER: Final = {"width": 1160, "height": 860}
PRODUCT: Final = "shop:throwline-outdoor-projector-with-rechargeable-battery-4k-uhd-6-200-lumens"


async def take_pages() -> None:
    """Take a nudged page of the shop, and a card, as an agent's browser shows them."""
    nudge = load_interventions("nudges")["wirecutter"]
    hotels = load_interventions("hotels")["hotel-choice"].card
    assert hotels
    card = render_page(hotels.example_card("hotel-choice"), action=ANSWER_PATH)
    async with fetched(PRODUCT, None) as page, run_browsers() as pool, pool.context(None) as context:
        found = preview(page, nudge, load_site_map("onestopmarket"), values={})
        shown = await open_version(context, page, found.after)
        await shown.screenshot(path=DOCS / "nudged-page.png")
        shown = await context.new_page()
        await shown.set_content(card.decode())
        await shown.screenshot(path=DOCS / "card-hotels.png")


def picture(page: Page, name: str, top: Locator) -> None:
    """Take what the browser shows with an element at the top of its window."""
    top.evaluate("each => window.scrollTo(0, each.getBoundingClientRect().top + scrollY - 16)")
    page.screenshot(path=DOCS / f"viewer-{name}.png")


def take(page: Page, address: str, run: str) -> None:
    """Walk from the answer of a run to a step of a trial, by the links that a person would follow."""
    page.goto(f"{address}/runs/{run}")
    page.locator("figure img").first.wait_for(timeout=120_000)
    picture(page, "1-answer", page.locator("h1"))
    page.get_by_role("link", name="Flipped").click()
    page.wait_for_url("**sort=flips")
    page.locator("figure img").first.wait_for(timeout=120_000)
    picture(page, "2-design", page.get_by_role("heading", name="The design"))
    page.locator("table.grid tbody tr").first.get_by_role("link").first.click()
    page.wait_for_url("**/trials?**")
    picture(page, "3-trials", page.locator("h1"))
    page.get_by_role("row").filter(has_text="treated").first.get_by_role("link").first.click()
    page.wait_for_url("**/trials/*")
    picture(page, "4-trial", page.locator("h1"))
    page.set_viewport_size(LARGER)
    picture(page, "trial", page.locator("header"))
    page.get_by_role("link", name="Beside its twin").click()
    page.wait_for_url("**/twin**")
    picture(page, "twin", page.locator("header"))
    page.go_back()
    page.set_viewport_size(SIZE)
    inside = page.frame_locator("iframe.page").first
    for place in (".souk-acted", ".souk-edited"):
        inside.locator(place).first.evaluate("each => each.scrollIntoView({ block: 'center' })")
    picture(page, "5-step", page.get_by_role("heading", name="Thought"))


def main(db: str, run: str) -> None:
    """Serve the run and take the screenshots."""
    asyncio.run(take_pages())
    with sync_playwright() as playwright, viewing(Records(db, create=False), db) as address:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright))
        take(browser.new_page(viewport=SIZE), address, run)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
