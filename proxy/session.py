"""The proxy's knowledge of one episode: its plan, the hosts it may reach, and what happened."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Literal
from urllib.parse import urlsplit

from interventions.apply.consistency import PageFigure
from interventions.apply.drawn_sums import DrawnSums, PriceChange
from interventions.apply.engine import NO_TOTALS, NONE_EARLIER, Receipt, Rewrite, planned_on_own_page
from interventions.apply.mapped_page import MappedPage, product_at
from interventions.apply.plan import Plan
from interventions.apply.product_json import Document
from interventions.edits.showing import Earlier
from interventions.html.content_type import is_html
from interventions.yaml.limited import TooSlow, match_path
from interventions.yaml.sitemap import BEFORE_CART, Data, SiteMap
from proxy.allow_list import AllowList
from proxy.card_run import CardRun
from proxy.keys import new_key
from proxy.lent import Leftovers
from proxy.shown_page import SentPage, ShownPage

_KEPT = 100
"""How many pages without edits are kept for their ids."""
MOST_PAGES = 10_000
"""How many pages and answers in JSON an episode may have."""
MOST_BYTES = 256 * 2**20
"""How large they may be together, and how large what the shop sent of those with edits."""
MOST_FAILURES = 100
"""How many failures of an episode are kept; the first one counts."""


@dataclass(frozen=True, slots=True)
class CartAddition:
    """What tells that a product was put into the cart, or (`emptied`) that none is there any more.

    Each part is empty where this tells nothing of it.
    """

    by: Literal["request", "cart", "address", "message", "emptied"]
    product: str = ""
    """The product's key."""
    named: str = ""
    """What the shop calls it: the id in a request or an address, the words of a message."""
    at: str = ""
    """The product on whose page it was added."""


@dataclass(slots=True)
class Session:
    """One episode as the proxy sees it. Receipts and errors are added while it runs.

    `allow` is None only for a proxy that a person started for their own browser: then any host is reached.
    """

    plan: Plan
    site: SiteMap
    allow: AllowList | None = None
    _: KW_ONLY
    script: str = ""
    """A script for each page, in ASCII and without `</script`: the same whatever is planned; empty: none."""
    observer: str = ""
    """A script that each page loads before `script`, which calls it to report what stands on the page.

    Each page has a receipt of it. Empty: pages are not observed.
    """
    lent: Leftovers | None = None
    """What is left in a browser context that is lent to other episodes too; None: it is not."""
    key: str = field(default_factory=new_key)
    """The key of the session's scripts."""
    cards: CardRun | None = None
    """The cards that are asked in this episode; where they have plans, these take the place of `plan`."""
    receipts: list[Receipt] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Why the trial does not count as treated; the first reason is told.

    A planned edit did not reach a page, in whose place an error page was sent. Or, of pages that were passed
    on: scripts undo edits, a message about a page cannot be read or was forged, requests and answers do not
    tell the choice, redirects do not end, or there are too many pages.
    """
    upstream_errors: list[str] = field(default_factory=list)
    """Documents that the shop could not deliver (connection refused, 5xx, not recorded)."""
    pages: list[ShownPage] = field(default_factory=list)
    """The pages that were looked at for edits and passed on, in order."""
    known: dict[str, str] = field(default_factory=dict)
    """The key of an address -> the product that has its page there; empty: several products have."""
    awaited: dict[str, str] | None = None
    """Product -> why its edits could not be made, where its address showed another page, which was passed on.

    The entry is removed when the product's own page comes. None: no such page is passed on.
    """
    replayed: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """How often each request was answered from a recording."""
    order: ShownPage | None = None
    """The page of the first order that was placed, as it was shown."""
    added: list[CartAddition] = field(default_factory=list)
    """What tells that a product is in the cart."""
    drawn: set[Receipt] = field(default_factory=set)
    """The receipts of pages as drawn, without hashes: those of a page that is drawn again are not new."""
    sent: list[SentPage] = field(default_factory=list)
    """What the shop has sent of the pages that have receipts, in order."""
    earlier: dict[str, Earlier] = field(default_factory=dict)
    """By product, what edits have replaced: the first price, and all names in data."""
    totals: tuple[int | None, Mapping[Decimal, Decimal]] = (None, NO_TOTALS)
    """How often the cart had changed when its lines were shown last, and the totals that had moved then."""
    step: int = 0
    """The first step at which what comes now can be seen, as far as the episode counts."""
    told: list[tuple[int, Plan]] = field(default_factory=list)
    """The plans that forms have changed, as they were before, with what `step` was then."""
    as_sent: dict[str, ShownPage] = field(default_factory=dict)
    """By address, pages for which no edits were planned, so that they are not among `pages`."""

    _bytes: int = field(default=0, init=False)
    """How large the `pages` are together."""
    _sent_bytes: int = field(default=0, init=False)
    """How large what is `sent` is together."""
    redirects: int = 0
    """How often the address of a product led to another one."""
    ended: bool = False
    """Whether what happens now is no part of the episode."""
    asked: dict[str, float] = field(default_factory=dict)
    """When the shop was asked what it has not answered yet, by the flow's id (this process's clock)."""
    changes: int = 0
    """How often the cart may have changed."""
    changing: set[str] = field(default_factory=set)
    """The requests that may change the cart and that the shop has not answered yet, by the flow's id."""

    def cart_at(self, flow: str, changes: int) -> int | None:
        """Return how often the cart may have changed before what a flow brings.

        `changes` were known when it was asked for. None: the cart may have changed since.
        """
        calm = self.changes == changes and self.changing <= {flow}
        self.answered(flow)
        return self.changes if calm else None

    def answered(self, flow: str) -> None:
        """Note that a request was answered, or never will be, which may have changed the cart."""
        if flow in self.changing:
            self.changing.discard(flow)
            self.changes += 1

    def silent(self) -> float:
        """Return for how many seconds the shop has not answered."""
        return time.monotonic() - min(self.asked.values()) if self.asked else 0.0

    def redirected(self, url: str, location: str) -> None:
        """Note that an address leads to another one.

        A product whose page was at the first address has it at the second.
        """
        product, key = self.known.get(self.site.key(url)), self.site.key(location, url)
        if not product or not location:
            return
        self.redirects += 1
        if self.redirects > MOST_PAGES:
            self.note_failure(f"{url}: there were too many redirects")
        elif self.known.setdefault(key, product) != product:
            self.known[key] = ""

    def product_at(self, url: str) -> str:
        """Return the product whose page an address shows.

        It is the product that the page named when it came, else the one of the address.
        """
        address = url.partition("#")[0]
        named = (page.product for page in reversed(self.pages) if page.url == address and page.product)
        return next(named, product_at(url, self.known, self.site))

    def keep(self, page: ShownPage) -> None:
        """Keep a page, or an answer in JSON, for the ids in it.

        Of many, or large ones, the oldest are forgotten. One address may have many answers, as that of a
        GraphQL interface has.
        """
        if self.ended:
            return
        name = page.url if is_html(page.content_type) else f"{page.url}#{hash(page.body)}"
        self.as_sent[name] = page
        while len(self.as_sent) > _KEPT or sum(len(each.body) for each in self.as_sent.values()) > MOST_BYTES:
            del self.as_sent[next(iter(self.as_sent))]

    def take_form(self, form: Mapping[str, str]) -> None:
        """Note in the plan what a form says of its edits; see `Plan.sent`."""
        new = self.plan.sent(form)
        if new != self.plan and len(self.told) < MOST_PAGES:
            self.told.append((self.step, self.plan))
        self.plan = new

    def reached(self, url: str) -> None:
        """Note that a page is reached, which may tell that a product is in the cart."""
        path = urlsplit(url).path
        try:
            for pattern in self.site.choice.address:
                if found := match_path(pattern, path):
                    named = (found[1] or "") if found.groups() else ""
                    self.note_added([CartAddition("address", self.product_with(named), named)])
        except TooSlow as error:
            self.note_failure(f"{url}: {error}")

    def note_added(self, added: Iterable[CartAddition]) -> None:
        """Keep what tells that a product is in the cart."""
        new = list(islice(added, MOST_PAGES - len(self.added)))
        self.added.extend(new)
        self.changes += any(each.by not in ("cart", "emptied") for each in new)

    def product_with(self, wanted: str) -> str:
        """Return the product that has this id on a page that was sent; empty where no page tells."""
        if not wanted:
            return ""
        written = {wanted, json.dumps(wanted)[1:-1], wanted.replace("/", r"\/")}
        for page in reversed((*self.as_sent.values(), *self.pages)):
            if any(each.encode() in page.body for each in written):
                for found, key in self._ids_on(page):
                    if found == wanted:
                        return key
        return wanted if wanted in self.plan.by_product or wanted in self.known.values() else ""

    def totals_at(self, cart: int | None) -> Mapping[Decimal, Decimal]:
        """Return the totals that edits have moved in the cart, as it is after so many changes."""
        return self.totals[1] if cart is not None and cart == self.totals[0] else NO_TOTALS

    def sightings(self) -> Iterator[PageFigure]:
        """Yield the figures that the pages have shown for products, and the sums of carts, in order."""
        drawn = DrawnSums(dict(self._repriced()))
        for page in (*self.pages, *self.as_sent.values()):
            late = self.plan.split_prices if self._is_before_cart(page) else ()
            for seen in page.sightings(self.site):
                drawn.note(seen)
                # A price that is another one from the cart on is held against what shows on the same side.
                yield replace(seen, part=f"{seen.part} before the cart") if seen.product in late else seen
            if page.drawn and page.parsed is not None:
                view = MappedPage(page.parsed, self.site, self.plan.by_product, self.known)
                yield from drawn.on(view, page.cart)

    def _is_before_cart(self, page: ShownPage) -> bool:
        if not self.plan.split_prices or page.parsed is None:
            return False
        return MappedPage(page.parsed, self.site).page_type in BEFORE_CART

    def _repriced(self) -> Iterator[tuple[str, PriceChange]]:
        """The prices that edits have replaced, with the new ones."""
        new: dict[str, Decimal] = {}
        for treatment in self.plan.treatments:
            for edit in treatment.edits:
                if treatment.product and (value := edit.values().get("price")) is not None:
                    new[treatment.product] = Decimal(value)
        for product, price in new.items():
            old = self.earlier.get(product, Earlier()).price
            if old is not None and old != price:
                yield product, PriceChange(old, price)

    def note_page(self, page: ShownPage) -> None:
        """Keep a page that was passed on, rewritten or not.

        Of one that scripts draw again and again only the last state is kept.
        """
        if self.ended:
            return
        if page.drawn:
            for each in [each for each in self.pages if each.drawn and each.url == page.url]:
                self.pages.remove(each)
                self._bytes -= len(each.body)
        if len(self.pages) < MOST_PAGES and self._bytes < MOST_BYTES:
            self.pages.append(page)
            self._bytes += len(page.body)
        elif not self.failures:
            self.note_failure(f"{page.url}: there were too many pages, or too large ones")

    def note_sent(
        self,
        url: str,
        content_type: str,
        body: bytes,
        result: Rewrite,
        came: str | None = None,
        earlier: Mapping[str, Earlier] = NONE_EARLIER,
        totals: Mapping[Decimal, Decimal] = NO_TOTALS,
    ) -> None:
        """Keep what a page was made of that has receipts; see `SentPage`."""
        if self.ended or not result.receipts:
            return
        if len(self.sent) >= MOST_PAGES or self._sent_bytes >= MOST_BYTES:
            return
        self._sent_bytes += len(body)
        page = SentPage(
            url=url,
            content_type=content_type,
            body=body,
            plan=self.plan,
            known=dict(self.known),
            came=came,
            earlier=earlier,
            totals=totals,
            hash_after=result.receipts[0].page_hash_after,
            step=self.step,
        )
        self.sent.append(page)

    def end(self) -> None:
        """Forget the pages, and note no more."""
        self.ended = True
        self.pages.clear()
        self.sent.clear()
        self.as_sent.clear()

    def await_drawn(self, url: str) -> None:
        """Note that scripts have still to draw a page; a planned product's page has to show the product."""
        product = product_at(url, self.known, self.site)
        if self.awaited is not None and product in self.plan.by_product:
            self.awaited[product] = f"{url}: the page's scripts have not shown the product"

    def carried(self) -> None:
        """Await no longer the products whose edits data have carried to their pages."""
        made = {(each.product, each.intervention, each.edit) for each in self.receipts if each.is_data}
        for product in [] if self.site.drawn else list(self.awaited or ()):
            edits = planned_on_own_page(self.plan, product, self.site)
            if self.awaited and all((product, t.intervention, edit.kind()) in made for t, edit in edits):
                del self.awaited[product]

    def note_receipts(self, receipts: Iterable[Receipt]) -> None:
        """Keep the receipts of a page that was rewritten."""
        if not self.ended:
            self.receipts.extend(receipts)

    def note_drawn(self, receipts: Iterable[Receipt]) -> bool:
        """Keep the receipts of a page as drawn that say something new; return whether any does."""
        plain = {replace(each, page_hash_before="", page_hash_after=""): each for each in receipts}
        new = [receipt for key, receipt in plain.items() if key not in self.drawn]
        self.note_receipts(new)
        self.drawn |= plain.keys()
        return bool(new)

    def note_replaced(self, result: Rewrite) -> None:
        """Keep what edits have replaced of products."""
        for product, found in result.earlier.items():
            known = self.earlier.get(product, Earlier())
            if found.ids:
                known = self.earlier[product] = replace(known, ids=found.ids)
            if known.price is None:
                self.earlier[product] = replace(known, price=found.price, currency=found.currency)
        for each in result.receipts:
            if each.role == "data.name" and each.before != each.after:
                known = self.earlier.get(each.product, Earlier())
                self.earlier[each.product] = replace(known, names=known.names | {each.before})

    def note_failure(self, reason: str) -> None:
        """Keep a reason why the trial does not count as treated; see `failures`."""
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(reason)

    def note_upstream_error(self, reason: str) -> None:
        """Keep the reason why the shop did not deliver what a page needs, or answer a choice."""
        if len(self.upstream_errors) < MOST_FAILURES and reason not in self.upstream_errors:
            self.upstream_errors.append(reason)

    def ids_of(self, product: str) -> list[str]:
        """Return the ids that a product has on the pages that were sent."""
        pages = (*self.as_sent.values(), *self.pages) if product else ()
        return [found for page in pages for found, key in self._ids_on(page) if key == product]

    def _ids_on(self, page: ShownPage) -> Iterator[tuple[str, str]]:
        """The id and the key of each product that a page shows with the role `product.id` (`item.id`).

        In data it is the part `id`.
        """
        if page.parsed is not None:
            view = MappedPage(page.parsed, self.site, self.plan.by_product, self.known)
            for key, showing in view.showings():
                for target in showing.all("product.id"):
                    if key and (value := showing.names(target)):
                        yield value, key
            found: list[tuple[Document, Sequence[Data]]] = []
            own = view.product
            if self.site.embeds_ids:
                found = [(each.document, each.rules) for each in view.documents()]
        else:
            own, document = None, page.document
            found = [(document, self.site.data_at(page.url))] if document else []
        for document, rules in found:
            for data in rules:
                for key, entry in document.entries(data, page.url, own, self.site.query):
                    if key and (value := entry.text("id")):
                        yield value, self.known.get(key, key)
