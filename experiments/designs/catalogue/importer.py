"""Read a running shop's listing pages, one after the other, into a catalogue."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit

import httpx
from bs4 import BeautifulSoup, Tag

from environments.browser.download import downloaded
from experiments.designs.catalogue.menu import LeafCategory, chosen, listed, menu_of
from experiments.designs.catalogue.partial_file import PartialFile
from experiments.designs.inputs.csv_rows import read_rows
from interventions.apply.plan import ProductFacts
from interventions.authoring.page_facts import page_facts
from interventions.edits.place_values import best_at
from interventions.errors import CannotEdit, UserError
from interventions.html import charset
from interventions.yaml.sitemap import SiteMap
from proxy.allow_list import WEB_PORTS
from proxy.trust import trusting

PER_PAGE: Final = 36
"""The most products that the shop lists on a page."""

_TIMEOUT_S: Final = 60.0
_NEXT: Final = "a.action.next[href]"
_NUMBERS: Final = "#toolbar-amount .toolbar-number"
_FORM: Final = "form[data-role=tocart-form][action]"
_OUT_OF_STOCK: Final = ".stock.unavailable"


@dataclass(slots=True)
class Progress:
    """The state of an import, and what it has done.

    `products` are those in the file, `added` those of them that are new; `fetched` pages were read.
    """

    categories: int = 0
    read: int = 0
    category: str = ""
    page: int = 0
    pages: int = 1
    products: int = 0
    added: int = 0
    out_of_stock: int = 0
    fetched: int = 0

    @property
    def share(self) -> float:
        """The share of the categories that is read, from 0 to 1; the present one counts by its pages."""
        return (self.read + min(1.0, self.page / self.pages)) / self.categories if self.categories else 0.0

    @property
    def complete(self) -> bool:
        """Whether every category was read to its end."""
        return 0 < self.categories == self.read


class Importer:
    """Imports the catalogue of the shop at `base` into `out`; an existing file is continued.

    It reads one page at a time, over one connection, from the host of `base` only, and at most `limit` pages.
    The shop is one whose listings are those of One Stop Market, or the addresses of its listings are given;
    `site` is its map, with the role `item`.
    Raises UserError when the map lacks it.
    """

    def __init__(
        self,
        base: str,
        out: Path,
        site: SiteMap,
        limit: int | None = None,
        upstream_ca: Path | None = None,
    ) -> None:
        self.progress = Progress()
        self._base, self._out, self._site, self._limit = base, out, site, limit
        self._trust = trusting(upstream_ca)
        if not site.role("item") or not site.role("item.link"):
            raise UserError(f"--site {site.name}: has no roles item and item.link; add them")
        self._item = site.role("item")[0].css

    async def run(self, wanted: Iterable[str]) -> AsyncIterator[Progress]:
        """Import the categories named `wanted`, or all when none is named; yield after every page.

        Raises:
            UserError: the shop or the file cannot be read, a category is unknown.
        """
        file = PartialFile(self._out)
        self.progress.products = len(file.keys)
        async with self._client() as client:
            categories = await self._categories(client, list(wanted))
            self.progress.categories = len(categories)
            for category in categories:
                self.progress.category, self.progress.page, self.progress.pages = category.label, 0, 1
                while (page := file.next_page(category.url)) is not None:
                    if self._limit is not None and self.progress.fetched >= self._limit:
                        return
                    await self._import_page(client, category, page, file)
                    yield self.progress
                self.progress.read += 1
                self.progress.page = 0
        file.finish()

    async def _categories(self, client: httpx.AsyncClient, wanted: list[str]) -> list[LeafCategory]:
        given = listed(wanted, self._base)
        names = [name for name in wanted if "=" not in name]
        if given and not names:
            return given
        start, content_type = await self._fetch(client, self._base)
        return [*chosen(menu_of(_soup(start, content_type), self._base), names, self._base), *given]

    async def _import_listed(
        self, client: httpx.AsyncClient, category: LeafCategory, file: PartialFile
    ) -> None:
        """Append the products on one page, whose address was given."""
        body, content_type = await self._fetch(client, category.url)
        try:
            facts = page_facts(body, content_type=content_type, url=category.url, site=self._site)
        except CannotEdit as error:
            raise UserError(f"{category.url}: cannot be read ({error}); is it a listing?") from None
        if not facts.products or facts.page_type == "product":
            drawn = "; its scripts may draw them later" if self._site.drawn else ""
            raise UserError(
                f"{category.url}: the site map {self._site.name} finds no products listed there "
                f"(item, item.link){drawn}"
            )
        new = []
        for key, product in facts.products.items():
            if key not in file.keys:
                url = urljoin(category.url, facts.links[key])
                whole = await self._completed(client, product, url)
                new.append(_row(category, whole, None, category.url, url))
        file.add(category.url, new, None)
        self.progress.added += len(new)
        self.progress.products += len(new)
        self.progress.page = self.progress.pages = 1

    async def _completed(self, client: httpx.AsyncClient, card: ProductFacts, url: str) -> ProductFacts:
        """Return a product with what its card does not show and its own page does: rating and reviews."""
        missing = [
            part
            for part in ("rating", "reviews")
            if getattr(card, part) is None and self._site.role(f"product.{part}")
        ]
        if not missing or _host(url) != _host(self._base):
            return card
        body, content_type = await self._fetch(client, url)
        try:
            own = page_facts(body, content_type=content_type, url=url, site=self._site).products
        except CannotEdit:
            return card
        found = own.get(card.key)
        return replace(card, **{part: getattr(found, part) for part in missing}) if found else card

    async def _import_page(
        self, client: httpx.AsyncClient, category: LeafCategory, page: int, file: PartialFile
    ) -> None:
        """Append a listing page's products."""
        if category.listed:
            return await self._import_listed(client, category, file)
        url = f"{category.url}?{urlencode({'product_list_limit': PER_PAGE, 'p': page})}"
        body, content_type = await self._fetch(client, url)
        soup = _soup(body, content_type)
        try:
            shown = page_facts(body, content_type=content_type, url=url, site=self._site).products
        except CannotEdit as error:
            raise UserError(f"{url}: cannot be read ({error}); is it a listing?") from None
        cards = {key: card for card in soup.select(self._item) if (key := self._key(card, url)) in shown}
        offered = {key: card for key, card in cards.items() if not card.select_one(_OUT_OF_STOCK)}
        following = page + 1 if cards and soup.select_one(_NEXT) else None
        if category.again and not file.knows(category.url) and file.keys.issuperset(offered):
            following = None  # the menu leads to one category from two departments
        else:
            self.progress.out_of_stock += len(cards) - len(offered)
        new = {key: card for key, card in offered.items() if key not in file.keys}
        rows = [_row(category, shown[key], card, url) for key, card in new.items()]
        file.add(category.url, rows, following)
        self.progress.added += len(new)
        self.progress.products += len(new)
        self.progress.page, self.progress.pages = page, _pages(soup, page)

    def _key(self, card: Tag, page: str) -> str:
        place = self._site.role("item.link")[0]
        link = card.select_one(place.css)
        return self._site.key(str(link.get(place.attribute or "href") or ""), page) if link else ""

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        host = _host(self._base)

        async def guard(request: httpx.Request) -> None:
            if _host(str(request.url)) != host:
                raise UserError(
                    f"{self._base}: redirects to another host, {request.url.host}; "
                    "give that address, or mend the shop's base URL"
                )

        async with httpx.AsyncClient(
            verify=self._trust,
            follow_redirects=True,
            timeout=_TIMEOUT_S,
            limits=httpx.Limits(max_connections=1),
            event_hooks={"request": [guard]},
        ) as client:
            yield client

    async def _fetch(self, client: httpx.AsyncClient, url: str) -> tuple[bytes, str]:
        again = "the same command goes on where this one stopped"
        unreached = f"is the shop running? {again}"
        answer, body = await downloaded(client, url, unreached=unreached, refused=again)
        self.progress.fetched += 1
        return body, answer.headers.get("content-type", "text/html")


def import_notes(out: Path, site: SiteMap) -> Iterator[str]:
    """Say which of price and rating no imported product has, and what ratings were read as."""
    rows = read_rows(str(out)).rows
    for part in ("price", "rating"):
        known = sum(part in row.cells for row in rows)
        if rows and not known:
            finds = f"the site map {site.name} finds none (item.{part}, product.{part})"
            yield f"no product has a {part}: {finds}, and without it none enters a choice set"
        elif part == "rating" and rows:
            places = [place for role in ("item.rating", "product.rating") for place in site.role(role)]
            scales = ", ".join(sorted({f"out of {best_at(place) or 100}" for place in places}))
            yield f"{known:,} ratings, in percent; read as {scales or 'the data say'}"


def _soup(body: bytes, content_type: str) -> BeautifulSoup:
    return BeautifulSoup(body.decode(charset.detect(body, content_type)[0], "replace"), "html.parser")


def _row(
    category: LeafCategory, product: ProductFacts, card: Tag | None, page: str, url: str = ""
) -> dict[str, object]:
    # A product with required options is sent to its own page by the button of its card.
    form = card.select_one(_FORM) if card else None
    return {
        "category": category.label,
        "name": product.name,
        "key": product.key,
        "price": "" if product.price is None else f"{product.price:.2f}",
        "rating": "" if product.rating is None else product.rating,
        "reviews": product.reviews or 0,
        "has_options": "" if form is None else str("options=cart" in str(form["action"])).lower(),
        "url": url,
        "list": page,
    }


def _pages(soup: BeautifulSoup, page: int) -> int:
    """Of `Items 37-72 of 523`, how many pages there are."""
    numbers = [int(text) for node in soup.select(_NUMBERS) if (text := node.get_text().strip()).isdecimal()]
    return max(page, ceil(numbers[2] / PER_PAGE)) if len(numbers) == 3 else page


def _host(url: str) -> str:
    """Host and port. Raises UserError."""
    try:
        parts = urlsplit(url)
        port = parts.port or WEB_PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise UserError(f"{url}: not the address of a shop; write it like http://127.0.0.1:7770/") from None
    return f"{parts.hostname}:{port}"
