"""Make the whole proposal of a site map, and its YAML."""

import json
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count, dropwhile, islice
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.html.tree import parse, select
from interventions.proposal.cards import ProposedCards, card_prices, card_roles, find_cards, kinds_of_cards
from interventions.proposal.data import FetchedAnswer, fetched_data
from interventions.proposal.embedded import FoundData, embedded_data
from interventions.proposal.facts import stated_facts
from interventions.proposal.phrases import is_cart_button
from interventions.proposal.purchase import PurchaseRules
from interventions.proposal.roles import FoundRole, product_roles
from interventions.proposal.scan import (
    Capture,
    Scan,
    ancestors,
    is_aside,
    names_price,
    number,
    telling_query,
    text,
    words,
)
from interventions.proposal.selectors import names
from interventions.yaml.sitemap import Dismissal, Link, Place, Value, product_key
from interventions.yaml.writing import scalar

_HEADINGS = {
    "item": "A card on listings",
    "row": "A line of the cart's page",
    "mini": "A line of the small cart",
}
WANTED = ("product.title", "product.name", "product.price", "product.add_to_cart")
WANTED_IN_CART = ("row", "row.price", "row.quantity", "row.subtotal", "cart.total")
_KINDS = {
    "mini": "mini-?cart|mini-?basket|cart-drawer|side-?cart|minicart",
    "related": "related|similar|accessor",
    "upsell": "up-?sell|cross-?sell|together|complement",
    "recent": "recent|viewed|history",
    "recommended": "recommend|suggest|also|for-you|popular|best-?sell|featured|trending",
}
"""Kind of card -> what the elements around such cards are called."""
WANTED_IN_CARDS = ("item", "item.link", "item.title", "item.name", "item.price")


@dataclass(frozen=True)
class Proposal:
    """A site map as far as the pages allow one, with the reasons.

    `pages`: page type -> selector; `missing`: roles that were looked for in vain.
    """

    name: str
    product_url: str
    listing_url: str | None
    pages: dict[str, str]
    roles: tuple[FoundRole, ...]
    data: tuple[FoundData, ...]
    query: tuple[str, ...] = ()
    """The parts of an address's query that tell products apart; none where their paths do."""
    learned: PurchaseRules | None = None
    product_tests: tuple[str, ...] = ()
    """All selectors that hold on the product's page and on no other page that was seen, the best first."""
    dismiss: tuple[Dismissal, ...] = ()
    """Buttons that take away the layers over the product's page."""
    is_redrawn: bool = False
    """Whether scripts draw over edits in pages that came complete."""

    def after(self, learned: PurchaseRules) -> "Proposal":
        """Return the proposal with what a purchase taught."""
        known = {role.role for role in self.roles}
        more = tuple(role for role in learned.roles if role.role not in known)
        own = tuple(role for role in more if role.role.startswith("product."))
        cards = next((n for n, role in enumerate(self.roles) if "." not in role.role), len(self.roles))
        rest = tuple(role for role in more if role not in own)
        roles = (*self.roles[:cards], *own, *self.roles[cards:], *rest)
        told = {"cart": learned.cart_page, "checkout": learned.checkout_page}
        carts = [parse(page.html) for page in learned.carts]
        tests = (css for css in self.product_tests if not any(select(cart, css) for cart in carts))
        pages = {k: css for k, css in (self.pages | told | {"product": next(tests, "")}).items() if css}
        # A page of the cart may show cards of the listing too: the first test that holds counts.
        order = [kind for kind in ("product", "cart", "checkout", "listing") if kind in pages]
        data = tuple(found.with_id(learned.id) for found in self.data)
        return replace(
            self, roles=roles, pages={kind: pages[kind] for kind in order}, data=data, learned=learned
        )

    @property
    def drawn(self) -> bool:
        """Whether edits are made in the pages as their scripts have drawn them."""
        return self.is_redrawn or any(role.scripted for role in self.roles)

    @property
    def missing(self) -> list[str]:
        """The parts that a site map should have and this one lacks."""
        found = {role.role for role in self.roles}
        pages = [f"pages.{kind}" for kind in ("product", "listing") if kind not in self.pages]
        wanted = (*WANTED, *WANTED_IN_CARDS, *(WANTED_IN_CART if self.learned else ()))
        choice = [] if self.learned is None or self.learned.choice.model_fields_set else ["choice"]
        return [*pages, *(role for role in wanted if role not in found), *choice]

    def to_yaml(self) -> str:
        """Return the site map's file, with the reason beside each role."""
        return "\n".join(_lines(self)) + "\n"


def propose(
    name: str,
    product: Capture,
    listing: Capture | None,
    *,
    raw: Sequence[Capture] = (),
    answers: Sequence[FetchedAnswer] = (),
    home: Capture | None = None,
) -> Proposal:
    """Return a site map for the shop of these pages.

    `raw`: the same pages as the shop sends them, where `product` and `listing` are from a browser in which
    scripts ran; roles that are not in them are marked. `answers`: what the scripts fetched. `home`: a page of
    another type.
    """
    page = Scan(product)
    other = Scan(listing) if listing is not None else None
    own_cards = [node.mem_id for cards in kinds_of_cards(page) for node in cards.nodes]
    facts = stated_facts(page)
    elsewhere = card_prices(other, page.key) if other is not None else {}
    found = list(product_roles(page, facts, frozenset(own_cards), other, elsewhere))
    found += _cards(page, other)
    sources = {product_key(capture.url): parse(capture.html) for capture in raw}
    roles = tuple(_marked(role, list(sources.values())) if raw else role for role in found)
    data = (*_data(page, other, roles), *fetched_data(answers, _all_shown(page, other, roles)))
    first = Scan(home) if home is not None and not _shows_title(home, roles) else None
    tests = _product_tests(page, [*filter(None, (other, first))], roles)
    pages = {"product": tests[0]} if tests else {}
    pages |= _listing_test(page, other, roles)
    query = next(filter(None, map(_query, filter(None, (other, page)))), ())
    url = listing.url if listing else None
    return Proposal(name, product.url, url, pages, roles, data, query, product_tests=tests)


def cards_on(capture: Capture) -> set[str]:
    """Return the keys of the products that a page shows as cards, which identify a listing."""
    scan = Scan(capture)
    cards = find_cards(scan)
    return {product_key(link, capture.url) for link in cards.links} if cards else set()


def first_product(capture: Capture) -> str | None:
    """Return the address of the first product on a page that lists products; None for any other page."""
    scan = Scan(capture)
    cards = find_cards(scan)
    if cards is None:
        return None
    inside = {inner.mem_id for card in cards.nodes for inner in (card, *select(card, "*"))}
    sells = any(is_cart_button(n) and n.mem_id not in inside and not is_aside(n) for n in scan.visible)
    # A product's price stands after its heading, and leads nowhere; the sum of a header's basket does.
    below = {n.mem_id for n in dropwhile(lambda n: n.tag != "h1", scan.visible)} - inside
    priced = any(
        n.mem_id in below and not is_aside(n) and not any(a.tag == "a" for a in (n, *ancestors(n)))
        for n, _ in scan.innermost(names_price)
    )
    return None if sells or priced else urljoin(capture.url, cards.links[0])


def _query(scan: Scan) -> tuple[str, ...]:
    """The first kind of cards whose links differ in their query only says how."""
    found = (telling_query(cards.links, scan.url) for cards in kinds_of_cards(scan))
    return next(filter(None, found), ())


def _cards(page: Scan, other: Scan | None) -> Iterator[FoundRole]:
    """Yield the roles of each kind of card: `item` those of the listing, the others as they are called."""
    seen: dict[str, str] = {}
    for scan in filter(None, (other, page)):
        for cards in kinds_of_cards(scan):
            known = {node.mem_id for css in seen.values() for node in select(scan.tree, css)}
            if all(node.mem_id in known for node in cards.nodes):
                continue
            kind = _kind(cards, seen) if seen else "item"
            roles = list(card_roles(scan, cards, kind))
            names = {role.role for role in roles}
            # A kind of card is none without a link, and must not hold or be a card of another kind.
            if f"{kind}.link" not in names or _overlaps(roles[0].places[0].css, seen.values(), (page, other)):
                continue
            seen[kind] = roles[0].places[0].css
            yield from roles


def _kind(cards: ProposedCards, taken: Container[str]) -> str:
    """A name for a kind of card: what the elements around it are called, else `other`."""
    around = islice(ancestors(cards.nodes[0]), 4)
    names = " ".join(words(node) for node in (cards.nodes[0], *around))
    name = next((name for name, pattern in _KINDS.items() if re.search(pattern, names)), "other")
    return name if name not in taken else next(each for n in count(2) if (each := f"{name}{n}") not in taken)


def _overlaps(css: str, others: Collection[str], scans: Iterable[Scan | None]) -> bool:
    for scan in filter(None, scans):
        own = select(scan.tree, css)
        rest = [node for other in others for node in select(scan.tree, other)]
        for these, those in ((own, rest), (rest, own)):
            ids = {node.mem_id for node in these}
            if any(a.mem_id in ids for node in those for a in (node, *ancestors(node))):
                return True
    return False


def _marked(role: FoundRole, trees: Sequence[LexborHTMLParser]) -> FoundRole:
    css = role.places[0].css
    return replace(role, scripted=not any(tree.css_first(css) is not None for tree in trees))


def _data(page: Scan, other: Scan | None, roles: Sequence[FoundRole]) -> Iterator[FoundData]:
    """Without doubles: product pages and listings often embed the same kind of object."""
    kinds: dict[tuple[str | None, str], FoundData] = {}
    by_role = {role.role: role for role in roles}
    for scan in filter(None, (page, other)):
        for found in embedded_data(scan, _shown(scan, page, by_role)):
            known = kinds.setdefault((found.rule.css, str(found.rule.items)), found)
            if found.rule.link and not known.rule.link:
                # On its own page an object often leaves out which product it shows.
                rule = known.rule.model_copy(update={"link": found.rule.link})
                kinds[found.rule.css, str(found.rule.items)] = replace(known, rule=rule)
    yield from kinds.values()


def _all_shown(page: Scan, other: Scan | None, roles: Sequence[FoundRole]) -> dict[str, tuple[str, Decimal]]:
    by_role = {role.role: role for role in roles}
    return {key: each for scan in (other, page) if scan for key, each in _shown(scan, page, by_role).items()}


def _shown(scan: Scan, page: Scan, roles: dict[str, FoundRole]) -> dict[str, tuple[str, Decimal]]:
    """The products that a page shows, with name and price."""
    shown: dict[str, tuple[str, Decimal]] = {}
    name, price = roles.get("product.name"), roles.get("product.price")
    if scan is page and name and price and (value := number(price.text)) is not None:
        shown[page.key] = (name.text, value)
    item = [roles.get(f"item{part}") for part in ("", ".link", ".name", ".price")]
    card, link, name, price = item
    if scan is not page and card and link and name and price:
        for node in select(scan.tree, card.places[0].css):
            found = [node.css_first(role.places[0].css) for role in (link, name, price)]
            if all(found):
                a, title, cost = (n for n in found if n is not None)
                key = product_key(a.attributes.get("href") or "", scan.url)
                if (value := number(" ".join(cost.text().split()))) is not None:
                    shown[key] = " ".join(title.text().split()), value
    return shown


def _shows_title(page: Capture, roles: Sequence[FoundRole]) -> bool:
    """Whether another address shows the same product, as where a server answers all of them alike."""
    title = next((role for role in roles if role.role == "product.title"), None)
    return title is not None and title.text in map(text, select(parse(page.html), title.places[0].css))


def _product_tests(page: Scan, others: Sequence[Scan], roles: Sequence[FoundRole]) -> tuple[str, ...]:
    """Selectors that hold on a product's page and on none of the others."""
    places = {role.role: role.places[0].css for role in roles}
    title, price, button = (places.get(f"product.{part}", "") for part in ("title", "price", "add_to_cart"))
    standard = [f'meta[property="og:type"][content="{kind}"]' for kind in ("product", "og:product")]
    around = _around(page.tree.css_first(title) if title else None, page)
    candidates = [*standard, *_body(page), *around, button, price, title]
    # A nameless button is on many other pages too.
    told = [css for css in candidates if css and (re.search(r"[.#\[]", css) or "button" not in css)]
    # Browsers know no `:has()` within another one.
    parts = [f":has({css})" for css in (title, price, button) if css and ":has(" not in css]
    told += [f"body{''.join(parts)}"] if len(parts) > 1 else []
    return tuple(_holding(told, page, others))


def _listing_test(page: Scan, other: Scan | None, roles: Sequence[FoundRole]) -> dict[str, str]:
    """Product pages are told first, so a test that holds on both will do."""
    item = next((role.places[0].css for role in roles if role.role == "item"), None)
    if other is None:
        return {}
    card = other.tree.css_first(item) if item else None
    css = next(_holding([*_body(other), *_around(card, other)], other, [page]), item if card else None)
    return {"listing": css} if css else {}


def _holding(candidates: Iterable[str], here: Scan, others: Sequence[Scan]) -> Iterator[str]:
    for css in dict.fromkeys(candidates):
        if select(here.tree, css) and not any(select(other.tree, css) for other in others):
            yield css


def _body(scan: Scan) -> list[str]:
    return list(names(scan.tree.body, scan.key)) if scan.tree.body is not None else []


def _around(node: LexborNode | None, scan: Scan) -> Iterator[str]:
    while node is not None and node.tag not in ("body", "html"):
        yield from list(names(node, scan.key))[:3]
        node = node.parent


def _lines(proposal: Proposal) -> Iterator[str]:
    yield f"# Site map of {_on_one_line(proposal.product_url)}"
    if proposal.listing_url:
        yield f"# and {_on_one_line(proposal.listing_url)}"
    yield "# Proposed by souk interventions map: check each role. Its first place must be on the page."
    yield f"name: {scalar(proposal.name)}"
    if proposal.drawn:
        yield "drawn: true  # scripts draw the pages"
    if proposal.dismiss:
        yield "# Pressed on each start page, in all conditions: each took a layer away"
        yield f"dismiss: [{', '.join(_place(button) for button in proposal.dismiss)}]"
    if proposal.query:
        yield "# What tells the pages of products apart"
        yield f"query: {_several([scalar(name, inside=True) for name in proposal.query])}"
    yield ""
    yield "pages:" if proposal.pages else "# pages:"
    for kind, css in proposal.pages.items():
        yield f"  {kind}: {scalar(css)}"
    if "cart" not in proposal.pages:
        yield "  # cart: a selector that is only on the cart's page"
    yield ""
    yield "roles:"
    yield "  page.body: body"
    yield ""
    yield "  # A product's own page"
    for role in proposal.roles:
        if "." not in role.role:
            yield ""
            yield f"  # {_HEADINGS.get(role.role, 'Another kind of card')}"
        yield from _role_lines(role)
    if not any(role.role == "row" for role in proposal.roles):
        yield ""
        yield "  # The lines of the cart's page, by hand: row, row.link, row.title, row.name, row.price,"
        yield "  # row.quantity, row.subtotal; and cart.total"
    for missing in proposal.missing:
        yield f"  # not found: {missing}"
    if proposal.data:
        yield ""
        yield "data:"
        for found in proposal.data:
            yield from _data_lines(found)
    if proposal.learned is not None and proposal.learned.choice.model_fields_set:
        yield ""
        yield "# What tells that a product is in the cart"
        yield "choice:"
        yield from _choice_lines(proposal.learned)


def _choice_lines(learned: PurchaseRules) -> Iterator[str]:
    rules = learned.choice.model_dump(exclude_defaults=True)
    for name, several in rules.items():
        yield f"  # {_on_one_line(learned.reasons[name])}"
        items = [flow(each) if isinstance(each, dict) else scalar(each, inside=True) for each in several]
        yield f"  {name}: {_several(items)}"


def _role_lines(role: FoundRole) -> Iterator[str]:
    note = f"{role.confidence}: {role.reason}" + ("; only after scripts ran" if role.scripted else "")
    yield f"  # {_on_one_line(note)} ({_cut(role.text)})"
    first, *others = [_place(place) for place in role.places]
    yield f"  {role.role}:" + ("" if others else f" {first}")
    yield from (f"    - {place}" for place in ((first, *others) if others else ()))


def _place(place: Place | Value | Link | Dismissal) -> str:
    parts = place.model_dump(exclude_defaults=True)
    if list(parts) in (["css"], ["path"]):
        (bare,) = parts.values()
        return scalar(bare, inside="path" in parts or isinstance(place, Dismissal))
    return flow(parts)


def flow(parts: Mapping[str, object]) -> str:
    """Return a mapping of texts, numbers and lists as YAML on one line."""
    return "{" + ", ".join(f"{key}: {_flow_value(value)}" for key, value in parts.items()) + "}"


def _flow_value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(scalar(each, inside=True) for each in value)}]"
    return scalar(value, inside=True) if isinstance(value, str) else json.dumps(value)


def _data_lines(found: FoundData) -> Iterator[str]:
    rule = found.rule
    yield f"  # {_on_one_line(found.reason)}"
    yield f"  - {'css' if rule.css else 'url'}: {scalar(rule.css or rule.url or '')}"
    yield f"    items: {scalar(str(rule.items))}"
    if rule.link:
        yield f"    link: {_several([_place(link) for link in rule.link])}"
    yield "    roles:"
    for part, values in rule.roles.items():
        yield f"      {part}: {_several([_place(value) for value in values])}"


def _several(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"[{', '.join(items)}]"


def _on_one_line(value: str) -> str:
    """What a shop says, as a comment: what nobody could see in it might end the line."""
    return "".join(char if char.isprintable() else " " if char.isspace() else "?" for char in value)


def _cut(value: str) -> str:
    value = _on_one_line(value)
    return value if len(value) <= 60 else value[:59] + "…"
