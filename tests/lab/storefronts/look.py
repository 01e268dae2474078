"""Look at a treated shop as a person does: what a browser shows, read without Souk's own reader."""

import re
from collections.abc import Awaitable, Callable, Sequence

from playwright.async_api import Error, Locator, Page

from tests.lab.storefronts.cases import LAMP, NUDGE, Case

PATIENCE_MS = 60_000
"""Longer than any shop takes, also where the machine has other work."""

VIEWS = ("page", "listing", "by click", "cart")
SUMS = "sums"
"""Another view after these: the cart with one more piece, and the listing, whose header may show a sum."""


async def faults(page: Page, base: str, case: Case, wanted: Sequence[str] = VIEWS) -> dict[str, str]:
    """Visit the first lamp's page, the listing, the page again by a click there, and the cart.

    Returns what is wrong in each of them: an untreated text or price, or an old one beside the new.
    `wanted`: visit only these.
    """
    page.set_default_timeout(PATIENCE_MS)
    found = {}
    views: dict[str, Callable[[], Awaitable[str]]] = {
        "page": lambda: _product(page, base, case),
        "listing": lambda: _listing(page, base, case),
        "by click": lambda: _by_click(page, base, case),
        "cart": lambda: _cart(page, base, case),
        SUMS: lambda: _sums(page, base, case),
    }
    for name in wanted:
        try:
            fault = await views[name]()
        except Error as error:
            fault = str(error).splitlines()[0]
        if fault:
            found[name] = fault
    return found


async def _product(page: Page, base: str, case: Case) -> str:
    await page.goto(case.start_page(base), wait_until="networkidle")
    return await _wrong(page, case.prices[0], NUDGE, case.prices[1], case.third["says"])


async def _listing(page: Page, base: str, case: Case) -> str:
    await page.goto(base + case.listing, wait_until="networkidle")
    return await _wrong(page, case.prices[0], *case.prices[1:] if case.listed else ())


async def _by_click(page: Page, base: str, case: Case) -> str:
    await page.goto(base + case.listing, wait_until="networkidle")
    name = re.compile(rf"^\s*{re.escape(LAMP['name'])}", re.I)
    links = page.get_by_role("link", name=name)
    await links.filter(visible=True).first.click()
    await shown(page.locator("h1").filter(has_text=LAMP["name"]))
    await page.wait_for_load_state("networkidle")
    return await _wrong(page, case.prices[0], NUDGE, case.prices[1], case.third["says"])


async def _cart(page: Page, base: str, case: Case) -> str:
    await page.goto(case.start_page(base), wait_until="networkidle")
    await buy(page, case)
    await page.goto(base + case.cart, wait_until="networkidle")
    return await _wrong(page, case.prices[0], case.prices[1])


async def _sums(page: Page, base: str, case: Case) -> str:
    """Lines, subtotals, totals and a basket in the header say the new sum, and none an old one or a mix."""
    await page.goto(case.start_page(base), wait_until="networkidle")
    await buy(page, case)
    before, after = case.prices
    old = [written_as(before, digits(before) * 2), written_as(before, digits(before) + digits(after))]
    for path, texts in ((case.cart, [written_as(after, digits(after) * 2)]), (case.listing, [])):
        await page.goto(base + path, wait_until="networkidle")
        for each in old:
            if fault := await _wrong(page, each, *texts):
                return f"{path}: {fault}"
    return ""


def digits(price: str) -> int:
    """The digits of a price, as one number."""
    return int("".join(char for char in price if char.isdecimal()))


def written_as(price: str, number: int) -> str:
    """Another price of as many digits, with the same separators in the same places, in the same script."""
    own = [char for char in price if char.isdecimal()]
    new = str(number)
    assert len(new) == len(own), f"{price}: {number} has not as many digits"
    zero, left = ord(own[0]) - int(own[0]), iter(new)
    return "".join(chr(zero + int(next(left))) if char.isdecimal() else char for char in price)


async def buy(page: Page, case: Case) -> None:
    """Put what a product's page shows into the cart."""
    *before, last = case.buy
    for css in before:
        await page.locator(css).filter(visible=True).first.click()
    async with page.expect_event(
        "requestfinished",
        lambda request: (
            case.asks in request.url
            and (bool(case.asks) or request.method == "POST")
            and "/.souk" not in request.url
        ),
    ):
        await page.locator(last).filter(visible=True).first.click()
    await page.wait_for_load_state("networkidle")


async def _wrong(page: Page, old: str, *texts: str) -> str:
    body = page.locator("body")
    for text in texts:
        if not await shown(page.get_by_text(text)):
            said = " ".join((await body.inner_text()).split())
            cause = f": {said[:300]}" if "could not be prepared" in await page.title() else ""
            return f'"{text}" is not there{cause}'
    if await page.get_by_text(old).filter(visible=True).count():
        return f'the old price "{old}" is still there'
    return ""


async def shown(found: Locator, patience_ms: float = 10_000) -> bool:
    """Whether it is there and can be seen, at the latest after a while."""
    if not patience_ms:
        return await found.filter(visible=True).count() > 0
    try:
        await found.filter(visible=True).first.wait_for(timeout=patience_ms)
    except Error:
        return False
    return True
