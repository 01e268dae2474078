"""Check that lists stand on the screen in the order that edits have made, however the source has it."""

from collections.abc import Iterator, Sequence
from functools import cmp_to_key, partial
from typing import Final, NamedTuple, TypeVar

from interventions.apply.mapped_page import MappedPage, product_at
from interventions.edits.in_browser import CardElements, Element, ElementQuery, PageElements, ScreenBox
from interventions.edits.place_values import pattern_part
from interventions.html.source_page import own_address
from interventions.yaml.sitemap import SiteMap
from proxy.session import Session
from proxy.shown_page import ShownPage

_Card = TypeVar("_Card", Element, CardElements)
_DIRECTION: Final = ElementQuery("html", "dir")
_UNSEEN: Final = frozenset(["hidden", "transparent", "not legible in the picture", "tiny"])
"""Why a card is on no screen, wherever the page is scrolled to."""


class Order(NamedTuple):
    """A list of a page as it was sent, in order, and how it came to be so.

    `moved`: the products whose place was chosen; None: all of them. `only`: no other product may stand there.
    `twice`: the product that stands there twice; empty: none has to.
    """

    intervention: str
    edit: str
    keys: tuple[str, ...]
    moved: frozenset[str] | None
    only: bool = False
    twice: str = ""


def order_spots(site: SiteMap) -> tuple[ElementQuery, ...]:
    """Return what is to be read of a page to know the order of its lists."""
    return (*_cards(site), _DIRECTION)


def _cards(site: SiteMap) -> tuple[ElementQuery, ...]:
    links = site.role("item.link")
    if not links or links[0].attribute is None:
        return ()
    return tuple(ElementQuery(place.css, links[0].attribute, links[0].css) for place in site.role("item"))


def misplaced(seen: Sequence[tuple[str, PageElements | None]], session: Session) -> str:
    """Return why the lists that were looked at are not in the order that was made; empty where they are.

    seen: the address of each page that was looked at, and what stood there.
    """
    given: dict[str, bool] = {}
    for url, standing in seen:
        for order in orders(url, session) if standing else ():
            shown = _shown(order, url, standing, session) if standing else None
            if shown is None:
                continue
            edit = f"{order.intervention}: {order.edit}"
            given[edit] = given.get(edit, False) or shown.given
            if shown.keys and not (_is_kept(order, shown.keys) and shown.has_twice(order.twice)):
                return f"{edit} is gone: the list shows {', '.join(shown.keys[:5])}"
    return next((f"{edit}: the agent was not shown the list" for edit in given if not given[edit]), "")


def _is_kept(order: Order, shown: tuple[str, ...]) -> bool:
    if order.moved is None:
        # The end of a list may be shown later.
        wanted = order.keys[: len(shown)]
        return shown[: len(wanted)] == wanted and not (order.only and set(shown) - set(order.keys))
    last = max(order.keys.index(key) for key in order.moved)
    return shown[: last + 1] == order.keys[: last + 1]


def looked_at(seen: Sequence[tuple[str, PageElements | None]], session: Session) -> set[tuple[str, str]]:
    """Return the interventions and edits whose lists the browser has read."""
    return {
        (order.intervention, order.edit)
        for url, standing in seen
        if standing
        for order in orders(url, session)
        if _shown(order, url, standing, session)
    }


def orders(url: str, session: Session) -> Iterator[Order]:
    """Yield the lists of the page at an address whose order an edit has made."""
    page = page_at(url, session)
    if page is None or page.parsed is None:
        return
    view = MappedPage(page.parsed, session.site, session.plan.by_product, session.known)
    lists: dict[int, list[str]] = {}
    for key, showing in view.showings():
        if showing.group == "item" and showing.root is not None and showing.root.parent is not None:
            keys_of = lists.setdefault(showing.root.parent.mem_id, [])
            keys_of += [key][key in keys_of :]
    made = {(each.intervention, each.edit, each.product) for each in session.receipts}
    for keys in map(tuple, lists.values()):
        for treatment in session.plan.treatments:
            for edit in treatment.edits if not treatment.pages or view.page_type in treatment.pages else ():
                if not edit.orders:
                    continue
                done = {key for key in keys if (treatment.intervention, edit.kind(), key) in made}
                if treatment.product is None and done:
                    only = edit.only or edit.takes_out() == "item"
                    yield Order(treatment.intervention, edit.kind(), keys, None, only)
                elif treatment.product in done:
                    moved = ({treatment.product or ""} | edit.moved(session.site)) & set(keys)
                    twice = treatment.product if edit.doubles and treatment.product else ""
                    yield Order(treatment.intervention, edit.kind(), keys, frozenset(moved), twice=twice)


def products_met(seen: Sequence[tuple[str, PageElements]], session: Session) -> dict[str, bool]:
    """Return the products of all cards of the pages that were looked at, as an eye meets them.

    The value says whether something of a card of the product was in view. Lines of a cart are no cards.
    """
    met: dict[str, bool] = {}
    for url, standing in seen:
        cards = [
            (card_key(card.group, card.link, url, session), card)
            for card in standing.cards
            if card.group not in ("row", *session.site.choice.cart)
        ]
        for key, card in _as_met(cards, standing):
            met[key] = met.get(key, False) or not card.on_screen.why
    return met


def page_at(url: str, session: Session) -> ShownPage | None:
    """Return the page at an address as it was sent last; None where none was looked at for edits."""
    address = url.partition("#")[0]
    return next((page for page in reversed(session.pages) if page.url == address), None)


class _ListedProduct(NamedTuple):
    """The products of a list as an eye meets them; `given`: whether the reader was given any of them."""

    keys: tuple[str, ...]
    given: bool
    every: tuple[str, ...]
    """Their cards: a product may have several."""

    def has_twice(self, key: str) -> bool:
        return not key or self.every.count(key) > 1


def _shown(order: Order, url: str, standing: PageElements, session: Session) -> _ListedProduct | None:
    """What stands in a list; None: the browser has not read the cards."""
    lists: dict[tuple[ElementQuery, int], list[tuple[str, Element]]] = {}
    spots = _cards(session.site)
    for spot in spots:
        for card in standing.found.get(spot) or ():
            key = card_key("item", card.text, url, session)
            lists.setdefault((spot, card.in_list), []).append((key, card))
    if not spots or any(standing.found.get(spot) is None for spot in spots):
        return None
    mine = max(lists.values(), key=lambda cards: (_common(cards, order.keys), -len(cards)), default=[])
    if 2 * _common(mine, order.keys) < len(order.keys):
        # Scripts have put the cards into boxes of their own.
        mine = [card for cards in lists.values() for card in cards if card[0] in order.keys]
    met = _as_met(mine, standing)
    given = any(card.given and not card.on_screen.why for _, card in met)
    every = tuple(key for key, _ in met)
    return _ListedProduct(tuple(dict.fromkeys(every)), given, every)


def _as_met(cards: Sequence[tuple[str, _Card]], standing: PageElements) -> list[tuple[str, _Card]]:
    """The cards on the screen, wherever the page is scrolled to, as an eye meets them."""
    drawn = [(key, card) for key, card in cards if key and is_drawn(card.on_screen)]
    right_to_left = any(each.text == "rtl" for each in standing.found.get(_DIRECTION) or ())
    before = cmp_to_key(partial(_compared, right_to_left=right_to_left))
    return sorted(drawn, key=lambda each: before(each[1].on_screen))


def card_key(group: str, address: str, url: str, session: Session) -> str:
    """Return the product to which a card's link leads, on the page at `url`; empty where none is known."""
    place, address = session.site.role(f"{group}.link")[0], own_link(address, session)
    named = pattern_part(place, address) if place.pattern else address
    if not named:
        return ""
    key = session.site.key(named)
    return key if key in session.known.values() else product_at(named, session.known, session.site, url)


def own_link(address: str, session: Session) -> str:
    """Return the address of the card's product, of a link that an edit may have made lead elsewhere."""
    changed = (page.links for page in session.pages if page.links) if "#" in address else ()
    found = (own_address(address, links) for links in changed)
    return next((each for each in found if each != address), address)


def _common(cards: Sequence[tuple[str, Element]], keys: Sequence[str]) -> int:
    return len({key for key, _ in cards} & set(keys))


def is_drawn(box: ScreenBox) -> bool:
    """Return whether a card is on the screen, wherever the page is scrolled to."""
    return box.width > 0 and box.height > 0 and box.why not in _UNSEEN


def _compared(a: ScreenBox, b: ScreenBox, *, right_to_left: bool) -> int:
    """Below 0 where a box is met before another: rows from the top, each in the direction of reading."""
    if 2 * abs(a.y - b.y) > min(a.height, b.height):
        return a.y - b.y
    return b.x - a.x if right_to_left else a.x - b.x
