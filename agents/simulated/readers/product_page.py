"""Read a product's page from an observation: what stands at the site map's roles, else what its text says."""

from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from agents.simulated.readers.facts import price_in, rating_in, reviews_in
from environments.protocol.shown_product import ShownProduct
from interventions.html.tree import parse, select
from interventions.proposal.phrases import is_cart_button

_HEADING = "\0"  # marks where the heading was; the parser leaves no NUL in a document


@dataclass(frozen=True, slots=True)
class ReadFacts:
    """The facts that a page or a card shows about a product; what is not there is empty.

    `text` is all that it says, in lower case. `add_to_cart` is the bid of a button.
    """

    title: str
    price: float | None
    rating: float | None
    reviews: int
    text: str
    add_to_cart: str | None = None


@dataclass(frozen=True, slots=True)
class ProductPage(ReadFacts):
    """A product's page; `options` are the bids of one group of radio buttons each, in its order."""

    options: tuple[tuple[str, ...], ...] = ()


NOT_TOLD: Final = ShownProduct()


def read_product_page(html: str, told: ShownProduct | None = None) -> ProductPage:
    """Read any HTML; a page that shows no product has no `add_to_cart`.

    `told`: what stands at the site map's roles, where there is a map. It comes before what the text says.
    """
    tree, told = parse(html), told or NOT_TOLD
    button, options = _controls(tree, told.add_to_cart or add_to_cart_button(tree))
    title, text = "", text_of(tree.body)
    after = text  # header, menu and title tell no facts
    if heading := tree.css_first("h1"):
        title = text_of(heading)
        heading.replace_with(_HEADING)
        after = text_of(tree.body).partition(_HEADING)[2]
    price, rating, reviews = read_facts(after)
    return ProductPage(
        told.name or title,
        price if told.price is None else told.price,
        rating if told.rating is None else told.rating,
        reviews if told.reviews is None else told.reviews,
        text.lower(),
        button,
        options,
    )


def _controls(tree: LexborHTMLParser, button: str | None) -> tuple[str | None, tuple[tuple[str, ...], ...]]:
    """The bid of the button, and the radio buttons before it: those after it belong to other forms."""
    groups: dict[str, list[str]] = {}
    for node in select(tree, "[bid]"):
        bid = node.attributes["bid"] or ""
        if bid == button:
            return bid, tuple(map(tuple, groups.values()))
        if node.tag == "input" and node.attributes.get("type") == "radio":
            groups.setdefault(node.attributes.get("name") or "", []).append(bid)
    return None, ()


def read_facts(text: str) -> tuple[float | None, float | None, int]:
    """Return the first price (currency units), rating (percent) and number of reviews that a text names."""
    return price_in(text), rating_in(text), reviews_in(text)


def add_to_cart_button(scope: LexborHTMLParser | LexborNode) -> str | None:
    """Return the bid of the first control whose label says that it fills the cart; None without one.

    Labels are told as `souk interventions map` tells them, in its languages.
    """
    return next((node.attributes["bid"] for node in select(scope, "[bid]") if is_cart_button(node)), None)


def text_of(node: LexborNode | None) -> str:
    """Return the text in an element, with single spaces."""
    return " ".join(node.text(separator=" ").split()) if node else ""
