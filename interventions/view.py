"""What a page shows: its type, the product whose own page it is, and each place where a product shows."""

from collections.abc import Container, Iterator
from functools import cached_property
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from interventions.data import Document
from interventions.edits.base import Showing
from interventions.errors import CannotEdit
from interventions.page import Page
from interventions.sitemap import Data, SiteMap, product_key


class Embedded(NamedTuple):
    """Data in the text of an element, or in its `attribute`, and where products show in them."""

    node: LexborNode
    attribute: str | None
    document: Document
    rules: list[Data]


class View:
    """A page as the site map sees it; `planned`: products that its address may name, if the page does not."""

    def __init__(self, page: Page, site: SiteMap, planned: Container[str] = ()) -> None:
        self.page, self.site, self.planned = page, site, planned

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
        """The product whose own page it is: the one that the page names, else that of the address."""
        if self.page_type != "product":
            return None
        named, address = self.key(Showing(self.page, self.site, "product")), product_key(self.page.url)
        return named if named and (named in self.planned or address not in self.planned) else address

    def key(self, showing: Showing) -> str:
        """The product that its link leads to; empty without a link."""
        link = next(showing.all(f"{showing.group}.link"), None)
        return product_key(showing.value(link), self.page.url) if link else ""

    def showings(self) -> Iterator[tuple[str, Showing]]:
        """Where which product shows: on its own page, in each card or row; at last the page itself."""
        if self.product:
            yield self.product, Showing(self.page, self.site, "product")
        for group in self.site.cards:
            for place in self.site.role(group):
                for card in self.page.find(place.css):
                    showing = Showing(self.page, self.site, group, card)
                    yield self.key(showing), showing
        yield self.product or "", Showing(self.page, self.site, "page")

    def documents(self) -> Iterator[Embedded]:
        """The data that the page embeds. What is no JSON shows nothing."""
        rules: dict[tuple[str, str | None], list[Data]] = {}
        for data in self.site.data:
            if data.css:
                rules.setdefault((data.css, data.attribute), []).append(data)
        for (css, attribute), known in rules.items():
            for node in self.page.find(css):
                try:
                    yield Embedded(node, attribute, Document(self.page.raw(node, attribute)), known)
                except CannotEdit:
                    continue
