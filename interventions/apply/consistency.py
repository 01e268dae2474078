"""Check that the pages of an episode agree on each product's price, rating, reviews, and on the cart's sums.

A shop may show sums that differ from each other: with tax, shipping or a discount. So sums are held against
what the shop has sent. Two sums of one cart disagree where they differ otherwise than the shop had them
differ: where the edits of prices have changed one by more than the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Final

from interventions.apply.following import following_on
from interventions.apply.mapped_page import MappedPage
from interventions.apply.product_json import Document
from interventions.apply.sums import ROW, CartSums, Total, sums_in_answer, sums_on_page
from interventions.edits.place_values import tolerance_at
from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.content_type import is_html, is_json
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.limited import one_page
from interventions.yaml.sitemap import Data, SiteMap

PARTS = ("price", "rating", "reviews")
_NONE: Final = Decimal(0)
CART: Final = "the cart"
"""What totals are of, in the place of a product."""


@dataclass(frozen=True)
class Cart:
    """What the shop has shown of its cart on one page, by place.

    `state`: how often the cart may have changed before; None: it may have changed meanwhile.
    """

    state: int | None
    shown: Mapping[str, object]

    def may_be(self, other: "Cart") -> bool:
        """Return whether this can be the same cart with the same things in it."""
        both = self.shown.keys() & other.shown.keys()
        same = self.state is not None and self.state == other.state
        return same and all(self.shown[place] == other.shown[place] for place in both)

    def after(self, other: "Cart | None") -> "Cart":
        """Return what is known of the cart after this page, where `other` was known before."""
        return Cart(self.state, {**other.shown, **self.shown}) if other and self.may_be(other) else self


@dataclass(frozen=True)
class PageFigure:
    """A figure that one page shows for a product: price in currency units, rating in percent.

    The sum of a line counts as the price of one piece.
    """

    product: str
    part: str
    value: Decimal
    role: str
    url: str
    tolerance: Decimal = Decimal(0)
    """Half of the last decimal, for ratings that are written on a scale such as 0 to 5.

    Of sums and prices of a unit: how far they may be rounded.
    """
    is_sum: bool = False
    sent: Decimal | None = None
    """The figure that the shop has sent in this place; None: not known."""
    cart: Cart | None = None
    """Of a total: which cart."""
    is_of_lines: bool = False
    """Whether this is what all lines come to, which stands nowhere."""
    is_drawn: bool = False
    """Whether scripts have drawn it. Then `sent` is what it would be at the prices that the shop has sent."""

    def agrees(self, other: "PageFigure") -> bool:
        """Return whether both figures can be true."""
        apart, tolerance = self.value - other.value, max(self.tolerance, other.tolerance)
        if not (self.is_sum or other.is_sum):
            return abs(apart) <= tolerance
        tolerance = self.tolerance + other.tolerance
        sent_apart = Decimal(0) if self.sent is None or other.sent is None else self.sent - other.sent
        return abs(apart) <= tolerance or abs(apart - sent_apart) <= tolerance


def sightings(body: bytes, *, content_type: str, url: str, site: SiteMap) -> list[PageFigure]:
    """Return the figures that a page, or an answer in JSON, shows for products; none for other content."""
    try:
        if is_html(content_type):
            return sightings_on(Page(body, content_type, Marks(frozenset()), url), site)
        if is_json(content_type) and site.loads(url):
            return list(_in_answer(body, content_type, url, site))
    except (CannotEdit, UnicodeError):
        pass
    return []


@one_page()
def sightings_on(page: Page, site: SiteMap) -> list[PageFigure]:
    """Return the figures that a page shows for products; none where it cannot be read."""
    try:
        return list(figures_of(page, site))
    except CannotEdit:
        return []


@one_page()
def figures_on(
    page: Page, sent: Page | None, site: SiteMap, state: int | None = None, drift: Decimal = _NONE
) -> list[PageFigure]:
    """Return the figures that a page shows for products, and the sums of a cart.

    There are none where it cannot be read. `sent` is the page as the shop has sent it (None: not known);
    `state`: see `Cart`. `drift`: what edits have added to what is to be paid without a line that says so.
    """
    view, found = MappedPage(page, site), list[PageFigure]()
    try:
        found = list(figures_of(page, site))
        sums = sums_on_page(view)
        if sent is None or sent is page:
            return _together(found, sums, found if sent else [], sums if sent else None, page.url, state)
        view_before = MappedPage(sent, site)
        before = list(figures_of(sent, site))
        found = _together(found, sums, before, sums_on_page(view_before), page.url, state, drift)
        if any(each.part == "price" and each.sent not in (None, each.value) for each in found):
            found += _following(view, view_before)
        return found
    except CannotEdit:
        return found


def _following(view: MappedPage, sent: MappedPage) -> Iterator[PageFigure]:
    """The amounts that follow a price, and what they should be there, where a price was edited."""
    now, before = following_on(view), following_on(sent)
    if [each[:3] for each in now] != [each[:3] for each in before]:
        return
    for each, old in zip(now, before, strict=True):
        if each.price != old.price and old.price:
            value, tolerance = each.should_be(old)
            # On another page, or beside it, the unit may be another one.
            part, url = f"{each.what}, {old.value} before,", view.page.url
            yield PageFigure(each.product, part, value, "product.price", url)
            yield PageFigure(each.product, part, each.value, each.role, url, tolerance)


@one_page()
def figures_in(
    text: str, sent: str | None, url: str, site: SiteMap, state: int | None = None
) -> list[PageFigure]:
    """Return the same of an answer in JSON."""
    try:
        document = Document(text)
        found, sums = list(_in_document(document, url, site)), sums_in_answer(document, url, site)
        if sent is None:
            return _together(found, sums, [], None, url, state)
        if sent == text:
            return _together(found, sums, found, sums, url, state)
        document = Document(sent)
        before = list(_in_document(document, url, site))
        return _together(found, sums, before, sums_in_answer(document, url, site), url, state)
    except CannotEdit:
        return []


def _together(
    found: list[PageFigure],
    sums: CartSums,
    before: list[PageFigure],
    sums_before: CartSums | None,
    url: str,
    state: int | None,
    drift: Decimal = _NONE,
) -> list[PageFigure]:
    """The figures and the sums, each with what the shop has sent in its place."""
    found = list(_paired(found, before))
    if sums_before is not None and sums.places != sums_before.places:
        return found  # what an edit has moved or taken away is not known again
    old_lines = sums_before.lines if sums_before else [None] * len(sums.lines)
    for line, old in zip(sums.lines, old_lines, strict=True):
        role = line.role if line.pieces == 1 else f"{line.role} / {line.pieces.normalize():f}"
        sent = old.value / old.pieces if old else None
        each = line.value / line.pieces
        found.append(
            PageFigure(line.product, "price", each, role, url, line.rounding, is_sum=True, sent=sent)
        )
    return found + list(_totals(sums, sums_before, url, state, drift))


def _paired(found: Iterable[PageFigure], before: Iterable[PageFigure]) -> Iterator[PageFigure]:
    """The figures, with what the shop has sent where the page had as many of them in that place."""
    old = _by_place(before)
    for place, figures in _by_place(found).items():
        known = len(old.get(place, ())) == len(figures)
        for number, each in enumerate(figures):
            yield replace(each, sent=old[place][number].value) if known else each


def _by_place(seen: Iterable[PageFigure]) -> dict[tuple[str, str, str], list[PageFigure]]:
    found: dict[tuple[str, str, str], list[PageFigure]] = {}
    for each in seen:
        found.setdefault((each.product, each.part, each.role), []).append(each)
    return found


def _totals(
    sums: CartSums, before: CartSums | None, url: str, state: int | None, drift: Decimal
) -> Iterator[PageFigure]:
    shown: dict[str, object] = dict(sums.content)
    if sums.currency:
        shown["currency"] = sums.currency
    if before:
        # Another page may show another sum of the same cart, as a checkout does that adds the shipping.
        shown |= {f"{url} {total.place}": total.value for total in before.totals}
        if before.totals:
            shown["empty"] = not any(total.value for total in before.totals)
    cart = Cart(state, shown)

    def seen(new: list[Total], old: list[Total]) -> Iterator[PageFigure]:
        for number, each in enumerate(new):
            sent = old[number].value if old else None
            more = Decimal(0)
            if old and each.beside is not None:  # then what edits have added to it is no disagreement
                more = drift + each.beside - (old[number].beside or 0)
            yield PageFigure(
                CART,
                "total",
                each.value - more,
                each.role,
                url,
                each.rounding,
                is_sum=True,
                sent=sent,
                cart=cart,
            )

    totals = list(seen(sums.totals, before.totals if before else []))
    sent = {each.value if each.sent is None else each.sent for each in totals}
    of_lines = seen(sums.of_lines, before.of_lines if before else [])
    for total, each in zip(sums.of_lines, of_lines, strict=True):
        # Lines of another kind may be only some of all, as the last three in a header.
        if total.place == ROW or (each.value if each.sent is None else each.sent) in sent:
            yield replace(each, is_of_lines=True)
    yield from totals


def disagreements(seen: Iterable[PageFigure]) -> list[str]:
    """Return a line for each product and part that pages show with different values, and for each such sum.

    The figures are in the order in which the pages came. Where edits have made figures one that differ as the
    shop has sent them, the line says so: such a place may show something else, as the price without tax.
    """
    every = list(seen)
    shown = _grouped(every)
    figures = (each for each in every if not each.is_sum and each.part in PARTS)
    sent = _grouped(replace(each, value=each.sent) for each in figures if each.sent is not None)
    found = {key: list(_disagreements(*key[:2], group)) for key, group in shown.items()}
    for key, group in sent.items():
        if not found.get(key):
            found[key] = [f"{line} (as the shop sent them)" for line in _disagreements(*key[:2], group)]
    return [line for key in sorted(found) for line in found[key]]


def _grouped(seen: Iterable[PageFigure]) -> dict[tuple[str, str, int], list[PageFigure]]:
    """The figures by product and part, those of a cart by its state too."""
    groups: dict[tuple[str, str, int], list[PageFigure]] = {}
    cart: Cart | None = None
    page, number = cart, 0
    for each in seen:
        if each.cart is not None and each.cart is not page:
            page = each.cart
            number += cart is None or not page.may_be(cart)
            cart = page.after(cart)
        groups.setdefault((each.product, each.part, number if each.cart else 0), []).append(each)
    return groups


def _disagreements(product: str, part: str, found: Sequence[PageFigure]) -> Iterator[str]:
    first = min(found, key=_rank)
    figures = [each for each in found if not (each.is_sum or each.agrees(first))]
    for other in figures[:1]:
        yield _told(product, part, first, other)
    told = set()
    for other in found:
        # What the shop sent is known of both, or of neither.
        alike = [each for each in found if (each.sent is None) == (other.sent is None)]
        first = min(alike, key=_rank)
        if other.is_sum and not other.agrees(first) and (other.role, other.url) not in told:
            told.add((other.role, other.url))
            yield _told(product, part, first, other)


def _rank(sighting: PageFigure) -> tuple[bool, bool]:
    """What others are held against comes first."""
    return sighting.is_sum, not sighting.is_of_lines


def _told(product: str, part: str, first: PageFigure, other: PageFigure) -> str:
    line = (
        f"{product}: {part} is {_written(first.value)} as {first.role} on {first.url}, "
        f"but {_written(other.value)} as {other.role} on {other.url}"
    )
    if other.is_drawn:
        line += ", which is the sum at the old prices"
    elif other.is_sum and first.sent is not None and other.sent is not None:
        line += f" (the shop sent {_written(first.sent)} and {_written(other.sent)})"
    return line


def _written(value: Decimal) -> str:
    return f"{value:f}" if int(value.as_tuple().exponent) >= -4 else f"{value:.4f}"


@lru_cache(maxsize=16)  # a parsed page takes twenty times its bytes
def figures_of(page: Page, site: SiteMap) -> tuple[PageFigure, ...]:
    """Return the figures that a page shows for products, each with its role. Raises CannotEdit."""
    return tuple(_figures(MappedPage(page, site)))


def _figures(view: MappedPage) -> Iterator[PageFigure]:
    for key, showing in view.showings():
        if not key or showing.group == "page":
            continue
        for part in PARTS:
            role = f"{showing.group}.{part}"
            for target in showing.all(f"product.{part}"):
                if (value := showing.number(target, role)) is not None:
                    tolerance = max(tolerance_at(target.place), showing.rounding(target, role))
                    yield PageFigure(key, part, value, role, view.page.url, tolerance)
    for embedded in view.documents():
        for data in embedded.rules:
            yield from _in_data(embedded.document, data, view.site, view.page.url, view.product)


def _in_answer(body: bytes, content_type: str, url: str, site: SiteMap) -> Iterator[PageFigure]:
    yield from _in_document(Document(body.decode(charset.detect(body, content_type)[0])), url, site)


def _in_document(document: Document, url: str, site: SiteMap) -> Iterator[PageFigure]:
    for data in site.data_at(url):
        yield from _in_data(document, data, site, url, None)


def _in_data(
    document: Document, data: Data, site: SiteMap, url: str, own: str | None
) -> Iterator[PageFigure]:
    for key, entry in document.entries(data, url, own, site.query):
        for part in PARTS if key else ():
            for value, scale in entry.figures(part):
                shown, tolerance = value, Decimal(0)
                if scale is not None:
                    shown, tolerance = value * 100 / scale, Decimal(5) / scale
                yield PageFigure(key, part, shown, f"data.{part}", url, tolerance)
