"""Find what a page shows: its type, the product that it is about, and each place where a product shows."""

import re
from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.apply.product_json import Document
from interventions.edits.showing import ProductPlace
from interventions.errors import CannotEdit
from interventions.html.page import Page
from interventions.yaml.sitemap import STAGES, Data, SiteMap

_JSON_TYPE: Final = re.compile(r"""\[type=("application/(?:ld\+)?json"|'application/(?:ld\+)?json')\]""")
"""Pages write the type with parameters, spaces and capitals too."""
NONE_KNOWN: Final[Mapping[str, str]] = {}


def product_at(url: str, known: Mapping[str, str], site: SiteMap, page: str = "") -> str:
    """Return the product that has its page at an address: a known product, else the key in the address.

    A relative `url` is read as one on `page`.
    """
    key = site.key(url, page)
    return known.get(key, key)


class _Embedded(NamedTuple):
    """Data in the text of an element, or in its `attribute`, and the rules for finding products in them."""

    node: LexborNode
    attribute: str | None
    document: Document
    rules: list[Data]


class MappedPage:
    """A page as the site map describes it.

    `planned`: the products that the page's address may name when the page itself does not.
    `known`: the key of an address (`SiteMap.key`) -> the product that has its page there, where a shop's
    addresses do not end in the products' own keys.
    `moved`: the page's scripts have moved on to another address since it came. Then the address says what the
    page is about: what the page names may be left from before.
    """

    def __init__(
        self,
        page: Page,
        site: SiteMap,
        planned: Container[str] = (),
        known: Mapping[str, str] = NONE_KNOWN,
        *,
        moved: bool = False,
    ) -> None:
        self.page, self.site, self.planned, self.known, self.moved = page, site, planned, known, moved

    @cached_property
    def page_type(self) -> str:
        """The first type whose test the page passes."""
        for name, test in self.site.pages.items():
            if test.css and self.page.has(test.css):
                return name
            if test.title and self.page.title() == test.title:
                return name
        return "other"

    @cached_property
    def product(self) -> str | None:
        """The product that the page is about: the one that the page names, else the one of its address."""
        if self.page_type != "product":
            return None
        named, address = self.key(ProductPlace(self.page, self.site, "product")), self.at(self.page.url)
        if self.moved:
            return address
        return named if named and (self._is_meant(named) or not self._is_meant(address)) else address

    def _is_meant(self, product: str) -> bool:
        return product in self.planned or (product != "" and product in self.known.values())

    def key(self, showing: ProductPlace) -> str:
        """Return the key of the product that a showing links to, or names; empty without a link."""
        link = next(showing.all(f"{showing.group}.link"), None)
        address = showing.names(link) if link else None
        if address is None:
            return ""
        named = self.site.key(address)
        return named if named in self.known.values() else self.at(address)

    def _is_template(self, showing: ProductPlace) -> bool:
        """Return whether a card is one that scripts will copy and fill: hidden, with a link to nowhere."""
        link = next(showing.all(f"{showing.group}.link"), None)
        nowhere = link is not None and (showing.names(link) or "").strip() in ("", "#")
        return nowhere and any(map(_is_hidden, _around(showing.root)))

    def at(self, url: str) -> str:
        """Return the product that has its page at an address."""
        return product_at(url, self.known, self.site, self.page.url)

    def showings(self) -> Iterator[tuple[str, ProductPlace]]:
        """Yield each place where a product shows, with the product's key.

        These are the product's own page, each card or row, and at last the page as a whole, and as one on the
        way to an order. The key is empty where no product is known.
        """
        if self.product:
            yield self.product, ProductPlace(self.page, self.site, "product")
        for group in self.site.cards:
            for place in self.site.role(group):
                for card in self.page.find(place.css):
                    showing = ProductPlace(self.page, self.site, group, card)
                    if not self._is_template(showing):
                        yield self.key(showing), showing
        yield self.product or "", ProductPlace(self.page, self.site, "page")
        if self.page_type in STAGES:
            yield "", ProductPlace(self.page, self.site, self.page_type)

    def documents(self) -> Iterator[_Embedded]:
        """Yield the data that the page embeds; what is not JSON holds no products."""
        rules: dict[tuple[str, str | None], list[Data]] = {}
        for data in self.site.data:
            if data.css:
                rules.setdefault((data.css, data.attribute), []).append(data)
        for (css, attribute), known in rules.items():
            for node in self.page.find(_JSON_TYPE.sub(r"[type*=\1 i]", css)):
                try:
                    yield _Embedded(node, attribute, Document(self.page.raw(node, attribute)), known)
                except CannotEdit:
                    continue


def _around(node: LexborNode | None) -> Iterator[LexborNode]:
    while node is not None:
        yield node
        node = node.parent


def _is_hidden(node: LexborNode) -> bool:
    style = "".join((node.attributes.get("style") or "").lower().split())
    return "hidden" in node.attributes or "display:none" in style
