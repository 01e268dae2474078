"""Find, on a product's own page, what an edit has replaced: an agent must not be shown both."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final
from urllib.parse import urljoin

from experiments.treatment.sights import EditsMade, ProductObservation
from interventions.edits.in_browser import PagePlaces, bounded, holds, in_pieces
from interventions.html.numbers import Figure, figures, read_figure
from interventions.html.ranges import PriceSpan, prices

LONG_SENTENCE: Final = 4
"""The fewest words of a sentence that stands nowhere by chance."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?。])\s+")
_DECIMALS = re.compile(r"[.,٫]\d")
_CENTS = re.compile(r"\s*[.,]?\s*\n\s*(\d\d)(?=\s*(?:\n|\Z))")


def old_value(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Return where the sights of a product's page show what an edit has replaced; empty where they do not."""
    for old in (_old_price, _old_text, _old_name, _old_sentence, _old_picture):
        if reason := old(key, mine, done):
            return reason
    return ""


def _old_price(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Where an agent was shown the price that an edit has replaced, beside the new one."""
    made = done.replaced(key, "price")
    texts = [
        change.after for proof, changes in done.changes.items() if proof.product == key for change in changes
    ]
    for sight in mine:
        replaced = [old for change in made for old in replaced_prices(change.before, change.after)]
        for old in (*replaced, *_replaced_in_data(key, done, sight)):
            shown = sight.standing.own if sight.standing else ""
            for text in sorted(texts, key=len, reverse=True):
                if holds(text, _distinct(old)):  # an edit may itself name the old price
                    shown = shown.replace(text, " ")
            if span := place_of_price(shown, old):
                around = shown[max(0, span[0] - 40) : span[1] + 20]
                return f"the agent was shown the old price too on {key}: {' '.join(around.split())!r}"
    return ""


def replaced_prices(before: str, after: str) -> list[str]:
    """Return the prices, each as it was written, that a text shows no more: of a range, either end."""
    (old, *_), (new, *_) = prices(before, spaced=True), prices(after, spaced=True)
    if not isinstance(old, PriceSpan):
        return [before] if old.value != new.value else []
    ends = (new.low, new.high) if isinstance(new, PriceSpan) else (new,)
    left = {end.value for end in ends}
    both = zip((old.low, old.high), old.ends, strict=True)
    return [text for end, text in both if end.value not in left]


def place_of_price(shown: str, price: str) -> tuple[int, int] | None:
    """Return where texts, a line each, show a price as it was written, in pieces, or in another format."""
    figure = figures(price, spaced=True)[0]
    found = re.search(bounded(_distinct(price)), shown) or (figure.sign and in_pieces(price).search(shown))
    return found.span() if found else _amount(shown, figure)


def _distinct(price: str) -> str:
    """What of a price stands nowhere by chance: its figure, but all of it where that is a whole number."""
    figure = figures(price, spaced=True)[0]
    return figure.text if re.search(r"[.,٫]\d\d$", figure.text) else price


def _old_text(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Where an agent was shown a text that an edit has replaced, beside the new one."""
    made = done.replaced(key, "text")
    # A rating without decimals may be what a customer gave.
    made += [change for change in done.replaced(key, "decimals") if _DECIMALS.search(change.before)]
    new = {change.after for changes in done.changes.values() for change in changes}
    for sight in mine:
        lines = sight.standing.own.split("\n") if sight.standing else []
        others = "\n".join(line for line in lines if line not in new)
        for change in made:
            if not change.before or change.before in new:
                continue
            if in_pieces(change.before, alone=True).search(others):
                return f"the agent was shown the old text too on {key}: {change.before!r}"
    return ""


def _old_name(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Where an agent was shown the name that an edit has replaced: as a text, or in a tab's title."""
    names = done.names.get(key, set()) | {
        (change.before, change.after) for change in done.replaced(key, "name")
    }
    new = sorted({after for _, after in names}, key=len, reverse=True)
    for sight in mine:
        title, *lines = (sight.standing.own if sight.standing else "").split("\n")
        for name in new:
            title = title.replace(name, " ")
        others = "\n".join(line for line in lines if line not in new)
        for old in sorted({before for before, _ in names} - {"", *new}):
            if in_pieces(old).search(title) or in_pieces(old, alone=True).search(others):
                return f"the agent was shown the old text too on {key}: {old!r}"
    return ""


def _old_sentence(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Where an agent was shown a sentence in which an edit has replaced words, beside the new one.

    A short one may stand there for something else; it counts as a text of its own.
    """
    for change in done.replaced(key, "sentence"):
        for old in sorted(_sentences(change.before) - _sentences(change.after)):
            if any(old in words for words in done.words):
                continue
            found = in_pieces(old, alone=len(old.split()) < LONG_SENTENCE)
            if any(sight.standing and found.search(sight.standing.own) for sight in mine):
                return f"the agent was shown the old text too on {key}: {old!r}"
    return ""


def _sentences(text: str) -> set[str]:
    """The sentences of a receipt's text; the last may be cut."""
    found = _SENTENCE_ENDS.split(text.removesuffix("…"))
    return {each.strip() for each in (found[:-1] if text.endswith("…") and len(found) > 1 else found)}


def _old_picture(key: str, mine: Sequence[ProductObservation], done: EditsMade) -> str:
    """Where an agent was shown the picture that an edit has replaced, beside the new one."""
    for sight in mine:
        shown = sight.standing.pictures if sight.standing else frozenset()
        for change in done.replaced(key, "picture"):
            old, new = (urljoin(sight.url, each) for each in (change.before, change.after))
            if old != new and old in shown:
                return f"the agent was shown the old picture too on {key}: {change.before}"
    return ""


def _replaced_in_data(key: str, done: EditsMade, sight: ProductObservation) -> Iterator[str]:
    """The prices that edits have replaced in data, as the page would write them."""
    if sight.standing is None or key not in done.prices:
        return
    _, element = next(PagePlaces(done.site, sight.standing).all("product.price"), (None, None))
    if element is None:
        return
    for price in prices(element.text, spaced=True)[:1]:
        for before, after in done.prices[key]:
            if price.value and (new := read_figure(after)) and before != after:
                old = price.write(price.value * read_figure(before) / new)
                yield from replaced_prices(element.text.replace(price.text, old, 1), element.text)


def _amount(shown: str, price: Figure) -> tuple[int, int] | None:
    """Where texts, a line each, write the amount of a price otherwise: `$1299`, or its cents in a line.

    Only beside the price's own currency: figures may count anything.
    """
    if not price.sign:
        return None
    for figure in figures(shown, spaced=True):
        amount, end = figure.value, figure.end
        if (cents := _CENTS.match(shown, end)) and amount == amount.to_integral():
            amount, end = amount + Decimal(cents[1]) / 100, cents.end()
        if amount == price.value and (
            price.sign in (figure.sign, shown[end:].lstrip()[: len(price.sign)])
            or "" != price.currency == figure.currency
        ):
            return figure.start, end
    return None
