"""Apply a plan to a page: which edits concern it, what they did, and a failure where one cannot be made."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from interventions.edits.base import Edit, Showing
from interventions.marking import ALL_TAGS, literals
from interventions.page import CannotEdit, Page, Unmarked
from interventions.plan import Plan, Treatment
from interventions.sitemap import SiteMap, product_key
from interventions.splices import Owner

_MAX_TEXT = 200


@dataclass(frozen=True)
class Receipt:
    """Proof of one edit: how many places it changed, and the texts of the first (at most 200 characters).

    `product` is the product's key, `role` the role as it is called there.
    The hashes (BLAKE2b, 128 bits) are of the body before and after all edits.
    """

    intervention: str
    edit: str
    role: str
    page_type: str
    product: str
    matches: int
    before: str
    after: str
    page_hash_before: str
    page_hash_after: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Rewrite:
    """`page_type` is empty when the page was not looked at; `product` is the key, on a product's own page."""

    body: bytes
    page_type: str
    product: str | None
    receipts: tuple[Receipt, ...]


class EditFailed(Exception):
    """A planned edit could not be made: the page must not be shown."""

    def __init__(self, intervention: str, edit: str, role: str, url: str, reason: str) -> None:
        super().__init__(f"{url}: {intervention}: {edit} {role}: {reason}")
        self.intervention, self.edit, self.role, self.url, self.reason = intervention, edit, role, url, reason


def rewrite(body: bytes, *, content_type: str, url: str, plan: Plan, site: SiteMap) -> Rewrite:
    """The page with the plan's edits, and a receipt of each.

    On a product's own page all its treatments have to succeed; in cards and cart rows those of the products
    that are there. A page that the plan does not concern is returned as the same object. Raises EditFailed.
    """
    if not plan.treatments or not body or not _is_html(content_type):
        return Rewrite(body, "", None, ())
    task = _Rewriting(body, url, plan, site)
    for marked in (_literals(body, plan.roles, site), ALL_TAGS):
        try:
            return task.run(Page(body, content_type, marked))
        except Unmarked:
            continue
        except CannotEdit as error:
            raise EditFailed(*(error.owner or task.current), url, str(error)) from None
    raise EditFailed(*task.current, url, "the element cannot be found in the page's source")


class _Rewriting:
    """The way from a page to its rewrite; `current` (intervention, edit, role) is what is being done."""

    def __init__(self, body: bytes, url: str, plan: Plan, site: SiteMap) -> None:
        self.body, self.url, self.plan, self.site = body, url, plan, site
        self.current: Owner = ("", "", "")

    def run(self, page: Page) -> Rewrite:
        """Raises CannotEdit, Unmarked."""
        self.page = page
        page_type = self.page_type()
        product = self.product() if page_type == "product" else None
        if product is None:
            self.check_address()
        done = []
        for key, showing in self.showings(product):
            for treatment, edit in self.planned(key, showing, page_type):
                role = edit.roles()[0]
                self.current = (treatment.intervention, edit.kind(), showing.role(role) or role)
                page.owner = self.current
                done.append((self.current, key, edit.apply(showing)))
        if not done:
            return Rewrite(self.body, page_type, product, ())
        body = page.finish()
        before, after = _hash(self.body), _hash(body)
        receipts = (
            Receipt(
                *owner, page_type, key, change.matches, _cut(change.before), _cut(change.after), before, after
            )
            for owner, key, change in done
        )
        return Rewrite(body, page_type, product, tuple(receipts))

    def page_type(self) -> str:
        for name, test in self.site.pages.items():
            if test.css and self.page.has(test.css):
                return name
            if test.title and self.page.title() == test.title:
                return name
        return "other"

    def product(self) -> str:
        """The product whose own page it is: the one that the page names, else that of the address."""
        named, address = self.key(Showing(self.page, self.site, "product")), product_key(self.url)
        return named if named in self.plan.by_product or address not in self.plan.by_product else address

    def check_address(self) -> None:
        """Raises CannotEdit when a planned product's address shows something else than a product's page."""
        for treatment in self.plan.by_product.get(product_key(self.url), ()):
            if not treatment.pages or "product" in treatment.pages:
                edit = treatment.edits[0]
                self.current = (treatment.intervention, edit.kind(), edit.roles()[0])
                raise CannotEdit(f"not a product's page as the site map {self.site.name} knows it")

    def key(self, showing: Showing) -> str:
        """The product that its link leads to; empty without a link."""
        link = next(showing.all(f"{showing.group}.link"), None)
        return product_key(showing.value(link), self.url) if link else ""

    def showings(self, product: str | None) -> Iterator[tuple[str, Showing]]:
        """Where which product shows: on its own page, and in each card or row."""
        if product:
            yield product, Showing(self.page, self.site, "product")
        for group in self.site.cards:
            for place in self.site.role(group):
                for card in self.page.find(place.css):
                    showing = Showing(self.page, self.site, group, card)
                    yield self.key(showing), showing

    def planned(self, key: str, showing: Showing, page_type: str) -> Iterator[tuple[Treatment, Edit]]:
        for treatment in (*self.plan.by_product.get(key, ()), *self.plan.everywhere):
            if treatment.pages and page_type not in treatment.pages:
                continue
            for edit in treatment.edits:
                role = edit.roles()[0]
                own_page = showing.group == "product" and role.partition(".")[0] not in self.site.cards
                # An edit for all products concerns those that have what it edits.
                if (own_page or showing.role(role)) and (treatment.product is not None or showing.has(role)):
                    yield treatment, edit


def _literals(body: bytes, roles: frozenset[str], site: SiteMap) -> frozenset[bytes]:
    """What tells the start tags that an edit of these roles can touch, on this page."""
    # Where no card seems to be, there is no need to mark its parts.
    cards = (card for card in site.cards if any(hint in body for hint in _card_literals(card, site)))
    return _role_literals(roles, tuple(cards), site)


@lru_cache(maxsize=256)
def _card_literals(card: str, site: SiteMap) -> frozenset[bytes]:
    return literals(place.css for place in site.role(card))


@lru_cache(maxsize=256)
def _role_literals(roles: frozenset[str], cards: tuple[str, ...], site: SiteMap) -> frozenset[bytes]:
    names = set(roles)
    for role in roles:
        group, _, part = role.partition(".")
        if group == "product":
            names |= {f"{card}.{part}" for card in cards}
    return literals(place.css for name in sorted(names) for place in site.role(name))


def _is_html(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind in ("", "text/html", "application/xhtml+xml")


def _hash(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
