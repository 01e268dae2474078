"""The study's own pages can be used by everybody: axe-core finds no violation of its rules on any."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

from environments.browser.pool import find_browser, flags
from experiments.people.register import blocks
from tests.experiments.people.study_files import STUDY
from tests.experiments.people.test_site import Place, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULES: Final = {"iframes": False}
"""All rules of axe-core. The shop in the frame is the experiment's, and not looked at."""
TEXT: Final = {
    "en": "# Title\n\nA **text** with [a link](https://example.org).",
    "de": "# Titel\n\nEin Text.",
}
BOTH: Final = {"en": "One?", "de": "Eins?"}
CONTROL: Final = {"text": BOTH, "options": [BOTH, {"en": "two", "de": "zwei"}], "answer": 2, "why": BOTH}
STUDY_OF_TWO: Final[dict[str, Any]] = {
    "languages": ["en", "de"],
    "source": {"kind": "labels"},
    "participants": {"target": 6, "spare": 0.0},
    "block": {"trials": 2, "attention": {1: CONTROL}},
    "practice": True,
    "pages": {name: TEXT for name in ("welcome", "consent", "instructions", "task", "debriefing")},
    "check": {"questions": [CONTROL]},
    "questions": [{"id": "seen", "text": BOTH}, {"id": "age", "text": BOTH, "options": CONTROL["options"]}],
    "privacy": {**STUDY["privacy"], "ethics": "IRB 1"},
}


class Walker:
    """A browser in which pages are checked as they come."""

    def __init__(self, browser: Browser, page: Page, place: Place, language: str) -> None:
        self.browser, self.page, self.place, self.language = browser, page, place, language
        self.checked: list[str] = []
        self.faults: list[tuple[str, str, str]] = []

    async def check(self, name: str, page: Page | None = None) -> None:
        """Look for violations on a page."""
        found = await Axe().run(page or self.page, options=RULES)
        self.checked.append(name)
        for fault in found.response["violations"]:
            self.faults += [(name, fault["id"], each["html"]) for each in fault["nodes"]]
        assert found.response["passes"]

    async def open(self, label: str) -> None:
        ids = self.place.link(label)
        address = f"{self.place.there.address}/.souk/?label={label}&sig={ids['sig']}&lang={self.language}"
        await self.page.goto(address)

    async def press(self, button: str) -> None:
        async with self.page.expect_navigation():
            await self.page.locator(button).first.click()

    async def agree(self, label: str) -> None:
        await self.open(label)
        await self.press("main button")
        await self.page.locator("input[name=agree]").check()
        await self.press("button[value=agree]")

    async def elsewhere(self, label: str) -> None:
        """Come in by another browser, with the first button pressed."""
        self.page = await (await self.browser.new_context()).new_page()
        await self.open(label)
        await self.press("main button")

    async def choose(self, number: int) -> None:
        await self.page.locator("input[type=radio]").nth(number - 1).check()
        await self.press("main button")


@asynccontextmanager
async def walking(folder: Path, **changes: Any) -> AsyncIterator[list[Walker]]:
    async with serving(folder, **{**STUDY_OF_TWO, **changes}) as place, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright), args=flags(None))
        walkers = [
            Walker(browser, await (await browser.new_context()).new_page(), place, language)
            for language in ("en", "de")
        ]
        yield walkers
        await browser.close()
    assert [fault for walker in walkers for fault in walker.faults] == []


async def test_every_page_of_a_walk_can_be_used_by_everybody(tmp_path: Path) -> None:
    async with walking(tmp_path) as walks:
        for walk in walks:
            await _whole(walk)


async def _whole(walk: Walker) -> None:
    label = f"ann-{walk.language}"
    await _to_consent(walk, label)
    await walk.agree(label)
    await walk.check("instructions")
    await walk.press("main button")
    await walk.check("practice")
    await _in_the_shop(walk)
    await walk.check("check")
    await walk.choose(1)
    await walk.check("check again")
    await walk.choose(2)
    await walk.check("ready")
    for name in ("attention", "questions"):
        await walk.press("main button")
        await walk.press("form[action=end] button")
        await walk.check("reason")
        await walk.page.locator("textarea").fill("So.")
        await walk.press("main button")
        await walk.check(name)
        if name == "attention":
            await walk.choose(2)
    await walk.press("main button")
    await walk.check("debriefing")
    await walk.press("button[value=use]")
    await walk.check("done")
    assert len(walk.checked) == 18


async def _to_consent(walk: Walker, label: str) -> None:
    """A wrong link, the welcome in another language, a small window, and who does not agree."""
    page = walk.page
    await page.goto(f"{walk.place.there.address}/.souk/?lang={walk.language}")
    await walk.check("link")
    await walk.open(label)
    await walk.check("welcome")
    assert await page.locator("html").get_attribute("lang") == walk.language
    await page.set_viewport_size({"width": 800, "height": 500})
    await walk.press("main button")
    await walk.check("screened")
    await page.set_viewport_size({"width": 1280, "height": 900})
    await walk.open(label)
    await walk.press("main button")
    await walk.check("consent")
    await walk.press("button[value=decline]")
    await walk.check("declined")


async def _in_the_shop(walk: Walker) -> None:
    """A trial with its tabs, also where it is open twice."""
    await walk.press("main button")
    await walk.page.locator("#tab1").click()
    await walk.check("trial")
    other = await walk.page.context.new_page()
    await other.goto(walk.page.url)
    await other.locator("[data-second]").wait_for()
    await walk.check("second tab", other)
    await other.close()
    await walk.press("form[action=end] button")


async def test_pages_of_who_does_not_get_far_can_be_used_by_everybody(tmp_path: Path) -> None:
    async with walking(tmp_path, practice=False) as walks:
        for walk in walks:
            await _not_far(walk, walk.language)
        register = walks[0].place.books.register
        with walks[0].place.books.records.writing() as connection:
            connection.execute(blocks.update().values(done=1))
        for walk in walks:
            await walk.elsewhere("dan")
            await walk.check("full")
        register.close()
        for walk in walks:
            await walk.elsewhere("dan")
            await walk.check("closed")
            assert len(walk.checked) == 7


async def _not_far(walk: Walker, language: str) -> None:
    """Wrong answers, another window, and what is nobody's fault."""
    await walk.agree(f"ben-{language}")
    await walk.press("main button")
    await walk.choose(1)
    await walk.choose(1)
    await walk.check("failed check")
    await walk.elsewhere(f"ben-{language}")
    await walk.check("again")
    await walk.agree(f"cleo-{language}")
    first = walk.page
    await walk.elsewhere(f"cleo-{language}")
    await walk.check("resume")
    await walk.press("button[value=resume]")
    await first.goto(f"{walk.place.there.address}/.souk/go")
    await walk.check("elsewhere", first)
    row = walk.place.there.visits.of_platform(f"cleo-{language}")
    assert row
    walk.place.there.visits.end(row, "technical")
    await walk.page.reload()
    await walk.check("technical")


async def test_pictures_can_be_used_by_everybody(tmp_path: Path) -> None:
    few = {"participants": {"target": 3, "spare": 0.0}, "block": {"trials": 1}}
    study = {"show": "screenshots", "practice": False, "check": None}
    async with walking(tmp_path, **few, **study) as walks:
        for walk in walks:
            await walk.agree(f"eve-{walk.language}")
            await walk.press("main button")
            await walk.check("ready")
            await walk.press("main button")
            await walk.check("pictures")
            await walk.page.locator(".pictures a").last.click()
            await walk.page.locator("dialog img").wait_for()
            await walk.check("large")
