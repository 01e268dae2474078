"""Makes the five screenshots of docs/viewer.md, from a number to a sentence.

`souk run nudges --agent simulated:balanced --limit 60` makes the run, and then
`python -m tests.viewer_screenshots sqlite:///runs/souk.db nudges` the pictures.
"""

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page, sync_playwright

from environments.browser import find_browser
from experiments.records.store import Records
from tests.experiments.viewer.made_run import viewing

DOCS: Final = Path(__file__).parents[1] / "docs"
SIZE: Final = {"width": 1100, "height": 700}


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
    inside = page.frame_locator("iframe.page")
    for place in (".souk-acted", ".souk-edited"):
        inside.locator(place).first.evaluate("each => each.scrollIntoView({ block: 'center' })")
    picture(page, "5-step", page.get_by_role("heading", name="Thought"))


def main(db: str, run: str) -> None:
    """Serve the run and take the screenshots."""
    with sync_playwright() as playwright, viewing(Records(db, create=False), db) as address:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright))
        take(browser.new_page(viewport=SIZE), address, run)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
