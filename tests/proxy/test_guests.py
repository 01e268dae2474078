"""Guests before shops that answer in awkward ways."""

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.responses import JSONResponse

from interventions.plan import Plan
from interventions.sitemap import AddToCart
from proxy.guests import Guests
from proxy.server import run_proxy
from proxy.session import AllowList, Session
from tests.proxy.upstream import PAGE, PLAN, SITE, message, upstream
from tests.support import Answer, pages

RULE = AddToCart.model_validate({"path": "/cart/(.+)", "method": "POST", "refused_by": '"ok": ?false'})
SHOP = SITE.model_copy(update={"add_to_cart": RULE})


@dataclass
class OneVisit:
    """A trial that nobody stores."""

    session: Session
    trial: str = "trial"
    goal: str = "Buy the best."
    urls: list[str] = field(default_factory=list)
    outcome: str = ""
    chosen: str | None = None

    def chose(self, product: str) -> None:
        self.outcome, self.chosen = "choice", product

    def gave_up(self) -> None:
        self.outcome = "no_choice"


@pytest.mark.parametrize("plan", [PLAN, Plan()], ids=["treated", "control"])
async def test_a_refusal_is_no_choice_whether_edits_are_planned_or_not(ca_dir: Path, plan: Plan) -> None:
    answers: dict[str, Answer] = {
        "/cart/1": JSONResponse({"ok": False}),
        "/cart/2": JSONResponse({"ok": True}),
    }
    async with pages(answers) as url:
        visit = OneVisit(Session(plan, SHOP, AllowList.of(url)))
        async with run_proxy(ca_dir, guests=Guests(lambda: visit, by_cookie=False)) as proxy:
            slot = await proxy.open_slot()
            async with httpx.AsyncClient(proxy=slot.url, trust_env=False) as client:
                refused = await client.post(url + "cart/1")
                assert (refused.json(), visit.outcome) == ({"ok": False}, "")
                accepted = await client.post(url + "cart/2")
                assert (accepted.json(), visit.outcome) == ({"ok": True}, "choice")


async def test_a_bomb_is_not_unpacked_for_its_ids(ca_dir: Path) -> None:
    bomb = gzip.compress(PAGE.encode() + bytes(200_000_000), 1)
    async with upstream(message(bomb, "Content-Encoding: gzip")) as shop:
        visit = OneVisit(Session(Plan(), SHOP, AllowList.of(shop.url)))
        async with run_proxy(ca_dir, guests=Guests(lambda: visit, by_cookie=False)) as proxy:
            slot = await proxy.open_slot()
            async with (
                httpx.AsyncClient(proxy=slot.url, trust_env=False) as client,
                client.stream("GET", shop.url + "about") as response,
            ):
                received = b"".join([piece async for piece in response.aiter_raw()])
    assert received == bomb  # nothing was planned for it
    assert visit.outcome == ""


@pytest.mark.parametrize(
    ("method", "headers", "allowed"),
    [
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
        ("POST", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, False),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, True),
        ("POST", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}, True),
        ("POST", {}, True),
    ],
)
async def test_pages_of_other_sites_neither_begin_nor_end_trials(
    ca_dir: Path, method: str, headers: dict[str, str], allowed: bool
) -> None:
    begun: list[OneVisit] = []

    def welcome() -> OneVisit:
        begun.append(OneVisit(Session(PLAN, SHOP)))
        return begun[-1]

    async with run_proxy(ca_dir, guests=Guests(welcome, by_cookie=False)) as proxy:
        slot = await proxy.open_slot()
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False) as client:
            answer = await client.request(method, "http://x.test/.souk/next", headers=headers)
    assert (answer.status_code != 403, bool(begun)) == (allowed, allowed)
