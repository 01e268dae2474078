"""Propose a site map for a running shop: fetch its pages, find a listing, check the proposal."""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Response, Route

from environments.browser.download import LARGEST, downloaded
from environments.browser.pool import run_browsers
from environments.observation.settling import STILL
from interventions.data_file import read_source
from interventions.errors import UserError
from interventions.html import charset
from interventions.html.content_type import is_json
from interventions.html.tree import select
from interventions.proposal.check import faults
from interventions.proposal.data import FetchedAnswer
from interventions.proposal.scan import Capture, Scan
from interventions.proposal.site import Proposal, cards_on, first_product, propose
from interventions.yaml.sitemap import SiteMap, load_site_map, product_key
from proxy.trust import keys_of, trusting

PATIENCE_S: Final = 20.0
STILL_MS: Final = 300
STIRRING_MS: Final = 3_000
AS_DRAWN: Final = read_source(__file__, "as_drawn.js")
"""Returns the HTML of the page as it is drawn, with open shadow trees as templates, as shops send them."""


@dataclass(frozen=True)
class SiteMapping:
    """A proposal, the pages as the shop sends them, and the hosts that may be contacted.

    `trusted`: the keys of the shop's own certificates (see `proxy.trust.keys_of`).
    """

    proposal: Proposal
    product: Capture
    listing: Capture | None
    hosts: frozenset[str]
    trusted: tuple[str, ...] = ()
    cart: str = ""
    """The address of the cart's page; empty where it is not known."""
    checkout: str = ""
    """The address of the checkout's page; empty where it is not known."""
    render: bool = False
    """Whether pages are looked at as they are after their scripts ran."""


async def map_site(
    url: str,
    listing_url: str | None,
    *,
    name: str,
    render: bool = False,
    follow: int = 6,
    upstream_ca: Path | None = None,
) -> SiteMapping:
    """Fetch the pages and propose a map.

    Without `listing_url` at most `follow` of the page's own links are tried; only the hosts of the two
    addresses are contacted. `render`: propose from what stands in a browser after the page's scripts ran.

    Raises:
        UserError: a page cannot be fetched.
    """
    hosts = frozenset(_host(address) for address in (url, listing_url) if address)
    headers = {"user-agent": "Mozilla/5.0 (compatible; Souk)"}
    async with httpx.AsyncClient(
        verify=trusting(upstream_ca), timeout=PATIENCE_S, headers=headers, trust_env=False
    ) as client:
        product = await _fetch(client, url, hosts)
        listed = first_product(product) if listing_url is None else None
        if render and listing_url is None and listed is None:
            listed = await _drawn_first(product, hosts, upstream_ca)
        if listed is not None:
            listing: Capture | None = product
            product = await _fetch(client, listed, hosts)
        elif listing_url:
            listing = await _fetch(client, listing_url, hosts)
        else:
            listing = await _find_listing(client, product, hosts, follow)
        home = await _home(client, product, hosts)
    sent = [product, *([listing] if listing else [])]
    trusted = await keys_of((page.url for page in sent), upstream_ca)
    if render:
        urls = [page.url for page in (*sent, *([home] if home else []))]
        shown, answers = await rendered(urls, hosts, trusted)
        home = shown[-1] if home else None
        proposal = propose(
            name, shown[0], shown[1] if listing else None, raw=sent, answers=answers, home=home
        )
        if proposal.drawn:
            product, listing = shown[0], shown[1] if listing else None
    else:
        proposal = propose(name, product, listing, home=home)
    return SiteMapping(proposal, product, listing, hosts, trusted, render=render)


async def _drawn_first(page: Capture, hosts: frozenset[str], upstream_ca: Path | None) -> str | None:
    """The first product that a page lists once its scripts have drawn it; None: it lists none."""
    (drawn,), _ = await rendered([page.url], hosts, await keys_of([page.url], upstream_ca))
    return first_product(drawn)


def save(mapped: SiteMapping, file: Path, *, anew: bool = False) -> tuple[SiteMap, list[str]]:
    """Write the YAML of the map; `anew`: over the one that was written before.

    Returns the map, and a line for each edit that does not work with it. Raises UserError.
    """
    try:
        with file.open("w" if anew else "x", encoding="utf-8") as out:
            out.write(mapped.proposal.to_yaml())
    except FileExistsError:
        raise UserError(
            f"{file}: exists and is not overwritten; choose another with --out or --name"
        ) from None
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror}); choose another with --out") from None
    site = load_site_map(file)
    return site, faults(site, mapped.product, mapped.listing)


def default_name(url: str) -> str:
    """Return a name for a shop's map: its host, in letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", urlsplit(url).netloc.lower().removeprefix("www.")).strip("-") or "shop"


async def rendered(
    urls: list[str], hosts: frozenset[str], trusted: Sequence[str] = ()
) -> tuple[list[Capture], list[FetchedAnswer]]:
    """Return the pages as they are after their scripts ran, and the JSON that these fetched.

    Raises UserError.
    """
    async with run_browsers(trusted=trusted) as pool, pool.context(None) as context:
        captures, answers = list[Capture](), list[tuple[Response, str]]()
        await context.route("**/*", keep_to(hosts))
        for url in urls:
            page = await context.new_page()
            page.on("response", partial(_note, answers, url))
            try:
                await page.goto(url, wait_until="networkidle", timeout=PATIENCE_S * 1000)
                await still(page)
                captures.append(Capture(page.url, await page.evaluate(AS_DRAWN)))
            except PlaywrightError as error:
                raise UserError(
                    f"{url}: cannot be rendered ({str(error).splitlines()[0]}); try without --render"
                ) from None
        texts = [
            FetchedAnswer(answer.url, text, url)
            for answer, url in answers
            if is_json(answer.headers.get("content-type", "")) and (text := await _text(answer))
        ]
    return captures, texts


async def still(page: Page) -> None:
    """Wait until a page's scripts no longer draw, at the longest for `STIRRING_MS`.

    That no request is under way does not tell it: what came may be drawn later, on a busy machine much later.
    """
    await page.evaluate(STILL, [STILL_MS, STIRRING_MS])


def _note(answers: list[tuple[Response, str]], page: str, answer: Response) -> None:
    answers.append((answer, page))


async def _text(answer: Response) -> str:
    """The text of an answer; empty where it is gone or too long."""
    try:
        body = await answer.body()
    except PlaywrightError:
        return ""
    return body.decode("utf-8", "replace") if len(body) <= LARGEST else ""


def keep_to(hosts: frozenset[str]) -> Callable[[Route], Awaitable[None]]:
    """Return a route that lets a browser contact these hosts and no others."""

    async def answer(route: Route) -> None:
        parts = urlsplit(route.request.url)
        if parts.netloc in hosts or parts.scheme not in ("http", "https"):
            await route.continue_()
        else:
            await route.abort()

    return answer


async def _fetch(client: httpx.AsyncClient, url: str, hosts: frozenset[str]) -> Capture:
    """A page, through redirects within the hosts."""
    for _ in range(10):
        if _host(url) not in hosts:
            raise UserError(
                f"{url}: the shop redirects to another host; give that address if it is the one meant"
            )
        answer, body = await downloaded(client, url)
        if not answer.is_redirect:
            break
        url = urljoin(url, answer.headers["location"])
    else:
        raise UserError(f"{url}: the shop redirects for ever; check the address")
    codec, _ = charset.detect(body, answer.headers.get("content-type", ""))
    return Capture(str(answer.url), body.decode(codec, "replace"))


async def _home(client: httpx.AsyncClient, product: Capture, hosts: frozenset[str]) -> Capture | None:
    """The shop's first page, unless it is the product's own."""
    with suppress(UserError):
        home = await _fetch(client, urljoin(product.url, "/"), hosts)
        return home if product_key(home.url) != product_key(product.url) else None
    return None


async def _find_listing(
    client: httpx.AsyncClient, product: Capture, hosts: frozenset[str], follow: int
) -> Capture | None:
    """Of the pages that the product's page links to: one with the product, else that with the most cards."""
    best, most, shown = None, 0, cards_on(product)
    for url in _likely_listings(product)[:follow]:
        try:
            page = await _fetch(client, url, hosts)
        except UserError:
            continue
        keys = cards_on(page)
        if product_key(page.url) in shown:
            continue  # a product's page too
        if product_key(product.url) in keys:
            return page
        if len(keys) > most:
            best, most = page, len(keys)
    return best


def _likely_listings(product: Capture) -> list[str]:
    """The page's links within the shop, those first that are in bread crumbs or say so."""
    scan = Scan(product)
    own = urlsplit(product.url)
    scored: dict[str, float] = {}
    for index, node in enumerate(select(scan.tree, "a[href]")):
        address = urljoin(product.url, (node.attributes.get("href") or "").strip()).partition("#")[0]
        parts = urlsplit(address)
        if parts.netloc != own.netloc or product_key(address) in ("", scan.key):
            continue
        around = node.parent.parent if node.parent is not None else None
        named = f"{address} {(around.attributes.get('class') or '') if around is not None else ''}".lower()
        score = -index / 1000
        score += 4 * bool(re.search("breadcrumb", named))
        score += 3 * (scan.key.startswith(product_key(address) + "/"))
        score += 2 * bool(re.search(r"categor|collection|catalog|shop|products?(?:/|$)", named))
        score -= 5 * bool(
            re.search(r"cart|basket|account|login|register|wishlist|contact|about|review|\?", address)
        )
        scored[address] = max(score, scored.get(address, -9.0))
    return sorted(scored, key=lambda address: -scored[address])


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserError(f"{url}: not the address of a page; write it like https://shop.example/product")
    return parts.netloc
