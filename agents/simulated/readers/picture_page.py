"""Read products from what can be seen in pictures of a page: texts and controls with their boxes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agents.simulated.readers.listing_page import ListedProduct
from agents.simulated.readers.product_page import ProductPage, read_facts
from environments.protocol.observation import VisibleElement
from interventions.proposal.phrases import fills_cart

_SAME_LINE = 8
"""Texts whose upper edges are so many pixels apart stand in one line."""
_APART = 1.6
"""Radio buttons that are further apart than so many times the least distance belong to another group."""


@dataclass(frozen=True, slots=True)
class _Choosable:
    """A radio button that can be seen, and the text beside it."""

    text: str
    at: tuple[float, float]


def _in_lines(drawn: Iterable[VisibleElement]) -> list[VisibleElement]:
    """Return texts and controls in the order in which they are read: line by line, from the left."""
    lines: list[list[VisibleElement]] = []
    for each in sorted(drawn, key=lambda each: each.box[1]):
        if lines and each.box[1] - lines[-1][0].box[1] < _SAME_LINE:
            lines[-1].append(each)
        else:
            lines.append([each])
    return [each for line in lines for each in sorted(line, key=lambda each: each.box[0])]


def read_picture(views: Sequence[Sequence[VisibleElement]]) -> ProductPage:
    """Read a page from its pictures, from the top of the page down; what shows no product has no title.

    The largest letters of the first picture are the title; facts are read below it. `add_to_cart` and
    `options` stay empty: a picture has no marks.
    """
    first = _in_lines(views[0]) if views else []
    texts = [each for each in first if each.kind == "text" and each.text]
    title = max(texts, key=lambda each: (each.size, -each.box[1])) if texts else None
    read = list(_read_on(views))
    below = [each for number, each in read if number or (title and each.box[1] > title.box[1])]
    text = _text_of(each for _, each in read).lower()
    return ProductPage(title.text if title else "", *read_facts(_text_of(below)), text)


def read_cards_in_picture(views: Sequence[Sequence[VisibleElement]]) -> tuple[ListedProduct, ...]:
    """Return the cards of a listing in the order in which they are seen, from the top of the page down.

    A card's title is its first link. One that shows no price below the title is not read. `address` is the
    number of the card; `link` and `add_to_cart` stay empty: a picture has no marks.
    """
    by_card: dict[int, list[VisibleElement]] = {}
    for _, each in _read_on(views):
        if each.card >= 0:
            by_card.setdefault(each.card, []).append(each)
    return tuple(card for number, read in by_card.items() if (card := _card(number, read)))


def _card(number: int, read: list[VisibleElement]) -> ListedProduct | None:
    title = next((each for each in read if each.kind == "link"), None)
    if title is None:
        return None
    facts = read_facts(_text_of(read[read.index(title) + 1 :]))
    if facts[0] is None:
        return None
    return ListedProduct(title.text, *facts, _text_of(read).lower(), address=str(number))


def _read_on(views: Sequence[Sequence[VisibleElement]]) -> Iterator[tuple[int, VisibleElement]]:
    """Yield what is read in each view, with the view's number, but not again what stood in an earlier one."""
    known: set[tuple[int, str]] = set()
    for number, view in enumerate(views):
        read = [each for each in _in_lines(view) if each.text]
        yield from ((number, each) for each in read if (each.card, each.text) not in known)
        known.update((each.card, each.text) for each in read)


def _text_of(read: Iterable[VisibleElement]) -> str:
    return " ".join(" ".join(each.text for each in read).split())


def search_field_in(drawn: Iterable[VisibleElement]) -> tuple[float, float] | None:
    """Return the middle of the first field that says that it searches, else of the first field."""
    fields = [each for each in _in_lines(drawn) if each.kind == "field"]
    found = sorted(fields, key=lambda each: "search" not in each.text.lower())
    return next((each.centre for each in found), None)


def button_in(drawn: Iterable[VisibleElement]) -> tuple[float, float] | None:
    """Return the middle of what puts a product into the cart; None where none can be seen.

    What stands on no card comes before what does, then a button before a link.
    """
    found = [each for each in drawn if each.kind in {"button", "link"} and fills_cart(each.text)]
    return next((each.centre for each in sorted(found, key=lambda each: (each.card >= 0, each.kind))), None)


def option_groups(drawn: Sequence[VisibleElement]) -> list[list[_Choosable]]:
    """Return the groups of radio buttons that can be seen, from the top: groups have a gap between them."""
    radios = sorted((each for each in drawn if each.kind == "radio"), key=lambda each: each.box[1])
    gaps = [after.box[1] - before.box[1] for before, after in pairwise(radios)]
    least = min((gap for gap in gaps if gap > 0), default=0)
    groups: list[list[_Choosable]] = []
    for number, radio in enumerate(radios):
        if not number or gaps[number - 1] > _APART * least:
            groups.append([])
        groups[-1].append(_Choosable(_beside(radio, drawn), radio.centre))
    return groups


def _beside(radio: VisibleElement, drawn: Sequence[VisibleElement]) -> str:
    x, y = radio.centre
    same = [each for each in drawn if each.text and each.box[0] >= x and abs(each.centre[1] - y) < _SAME_LINE]
    return min(same, key=lambda each: each.box[0]).text if same else ""
