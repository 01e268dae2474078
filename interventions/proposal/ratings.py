"""Find ratings, each with its scale: `4.5 out of 5`, `76%`, stars whose width is the rating."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from selectolax.lexbor import LexborNode

from interventions.html.numbers import figures
from interventions.html.tree import select
from interventions.proposal.phrases import REVIEWS
from interventions.proposal.scan import called, number, text
from interventions.yaml.sitemap import Place

ANY = "*"
_ABOUT = r"rating|\bstars?\b|score"
_OUT_OF = re.compile(
    r"(?P<figure>[\d.,]*\d)\s*(?P<words>out of|/|von|sur|de|van|su|av|af|ud af|z|ze|din|od|от|из|з"
    r"|من|از|מתוך|จาก|trên|dari)\s*(?P<best>5|10|100)\b",
    re.I,
)
_WORDS = ("One", "Two", "Three", "Four", "Five")
_WIDTH = re.compile(r"\s*width:\s*[\d.]+%;?\s*")
_ATTRIBUTES = ("title", "aria-label", "data-rating", "data-score", "style")


def shown_ratings(nodes: Iterable[LexborNode], best: int | None = None) -> Iterator[tuple[LexborNode, Place]]:
    """Yield elements that may show a rating, texts before attributes; the place's selector is still `*`.

    `best`: the highest possible rating as the page states it, for figures that do not say.
    """
    elements = list(nodes)
    for node in elements:
        value = text(node)
        innermost = 0 < len(value) <= 80 and not any(figures(text(child)) for child in node.iter())
        if innermost and (place := _place(node, None, value, best)):
            yield node, place
    for node in elements:
        for name in _ATTRIBUTES:
            value = " ".join((node.attributes.get(name) or "").split())
            if value and (place := _place(node, name, value, best)):
                yield node, place
    for node in elements:
        if place := _in_words(node):
            yield node, place


def _in_words(node: LexborNode) -> Place | None:
    """A rating that stands as a word among the class names, as `star-rating Four`."""
    classes = (node.attributes.get("class") or "").split()
    spelled = [name for name in classes if name.capitalize() in _WORDS]
    if len(spelled) != 1 or not called(node, r"rating|\bstars?\b", 0):
        return None
    words = _WORDS if spelled[0][0].isupper() else tuple(word.lower() for word in _WORDS)
    return Place(css=ANY, attribute="class", words=words)


def is_drawn(box: LexborNode, node: LexborNode | None) -> bool:
    """Tell whether `box` draws the rating of `node`: no text says it, or something is as wide as it."""
    in_words = node is not None and any(place.attribute is None for _, place in shown_ratings([node]))
    styles = (each.attributes["style"] or "" for each in select(box, "[style]"))
    return not in_words or any(_WIDTH.fullmatch(style) for style in styles)


def rating_text(value: str) -> str:
    """Return the figure of a text that shows a rating."""
    out = _OUT_OF.search(value)
    return out["figure"] if out else next((figure.text for figure in figures(value)), "")


def rating_percent(value: str, scale: int | None) -> Decimal | None:
    """Return the rating that a text shows, in percent."""
    figure = number(rating_text(value))
    return None if figure is None else figure * 100 / (scale or 100)


def _place(node: LexborNode, attribute: str | None, value: str, best: int | None) -> Place | None:
    if attribute == "style":
        is_width = _WIDTH.fullmatch(value) and called(node, _ABOUT, 2)
        return Place(css=ANY, attribute=attribute) if is_width else None
    if out := _OUT_OF.search(value):
        pattern = rf"([\d.,]*\d)\s*{out['words']}" if len(figures(value)) > 1 else None
        scale = int(out["best"])
        return Place(css=ANY, attribute=attribute, pattern=pattern, scale=None if scale == 100 else scale)
    if not called(node, _ABOUT, 2) or number(value) is None or REVIEWS.search(value):
        return None
    figure = number(value)
    if "%" in value or best == 100:
        return Place(css=ANY, attribute=attribute)
    scale = best or 5
    return (
        Place(css=ANY, attribute=attribute, scale=scale) if figure is not None and figure <= scale else None
    )
