"""Read the cards of a listing, and the search field, from an observation's HTML by their text."""

from dataclasses import dataclass
from urllib.parse import urldefrag

from selectolax.lexbor import LexborNode

from agents.simulated.readers.product_page import ReadFacts, add_to_cart_button, read_facts, text_of
from interventions.html.tree import parse, select

_SEARCH_NAMES = ("q", "s", "search")


@dataclass(frozen=True, slots=True)
class ListedProduct(ReadFacts):
    """A product's card on a listing; `address` is where its link (a bid) leads, without its fragment."""

    address: str = ""
    link: str = ""


def read_cards(html: str) -> tuple[ListedProduct, ...]:
    """Return the cards of a listing, in the page's order.

    A card is a list item or an article that shows a titled link and, after it, a price.
    """
    cards: list[ListedProduct] = []
    around: set[int] = set()
    # Backwards, so that what is inside comes before what is around it: a list of cards is no card.
    for node in reversed(select(parse(html), "li, article")):
        if node.mem_id not in around and (card := _read_card(node)):
            cards.append(card)
            parent = node.parent
            while parent is not None:
                around.add(parent.mem_id)
                parent = parent.parent
    return tuple(reversed(cards))


def search_field(html: str) -> str | None:
    """Return the bid of the first field that looks like the shop's search; None without one."""
    for node in select(parse(html), "input[bid]"):
        attributes = {name: (value or "").lower() for name, value in node.attributes.items()}
        named = f"{attributes.get('placeholder', '')} {attributes.get('aria-label', '')}"
        if (
            "search" in (attributes.get("type"), *named.split())
            or attributes.get("role") == "searchbox"
            or attributes.get("name") in _SEARCH_NAMES
        ):
            return node.attributes["bid"]
    return None


def _read_card(node: LexborNode) -> ListedProduct | None:
    link = next((link for link in select(node, "a[bid][href]") if text_of(link)), None)
    if link is None:
        return None
    title, text = text_of(link), text_of(node)
    facts = read_facts(text.partition(title)[2])
    if facts[0] is None:
        return None
    address, bid = urldefrag(link.attributes["href"] or "").url, link.attributes["bid"] or ""
    return ListedProduct(title, *facts, text.lower(), add_to_cart_button(node), address, bid)
