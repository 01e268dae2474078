"""link_to: in lists, the links of a product's card lead to another product."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import ClassVar, Final
from urllib.parse import urldefrag, urljoin, urlsplit

from pydantic import BaseModel

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.in_browser import ElementQuery, PagePlaces, Verdict, is_one_of
from interventions.edits.reorder import key, product_of, siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import PageType, SiteMap

_LINKS: Final = ElementQuery("a[href]", "href")


class LinkTo(Edit, BaseModel, frozen=True, extra="forbid"):
    """Makes the links of the product's card lead to the product of this key, in lists that show both.

    The new address ends in `#` and eight characters, by which Souk knows the card; no shop is sent them.
    """

    leftover: ClassVar[Leftover] = ""
    one_product: ClassVar[bool] = True
    pages: ClassVar[tuple[PageType, ...]] = ("listing",)

    to: Text

    def roles(self) -> tuple[str, ...]:
        return ("item", "item.link", f"css:{_LINKS.css}")

    def leads_to(self, site: SiteMap) -> str:
        return site.key(self.to)

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        yield _LINKS

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        links, is_new = there.every(_LINKS), is_one_of(_path(change.after) for change in done)
        changed = tuple(each for each in links if is_new(_path(each.text)))
        old = {_path(change.before).partition("#")[0] for change in done}
        lost = len(changed) < min((change.matches for change in done), default=1)
        if lost or any(_path(each.text).partition("#")[0] in old for each in links):
            return Verdict("its links do not lead to the other product")
        return Verdict(at=tuple(replace(each, given=None) for each in changed))  # who follows it is treated

    def apply(self, showing: ProductPlace) -> Change | None:
        (card, cards), page, site = siblings(showing), showing.page, showing.site
        wanted, product, own = self.leads_to(site), product_of(showing, card), key(showing, card)
        if wanted == product:
            raise CannotEdit(f"{wanted} is the product itself; name another one")
        target = next((key(showing, each) for each in cards if product_of(showing, each) == wanted), None)
        if target is None:
            return None
        if len({urlsplit(urljoin(page.url, each)).netloc for each in (own, target)}) > 1:
            raise CannotEdit(f"{target} is at another host than {own}")
        name = blake2b(f"{product} {wanted}".encode(), digest_size=4).hexdigest()
        links = [
            node
            for node in page.find(_LINKS.css, card)
            if site.key(page.value(node, _LINKS.attribute), page.url) == product
        ]
        if not links:
            raise CannotEdit("the card has no link to its product")
        page.links[f"#{name}"] = own
        changed = f"{urldefrag(target).url}#{name}"
        done = [page.set_attribute(node, "href", changed) for node in links]
        return Change(len(done), *done[0])


def _path(address: str) -> str:
    """The part of an address after its host: to guests the shop has another name."""
    host, _, path = address.partition("://")[2].partition("/")
    return path if host else address.lstrip("/")
