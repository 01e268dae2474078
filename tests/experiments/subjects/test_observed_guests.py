"""What a guest was shown: the observer in its pages, in real Chromium through the real proxy."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from playwright.async_api import BrowserContext, Page
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from environments.browser.pool import BrowserPool, run_browsers
from environments.shop.server import shop as embedded_shop
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.episodes import guest_trial
from experiments.episodes.guest_trial import Observe, Scripts
from experiments.records.record import TrialRecord
from experiments.subjects.guests import TrialDispenser
from proxy.guests import Guests
from proxy.reverse import Origin
from proxy.server import Slot, run_proxy
from proxy.shown_page import ShownPage
from tests.experiments.foreign_shop import NUDGE, ForeignShop, design, experiment
from tests.experiments.treatment.test_layers import LAYER
from tests.experiments.treatment.test_treatment_check import MOVED
from tests.support import serve, usual

pytestmark = pytest.mark.browser

NEXT, SEEN = "http://souk.test/.souk/next", "/.souk/seen/here"
JSON = {"accept": "application/json"}
SITE = "name: carted\nextends: onestopmarket\ndismiss: '#yes'\nchoice: {request: {path: /cart/(.+)}}\n"
PRESS = "fetch('/cart/KEY', {method: 'POST'})"
REPORTED = """([end, since]) => performance.getEntriesByType('resource')
  .some(({ name, startTime }) => name.endsWith(end) && startTime > since)"""
DEEP = "document.querySelector('#description').style.marginTop = '3000px'"
BELOW: list[Any] = [{"insert_text": {"after": "product.description", "text": NUDGE}}]
CHEAPER: list[Any] = [{"set_price": 9.5}]

Visit = Callable[[Page, list[str]], Awaitable[None]]


@dataclass
class PolicyShop(ForeignShop):
    policy: str = ""
    home: str = ""

    async def answer(self, request: Request) -> Response:
        at_home = request.url.path == "/"
        answer = HTMLResponse(self.home) if at_home else await super().answer(request)
        if self.policy:
            answer.headers["content-security-policy"] = self.policy
        return answer


@dataclass
class Place:
    """A foreign shop, a proxy and a browser; the trials are those of `dispenser`."""

    shop: ForeignShop
    address: str
    slot: Slot
    browsers: BrowserPool
    dispenser: list[TrialDispenser] = field(default_factory=list)
    ended: list[TrialRecord] = field(default_factory=list)

    def give(self, made: ShopDesign, observe: Observe, *, nudged: bool) -> None:
        trials = made.trials(["tester"])
        trial = next(t for t in trials if t.carrier == (t.products[0].key if nudged else None))
        self.dispenser[:] = [
            TrialDispenser(
                made, [trial], str(made.base_url), self.ended.append, lambda _: True,
                reverse=False, observe=observe, scripts=Scripts(reports_to=SEEN),
            )
        ]  # fmt: skip

    async def trial(self, visit: Visit, context: BrowserContext) -> TrialRecord:
        """One trial by a visitor; the last page on which they are has a button that buys."""
        told = await (await context.request.post(NEXT, headers=JSON)).json()
        self.ended.clear()  # the trial before, if the guest has left it
        page = await context.new_page()
        await visit(page, told["urls"])
        async with page.expect_response("**/cart/*"):
            await page.click("#product-addtocart-button")
        await page.close()
        (record,) = self.ended
        return record


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    shop = PolicyShop()
    dispenser: list[TrialDispenser] = []
    guests = Guests(lambda: next(iter(dispenser)).welcome(), by_cookie=False, reports_to=SEEN)
    async with (
        serve(shop.app()) as address,
        run_proxy(tmp_path_factory.mktemp("ca"), guests=guests) as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        slot = await proxy.open_slot(named=Origin.of(address.rstrip("/")))
        yield Place(shop, address, slot, browsers, dispenser)


async def both(page: Page, urls: list[str]) -> None:
    for url in reversed(urls):
        await page.goto(url)


async def at_leisure(page: Page, urls: list[str]) -> None:
    """Leave no page before the browser has drawn it: what was never drawn is not reported as in view."""
    for url in reversed(urls):
        async with page.expect_request(f"**{SEEN}"):
            await page.goto(url)


async def home_first(page: Page, urls: list[str]) -> None:
    async with page.expect_request(f"**{SEEN}"):
        await page.goto(urljoin(urls[0], "/"))
    await both(page, urls)


async def only_the_first(page: Page, urls: list[str]) -> None:
    await page.goto(urls[0])


async def to_the_bottom(page: Page, urls: list[str]) -> None:
    await both(page, urls)
    await page.wait_for_function(REPORTED, arg=[SEEN, 0])  # what stood at the top was seen there
    scroll = "(each) => { each.nextElementSibling.scrollIntoView(); return performance.now(); }"
    since = await page.locator("#description").evaluate(scroll)
    await page.wait_for_function(REPORTED, arg=[SEEN, since])


async def carry_out(
    place: Place,
    folder: Path,
    observe: Observe = "page",
    visit: Visit = both,
    *,
    nudged: bool = True,
    edits: list[Any] | None = None,
    **shop: Any,
) -> TrialRecord:
    vars(place.shop).update(vars(PolicyShop(press=PRESS)) | shop)
    (folder / "carted.yaml").write_text(SITE)
    place.give(
        design(experiment(folder, place.shop, place.address, edits, site=str(folder / "carted.yaml"))),
        observe,
        nudged=nudged,
    )
    async with place.browsers.context(place.slot.url) as context:
        return await place.trial(visit, context)


POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'; connect-src 'none'"
HIDING = "<style>[class$=-details] { opacity: 0 }</style>"
REMOVES = "document.querySelector('[class$=-details]')?.remove()"
MORE = "document.querySelector('#more')"
COVER = (
    "document.body.insertAdjacentHTML('beforeend', "
    "'<div style=\"position:fixed;inset:0;background:white;pointer-events:none\"></div>')"
)
CARD = '<li class="product-item"><a class="product-item-link" href="/{0}.html">{0}</a></li>'
LIST = f"<ol>{CARD.format('cedar-reading-lamp')}{CARD.format('harbour-desk-lamp')}</ol>"
PRICED = LIST.replace("</a>", '</a><span class="price-wrapper" data-price-type="finalPrice">$19.99</span>')
PRICED = PRICED.replace("$19.99", '<span class="price">$19.99</span>')
DEAR = "each.textContent = '$19.99';"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "honest": ({}, ""),
    "under a strict policy": ({"policy": POLICY, "observe": "viewport"}, ""),
    "hidden": ({"head": HIDING}, "the agent was not shown what insert_text made of product.title"),
    "hidden, not observed": ({"head": HIDING, "observe": "off"}, ""),
    "taken away": ({"script": REMOVES}, "insert_text is gone"),
    "below the fold, of the page": ({"script": DEEP, "edits": BELOW}, ""),
    "below the fold": (
        {"script": DEEP, "edits": BELOW, "observe": "viewport"},
        "the agent was not shown what insert_text made of product.description",
    ),
    "below the fold, scrolled to": (
        {"script": DEEP, "edits": BELOW, "observe": "viewport", "visit": to_the_bottom},
        "",
    ),
    "a cheaper price": ({"edits": CHEAPER}, ""),
    "the old price beside": (
        {"edits": CHEAPER, "script": "document.querySelector('#more').textContent = 'Was $19.99'"},
        "the agent was shown the old price too",
    ),
    "the old price by style": (
        {"edits": CHEAPER, "head": "<style>#more::after { content: 'Was $19.99' }</style>"},
        "the agent was shown the old price too",
    ),
    "the old price in a field": (
        {"edits": CHEAPER, "script": f"{MORE}.innerHTML = '<input value=\"$19.99\">'"},
        "the agent was shown the old price too",
    ),
    "the old price in pieces": (
        {"edits": CHEAPER, "script": f"{MORE}.innerHTML = '<b>$19</b><sup>.99</sup>'"},
        "the agent was shown the old price too",
    ),
    "covered, takes no pointer": (
        {"script": COVER, "observe": "viewport"},
        "the agent was not shown what insert_text made of product.title",
    ),
    "covered, of the page": ({"script": COVER}, ""),
    "a list put back": (
        {
            "edits": [{"reorder": {"rank": 1}}],
            "extra": LIST,
            "script": "document.querySelector('ol').style = 'display: flex; flex-direction: column-reverse'",
        },
        "reorder is gone",
    ),
    "cards": ({"edits": CHEAPER, "extra": PRICED}, ""),
    "the old price in a card": (
        {
            "edits": CHEAPER,
            "extra": PRICED,
            "script": f"document.querySelectorAll('li .price').forEach((each) => {{ {DEAR} }})",
        },
        'shows "$19.99" in the item of',
    ),
    "the old price in a card of the home page": (
        {
            "edits": CHEAPER,
            "visit": home_first,
            "home": f"<title>Home</title>{PRICED}<script>document.querySelectorAll('li .price').forEach("
            f"(each) => {{ {DEAR} }})</script>",
        },
        'shows "$19.99" in the item of',
    ),
    "the home page": (
        {"edits": CHEAPER, "visit": home_first, "home": f"<title>Home</title>{PRICED}"},
        "",
    ),
    "a list": ({"edits": [{"reorder": {"rank": 1}}], "extra": LIST}, ""),
    "the old price hidden": (
        {
            "edits": CHEAPER,
            "script": "const more = document.querySelector('#more'); more.textContent = '$19.99'; "
            "more.hidden = true",
        },
        "",
    ),
}


@pytest.mark.thorough
async def test_a_layer_that_the_map_names_is_taken_away(place: Place, tmp_path: Path) -> None:
    layer = LAYER.replace("160px", "100%")
    record = await carry_out(place, tmp_path, "viewport", script=layer)
    assert record.trial.outcome == "choice", record.trial.reason


@pytest.mark.parametrize("case", usual(CASES, 10))
async def test_a_guest_has_to_be_shown_what_is_planned(case: str, place: Place, tmp_path: Path) -> None:
    how, reason = CASES[case]
    record = await carry_out(place, tmp_path, **how)
    assert reason in record.trial.reason
    assert record.trial.outcome == ("treatment_failed" if reason else "choice"), record.trial.reason
    if how.get("observe") == "off":
        assert record.on_screen == []
        assert not [each for each in record.receipts if each["edit"] == "observer"]
        return
    why = {each["why"] for each in record.on_screen if each["intervention"] == "praised"}
    if "gone" in reason or case == "a list":
        assert why == set()
    else:
        assert ("" in why) == ("not shown" not in reason)


ANYWHERE = "fetch(location.origin + '/cart/KEY', {method: 'POST'})"
HAS_MOVED = """() => location.pathname.startsWith("/untreated/") ||
  document.readyState === "complete" && !document.querySelector(".product-title-details")"""


@pytest.mark.parametrize("way", usual(MOVED, 3))
async def test_what_moves_the_address_does_not_switch_the_check_off(
    way: str, place: Place, tmp_path: Path
) -> None:
    """A page to which the product's own leads by itself is edited as well: there the choice counts."""
    shown = []

    async def visit(page: Page, urls: list[str]) -> None:
        await only_the_first(page, urls)  # a page that leads on gets into the way of the next address
        await page.wait_for_function(HAS_MOVED)
        shown.append(NUDGE in await page.inner_text("body"))

    record = await carry_out(place, tmp_path, visit=visit, press=ANYWHERE, **MOVED[way])
    assert shown == [way in ("a refresh", "a location")]
    assert record.trial.outcome == ("choice" if shown[0] else "treatment_failed"), record.trial.reason


async def test_the_control_has_the_same_bytes(place: Place, tmp_path: Path) -> None:
    records = [await carry_out(place, tmp_path, nudged=nudged) for nudged in (True, False)]
    assert [each.trial.outcome for each in records] == ["choice", "choice"]
    scripts = [{r["after"] for r in each.receipts if r["edit"] == "observer"} for each in records]
    assert scripts[0] == scripts[1]
    assert len(scripts[0]) == 1


@pytest.mark.thorough
async def test_what_was_opened_is_counted(place: Place, tmp_path: Path) -> None:
    async def again(page: Page, urls: list[str]) -> None:
        await both(page, urls)
        await page.reload()

    for visit, opened in ((only_the_first, [1, 0]), (both, [1, 1]), (again, [2, 1])):
        record = await carry_out(place, tmp_path, visit=visit)
        assert [row["opened"] for row in record.options] == opened


@pytest.mark.parametrize(("observe", "outcome"), [("page", "choice"), ("viewport", "treatment_failed")])
async def test_a_program_that_runs_no_scripts_sees_the_page_and_no_viewport(
    observe: Observe, outcome: str, place: Place, tmp_path: Path
) -> None:
    made = design(experiment(tmp_path, place.shop, place.address, site=site_in(tmp_path)))
    for nudged in (True, False):
        place.give(made, observe, nudged=nudged)
        place.ended.clear()
        async with httpx.AsyncClient(proxy=place.slot.url, trust_env=False, timeout=60) as client:
            urls = (await client.post(NEXT, headers=JSON)).json()["urls"]
            assert (await client.get(urls[0])).status_code == 200
            key = urls[0].split("/")[-1].removesuffix(".html")
            await client.post(f"http://shop.souk.test/cart/{key}")
        (record,) = place.ended
        assert record.trial.outcome == outcome
        assert [row["opened"] for row in record.options] == [1, 0]
        if outcome != "choice":
            assert record.trial.reason == f"no page has reported what was in view of {key}"


def site_in(folder: Path) -> str:
    (folder / "carted.yaml").write_text(SITE)
    return str(folder / "carted.yaml")


LIES = [
    "",
    "{}",
    '{"acts":[],"visit":0,"now":0}',
    '{"at": "/", "age": 0, "own": "", "found": [7]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("number", range(len(LIES)))
async def test_a_report_that_no_observer_makes_fails_the_trial(
    number: int, place: Place, tmp_path: Path
) -> None:
    made = design(experiment(tmp_path, place.shop, place.address, site=site_in(tmp_path)))
    place.give(made, "page", nudged=True)
    place.ended.clear()
    async with httpx.AsyncClient(proxy=place.slot.url, trust_env=False, timeout=60) as client:
        urls = (await client.post(NEXT, headers=JSON)).json()["urls"]
        await client.get(urls[0])
        sent = await client.post(f"http://shop.souk.test{SEEN}", content=LIES[number])
        assert sent.status_code == 204
        await client.get(urls[0])
    assert [each.trial.outcome for each in place.ended] == ["treatment_failed"]


async def test_nothing_holds_a_trial_that_has_ended(tmp_path: Path) -> None:
    """Neither a timer nor the pages that came: guests may be many, and stay for days."""
    async with serve(ForeignShop().app()) as address:
        made = design(experiment(tmp_path, ForeignShop(), address, limits={"seconds": 86_400}))
        dispenser = TrialDispenser(
            made, made.trials(["tester"]), address, lambda _: None, lambda _: True, reverse=True
        )
        trial = dispenser.welcome()
        assert trial
        trial.session.note_page(ShownPage(address, "text/html", b"<p>A lamp", None))
        trial.gave_up()
        assert (trial.outcome, trial.session.pages) == ("no_choice", [])
        left = weakref.ref(trial)
        del trial
        for _ in range(3):
            await asyncio.sleep(0)  # turns of the loop, in which what was cancelled ends
        gc.collect()
        assert left() is None


async def test_reports_that_are_too_large_together_fail_the_trial(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_trial, "MAX_REPORT_BYTES", 10)
    record = await carry_out(place, tmp_path, visit=at_leisure)
    assert record.trial.outcome == "treatment_failed"
    assert "the page does not come to rest" in record.trial.reason


async def test_a_tab_of_an_earlier_trial_says_nothing(place: Place, tmp_path: Path) -> None:
    """Its page carries no nudge, or another one."""
    vars(place.shop).update(vars(PolicyShop(press=PRESS)))
    made = design(experiment(tmp_path, place.shop, place.address, site=site_in(tmp_path)))
    async with place.browsers.context(place.slot.url) as context:
        place.give(made, "page", nudged=False)
        urls = (await (await context.request.post(NEXT, headers=JSON)).json())["urls"]
        left = await context.new_page()
        await left.goto(urls[0])
        place.give(made, "page", nudged=True)

        async def after_it(page: Page, urls: list[str]) -> None:
            await both(page, urls)
            async with left.expect_request(f"**{SEEN}"):
                await left.evaluate("document.querySelector('.base').textContent = 'Another'")

        record = await place.trial(after_it, context)
    assert record.trial.outcome == "choice", record.trial.reason


@pytest.mark.thorough
async def test_the_embedded_shop_is_observed(place: Place, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        "name: observed\ngoal: Buy.\noptions: {sets: 2}\n"
        "factors: {nudge: {interventions: nudges, only: [best-seller]}}\n"
    )
    made = load_shop_design(str(tmp_path / "e.yaml"), "tester")
    async with embedded_shop() as address:
        trial = next(t for t in made.trials(["tester"]) if t.carrier == t.products[0].key)
        for observe, hidden in (("viewport", False), ("page", True)):
            place.dispenser[:] = [
                TrialDispenser(
                    made, [trial], address, place.ended.append, lambda _: True,
                    reverse=False, observe=observe, scripts=Scripts(reports_to=SEEN),
                )
            ]  # fmt: skip
            place.slot.named, before = Origin.of(address.rstrip("/")), place.slot.named
            place.ended.clear()
            try:
                async with place.browsers.context(place.slot.url) as context:
                    if hidden:
                        await context.add_init_script(
                            "new MutationObserver(() => document.querySelectorAll('[class$=-details]')"
                            ".forEach((each) => { each.hidden = true }))"
                            ".observe(document, {subtree: true, childList: true})"
                        )
                    urls = (await (await context.request.post(NEXT, headers=JSON)).json())["urls"]
                    page = await context.new_page()
                    for url in reversed(urls):
                        await page.goto(url)
                    await page.click("#product-addtocart-button")
                    await page.wait_for_selector(".message-success")
            finally:
                place.slot.named = before
            (record,) = place.ended
            expected = "treatment_failed" if hidden else "choice"
            assert record.trial.outcome == expected, (observe, record.trial.reason)
