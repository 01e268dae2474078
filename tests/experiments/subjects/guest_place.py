"""Guests in a real browser, through the real proxy: a shop, and the trials that they are given in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import BrowserContext, Page
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from environments.browser.pool import BrowserPool, run_browsers
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import GuestTrial, Observe, Scripts
from experiments.records.record import TrialRecord
from experiments.subjects.guests import TrialDispenser
from proxy.guests import Guests
from proxy.reverse import Origin
from proxy.server import Slot, run_proxy
from tests.experiments.foreign_shop import ForeignShop, design, experiment

NEXT, END, SEEN = "http://souk.test/.souk/next", "http://souk.test/.souk/end", "/.souk/seen/here"
JSON = {"accept": "application/json"}
BUY = "#product-addtocart-button"
PRESS = "fetch('/cart/KEY', {method: 'POST'})"
SITE = "name: carted\nextends: onestopmarket\ndismiss: '#yes'\nchoice: {request: {path: /cart/(.+)}}\n"


@dataclass
class Place:
    """A shop, a proxy and a browser; the one trial is that of `dispenser`."""

    shop: Any
    address: str
    slot: Slot
    browsers: BrowserPool
    dispenser: list[TrialDispenser] = field(default_factory=list)
    given: list[GuestTrial] = field(default_factory=list)
    ended: list[TrialRecord] = field(default_factory=list)

    def welcome(self) -> GuestTrial | None:
        guest = self.dispenser[0].welcome()
        self.given += [guest] if guest else []
        return guest

    def give(self, made: ShopDesign, trial: ShopTrial, observe: Observe = "page") -> None:
        self.dispenser[:] = [
            TrialDispenser(
                made, [trial], self.address, self.ended.append, lambda _: True,
                reverse=False, observe=observe, scripts=Scripts(reports_to=SEEN),
            )
        ]  # fmt: skip

    async def begin(self, context: BrowserContext) -> list[str]:
        """Take the trial; the addresses of its products' pages."""
        told = await (await context.request.post(NEXT, headers=JSON)).json()
        self.ended.clear()  # the trial before, if its guest has left it
        return list(told["urls"])

    @asynccontextmanager
    async def program(self) -> AsyncIterator[tuple[httpx.AsyncClient, list[str]]]:
        """A guest that runs no scripts, and has taken the trial."""
        async with httpx.AsyncClient(proxy=self.slot.url, trust_env=False, timeout=60) as client:
            told = (await client.post(NEXT, headers=JSON)).json()
            self.ended.clear()
            yield client, told["urls"]

    @property
    def record(self) -> TrialRecord:
        (record,) = self.ended
        return record


@asynccontextmanager
async def opened_place(shop: Any, address: str, folder: Path) -> AsyncIterator[Place]:
    places: list[Place] = []
    guests = Guests(lambda: next(iter(places)).welcome(), reports_to=SEEN)
    async with run_proxy(folder, guests=guests) as proxy, run_browsers(proxy.spki) as browsers:
        slot = await proxy.open_slot(named=Origin.of(address.rstrip("/")))
        places.append(Place(shop, address, slot, browsers))
        yield places[0]


def first_trial(made: ShopDesign, *, nudged: bool = True) -> ShopTrial:
    """The first one in which the first product carries the nudge, or none does."""
    trials = made.trials(["tester"])
    return next(trial for trial in trials if trial.carrier == (trial.products[0].key if nudged else None))


@dataclass
class PolicyShop(ForeignShop):
    """A foreign shop with a policy of its own and a home page."""

    policy: str = ""
    home: str = ""

    async def answer(self, request: Request) -> Response:
        at_home = request.url.path == "/"
        answer = HTMLResponse(self.home) if at_home else await super().answer(request)
        if self.policy:
            answer.headers["content-security-policy"] = self.policy
        return answer


def give_foreign(
    place: Place,
    folder: Path,
    observe: Observe = "page",
    *,
    nudged: bool = True,
    edits: list[Any] | None = None,
    site: str = SITE,
    **shop: Any,
) -> None:
    """Let the foreign shop be so, and give a trial in it."""
    vars(place.shop).update(vars(PolicyShop(press=PRESS)) | shop)
    (folder / "site.yaml").write_text(site)
    file = experiment(folder, place.shop, place.address, edits, site=str(folder / "site.yaml"))
    made = design(file)
    place.give(made, first_trial(made, nudged=nudged), observe)


async def both(page: Page, urls: list[str]) -> None:
    for url in reversed(urls):
        await page.goto(url)


async def at_leisure(page: Page, urls: list[str]) -> None:
    """Leave no page before the browser has drawn it: what was never drawn is not reported as in view."""
    for url in reversed(urls):
        async with page.expect_request(f"**{SEEN}"):
            await page.goto(url)
