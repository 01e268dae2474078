"""Find cards: repeated siblings that each link to another page of the shop and hold a price."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from selectolax.lexbor import LexborNode

from interventions.html.amounts import PRICE, follower_roles
from interventions.html.tree import select
from interventions.proposal.phrases import REVIEWS, STOCK, is_cart_button
from interventions.proposal.ratings import is_drawn, shown_ratings
from interventions.proposal.roles import (
    BY_WORDS,
    Confidence,
    FoundRole,
    as_lasting,
    box_of,
    value_of,
    with_places,
)
from interventions.proposal.scan import (
    Scan,
    ancestors,
    called,
    names_price,
    number,
    text,
    words,
)
from interventions.proposal.selectors import common_selector, unique_selector
from interventions.yaml.sitemap import Place


@dataclass(frozen=True)
class ProposedCards:
    """The cards of one kind on a page, and the address that each links to."""

    nodes: list[LexborNode]
    links: list[str]


def find_cards(scan: Scan) -> ProposedCards | None:
    """Return the largest group of siblings that look like product cards; None with fewer than two."""
    return next(iter(kinds_of_cards(scan)), None)


def kinds_of_cards(scan: Scan) -> list[ProposedCards]:
    """Return the groups of siblings that look like product cards, the largest first.

    Cards of one kind may stand in several groups. No card holds another.
    """
    groups: dict[tuple[int, str, str], list[LexborNode]] = defaultdict(list)
    for node in scan.visible:
        # A link is a card where it holds a heading or a picture, and the price.
        is_whole = node.tag == "a" and node.css_first("img, h2, h3, h4")
        is_part = node.tag in ("a", "span", "option") and not is_whole
        if node.parent is not None and not is_part:
            groups[node.parent.mem_id, node.tag or "", " ".join(_shared(node))].append(node)
    scored: list[tuple[float, ProposedCards]] = []
    for group in groups.values():
        if len(group) < 2:
            continue
        cards = [(node, _leads_to(scan, node)) for node in group]
        cards = [(node, link) for node, link in cards if link and _price(scan, node) is not None]
        links = {scan.address(link) for _, link in cards}
        if len(links) < 2 or len(cards) * 2 < len(group) or len(links) < len(cards) * 0.8:
            continue
        if any(_holds_several(scan, node) for node, _ in cards):
            continue
        score = len(links) - (0.5 if any(called(node, "cart|basket|mini", 4) for node, _ in cards) else 0)
        scored.append((score, ProposedCards([n for n, _ in cards], [link for _, link in cards])))
    kinds, taken = list[ProposedCards](), set[int]()
    for _, found in sorted(scored, key=lambda item: -item[0]):
        lineage = {a.mem_id for node in found.nodes for a in (node, *ancestors(node))}
        held = {inner.mem_id for node in found.nodes for inner in select(node, "*")}
        if not taken & (lineage | held):
            taken.update(node.mem_id for node in found.nodes)
            kinds.append(found)
    return kinds


def card_roles(scan: Scan, cards: ProposedCards, kind: str = "item") -> Iterator[FoundRole]:
    """Yield the roles `item` and `item.*`, or those of another `kind`."""
    root = scan.tree.root
    assert root is not None  # noqa: S101 - there are cards
    css, nodes = _container(scan, cards)
    if css is None:
        return
    yield FoundRole(
        kind, (Place(css=css),), f"{len(nodes)} cards", "high", "repeat, each with a link and a price"
    )
    parts: dict[str, list[tuple[LexborNode, LexborNode | None]]] = {
        part: [(card, find(scan, card)) for card in nodes] for part, find in _PARTS.items()
    }
    for part, found in parts.items():
        first = next((node for _, node in found if node is not None), None)
        selector = unique_selector(found)
        selector = selector or (_first_link(scan, nodes) if part == "link" else _loosely(found))
        if selector is None or first is None:
            continue
        missing = sum(node is None for _, node in found)
        place = Place(css=selector, attribute="href" if part == "link" else None)
        if part == "rating":
            place = next(shape for _, shape in shown_ratings([first]))
            place = place.model_copy(update={"css": selector})
        reason = _REASONS.get(part, BY_WORDS)
        reason += f"; in {len(found) - missing} of {len(found)} cards" if missing else ""
        sure: Confidence = "medium" if missing else "high"
        role = as_lasting(FoundRole(f"{kind}.{part}", (place,), value_of(first, place), sure, reason))
        more = _attributes(found, part) if part in _REPEATED else ()
        yield with_places(role, _more_ratings(found) if part == "rating" else more)


def card_prices(scan: Scan, key: str) -> dict[str, Decimal]:
    """Return the price that a page's card shows for a product, by a name for the card; empty: none."""
    for cards in kinds_of_cards(scan):
        for card, link in zip(cards.nodes, cards.links, strict=True):
            price = _own_price(scan, card) if scan.address(link) == key else None
            if price is not None and (value := number(text(price))) is not None:
                return {"its card": value}
    return {}


def _first_link(scan: Scan, cards: Sequence[LexborNode]) -> str | None:
    """A selector whose first link in each card leads to the card's product, as others after it may do."""
    for css in ("a", "h2 a", "h3 a", "h4 a", "a:has(img)", "a:not(:has(img))"):
        firsts = [card.css_first(css) for card in cards]
        hrefs = [(node.attributes.get("href") or "") if node is not None else "" for node in firsts]
        wanted = [scan.address(_leads_to(scan, card)) for card in cards]
        if all(hrefs) and [scan.address(href) for href in hrefs] == wanted:
            return css
    return None


def _container(scan: Scan, cards: ProposedCards) -> tuple[str | None, list[LexborNode]]:
    """A selector of the cards, of all on the page that are made alike; else of the one element in each.

    Where none of these elements has a name, the cards are told by where they stand.
    """
    root = scan.tree.root
    assert root is not None  # noqa: S101
    for by_place in (False, True):
        nodes = cards.nodes
        while nodes:
            alike = [n for n in scan.visible if n.tag == nodes[0].tag and _shared(n) == _shared(nodes[0])]
            alike = [n for n in alike if _is_card(scan, n) and not _holds_several(scan, n)]
            for wanted in (alike, nodes):
                if wanted and (css := common_selector(root, wanted, scan.key, by_place=by_place)):
                    return css, wanted
            inner = [[each for each in node.iter() if _is_card(scan, each)] for node in nodes]
            nodes = [found[0] for found in inner] if all(len(found) == 1 for found in inner) else []
    return None, []


def _is_card(scan: Scan, node: LexborNode) -> bool:
    return bool(_leads_to(scan, node)) and _price(scan, node) is not None


def _holds_several(scan: Scan, card: LexborNode) -> bool:
    """Return whether several products stand in it, each with its own price, as in the row of a table."""
    holders: dict[int, str] = {}
    for link in select(card, "a[href]"):
        href = link.attributes.get("href") or ""
        if not scan.is_product_link(href) or is_cart_button(link):
            continue
        for around in (link, *ancestors(link)):
            if around.mem_id == card.mem_id:
                break
            if _price(scan, around) is not None:
                holders[around.mem_id] = scan.address(href)
                break
    return len(set(holders.values())) > 1


def _shared(node: LexborNode) -> list[str]:
    """The classes that cards of one kind have in common; first, last and odd ones are not of a kind."""
    drop = re.compile(r"(?:^|[-_])(?:first|last|odd|even|active)(?:$|[-_])|\d")
    return sorted(name for name in (node.attributes.get("class") or "").split() if not drop.search(name))


def _leads_to(scan: Scan, card: LexborNode) -> str:
    """The address of most of a card's links that are pages of the shop."""
    node = _link(scan, card)
    return (node.attributes.get("href") or "") if node is not None else ""


def _link(scan: Scan, card: LexborNode) -> LexborNode | None:
    links = [a for a in select(card, "a[href]") if scan.is_product_link(a.attributes.get("href") or "")]
    by_key: dict[str, list[LexborNode]] = defaultdict(list)
    for link in links:
        key = scan.address(link.attributes.get("href") or "")
        if key and key != scan.address(scan.url) and not is_cart_button(link):
            by_key[key].append(link)
    if not by_key:
        return None
    most = max(by_key.values(), key=len)
    return next((link for link in most if text(link)), most[0])


def _price(scan: Scan, card: LexborNode) -> LexborNode | None:
    found = [node for node in _innermost(card, _is_price) if not scan.is_former(node)]
    found = [node for node in found if scan.kind(node) in (PRICE, "from")] or found
    plain = [node for node in found if scan.kind(node) == PRICE] or found
    return next(iter([node for node in plain if called(node, "price|amount", 1)] or plain), None)


def _own_price(scan: Scan, card: LexborNode) -> LexborNode | None:
    """The price, unless what stands around it says that it is another amount."""
    price = _price(scan, card)
    return price if price is not None and scan.kind(price) in (PRICE, "from", "unit") else None


def _following(role: str, scan: Scan, card: LexborNode) -> LexborNode | None:
    price = _own_price(scan, card)
    found = (each.element for each in scan.amounts.get(card.mem_id, ()) if each.role == role)
    return next((node for node in found if price is None or node.mem_id != price.mem_id), None)


def _is_price(value: str) -> bool:
    return len(value) <= 40 and number(value) is not None and names_price(value)


def _name(scan: Scan, card: LexborNode) -> LexborNode | None:
    headings = [n for n in select(card, "h1, h2, h3, h4, h5, h6, [itemprop=name]") if text(n)]
    link = _link(scan, card)
    node = next(iter(headings), None) or (link if link is not None and text(link) else None)
    if node is None or names_price(text(node)):
        named = (n for n in _innermost(card, bool) if re.search(r"name|title", words(n)))
        node = next((n for n in named if not names_price(text(n))), None)
    while node is not None and len(inner := [c for c in node.iter() if text(c) == text(node)]) == 1:
        node = inner[0]
    return node


def _title(scan: Scan, card: LexborNode) -> LexborNode | None:
    node = _name(scan, card)
    while node is not None and node.parent is not None and node.parent.mem_id != card.mem_id:
        if text(node.parent) != text(node):
            break
        node = node.parent
    return node


def _rating(scan: Scan, card: LexborNode) -> LexborNode | None:
    return next((node for node, _ in shown_ratings(select(card, "*"))), None)


def _stars(rating: LexborNode | None) -> LexborNode | None:
    box = box_of(rating, r"rating|\bstars?\b")
    return box if box is not None and is_drawn(box, rating) else None


def _reviews(scan: Scan, card: LexborNode) -> LexborNode | None:
    def shows(value: str) -> object:
        return len(value) <= 60 and number(value) is not None and REVIEWS.search(value)

    return next(_innermost(card, shows), None)


def _stock(scan: Scan, card: LexborNode) -> LexborNode | None:
    return next((n for n in _innermost(card, STOCK.search) if called(n, "stock|availab|inventory", 1)), None)


def _button(scan: Scan, card: LexborNode) -> LexborNode | None:
    return next((n for n in select(card, "button, input, a") if is_cart_button(n)), None)


def _attributes(found: Sequence[tuple[LexborNode, LexborNode | None]], part: str) -> Iterator[Place]:
    """Attributes in the cards that hold the price, or the name, too."""
    seen: dict[str, list[tuple[LexborNode, LexborNode | None]]] = {}
    for card, shown in found:
        value = text(shown) if shown is not None else ""
        for node in select(card, "*"):
            for name, attribute in node.attributes.items():
                if value and attribute and _REPEATED[part](node, name) and _same(part, attribute, value):
                    seen.setdefault(f"{node.tag} {name}", []).append((card, node))
    for key, places in seen.items():
        if len({card.mem_id for card, _ in places}) == len(places) and (css := unique_selector(places)):
            yield Place(css=css, attribute=key.partition(" ")[2])


def _more_ratings(found: Sequence[tuple[LexborNode, LexborNode | None]]) -> Iterator[Place]:
    """The other elements and attributes that show a card's rating."""
    seen: dict[tuple[str | None, str | None], list[tuple[LexborNode, LexborNode | None, Place]]] = {}
    for card, first in found:
        for node, place in shown_ratings(select(card, "*")) if first is not None else ():
            if node.mem_id != (first.mem_id if first is not None else 0):
                seen.setdefault((node.tag, place.attribute), []).append((card, node, place))
    for places in seen.values():
        if css := unique_selector([(card, node) for card, node, _ in places]):
            yield places[0][2].model_copy(update={"css": css})


def _same(part: str, attribute: str, value: str) -> bool:
    if part == "price":
        return number(attribute) is not None and number(attribute) == number(value)
    return attribute == value or attribute.startswith(value.rstrip(".… ") + " ")


def _loosely(found: Sequence[tuple[LexborNode, LexborNode | None]]) -> str | None:
    """A selector that holds in the cards that have the part."""
    return unique_selector([(card, node) for card, node in found if node is not None])


def _innermost(card: LexborNode, shows: Callable[[str], object]) -> Iterator[LexborNode]:
    for node in select(card, "*"):
        silent = node.tag in ("script", "style", "option")
        if not silent and shows(text(node)) and not any(shows(text(child)) for child in node.iter()):
            yield node


_PARTS: dict[str, Callable[[Scan, LexborNode], LexborNode | None]] = {
    "link": _link,
    "title": _title,
    "name": _name,
    "price": _own_price,
    **{role: partial(_following, role) for role in follower_roles()},
    "price_box": lambda scan, card: box_of(_price(scan, card), "price"),
    "rating": _rating,
    "stars": lambda scan, card: _stars(_rating(scan, card)),
    "reviews": _reviews,
    "stock": _stock,
    "add_to_cart": _button,
}
_REPEATED: dict[str, Callable[[LexborNode, str], object]] = {
    "price": lambda node, name: (
        re.search("price|amount", name) or (name == "content" and called(node, "price", 0))
    ),
    "name": lambda _, name: name in ("title", "data-name", "data-product-name"),
}
_REASONS = {
    "link": "leads to another page",
    "title": "holds the name",
    "name": "the card's heading",
    "price": "a figure with a currency",
    "price_box": "holds the price",
    "rating": "is called a rating",
    "stars": "holds the rating",
    "reviews": "a number of reviews",
    "stock": "says whether it is in stock",
    "add_to_cart": "a button that says so",
}
