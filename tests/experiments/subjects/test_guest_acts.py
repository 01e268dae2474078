"""What a guest does is recorded as steps: in real Chromium, in the embedded shop, through the real proxy."""

import json
import random
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import BrowserContext, Page

from experiments.designs.shop.design import ShopDesign
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from proxy.keys import new_key
from tests.experiments.designs.make import shop
from tests.experiments.subjects.guest_place import BUY, END, JSON, SEEN, Place, first_trial
from tests.support import size

pytestmark = pytest.mark.browser

SECRET = "squid-canary-7731"

Visit = Callable[["Hand", list[str]], Awaitable[None]]


async def carry_out(
    place: Place, made: ShopDesign, visit: Visit, *, nudged: bool = True
) -> tuple[TrialRecord, "Hand"]:
    """A trial by a visitor who ends it, with the shop's pages in the order of presentation."""
    place.give(made, first_trial(made, nudged=nudged))
    async with place.browsers.context(place.slot.url) as context:
        urls, hand = await place.begin(context), Hand(context)
        await visit(hand, urls)
        if not place.ended:
            await context.request.post(END, headers=JSON)
    return place.record, hand


STILL = """() => new Promise((done) => {
  let last = NaN, still = 0;
  const look = () => {
    still = scrollY === last ? still + 1 : 0;
    last = scrollY;
    if (still > 5) done(Math.round(scrollY)); else requestAnimationFrame(look);
  };
  look();
})"""


class Hand:
    """Acts as a person would, and knows what it has done."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.tabs: list[Page] = []
        self.active = -1
        self.did: list[tuple[Any, ...]] = []
        """Kind, path of the page, and what else is known of it."""
        self.hits: list[str] = []

    @property
    def page(self) -> Page:
        return self.tabs[self.active]

    @property
    def path(self) -> str:
        return "/" + self.page.url.partition("#")[0].split("/", 3)[3]

    def note(self, kind: str, *more: Any) -> None:
        self.did.append((kind, self.path, *more))

    async def open(self, url: str) -> None:
        """A new tab, as by a link of the task."""
        if self.tabs:
            self.note("tab_focus", len(self.tabs))
        self.tabs.append(await self.context.new_page())
        self.active = len(self.tabs) - 1
        async with self.page.expect_request(f"**{SEEN}"):
            await self.page.goto(url)

    async def go_to(self, url: str) -> None:
        path = "/" + url.split("/", 3)[3]
        self.note("goto", path)
        async with self.page.expect_request(f"**{SEEN}"):
            await self.page.goto(url)

    async def scroll(self, by: int) -> None:
        before = await self.page.evaluate(STILL)
        await self.page.mouse.move(640, 360)
        async with self.page.expect_request(lambda each: "scroll" in (each.post_data or "")):
            await self.page.mouse.wheel(0, by)
        after = await self.page.evaluate(STILL)
        self.note("scroll", after - before)

    async def click(self, css: str, button: Any = "left") -> None:
        """At an element's middle, wherever it is on the page; the page must be still."""
        box = await self.page.locator(css).first.bounding_box()
        assert box
        down = await self.page.evaluate("Math.round(scrollY)")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        assert 0 < y < 720, "Playwright would scroll"
        hit = await self.page.evaluate("([x, y]) => document.elementFromPoint(x, y).innerText.trim()", [x, y])
        self.note("mouse_click", int(x), int(y + down), button)
        self.hits.append(" ".join(hit.split())[:100])
        await self.page.mouse.click(x, y, button=button)

    def focus(self, tab: int) -> None:
        """Go to another tab. A browser without windows does not tell pages of it; what is done there does."""
        self.note("tab_focus", tab)
        self.active = tab

    async def buy(self) -> None:
        await self.page.locator(BUY).scroll_into_view_if_needed()
        if (down := await self.page.evaluate(STILL)) != self.tops():
            self.note("scroll", down - self.tops())
        await self.click(BUY)
        await self.page.wait_for_selector(".message-success")

    def tops(self) -> int:
        """How far the active page was scrolled by what was noted since it came."""
        top, tab, tabs = 0, 0, {0: 0}
        for kind, _, *more in self.did:
            if kind == "tab_focus":
                tab = more[0]
                top = tabs.setdefault(tab, 0)
            elif kind == "goto":
                top = 0
            elif kind == "scroll":
                top += more[0]
            tabs[tab] = top
        return tabs.get(self.active, 0)


def done(record: TrialRecord) -> list[tuple[Any, ...]]:
    """The steps of a record as the hand notes them; scrolling that goes on counts once."""
    found: list[tuple[Any, ...]] = []
    for row in record.steps:
        path, (name, _, rest) = "/" + row["url"].split("/", 3)[3], row["action"].partition("(")
        if not name:
            continue
        args = json.loads(f"[{rest[:-1]}]".replace("'", '"'))
        match name:
            case "mouse_click":
                found.append((name, path, int(args[0]), int(args[1]), args[2] if args[2:] else "left"))
            case "scroll":
                found.append((name, path, round(args[1])))
            case "goto":
                found.append((name, path, "/" + args[0].split("/", 3)[3]))
            case _:
                found.append((name, path, *args))
    return joined(found)


def joined(did: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for kind, path, *more in did:
        if found and kind == "scroll" and found[-1][:2] == (kind, path):
            more = [found.pop()[2] + more[0]]  # noqa: PLW2901
        if kind != "scroll" or more[0]:
            found.append((kind, path, *more))
    return found


async def test_clicks_are_steps_that_say_what_they_hit(embedded_place: Place, acts: ShopDesign) -> None:
    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        await hand.click("h1.page-title span.base")
        await hand.scroll(200)
        await hand.scroll(-150)
        await hand.click("[class$=-details]")
        await hand.buy()

    record, hand = await carry_out(embedded_place, acts, visit)
    assert record.trial.outcome == "choice", record.trial.reason
    assert done(record) == joined(hand.did)
    assert [hit["text"] for hit in record.hits] == hand.hits
    name, _, buy = record.hits
    assert [hit["role"] for hit in (name, buy)] == ["product.name", "product.add_to_cart"]
    assert {hit["product"] for hit in (name, buy)} == {record.trial.choice}
    assert [hit["intervention"] for hit in record.hits] == ["", "best-seller", ""]
    clicks = [row["step"] for row in record.steps if row["action"].startswith("mouse_click")]
    assert [hit["step"] for hit in record.hits] == clicks
    assert all(row["seconds"] >= 0 for row in record.steps)
    assert sum(row["seconds"] for row in record.steps) < record.trial.seconds
    assert all(row["observation"] in record.artifacts for row in record.steps), "the page that was sent"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(size(3, 60)))
async def test_random_ways_are_recorded_in_order(seed: int, embedded_place: Place, acts: ShopDesign) -> None:
    draw = random.Random(seed)

    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        for _ in range(10):
            match draw.choice(["scroll", "scroll", "click", "tab", "page"]):
                case "scroll":
                    top = await hand.page.evaluate("scrollY")
                    await hand.scroll(draw.choice([200, 350]) if top < 200 else -150)
                case "click":
                    texts = hand.page.locator(".product.info p, .product-info-main .value, span.base, .price")
                    for number in range(await texts.count()):
                        box = await texts.nth(number).bounding_box()
                        if box and 20 < box["y"] < 600 and box["width"]:
                            await texts.nth(number).evaluate("each => each.classList.add('chosen')")
                            await hand.click(".chosen")
                            await hand.page.evaluate("document.querySelector('.chosen').className = ''")
                            break
                case "tab" if len(hand.tabs) == 1:
                    await hand.open(urls[1])
                case "tab":
                    hand.focus(1 - hand.active)
                    top = await hand.page.evaluate("scrollY")
                    await hand.scroll(120 if top < 200 else -110)
                case "page":
                    await hand.go_to(draw.choice(urls))
        await hand.buy()

    record, hand = await carry_out(embedded_place, acts, visit, nudged=bool(seed % 2))
    assert record.trial.outcome == "choice", record.trial.reason
    assert done(record) == joined(hand.did)
    assert [hit["text"] for hit in record.hits] == hand.hits


async def test_nothing_that_is_typed_is_kept(embedded_place: Place, acts: ShopDesign, tmp_path: Path) -> None:
    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        page = hand.page
        await page.evaluate(
            "document.body.insertAdjacentHTML('afterbegin', '<p id=note contenteditable>.</p>"
            "<label id=told>Yours <input id=own></label><input id=hush type=password>')"
        )
        for css in ("#note", "#own", "#hush", "#search"):
            await page.click(css)
            await page.keyboard.type(SECRET)
            await page.click(css)
        await page.click("#told", position={"x": 2, "y": 5})
        await page.click("h1.page-title span.base")
        await page.fill("#own", "")
        await hand.buy()

    record, _ = await carry_out(embedded_place, acts, visit)
    assert record.trial.outcome == "choice", record.trial.reason
    texts = [(hit["element"], hit["text"]) for hit in record.hits]
    assert texts[:2] == [("p", "")] * 2
    assert texts[2:6] == [("input", "Yours")] * 2 + [("input", "")] * 2
    assert texts[6:8] == [("input", "Search entire store here...")] * 2
    assert texts[8] == ("label", "Yours"), "and not its field as well"
    assert len(texts) == 11
    url = f"sqlite:///{tmp_path / 't.db'}"
    records = Records(url)
    records.begin_run(acts.run_id, acts.name, acts.facts(["tester"]))
    records.save(record)
    stored = [records.artifact(name) for name in record.artifacts]
    records.close()
    assert stored
    assert not [text for text in stored if SECRET in text]
    with sqlite3.connect(tmp_path / "t.db") as database:
        dump = "\n".join(database.iterdump())
    database.close()
    assert record.trial.trial in dump
    assert SECRET not in dump


async def test_a_key_that_presses_is_a_click_in_the_middle(embedded_place: Place, acts: ShopDesign) -> None:
    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        box = await hand.page.locator(BUY).bounding_box()
        assert box
        middles.append((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
        await hand.page.locator(BUY).focus()
        await hand.page.keyboard.press("Enter")
        await hand.page.wait_for_selector(".message-success")

    middles: list[tuple[float, float]] = []
    record, _ = await carry_out(embedded_place, acts, visit)
    assert record.trial.outcome == "choice", record.trial.reason
    (hit,) = record.hits
    assert (hit["role"], hit["x"], hit["y"]) == (
        "product.add_to_cart",
        *(pytest.approx(at, abs=1) for at in middles[0]),
    )


async def test_what_scripts_click_nobody_has_clicked(embedded_place: Place, acts: ShopDesign) -> None:
    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        await hand.page.evaluate(f"document.querySelector('{BUY}').click()")
        await hand.page.wait_for_selector(".message-success")

    record, _ = await carry_out(embedded_place, acts, visit)
    assert record.trial.outcome == "choice", record.trial.reason
    assert record.hits == []


async def test_a_report_that_no_observer_sends_adds_nothing(embedded_place: Place, acts: ShopDesign) -> None:
    """Where somebody has the key: what is no report, is too large, or is of another session, is left out."""
    click = {
        "kind": "click", "when": 1, "at": "/", "x": 1, "y": 1, "button": 0, "keys": [],
        "tag": "a", "text": "forged", "href": "", "bid": "", "role": "",
    }  # fmt: skip
    report = json.dumps({"acts": [click], "visit": 0.5, "now": 1}, separators=(",", ":"))
    many = json.dumps({"acts": [click] * 900, "visit": 0.5, "now": 1}, separators=(",", ":"))
    assert len(many) > 2**16

    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        key = embedded_place.given[-1].session.key
        none = [report[:-1], report.replace("0.5", '"x"'), report.replace('"button":0', '"button":9')]
        async with httpx.AsyncClient(proxy=embedded_place.slot.url, trust_env=False) as client:
            for body in [*(key + each for each in (many, *none)), new_key() + report]:
                sent = await client.post(f"http://shop.souk.test{SEEN}", content=body)
                assert sent.status_code == 204
        await hand.buy()

    record, _ = await carry_out(embedded_place, acts, visit)
    assert record.trial.outcome == "choice", record.trial.reason
    assert [hit["text"] for hit in record.hits] == ["Add to Cart"]


async def test_a_click_on_a_card_that_leads_elsewhere_is_told(embedded_place: Place) -> None:
    nudge = {"interventions": "ads", "only": ["bait-and-switch"], "on": ["none", "each"]}
    made = shop("listing", site="embedded", factors={"nudge": nudge, "order": "listed"})
    trial = first_trial(made)
    bait, other = trial.products

    async def visit(hand: Hand, urls: list[str]) -> None:
        await hand.open(urls[0])
        card = hand.page.locator("a.product-item-link", has_text=bait.name)
        await card.scroll_into_view_if_needed()
        await hand.page.evaluate(STILL)
        async with hand.page.expect_navigation(), hand.page.expect_request(f"**{SEEN}"):
            await card.click()
        assert await hand.page.locator("h1").inner_text() == other.name
        await hand.page.locator(BUY).click()
        await hand.page.wait_for_selector(".message-success")

    record, _ = await carry_out(embedded_place, made, visit)
    assert (record.trial.outcome, record.trial.choice) == ("choice", other.key), record.trial.reason
    card, buy = record.hits
    assert (card["product"], card["intervention"]) == (bait.key, "bait-and-switch")
    assert (buy["product"], buy["intervention"]) == (other.key, "")
    assert {row["option"]: row["opened"] for row in record.options} == {bait.key: 0, other.key: 1}
