"""Apply a plan to a page: make the edits that concern it, and fail where an edit cannot be made."""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from interventions.apply.mapped_page import NONE_KNOWN, MappedPage, product_at
from interventions.apply.plan import Plan, Treatment
from interventions.apply.product_json import Document
from interventions.edits.base import Edit
from interventions.edits.place_values import figures_at
from interventions.edits.showing import Change, Earlier, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.content_type import is_data, is_html, is_json, is_plain
from interventions.html.csp import Inline
from interventions.html.marking import ALL_TAGS, Marks, hints, marks_for
from interventions.html.page import Page
from interventions.html.parsing_cost import parsing_steps
from interventions.html.ranges import prices
from interventions.html.source_page import TargetNotMarked
from interventions.html.splices import Owner
from interventions.html.strings import with_strings
from interventions.html.tree import MOST_STEPS
from interventions.yaml.limited import one_page
from interventions.yaml.sitemap import STAGES, Data, SiteMap, product_key

TOTAL: Final = "cart.total"
HEADED: Final = ("product", "listing")
"""The types of pages on which a total stands for the cart in a header, and not below lines of it."""
PART: Final = "text/html; charset=utf-8"
_MAX_TEXT = 200
_FEW = 20
"""How often a literal is marked on a page without cards: its reviews may repeat what stands above them."""


@dataclass(frozen=True)
class Receipt:
    """Proof of one edit: how many places it changed, and the first one's text (at most 200 characters).

    `product` is the product's key. `role` is the name of the role at that place; in JSON data it is
    `data.PART`. The hashes (`page_hash`) are of the body before and after all edits.
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

    @property
    def is_data(self) -> bool:
        """Whether the edit was made in data for the page's scripts, not in the page."""
        return self.role.startswith("data.")

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Rewrite:
    """The result of `rewrite`: the new body and the receipts of the edits in it.

    `page_type` is empty when the page was not looked at, and `data` for an answer in JSON. `product` is the
    key, on a product's own page; `inline` is what a content security policy may forbid. `lacks` is the first
    edit that could not be made, where the others were wanted all the same. `earlier`: by product, what edits
    have replaced, here and before. `drift`: what edits have added to the sum of an order without a line.
    `links`: see `ParsedPage`.
    """

    body: bytes
    page_type: str
    product: str | None
    receipts: tuple[Receipt, ...]
    inline: Inline = field(default_factory=Inline)
    lacks: "EditFailed | None" = None
    earlier: Mapping[str, Earlier] = field(default_factory=dict)
    drift: Decimal = Decimal(0)
    links: Mapping[str, str] = field(default_factory=dict)


class EditFailed(Exception):
    """A planned edit could not be made: the page must not be shown."""

    def __init__(self, intervention: str, edit: str, role: str, url: str, reason: str) -> None:
        super().__init__(": ".join(filter(None, (url, intervention, f"{edit} {role}".strip(), reason))))
        self.intervention, self.edit, self.role, self.url, self.reason = intervention, edit, role, url, reason


class OtherPage(EditFailed):
    """A planned product's address shows another page than the product's, such as a login wall."""

    def __init__(self, product: str, *failure: str) -> None:
        super().__init__(*failure)
        self.product = product


NONE_EARLIER: Final[Mapping[str, Earlier]] = {}
NO_TOTALS: Final[Mapping[Decimal, Decimal]] = {}


@one_page()
def rewrite(
    body: bytes,
    *,
    content_type: str,
    url: str,
    plan: Plan,
    site: SiteMap,
    known: Mapping[str, str] = NONE_KNOWN,
    places: "PlaceMemory | None" = None,
    came: str | None = None,
    partly: bool = False,
    earlier: Mapping[str, Earlier] = NONE_EARLIER,
    totals: Mapping[Decimal, Decimal] = NO_TOTALS,
) -> Rewrite:
    """Return the page, or the answer in JSON, with the plan's edits made, and a receipt of each edit.

    `known` says which products have their pages at which addresses (see MappedPage); `places` remembers,
    from one page to the next, where the edited elements stood.

    Where scripts draw a site's pages (`drawn`), edits are made in the page as it is sent to the browser only
    in data. The others are made in the page as its scripts have drawn it: `came` is the address at which that
    page came; `url` is its address now. `partly`: of a page that is not complete yet, the edits that can be
    made are. `earlier`: what edits of data have replaced, by product. `totals`: by total
    of the cart as the shop sends it, the one to be shown on a product's page or a listing without the cart's
    lines (see `moved_totals`).

    On a product's own page all its treatments have to succeed; in cards, cart rows and data only those of the
    products that are there. A body that the plan does not concern is returned as the same object. Raises
    EditFailed.
    """
    untouched = Rewrite(body, "", None, ())
    if not plan.treatments or not body:
        return untouched
    task = _Rewriting(body, url, plan, site, known, came, dict(earlier), totals, partly)
    places = places or PlaceMemory()
    try:
        is_page = is_html(content_type)
        if is_json(content_type) or is_plain(content_type) or (is_page and is_data(body)):
            return task.run_data(content_type)
        if not is_page:
            return untouched
        for marks in _attempts(body, url, plan, site, places):
            page = Page(body, content_type, marks, url)
            page.stand_among([place.css for card in site.cards for place in site.role(card)])
            try:
                result = task.run(page)
            except TargetNotMarked:
                places.forget(url, plan)
            else:
                places.learn(url, plan, page.located)
                return result
    except CannotEdit as error:
        raise EditFailed(*(error.owner or task.current), url, str(error)) from None
    raise EditFailed(*task.current, url, "the element cannot be found in the page's source")


class PlaceMemory:
    """Remembers where on a page the elements stood that a plan touches, when it was last seen.

    An experiment shows each page dozens of times, and from one time to the next only tokens and the like are
    different. No more than a hint where to look. A page whose elements have moved once is not remembered
    again.
    """

    def __init__(self) -> None:
        self._offsets: OrderedDict[tuple[str, frozenset[str]], frozenset[int]] = OrderedDict()

    def marks(self, url: str, plan: Plan) -> Marks | None:
        """Return the marks of a page's elements by its address; None: nothing is remembered of the page."""
        offsets = self._offsets.get((url, plan.roles))
        return Marks(offsets=offsets) if offsets else None

    def learn(self, url: str, plan: Plan, offsets: frozenset[int]) -> None:
        """Remember where, in bytes of the source, the elements stood on a page that was rewritten."""
        self._offsets.setdefault((url, plan.roles), offsets)
        if len(self._offsets) > _PAGES:
            self._offsets.popitem(last=False)

    def forget(self, url: str, plan: Plan) -> None:
        """Stop using what was remembered of a page, for ever."""
        if (url, plan.roles) in self._offsets:
            self._offsets[url, plan.roles] = frozenset()


_PAGES = 2_000
"""How many pages are remembered."""


@dataclass(eq=False)
class _Rewriting:
    """The way from a page to its rewrite; `current` (intervention, edit, role) is what is being done."""

    body: bytes
    url: str
    plan: Plan
    site: SiteMap
    known: Mapping[str, str]
    came: str | None
    earlier: dict[str, Earlier]
    totals: Mapping[Decimal, Decimal]
    partly: bool
    lacks: EditFailed | None = None
    current: Owner = ("", "", "")
    done: list[tuple[Owner, str, Change]] = field(default_factory=list)
    inner: list[Receipt] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    steps: int = 0

    def run(self, page: Page) -> Rewrite:
        """Raises CannotEdit, TargetNotMarked."""
        self.page, self.done, self.lacks = page, [], None
        if self.site.drawn and self.came is None:
            return self.run_shell(page)
        moved = self.came is not None and product_key(self.came) != product_key(self.url)
        view = MappedPage(page, self.site, self.plan.by_product, self.known, moved=moved)
        page_type, product = view.page_type, view.product
        if product is None:
            self.check_address()
        listed = (key for t in self.plan.everywhere for edit in t.edits for key in edit.moved(self.site))
        options = {*self.plan.by_product, *self.known, *self.known.values(), *listed} - {""}
        for key, shown in view.showings():
            for treatment, edit in self.planned(key, shown, page_type):
                showing = replace(shown, earlier=self.earlier_of(key), options=options)
                role = edit.role_at(showing)
                page.owner = self.begin(treatment, edit, showing.role(role) or role)
                try:
                    change = edit.apply(showing)
                except CannotEdit as failure:
                    if not self.partly:
                        raise
                    self.lacks = self.lacks or EditFailed(*page.owner, self.url, str(failure))
                    continue
                if change:
                    self.done.append((page.owner, key, change))
                    self.note_price(key, edit, role, change)
        if self.plan.writes_values and self.came is None:
            self.write_embedded(view)
        moved = page_type in HEADED and self.came is None and self.move_totals(page)
        if not (self.done or moved):
            return Rewrite(self.body, page_type, product, (), lacks=self.lacks)
        body = page.finish()
        receipts = self.receipts(page_type, body)
        more = self.lacks, self.earlier, page.drift, page.links
        return Rewrite(body, page_type, product, receipts, page.inline, *more)

    def run_shell(self, page: Page) -> Rewrite:
        """Make the edits of data in a page that scripts draw, and let its policy pass what they need.

        Raises CannotEdit, TargetNotMarked.
        """
        view = MappedPage(page, self.site, self.plan.by_product, self.known)
        if self.plan.writes_values:
            self.write_embedded(view)
        page.connects.add("'self'")
        page.scripts |= {edit.script for t in self.plan.treatments for edit in t.edits} - {""}
        body = page.finish()
        receipts = self.receipts("data", body)
        return Rewrite(body, view.page_type, None, receipts, page.inline, earlier=self.earlier)

    def run_data(self, content_type: str) -> Rewrite:
        """Make the edits in data, and in the parts of pages in it. Raises CannotEdit, EditFailed."""
        codec, _ = charset.detect(self.body, content_type)
        self.current = ("", "data", self.url)
        rules = self.site.data_at(self.url)
        is_known = bool(rules) and (self.plan.writes_values or any(data.told for data in rules))
        try:
            text = plain = self.body.decode(codec)
        except UnicodeError:
            if not is_known:
                return Rewrite(self.body, "", None, ())
            raise CannotEdit(f"the data is not valid {codec}") from None
        if is_known:
            document = Document(text)
            self.write_in(document, rules)
            text = document.text() if document.changed else text
        if not self.site.drawn:
            is_text = is_plain(content_type) and not is_data(self.body)
            text = self.in_string(text) if is_text else with_strings(text, self.in_string)
        body = self.body if text == plain else text.encode(codec)
        receipts = self.receipts("data", body)
        if self.inner:
            before, after = page_hash(self.body, self.url), page_hash(body, self.url)
            inner = (replace(each, page_hash_before=before, page_hash_after=after) for each in self.inner)
            receipts += (*inner,)
        page_type = "data" if is_known else ""
        return Rewrite(body, page_type, None, receipts, earlier=self.earlier, links=self.links)

    def in_string(self, text: str) -> str:
        """Make the edits in a part of a page that stands in a text. Raises CannotEdit, EditFailed."""
        part = text.encode("utf-8", "surrogatepass")
        self.steps += parsing_steps(part, MOST_STEPS)
        if self.steps >= MOST_STEPS:
            raise CannotEdit("it would stop all trials to read all parts of pages in this answer")
        try:
            result = rewrite(
                part, content_type=PART, url=self.url, plan=self.plan, site=self.site, known=self.known,
                earlier=self.earlier, totals=self.totals,
            )  # fmt: skip
        except OtherPage:  # data at a product's address are not its page
            return text
        self.inner += result.receipts
        self.earlier.update(result.earlier)
        self.links.update(result.links)
        return result.body.decode("utf-8", "surrogatepass")

    def earlier_of(self, key: str) -> Earlier:
        """What edits have replaced of a product; a page that scripts have not drawn has nothing from data."""
        known = self.earlier.get(key, Earlier())
        return replace(known, currency=known.currency or "") if self.came is None else known

    def note_price(self, key: str, edit: Edit, role: str, change: Change) -> None:
        """Note the first price of a product that an edit has replaced on a page."""
        known = self.earlier.get(key, Earlier())
        if "price" in edit.values() and role.endswith(".price") and known.price is None:
            for old in prices(change.before, self.page.usage)[:1]:
                self.earlier[key] = replace(known, price=old.value, currency=old.currency)

    def begin(self, treatment: Treatment, edit: Edit, role: str) -> Owner:
        self.current = (treatment.intervention, edit.kind(), role)
        return self.current

    def receipts(self, page_type: str, body: bytes) -> tuple[Receipt, ...]:
        if not self.done:
            return ()
        before, after = page_hash(self.body, self.url), page_hash(body, self.url)
        return tuple(
            Receipt(*owner, page_type, key, each.matches, cut(each.before), cut(each.after), before, after)
            for owner, key, each in self.done
        )

    def write_embedded(self, view: MappedPage) -> None:
        """Keep the data that the page embeds in step."""
        for node, attribute, document, rules in view.documents():
            for data in rules:
                self.write_data(document, data, view.page_type, view.product)
            if document.changed and attribute:
                view.page.set_attribute(node, attribute, document.text())
            elif document.changed:
                view.page.set_data(node, document.text())

    def write_in(self, document: Document, rules: Sequence[Data]) -> None:
        """Write the edits' values into a document, and into copies that stand in texts of it."""
        for data in rules:
            self.write_data(document, data, "data", None)
        for path in dict.fromkeys(data.copies for data in rules if data.copies):
            own = [data for data in rules if data.copies == path]
            for match, text in document.texts(path):
                copy = Document(text)
                for data in own:
                    self.write_data(copy, data, "data", None)
                if copy.changed:
                    document.put(match, copy.text())

    def write_data(self, document: Document, data: Data, page_type: str, product: str | None) -> None:
        """Write the edits' values into the objects of planned products."""
        for address, entry in document.entries(data, self.url, product, self.site.query):
            key = self.known.get(address, address) or self.called(entry.texts("id"))
            if key not in self.plan.by_product and not self.plan.everywhere:
                continue
            if key in self.plan.by_product and (ids := tuple(entry.texts("id"))):
                known = self.earlier.get(key, Earlier())
                self.earlier[key] = replace(known, ids=tuple(dict.fromkeys((*known.ids, *ids))))
            for treatment, edit in self.concerning(key, data.shown_on or (page_type,)):
                for part, value in edit.values().items():
                    if entry.has(part):
                        self.begin(treatment, edit, f"data.{part}")
                        known = self.earlier.get(key, Earlier())
                        if part == "price" and known.price is None and (old := [*entry.figures(part)]):
                            known = self.earlier[key] = replace(known, price=old[0][0])
                        texts = entry.write(part, value, known.price)
                        self.done.append((self.current, key, Change(len(texts), *texts[0])))
                if edit.told and data.told:
                    self.begin(treatment, edit, "data.told")
                    self.done.append((self.current, key, Change(entry.tell(edit.words()), "", edit.words())))

    def called(self, ids: Iterable[str]) -> str:
        """Return the product that data before have called so; empty where none was."""
        named = {each: key for key, known in self.earlier.items() for each in known.ids}
        return next((named[each] for each in ids if each in named), "")

    def move_totals(self, page: Page) -> bool:
        """Write the totals of a page that has none of the cart's lines; return whether there are any."""
        if not self.totals or any(page.has(place.css) for place in self.site.role("row")):
            return False
        showing, found = ProductPlace(page, self.site, "page"), False
        for place in self.site.role(TOTAL):
            for node in page.find(place.css):
                target = Target(node, place)
                old = showing.number(target, TOTAL)
                if old is not None and old in self.totals:
                    figures = partial(figures_at, place, usage=showing.usage(TOTAL, target))
                    page.shift(node, self.totals[old] - old, figures)
                    found = True
        return found

    def check_address(self) -> None:
        """Raises OtherPage when a planned product's address shows something else than a product's page."""
        product = product_at(self.url, self.known, self.site)
        for treatment, edit in planned_on_own_page(self.plan, product, self.site):
            reason = f"not a product's page as the site map {self.site.name} knows it"
            if not self.site.drawn:
                reason += " (where scripts draw it, the map needs drawn: true)"
            owner = self.begin(treatment, edit, edit.roles()[0])
            raise OtherPage(product, *owner, self.url, reason)

    def concerning(self, key: str, pages: Collection[str]) -> Iterator[tuple[Treatment, Edit]]:
        """The edits of a product that show on these types of pages; a copy of its card is made at last."""
        found = [
            (treatment, edit)
            for treatment in (*self.plan.by_product.get(key, ()), *self.plan.everywhere)
            if treatment.is_on(pages)
            for edit in treatment.edits
            if not edit.pages or {*pages} <= {*edit.pages}
        ]
        yield from sorted(found, key=lambda each: each[1].doubles)

    def planned(self, key: str, showing: ProductPlace, page_type: str) -> Iterator[tuple[Treatment, Edit]]:
        """The edits to be made where a product shows."""
        for treatment, edit in self.concerning(key, (page_type,)):
            if showing.group in STAGES or edit.stages():
                if showing.group in edit.stages():
                    yield treatment, edit
                continue
            role = edit.roles()[0]
            group = role.partition(".")[0]
            if group == "page" or showing.group == "page":
                if group == showing.group:
                    yield treatment, edit
                continue
            own_page = showing.group == "product" and is_for_own_page(role, self.site)
            role = edit.role_at(showing)
            # An edit for all products concerns those that have what it edits.
            if (own_page or showing.role(role)) and (treatment.product is not None or showing.has(role)):
                yield treatment, edit


def planned_on_own_page(plan: Plan, product: str, site: SiteMap) -> Iterator[tuple[Treatment, Edit]]:
    """Yield the edits that are planned for one product, and that its own page has to show."""
    for treatment in plan.by_product.get(product, ()):
        if not treatment.pages or "product" in treatment.pages:
            edits = (edit for edit in treatment.edits if is_for_own_page(edit.roles()[0], site))
            yield from ((treatment, edit) for edit in edits)


def is_for_own_page(role: str, site: SiteMap) -> bool:
    """Return whether a planned product's own page has to show an edit of this role."""
    return role.partition(".")[0] not in (*site.cards, *STAGES, "page")


def _attempts(body: bytes, url: str, plan: Plan, site: SiteMap, places: PlaceMemory) -> Iterator[Marks]:
    """The ways to mark a page, from the quickest to the one that misses nothing."""
    if known := places.marks(url, plan):
        yield known
    yield _marks(body, plan, site)
    yield ALL_TAGS


def _marks(body: bytes, plan: Plan, site: SiteMap) -> Marks:
    """What tells the start tags that an edit of the plan can touch, on this page."""
    # Where no card seems to be, there is no need to mark its parts, and what is edited stands near the start.
    cards = tuple(card for card in site.cards if any(hint in body for hint in _card_hints(card, site)))
    return _role_marks(plan.roles, cards, site, plan.writes_values)


@lru_cache(maxsize=256)
def _card_hints(card: str, site: SiteMap) -> frozenset[bytes]:
    return hints(place.css for place in site.role(card))


@lru_cache(maxsize=256)
def _role_marks(roles: frozenset[str], cards: tuple[str, ...], site: SiteMap, embedded: bool) -> Marks:
    names = set(roles)
    for role in roles:
        group, _, part = role.partition(".")
        if group == "product":
            names |= {f"{card}.{part}" for card in cards}
    selectors = [place.css for name in sorted(names) for place in site.role(name)]
    selectors += [data.css for data in site.data if data.css and embedded]
    return marks_for(selectors, limit=None if cards else _FEW)


def page_hash(body: bytes, url: str = "") -> str:
    """Return the hash of a body, as receipts name it: SHA-256, its first 128 bits, in hex.

    With the page's `url`, the shop's own host counts without its port: a shop that is started again may
    listen on another one.
    """
    if own := _with_port(url):
        host, with_port = own
        body = host.join(with_port.split(body))
    return sha256(body).hexdigest()[:32]


@lru_cache(maxsize=256)
def _with_port(url: str) -> tuple[bytes, re.Pattern[bytes]] | None:
    """The host of an address, and what finds it with its port, also in a query; None: it has no port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or port is None:
        return None
    name = host.encode()
    return name, re.compile(b"%b(?::|%%3[Aa])%d(?![0-9])" % (re.escape(name), port))


def cut(text: str) -> str:
    """Return a text as receipts have it."""
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
