"""Read a product from what can be seen in pictures of its page: texts and controls with their boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agents.simulated.readers.product_page import ProductPage, read_facts
from environments.drawn import Drawn
from interventions.proposal.phrases import fills_cart

_SAME_LINE = 8
"""Texts whose upper edges are so many pixels apart stand in one line."""
_APART = 1.6
"""Radio buttons that are further apart than so many times the least distance belong to another group."""


@dataclass(frozen=True, slots=True)
class Choosable:
    """A radio button that can be seen, and the text beside it."""

    text: str
    at: tuple[float, float]


def in_lines(drawn: Iterable[Drawn]) -> list[Drawn]:
    """Return texts and controls in the order in which they are read: line by line, from the left."""
    lines: list[list[Drawn]] = []
    for each in sorted(drawn, key=lambda each: each.box[1]):
        if lines and each.box[1] - lines[-1][0].box[1] < _SAME_LINE:
            lines[-1].append(each)
        else:
            lines.append([each])
    return [each for line in lines for each in sorted(line, key=lambda each: each.box[0])]


def read_picture(views: Sequence[Sequence[Drawn]]) -> ProductPage:
    """Read a page from its pictures, from the top of the page down; what shows no product has no title.

    The largest letters of the first picture are the title; facts are read below it. `add_to_cart` and
    `options` stay empty: a picture has no marks.
    """
    first = in_lines(views[0]) if views else []
    texts = [each for each in first if each.kind == "text" and each.text]
    title = max(texts, key=lambda each: (each.size, -each.box[1])) if texts else None
    below: dict[str, None] = {}
    for number, view in enumerate(views):
        for each in in_lines(view):
            if each.text and (number or (title and each.box[1] > title.box[1])):
                below[each.text] = None
    price, rating, reviews = read_facts(" ".join(below))
    every = " ".join(dict.fromkeys(each.text for view in views for each in in_lines(view)))
    return ProductPage(
        title=title.text if title else "",
        price=price,
        rating=rating,
        reviews=reviews,
        text=" ".join(every.lower().split()),
        add_to_cart=None,
        options=(),
    )


def button_in(drawn: Iterable[Drawn]) -> tuple[float, float] | None:
    """Return the middle of what puts a product into the cart, a button before a link.

    None where none can be seen.
    """
    found = [each for each in drawn if each.kind in {"button", "link"} and fills_cart(each.text)]
    return next((each.centre for each in sorted(found, key=lambda each: each.kind)), None)


def option_groups(drawn: Sequence[Drawn]) -> list[list[Choosable]]:
    """Return the groups of radio buttons that can be seen, from the top: groups have a gap between them."""
    radios = sorted((each for each in drawn if each.kind == "radio"), key=lambda each: each.box[1])
    gaps = [after.box[1] - before.box[1] for before, after in pairwise(radios)]
    least = min((gap for gap in gaps if gap > 0), default=0)
    groups: list[list[Choosable]] = []
    for number, radio in enumerate(radios):
        if not number or gaps[number - 1] > _APART * least:
            groups.append([])
        groups[-1].append(Choosable(_beside(radio, drawn), radio.centre))
    return groups


def _beside(radio: Drawn, drawn: Sequence[Drawn]) -> str:
    x, y = radio.centre
    same = [each for each in drawn if each.text and each.box[0] >= x and abs(each.centre[1] - y) < _SAME_LINE]
    return min(same, key=lambda each: each.box[0]).text if same else ""
