"""Read the cards of a listing, and the search field, from an observation's HTML by their text."""

from dataclasses import dataclass
from urllib.parse import urldefrag

from selectolax.lexbor import LexborNode

from agents.simulated.readers.product_page import add_to_cart_button, read_facts, text_of
from interventions.html.tree import parse, select

_SEARCH_NAMES = ("q", "s", "search")


@dataclass(frozen=True, slots=True)
class ListedProduct:
    """A product's card on a listing; what the card does not show is empty.

    `text` is all that the card says, in lower case. `link` and `add_to_cart` are bids; `address` is where the
    link leads, without its fragment.
    """

    title: str
    price: float | None
    rating: float | None
    reviews: int
    text: str
    address: str
    link: str
    add_to_cart: str | None


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
    title = text_of(link)
    text = text_of(node)
    price, rating, reviews = read_facts(text.partition(title)[2])
    if price is None:
        return None
    return ListedProduct(
        title=title,
        price=price,
        rating=rating,
        reviews=reviews,
        text=text.lower(),
        address=urldefrag(link.attributes["href"] or "").url,
        link=link.attributes["bid"] or "",
        add_to_cart=add_to_cart_button(node),
    )
