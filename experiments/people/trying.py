"""Try a study before people come: many browsers at once go through it, each with a story of its own."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from playwright.async_api import Error as BrowserError
from psutil import Process

from environments.browser.pool import find_browser, flags
from experiments.designs.shop.trial import ShopTrial
from experiments.people.identity import StudyKey
from experiments.people.study_file import Ending, PeopleStudy
from experiments.people.visits import StudyVisits
from interventions.errors import UserError
from proxy.guests import COOKIE

CANARY: Final = "canary7391"
"""What the people of a try write; it may be nowhere but in answers."""
_PATIENCE: Final = 60_000
"""How long a page may take, in milliseconds."""
AT_ONCE: Final = 50
"""How many people are there at once, at most."""
_VIEWPORT: Final = {"width": 1280, "height": 900}

Story = Callable[["_Person"], Awaitable[None]]


@dataclass
class Told:
    """What has happened to one person of a try."""

    story: str
    person: str
    """The platform's id, or the label; empty where people come without."""
    expected: Ending | None
    """How the visit has to end; None: the person stays away."""
    seen: str = ""
    """The code, or the title of the last page."""
    error: str = ""
    waits: list[float] = field(default_factory=list)
    """How long each page took, in seconds."""
    memory: int = 0
    """The memory of the process that serves the study once this person has gone, in bytes."""


class _Person:
    """One person's browser, with what the person knows."""

    def __init__(
        self, context: BrowserContext, page: Page, told: Told, address: str, visits: StudyVisits, button: str
    ) -> None:
        self.context, self.page, self.told, self.address, self.visits = context, page, told, address, visits
        self.button = button
        self.random = Random(told.person or told.story)  # noqa: S311 - a simulation, no secret
        self.reloads = False

    async def open(self) -> None:
        await self._wait(self.page.goto(self.address))

    async def press(self, name: str | None = None) -> None:
        """Press the button of the study's page with this value; without one the first."""
        one = "main button" if name is None else f"main button[value={name}]"
        await self._wait(self._go_by(one))
        if self.reloads and self.page.url.endswith("/go"):
            await self.page.reload()

    async def _go_by(self, button: str) -> None:
        async with self.page.expect_navigation():
            await self.page.locator(button).first.click()

    async def come_in(self) -> None:
        await self.open()
        await self.press()
        await self.page.locator("input[name=agree]").check()
        await self.press("agree")

    async def answer(self, *, rightly: bool = True) -> None:
        """Answer the questions of a page, as far as there are any."""
        stage = await self.page.locator("input[name=stage]").get_attribute("value")
        for number, each in enumerate(await self.page.locator("fieldset").all()):
            if await each.locator("textarea").count():
                await each.locator("textarea").fill(CANARY)
                continue
            right = self._right(str(stage), number)
            options = each.locator("input[type=radio]")
            wrong = 0 if right else 1
            await options.nth(right if rightly else wrong).check()
        await self.press()

    def _right(self, stage: str, number: int) -> int:
        file = self.visits.study.file
        if stage == "check" and file.check:
            return file.check.questions[number].answer - 1
        return next(iter(file.block.attention.values())).answer - 1 if stage == "attention" else 0

    async def shop(self, chance: float | None = None) -> None:
        """Look at every product of a trial, and choose one; `chance`: of the one that carries the nudge."""
        if pictures := await self.page.locator("figure").count():
            chosen = self._chosen(pictures, chance, await self._trial())
            await self._wait(self._go_by(f"button[value='{chosen}']"))
            return
        frames = self.page.locator("iframe")
        count = await frames.count()
        for number in range(1, count + 1):
            await self.page.locator(f"#tab{number}").click()
            frame = self.page.frame_locator(f"#shop{number}")
            await frame.locator("body").wait_for()
            await self.page.wait_for_timeout(400)  # people look before they press
        chosen = self._chosen(count, chance, await self._trial())
        await self.page.locator(f"#tab{chosen}").click()
        await self.page.frame_locator(f"#shop{chosen}").locator(self.button).first.click()
        await self._wait(self.page.locator("iframe").first.wait_for(state="detached"))

    async def _trial(self) -> ShopTrial | None:
        """The trial as it was planned: what carries the nudge is known without reading."""
        cookies = {each.get("name"): each.get("value", "") for each in await self.context.cookies()}
        row = await self.visits.of_cookie(cookies.get(COOKIE, ""))
        running = self.visits.running(row) if row else None
        return running.definition if running else None

    def _chosen(self, count: int, chance: float | None, trial: ShopTrial | None) -> int:
        keys = [product.key for product in trial.products] if trial else []
        if trial and chance is not None and trial.carrier in keys:
            carrier = keys.index(trial.carrier) + 1
            others = [number for number in range(1, count + 1) if number != carrier]
            return carrier if self.random.random() < chance else self.random.choice(others)
        return self.random.randint(1, count)

    async def whole(self, chance: float | None = None, stop_after: int | None = None) -> None:
        """Go through the study to its end, or away in the middle of a trial."""
        done = 0
        while True:
            if await self.page.locator("iframe, figure").count():
                if stop_after is not None and done == stop_after:
                    return
                await self.shop(chance)
                done += 1
            elif await self.page.locator("main button[value=use]").count():
                await self.press("use")
                return
            elif await self.page.locator("input[name=stage]").count():
                await self.answer()
            else:
                return

    async def _wait(self, doing: Awaitable[Any]) -> None:
        began = time.perf_counter()
        await doing
        self.told.waits.append(time.perf_counter() - began)

    async def end(self) -> None:
        with suppress(BrowserError):
            main = self.page.locator("main")
            code = main.locator(".code")
            self.told.seen = await (code if await code.count() else main.locator("h1")).inner_text()


async def _complete(one: _Person) -> None:
    await one.come_in()
    await one.whole()


async def _with_taste(one: _Person) -> None:
    await one.come_in()
    await one.whole(chance=TASTE)


async def _decline(one: _Person) -> None:
    await one.open()
    await one.press()
    await one.press("decline")


async def _fail_check(one: _Person) -> None:
    await one.come_in()
    await one.press()
    file = one.visits.study.file
    for _ in range(file.check.attempts if file.check else 0):
        await one.answer(rightly=False)


async def _small(one: _Person) -> None:
    await one.page.set_viewport_size({"width": 800, "height": 500})
    await one.open()
    await one.press()


async def _leave_early(one: _Person) -> None:
    await one.come_in()
    await one.whole(stop_after=1)


async def _reload(one: _Person) -> None:
    one.reloads = True
    await one.come_in()
    await one.whole()


async def _second_tab(one: _Person) -> None:
    await one.come_in()
    await one.whole(stop_after=0)
    other = await one.context.new_page()
    await other.goto(one.page.url)
    await one.page.wait_for_timeout(500)
    await other.close()
    await one.whole()


TASTE: Final = 0.9
"""How often the people with a known taste choose the product that carries a nudge."""
STORIES: Final[Sequence[tuple[str, Story, Ending | None, float]]] = (
    ("completes, likes nudges", _with_taste, "complete", 12),
    ("completes", _complete, "complete", 18),
    ("declines", _decline, "declined", 3),
    ("fails the check", _fail_check, "failed_check", 3),
    ("has a small screen", _small, "screened", 2),
    ("leaves in a trial", _leave_early, None, 4),
    ("reloads each page", _reload, "complete", 2),
    ("opens a second tab", _second_tab, "complete", 2),
)
"""The stories of a try, how each has to end, and its share of fifty people."""


def stories(people: int, study: PeopleStudy) -> list[tuple[str, Story, Ending | None]]:
    """Return a story for each person, each story at least once where there are enough people."""
    usable = [each for each in STORIES if each[2] != "failed_check" or study.file.check]
    further = max(people - len(usable), 0)
    whole, told, owed = sum(share for *_, share in usable), [], 0.0
    for name, story, end, share in usable[:people]:
        owed += further * share / whole
        told += [(name, story, end)] * (1 + round(owed))
        owed -= round(owed)
    return told


async def send_people(
    visits: StudyVisits, address: str, button: str, people: int, seed: int, say: Callable[[str], None]
) -> list[Told]:
    """Send people through a study that is served in this process; return what happened to each, by their end.

    button: what puts a product into the cart, as a CSS selector.

    Raises:
        UserError: there is no browser.
    """
    random = Random(seed)  # noqa: S311 - a simulation, no secret
    sent = stories(people, visits.study)
    random.shuffle(sent)
    ended: list[Told] = []
    there = asyncio.Semaphore(AT_ONCE)
    process = Process()
    async with async_playwright() as playwright:
        program = find_browser(playwright)
        if program is None:
            raise UserError("no browser is installed; run playwright install chromium --only-shell")
        browser = await playwright.chromium.launch(executable_path=program, args=[*flags(None)])

        async def one(number: int, name: str, story: Story, end: Ending | None) -> None:
            person, link = _link(visits.study, visits.key, address, f"try{seed}-{number}")
            told = Told(name, person, end)
            await asyncio.sleep(random.random() * min(people, 60))
            async with there:
                await _visit(browser, told, link, visits, button, story)
            told.memory = process.memory_info().rss
            ended.append(told)
            say(f"{len(ended)} of {len(sent)}: {name}: {told.error or told.seen}")

        await asyncio.gather(*(one(number, *each) for number, each in enumerate(sent)))
    return ended


async def _visit(
    browser: Browser, told: Told, link: str, visits: StudyVisits, button: str, story: Story
) -> None:
    context = await browser.new_context(viewport=_VIEWPORT)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE)
    try:
        page = await context.new_page()
        person = _Person(context, page, told, link, visits, button)
        await story(person)
        await person.end()
    except BrowserError as error:
        told.error = str(error).partition("\n")[0]
    finally:
        await context.close()


def _link(study: PeopleStudy, key: StudyKey, address: str, label: str) -> tuple[str, str]:
    source = study.file.source
    welcome = f"{address}/.souk/"
    if source.kind == "labels":
        return label, f"{welcome}?label={label}&sig={key.sign(label)}"
    if source.kind == "prolific":
        names = source.parameters
        ids = f"{names.person}={label}&{names.study}=study&{names.session}={label}-s"
        return label, f"{welcome}?{ids}"
    return "", welcome
