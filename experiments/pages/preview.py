"""Preview one intervention on one page: the page is fetched, and rewritten just as the proxy would."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from environments.browser.download import downloaded
from environments.shop.catalogue import Product
from environments.shop.shop import USUAL, Shop
from experiments.designs.loading import embedded_shop
from interventions.apply.engine import EditFailed, Receipt, rewrite
from interventions.apply.following import left_behind
from interventions.apply.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.authoring.page_facts import data_facts, page_facts
from interventions.errors import CannotEdit, UserError
from interventions.files.schema import Intervention
from interventions.html import charset
from interventions.html.content_type import is_html, is_json
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import STAGES, SiteMap, product_key
from interventions.yaml.yaml_source import YamlError, did_you_mean
from proxy.trust import keys_of, trusting

PATH: Final = "path"
"""In an address: a product's page, the cart, the checkout and the order, one after the other."""
_PLACE: Final = "checkout/onepage/saveOrder/"
_CUSTOMER: Final = {
    "email": "kim@example.org", "firstname": "Kim", "lastname": "Sample", "street": "1 Example Street",
    "city": "Springfield", "postcode": "01101", "telephone": "555 0100",
}  # fmt: skip
_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True)
class FetchedPage:
    """A page as its shop sent it."""

    url: str
    content_type: str
    body: bytes
    shop: Shop = USUAL

    def text(self, body: bytes) -> str:
        """Return a version of the page, decoded as a browser would."""
        return body.decode(charset.detect(body, self.content_type)[0], "replace")


@dataclass(frozen=True)
class Preview:
    """A page without and with an intervention; `products` are those that carry it."""

    page: FetchedPage
    after: bytes
    page_type: str
    products: tuple[ProductFacts, ...]
    receipts: tuple[Receipt, ...]
    plan: Plan
    site: SiteMap
    left: str = ""
    """Which amounts near the price do not follow a new one; empty: none."""


@asynccontextmanager
async def fetched(
    url: str, product: str | None, upstream_ca: Path | None = None, *, drawn: bool = False
) -> AsyncIterator[FetchedPage]:
    """Fetch the page at `url`, or an answer in JSON; `drawn`: a page is opened in the browser.

    `shop:KEY`, `shop:/path`, `shop:cart`, `shop:checkout` and `shop:order` are pages of the embedded shop,
    which runs as long as the block; with an experiment's file in place of `shop` it sells the experiment's
    products.
    Raises UserError.
    """
    place, colon, target = url.partition(":")
    if not colon or target.startswith("//"):
        if place not in ("http", "https"):
            raise UserError(
                f"{url}: no address of a page; write http://..., or shop:KEY, shop:/, shop:cart or shop:path"
            )
        client = httpx.AsyncClient(verify=trusting(upstream_ca), follow_redirects=True, timeout=_TIMEOUT_S)
        async with client:
            page = await _fetch(url, client)
        yield await _as_drawn(page, upstream_ca) if drawn and is_html(page.content_type) else page
        return
    shop = embedded_shop(place)
    async with shop.opened() as base:
        if target in STAGES:
            page = await _on_the_way(target, place, shop, base, product)
        elif target.startswith("/") or not target:
            page = await _fetch(base + target.lstrip("/"))
        else:
            page = await _fetch(f"{base}{_known_key(place, shop, target)}.html")
        yield replace(page, shop=shop)


async def _as_drawn(page: FetchedPage, upstream_ca: Path | None) -> FetchedPage:
    """The page as its scripts have drawn it."""
    from experiments.pages.site_mapping import rendered  # noqa: PLC0415 - a browser is not always needed

    hosts = frozenset({urlsplit(page.url).netloc})
    (shown,), _ = await rendered([page.url], hosts, await keys_of([page.url], upstream_ca))
    return FetchedPage(shown.url, "text/html; charset=utf-8", shown.html.encode())


def _known_key(place: str, shop: Shop, text: str) -> str:
    key, catalogue = product_key(text), {product.key for product in shop.catalogue.products}
    if key not in catalogue:
        raise UserError(f"{place}:{text}: the shop has no such product; {_near(key, catalogue, place)}")
    return key


def _near(key: str, known: Iterable[str], place: str = "shop") -> str:
    """Of a long list of keys only a close one is worth naming."""
    return did_you_mean(key, known, otherwise=f"find a key at {place}:/")


async def _fetch(url: str, client: httpx.AsyncClient | None = None) -> FetchedPage:
    if client is None:
        async with httpx.AsyncClient(follow_redirects=True, timeout=_TIMEOUT_S) as own:
            return await _fetch(url, own)
    unreached = "is the shop running, and the address right?"
    answer, body = await downloaded(client, url, "text/html, application/json;q=0.9", unreached=unreached)
    return FetchedPage(str(answer.url), answer.headers.get("content-type", ""), body)


def _for_sale(shop: Shop) -> list[Product]:
    """The products that need no choice of an option."""
    return [item for item in shop.catalogue.products if item.in_stock and not item.options]


async def _on_the_way(stage: str, place: str, shop: Shop, base: str, key: str | None) -> FetchedPage:
    """The cart with one product in it, the checkout, or the page of the order."""
    products = _for_sale(shop)
    wanted = _known_key(place, shop, key) if key else products[0].key
    found = [item for item in products if item.key == wanted]
    if not found:
        raise UserError(f"--product {key}: has options or is out of stock; choose another for the cart")
    async with httpx.AsyncClient(follow_redirects=True, timeout=_TIMEOUT_S) as client:
        await client.get(base)
        form = {"qty": "1", "form_key": client.cookies["form_key"]}
        await client.post(f"{base}checkout/cart/add/uenc/x/product/{found[0].id}/", data=form)
        if stage == "order":
            await client.post(f"{base}{_PLACE}", data={**form, **_CUSTOMER})
            return await _fetch(f"{base}checkout/onepage/success/", client)
        return await _fetch(f"{base}checkout/{'cart/' if stage == 'cart' else ''}", client)


def site_of(url: str, site: str) -> str:
    """Return the site map for an address: pages behind the embedded shop's cart have a map of their own."""
    return "embedded" if site == "onestopmarket" and url.partition(":")[2] in (PATH, *STAGES[1:]) else site


def on_path(url: str, product: str | None) -> list[str]:
    """Return the addresses of the pages on the way to an order, where `url` is such a path; else itself.

    product: the one that is bought; None: the first that can be. Raises UserError.
    """
    place, _, target = url.partition(":")
    if target != PATH:
        return [url]
    key = product or next(iter(_for_sale(embedded_shop(place)))).key
    return [f"{place}:{each}" for each in (key, *STAGES)]


def preview(
    page: FetchedPage,
    intervention: Intervention,
    site: SiteMap,
    *,
    product: str | None = None,
    values: Mapping[str, str],
    must_change: bool = True,
) -> Preview:
    """Apply one intervention to a page.

    It applies to the product that the page is about, else to `product`, else to all products that the page
    shows. `values` are variables; `product.category` and its like stand for what the page does not say.
    Raises UserError when the page cannot be treated, or is not changed though it must be.
    """
    place = f"{page.url}: cannot be treated"
    is_data = is_json(page.content_type) and site.loads(page.url)
    if not is_data and not is_html(page.content_type):
        why = ""
        if is_json(page.content_type):
            why = f", and the site map {site.name} has no data with this url"
        raise UserError(f"{place}: it is no page but {page.content_type}{why}; give the address of a page")
    try:
        if is_data:
            facts = data_facts(page.text(page.body), page.url, site)
        else:
            facts = page_facts(page.body, content_type=page.content_type, url=page.url, site=site)
    except CannotEdit as error:
        raise UserError(f"{place}: {error}; try another page") from None
    carriers = _carriers(facts.products, product, page.url, intervention, site)
    if _needs_category(intervention):
        known = {item.key: item.category for item in page.shop.catalogue.products}
        given = values.get("product.category", "")
        carriers = [
            replace(item, category=given or item.category or known.get(item.key, "")) for item in carriers
        ]
    everywhere = intervention.kind in ("display", "pattern") or not carriers
    if intervention.card is not None:
        raise UserError(
            f"{intervention.id} is a card, not a change to a page; look at it with souk interventions show, "
            f"or as a page: python -m interventions.files FILE {intervention.id} --page"
        )
    targets = [None] if everywhere else carriers
    plan = Plan(tuple(_treatment(intervention, target, values) for target in targets))
    try:
        came = page.url if site.drawn and not is_data else None
        done = rewrite(
            page.body, content_type=page.content_type, url=page.url, plan=plan, site=site, came=came
        )
    except EditFailed as error:
        raise UserError(
            f"{place}: {error.edit} {error.role}: {error.reason}; "
            "choose another role or page, or mend the site map"
        ) from None
    if not done.receipts and must_change:
        pages = ", ".join(intervention.pages) or "all pages that show what it edits"
        raise UserError(
            f"{place}: {intervention.id} changes nothing on a page of the type {facts.page_type}; "
            f"it is for {pages}: try another address or --site"
        )
    treated = {receipt.product for receipt in done.receipts}
    products = tuple(item for item in facts.products.values() if item.key in treated)
    left = ""
    if not is_data and "price" in plan.leftovers.values():
        left = left_behind(Page(page.body, page.content_type, Marks(frozenset()), page.url), site)
    return Preview(page, done.body, facts.page_type, products, done.receipts, plan, site, left)


def _carriers(
    shown: Mapping[str, ProductFacts], wanted: str | None, url: str, intervention: Intervention, site: SiteMap
) -> Sequence[ProductFacts]:
    if wanted is None:
        several = list(shown.values())
        # What only one product can be, the last one of a list can be to the greatest effect.
        return several[-1:] if any(edit.one_product for edit in intervention.edits) else several
    key = site.key(wanted)
    if key not in shown:
        raise UserError(f"--product {wanted}: not on {url}; {_near(key, shown)}")
    return [shown[key]]


def _needs_category(intervention: Intervention) -> bool:
    return bool(intervention.tables) or "product.category" in intervention.model_dump_json()


def _treatment(
    intervention: Intervention, product: ProductFacts | None, values: Mapping[str, str]
) -> Treatment:
    try:
        return compile_treatment(intervention, product, **values)
    except YamlError as error:
        problem = error.problems[0]
        cause, lacks, rest = problem.message.partition(" has no ")
        if lacks and product is not None:
            fact = rest.partition(";")[0]
            message = f"{cause} has no {fact} that this page tells; give it with --var product.{fact}=VALUE"
            raise YamlError([replace(problem, message=message)]) from None
        raise
