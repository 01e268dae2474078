"""Prove a proposed site map: shop through the real proxy with an edit for each role, in a real browser."""

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page

from environments.browser.pool import run_browsers
from environments.browser.through_proxy import BrowserFailure
from experiments.pages.purchasing import in_browser, open_page, press
from experiments.pages.redrawn import place_in, redrawn, value_of
from experiments.pages.site_mapping import AS_DRAWN, SiteMapping
from interventions.apply.engine import EditFailed
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.html.marking import Marks
from interventions.html.page import Page as SentPage
from interventions.proposal.check import tried
from interventions.proposal.scan import Capture, number, squeezed
from interventions.yaml.sitemap import SiteMap
from proxy.allow_list import AllowList
from proxy.server import run_proxy
from proxy.session import Session

TEXT: Final = "Souk was here"
PRICE: Final = Decimal(73)
EDITS: Final[Mapping[str, dict[str, Any]]] = {
    "title": {"insert_text": {"after": "product.title", "text": TEXT}},
    "price": {"set_price": str(PRICE)},
    "name": {"set_title": "Souk's own name"},
    "rating": {"set_rating": 41},
    "reviews": {"set_reviews": 1204},
    "stock": {"set_stock": "Souk says three left"},
}
"""Part of a product -> the edit that tries it."""
_PIECES: Final = 2
_ROLES: Final = "give its line a role (mini, mini.link, mini.price), or name its JSON in data"


@dataclass(frozen=True)
class Proof:
    """Whether a role did what it is for, in the browser, through the proxy; None: it was not tried."""

    proved: bool | None
    why: str
    is_drawn_over: bool = False
    """Whether the edit was made, and the page's scripts have drawn over it."""


async def prove(
    mapped: SiteMapping, site: SiteMap, *, buys: bool, upstream_ca: Path | None = None
) -> dict[str, Proof]:
    """Return a proof for each role of the map, and for each rule of its `choice`.

    A product is opened with a text, a price and the other edits that its page takes; then a listing; with
    `buys` the product is put into the cart of this fresh session twice, and the cart is opened.
    """
    proofs: dict[str, Proof] = {}
    parts = dict(_possible(site, mapped.product, proofs))
    key = site.key(mapped.product.url)
    plan = Plan((Treatment("probe", key, tuple(edit_from_dict(EDITS[part]) for part in parts)),))
    origins = {f"{urlsplit(mapped.product.url).scheme}://{host}" for host in mapped.hosts}
    session = Session(plan, site, AllowList.of(*origins))
    with suppress(BrowserFailure):
        async with through_proxy(session, upstream_ca) as page:
            try:
                await _visit(page, mapped, site, session, proofs, buys=buys)
            except PlaywrightError as error:
                session.note_failure(str(error).splitlines()[0])
    why = squeezed(session.failures[0]) if session.failures else "was not seen"
    for role in site.roles:
        if role not in proofs:
            awaited = role.partition(".")[2] in parts and not role.startswith(("row", "mini", "cart"))
            proofs[role] = Proof(False, why) if awaited and session.failures else Proof(None, "not tried")
    for rule in site.choice.model_dump(exclude_defaults=True):
        unseen = Proof(False, "was not seen") if buys else Proof(None, "not tried")
        proofs.setdefault(f"choice.{rule}", unseen)
    return proofs


@asynccontextmanager
async def through_proxy(session: Session, upstream_ca: Path | None = None) -> AsyncIterator[Page]:
    """Open a tab in a fresh browser, which sees the shop as a session of the proxy shows it."""
    with tempfile.TemporaryDirectory(prefix="souk-map-") as folder:
        async with run_proxy(Path(folder), upstream_ca=upstream_ca) as proxy:
            slot = await proxy.open_slot()
            slot.session = session
            async with run_browsers(proxy.spki) as pool, pool.context(slot.url) as context:
                yield await context.new_page()


def _possible(site: SiteMap, product: Capture, proofs: dict[str, Proof]) -> Iterator[tuple[str, str]]:
    """The parts whose edit can be made in the page as the shop sends it; else it is noted why not."""
    for part, edit in EDITS.items():
        if not site.role(f"product.{part}"):
            continue
        plan = Plan((Treatment("probe", site.key(product.url), (edit_from_dict(edit),)),))
        try:
            done = tried(product, plan, site)
        except EditFailed as failure:
            proofs[f"product.{part}"] = Proof(False, failure.reason)
            continue
        if done.receipts:
            yield part, f"product.{part}"
        else:
            proofs[f"product.{part}"] = Proof(False, "the page is not taken for a product's")


async def _visit(
    page: Page, mapped: SiteMapping, site: SiteMap, session: Session, proofs: dict[str, Proof], *, buys: bool
) -> None:
    key = site.key(mapped.product.url)
    if mapped.listing is not None:
        await open_page(page, mapped.listing.url, site.dismiss)
        for kind in site.cards:
            if (card := await _card(page, site, kind, key)) is not None:
                proofs[kind] = proofs[f"{kind}.link"] = Proof(True, "shows the product, by its link")
                await _shown(card, session, kind, proofs, site)
    await open_page(page, mapped.product.url, site.dismiss)
    await _shown(page.locator("html"), session, "product", proofs, site)
    for role, why in (await redrawn(page, session, site)).items():
        proofs[role] = Proof(False, f"{proofs[role].why}, but {why}", is_drawn_over=True)
    if not buys or not site.role("product.add_to_cart"):
        return
    css = in_browser(site.role("product.add_to_cart")[0].css)
    early = {added.by for added in session.added}
    session.added.clear()
    old = next((each.before for each in session.receipts if each.role == "product.price"), "")
    before = (await page.locator("body").inner_text()).count(old)
    await press(page, css)
    if old and site.key(page.url) == key and (await page.locator("body").inner_text()).count(old) > before:
        proofs["cart drawer"] = Proof(
            False, f"after the press {old} is shown again: {_ROLES}", is_drawn_over=True
        )
    await _chosen(page, site, session, proofs)
    await open_page(page, mapped.product.url, site.dismiss)
    await press(page, css)
    await _in_cart(page, "mini", session, site, key, proofs)
    if mapped.cart:
        await open_page(page, mapped.cart)
        await _in_cart(page, "row", session, site, key, proofs)
    if mapped.checkout:
        await open_page(page, mapped.checkout)
        await _at_checkout(page, site, key, proofs)
    await _chosen(page, site, session, proofs)
    for rule in early:
        proofs[f"choice.{rule}"] = Proof(False, "holds as soon as the pages are opened: narrow it")


async def _card(page: Page, site: SiteMap, kind: str, key: str) -> Locator | None:
    """The first card of a kind whose link leads to the product."""
    link = site.role(f"{kind}.link")[0]
    for card in await page.locator(in_browser(site.role(kind)[0].css)).all():
        found = place_in(card, link.css)
        if await found.count() and site.key(await value_of(found, link.attribute), page.url) == key:
            return card
    return None


async def _shown(
    root: Locator, session: Session, group: str, proofs: dict[str, Proof], site: SiteMap
) -> None:
    """Compare what receipts tell with what the browser shows."""
    for receipt in session.receipts:
        if receipt.role.partition(".")[0] != group or not site.role(receipt.role):
            continue
        place = site.role(receipt.role)[0]
        if receipt.edit == "insert_text":
            found = root.get_by_text(TEXT, exact=True).first
            seen = bool(await found.count()) and await found.is_visible()
            why = "the text stands there" if seen else "the text is not on the screen"
            proofs[receipt.role] = Proof(seen, why, not seen)
            continue
        target = place_in(root, place.css)
        value = await value_of(target, place.attribute) if await target.count() else ""
        folded = bool(place.attribute) or group == "mini"  # a small cart is often folded up
        visible = folded or (bool(value) and await target.is_visible())
        right = _spaced(receipt.after) in _spaced(value)
        said = f"{_short(receipt.before)} became {_short(receipt.after)}"
        if not right:
            said += f", but the browser shows {_short(value)!r}"
        elif not visible:
            said += ", but nobody can see it there"
        proofs[receipt.role] = Proof(right and visible, said, not right)


async def _chosen(page: Page, site: SiteMap, session: Session, proofs: dict[str, Proof]) -> None:
    for added in session.added:
        what = added.product or added.at or added.named or "a product"
        proofs[f"choice.{added.by}"] = Proof(True, f"seen, for {_short(what)}")
    for message in site.choice.message:
        for found in await page.locator(in_browser(message.css)).all():
            said = squeezed(await found.inner_text())
            if message.words.casefold() in said.casefold() and await found.is_visible():
                proofs["choice.message"] = Proof(True, f"the page says {_short(said)}")
    if any(name in proofs for name in ("choice.request", "choice.cart")):
        proofs["product.add_to_cart"] = Proof(True, "pressed, and the product is in the cart")


async def _in_cart(
    page: Page, kind: str, session: Session, site: SiteMap, key: str, proofs: dict[str, Proof]
) -> None:
    """Compare the figures of a line of the cart, and of the cart, with those of two pieces."""
    card = await _card(page, site, kind, key) if site.role(f"{kind}.link") else None
    if card is None:
        return
    proofs[kind] = proofs[f"{kind}.link"] = Proof(True, "shows the product after the press")
    await _shown(card, session, kind, proofs, site)
    figures = {"price": PRICE, "subtotal": PRICE * _PIECES, "quantity": Decimal(_PIECES)}
    wanted = {f"{kind}.{part}": (card, value) for part, value in figures.items()}
    if kind == "row":
        wanted["cart.total"] = page.locator("html"), PRICE * _PIECES
    for role, (root, value) in wanted.items():
        if places := site.role(role):
            target = place_in(root, places[0].css)
            shown = await value_of(target, places[0].attribute) if await target.count() else ""
            right = number(shown) == value
            why = f"{_short(shown)} for {_PIECES} pieces"
            proofs[role] = Proof(right, why if right else f"{why}, not {value}")


async def _at_checkout(page: Page, site: SiteMap, key: str, proofs: dict[str, Proof]) -> None:
    """Check the type of the checkout's page, and that its figures are those of two pieces too."""
    html = (await page.evaluate(AS_DRAWN)).encode()
    shown = SentPage(html, "text/html; charset=utf-8", Marks(frozenset()), page.url)
    kind = MappedPage(shown, site).page_type
    right = kind == "checkout"
    proofs["pages.checkout"] = Proof(right, "opened" if right else f"taken for a page of the type {kind}")
    card = await _card(page, site, "row", key) if site.role("row.link") else None
    figures = {"row.price": PRICE, "row.subtotal": PRICE * _PIECES, "row.quantity": Decimal(_PIECES)}
    found = [
        (role, target, place.attribute, value)
        for role, value in figures.items() if card is not None
        for place in site.role(role)[:1]
        for target in await place_in(card, place.css).all()
    ]  # fmt: skip
    found += [
        ("cart.total", target, place.attribute, PRICE * _PIECES)
        for place in site.role("cart.total")
        for target in await page.locator(in_browser(place.css)).all()
    ]
    for role, target, attribute, value in found:
        said = await value_of(target, attribute)
        if number(said) != value:
            proofs[role] = Proof(False, f"{_short(said)} for {_PIECES} pieces at the checkout, not {value}")


def _spaced(text: str) -> str:
    """The text for a comparison: any space, also one that does not break, is one."""
    return " ".join(text.casefold().split())


def _short(text: str) -> str:
    text = squeezed(text)
    return text if len(text) <= 50 else text[:49] + "…"
