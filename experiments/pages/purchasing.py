"""Put one product into the cart of a real browser's fresh session, and note what the shop says and sends."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from playwright.async_api import BrowserContext, Page, Request
from playwright.async_api import Error as PlaywrightError

from environments.action.pointer import dismiss
from environments.browser.pool import run_browsers
from environments.observation.settling import AWAITED
from experiments.pages.site_mapping import AS_DRAWN, PATIENCE_S, SiteMapping, keep_to, still
from interventions.data_file import read_source
from interventions.html.tree import select
from interventions.proposal.cart import Purchase, SentRequest, shows_line
from interventions.proposal.checkout import checkout_link, leads_elsewhere
from interventions.proposal.phrases import is_cart_button, says_cart, says_checkout
from interventions.proposal.purchase import learn
from interventions.proposal.scan import Capture, Scan, number
from interventions.yaml.sitemap import Dismissal, product_key

PRESS_MS: Final = 5_000
QUIET_MS: Final = 8_000
"""The longest wait for a page that keeps asking for more."""
_NEXT_TASK: Final = "() => new Promise((done) => setTimeout(() => setTimeout(done)))"
_CART: Final = re.compile(
    r"(?:^|/)@*(?:shopping-?)?(?:cart|basket|bag|warenkorb|panier|carrito|cesta|carrello|carrinho|koszyk|sepet|kosik)\b",
    re.I,
)
_COVERS: Final = re.compile(r"(<[^>\n]+>)[^\n]* intercepts pointer events")
_CHOOSE: Final = read_source(__file__, "choose_options.js")


async def learned(mapped: SiteMapping) -> tuple[SiteMapping, tuple[str, ...]]:
    """Return the proposal with what a purchase taught, and a line for each thing that could not be done."""
    done = await purchase(mapped)
    if done is None:
        return mapped, ("no button that puts a product into the cart: write product.add_to_cart and choice",)
    cart = done.second or done.first
    proposal = mapped.proposal.after(learn(done))
    troubles = list(done.troubles)
    if cart is None and not troubles:
        troubles.append(f"{done.url}: no page of the cart shows the product; its rows and sums are by hand")
    checkout = done.checkout.url if done.checkout else ""
    mapped = replace(mapped, proposal=proposal, cart=cart.url if cart else "", checkout=checkout)
    return mapped, tuple(troubles)


async def purchase(mapped: SiteMapping) -> Purchase | None:
    """Press the proposed button once, look at the cart, press it a second time, and look again.

    The second piece tells the price of one from the sum of the line. Then the checkout is opened where a
    plain link leads there. Nothing is pressed on it, and the session is forgotten. Returns None where the
    proposal has no button.
    """
    roles = {role.role: role for role in mapped.proposal.roles}
    button = roles.get("product.add_to_cart")
    if button is None:
        return None
    css = in_browser(button.places[0].css)
    name, price = (roles.get(f"product.{part}") for part in ("name", "price"))
    shown = number(price.text) if price else None
    async with run_browsers(trusted=mapped.trusted) as pool, pool.context(None) as context:
        await context.route("**/*", keep_to(mapped.hosts))
        page = await context.new_page()
        troubles: list[str] = []
        url = mapped.product.url
        done = Purchase(name.text if name else "", url, shown, mapped.product, mapped.product)
        sent: list[Request] = []
        try:
            await open_page(page, url, mapped.proposal.dismiss)
            done = replace(done, before=Capture(page.url, await page.evaluate(AS_DRAWN)))
            sent = await press(page, css)
            done = replace(done, after=Capture(page.url, await page.evaluate(AS_DRAWN)))
            if first := await cart_page(context, done, mapped.render):
                done = replace(done, first=first[0], drawn=first[1])
                await open_page(page, url, mapped.proposal.dismiss)
                await press(page, css)
                second = await _look(page, first[0].url, done, "row", mapped.render)
                elsewhere = await _look(page, url, done, "mini", False)
                done = replace(
                    done,
                    second=second[0] if second else None,
                    elsewhere=elsewhere[0] if elsewhere else None,
                )
                checkout, why_not = await _checkout(page, done, mapped.render)
                done = replace(done, checkout=checkout, by_hand=(why_not,) if why_not else ())
        except PlaywrightError as error:
            troubles.append(f"{url}: {str(error).splitlines()[0]}")
        requests = [await _sent(request) for request in sent if urlsplit(request.url).netloc in mapped.hosts]
        return replace(done, requests=tuple(requests), troubles=tuple(troubles))


def in_browser(css: str) -> str:
    """Return a selector of a site map as Playwright understands it."""
    return css.replace(":lexbor-contains(", ":has-text(")


async def open_page(page: Page, url: str, buttons: Sequence[Dismissal] = ()) -> None:
    """Open an address, wait until its scripts are quiet, and press the buttons that take layers away."""
    await page.goto(url, wait_until="load", timeout=PATIENCE_S * 1000)
    await quiet(page)
    await dismiss(page, buttons)


async def press(page: Page, css: str) -> list[Request]:
    """Press a button once, options chosen, and wait for what follows.

    Returns the requests that followed, in order.
    """
    button, asked = page.locator(css).first, list[Request]()

    def note(request: Request) -> None:
        asked.append(request)

    with suppress(PlaywrightError):
        await button.evaluate(_CHOOSE, timeout=PRESS_MS)
    page.on("request", note)
    try:
        await button.click(timeout=PRESS_MS)
    except PlaywrightError as error:
        if over := _COVERS.search(str(error)):
            dismiss = "name its own button under dismiss in the map, and write choice by hand"
            raise PlaywrightError(f"{over[1]} covers the button {css}: {dismiss}") from None
        raise
    answered = 0
    with suppress(TimeoutError, PlaywrightError):
        async with asyncio.timeout(QUIET_MS / 1000):
            # A script asks with the next task of the page, and may ask for more once it is answered.
            await page.evaluate(_NEXT_TASK)
            while answered < len(asked):
                request, answered = asked[answered], answered + 1
                if request.resource_type in AWAITED:
                    if answer := await request.response():
                        await answer.finished()
                    await page.evaluate(_NEXT_TASK)
    await quiet(page)
    page.remove_listener("request", note)
    return asked


async def cart_page(context: BrowserContext, done: Purchase, render: bool) -> tuple[Capture, bool] | None:
    """Return the cart's page, one of those that the page links to.

    The second value says whether it is as scripts have drawn it.
    """
    page = await context.new_page()
    for url in _carts(done.after, done.url)[:3]:
        with suppress(PlaywrightError):
            found = await _look(page, url, done, "row", render)
            if found is not None and any(
                product_key(a.attributes.get("href") or "", found[0].url) == product_key(done.url)
                for a in select(Scan(found[0]).tree, "a[href]")
            ):
                await page.close()
                return found
    await page.close()
    return None


def _carts(after: Capture, product: str) -> list[str]:
    """Addresses that may be the cart's page, the likeliest first."""
    scan, scored = Scan(after), dict[str, float]()
    own = urlsplit(after.url)
    if product_key(after.url) != product_key(product):
        scored[after.url] = 1.0 + 2 * bool(_CART.search(own.path))
    for node in select(scan.tree, "a[href]"):
        address = urljoin(after.url, (node.attributes.get("href") or "").strip()).partition("#")[0]
        parts = urlsplit(address)
        labels = (
            node.text().strip(),
            node.attributes.get("aria-label") or "",
            node.attributes.get("title") or "",
        )
        elsewhere = parts.netloc != own.netloc or product_key(address) == product_key(product)
        if elsewhere or is_cart_button(node) or any(map(says_checkout, labels)):
            continue
        if re.search(r"add|remove|delete|wish|login|clear", parts.path, re.I):
            continue
        score = (
            2.0 * bool(_CART.search(parts.path)) + any(map(says_cart, labels)) - parts.path.count("/") / 10
        )
        if score >= 0.5:
            scored[address] = max(score, scored.get(address, 0))
    return sorted(scored, key=lambda address: -scored[address])


async def _look(page: Page, url: str, done: Purchase, kind: str, render: bool) -> tuple[Capture, bool] | None:
    """Return a page of the cart as the shop sends it.

    render: as scripts draw it, where only then it shows the product in the cart; the second value says so.
    """
    answer = await page.goto(url, wait_until="load", timeout=PATIENCE_S * 1000)
    if answer is None or not answer.ok:
        return None
    sent = Capture(page.url, await answer.text())
    if render and not shows_line(sent, done, kind):
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_MS / 1000):
                while True:
                    await still(page)
                    drawn = Capture(page.url, await page.evaluate(AS_DRAWN))
                    if shows_line(drawn, done, kind):
                        return drawn, True
    return sent, False


async def _checkout(page: Page, done: Purchase, render: bool) -> tuple[Capture | None, str]:
    """Return the checkout's page, if a plain link on the cart's page leads there, else why there is none."""
    cart = done.second or done.first
    address = checkout_link(cart) if cart else ""
    if cart is None or not address:
        by_hand = "pages.checkout is to be written by hand"
        return None, f"{cart.url}: no plain link leads to the checkout: {by_hand}" if cart else ""
    try:
        answer = await page.goto(address, wait_until="load", timeout=PATIENCE_S * 1000)
        await quiet(page)
        html = await page.evaluate(AS_DRAWN)
        sent = await answer.text() if answer else ""
    except PlaywrightError as error:
        return None, f"{address}: the checkout cannot be opened ({str(error).splitlines()[0]})"
    if leads_elsewhere(address, page.url):
        return (
            None,
            f"{address}: the checkout leads to {page.url}, perhaps to log in: pages.checkout is by hand",
        )
    if answer is None or not answer.ok:
        return None, f"{address}: the shop answers {answer.status if answer else 'nothing'} for the checkout"
    return Capture(page.url, html if render else sent), ""


async def _sent(request: Request) -> SentRequest:
    status = 0
    with suppress(PlaywrightError):
        answer = await request.response()
        status = answer.status if answer else 0
    body = request.post_data_buffer or b""
    return SentRequest(
        request.method, request.url, request.headers.get("content-type", ""), body.decode("utf-8", "replace"),
        status, request.is_navigation_request(),
    )  # fmt: skip


async def quiet(page: Page) -> None:
    """Wait until a page neither asks for more nor draws, for some seconds at most."""
    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=QUIET_MS)
    with suppress(PlaywrightError):
        await still(page)
