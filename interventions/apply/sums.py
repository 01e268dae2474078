"""Read the sums that a page shows of a cart: of each line, of all its lines, and the totals."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.apply.mapped_page import MappedPage
from interventions.apply.product_json import Document, ProductObject
from interventions.edits.place_values import figures_at
from interventions.edits.showing import ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html.currencies import minor_units
from interventions.html.numbers import amounts_line
from interventions.html.page import Page
from interventions.html.placement import lineage
from interventions.yaml.sitemap import Data, Place, SiteMap

ROW: Final = "row"
"""The kind of card that is a line of the cart."""
CENT: Final = Decimal("0.005")
"""Half a cent: how far a figure may be rounded where nothing is known of its currency."""


class Line(NamedTuple):
    """A line of a cart as it is shown: `price` of a piece, `sums` by role, of which the first counts.

    `rounding`: how far each of these may be rounded.
    """

    product: str
    pieces: Decimal
    price: Decimal | None
    sums: list[tuple[str, Decimal]]
    rounding: Decimal = CENT

    @property
    def worth(self) -> Decimal | None:
        """What the line comes to; None where it shows neither a sum nor a price."""
        if self.sums:
            return self.sums[0][1]
        return None if self.price is None else self.price * self.pieces


class _LineSum(NamedTuple):
    """The sum of a line; `rounding`: how far the price of a piece may be from the sum of one piece."""

    product: str
    role: str
    pieces: Decimal
    value: Decimal
    rounding: Decimal


class Total(NamedTuple):
    """A total, or what the lines come to; `place` tells it from the others on its page, and on the next."""

    role: str
    place: str
    value: Decimal
    rounding: Decimal
    beside: Decimal | None = None
    """What other lines than the cart's add to what is to be paid, such as fees; None: this is another sum."""


@dataclass
class CartSums:
    """The sums on one page. `content`: kind of line -> the product and the number of pieces of each line."""

    lines: list[_LineSum] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    of_lines: list[Total] = field(default_factory=list)
    content: dict[str, tuple[tuple[str, Decimal], ...]] = field(default_factory=dict)
    currency: str = ""

    @property
    def places(self) -> tuple[object, ...]:
        """What tells that two pages show the same sums in the same order."""
        lines = [(line.product, line.role, line.pieces) for line in self.lines]
        totals = [(total.role, total.place) for total in (*self.totals, *self.of_lines)]
        return self.content, lines, totals

    def add_lines(self, kind: str, lines: list[Line]) -> None:
        """Add the lines of one kind, of which a page may show several lists."""
        shown = tuple((line.product, line.pieces) for line in lines)
        self.content[kind] = self.content.get(kind, ()) + shown
        for line in lines:
            self.lines += (
                _LineSum(line.product, role, line.pieces, value, line.rounding * (1 + 1 / line.pieces))
                for role, value in line.sums
                if line.product and line.pieces
            )
        worth = [line.worth for line in lines]
        known = [each for each in worth if each is not None]
        if known and len(known) == len(worth):
            rounding = sum((line.rounding * max(line.pieces, Decimal(1)) for line in lines), Decimal(0))
            self.of_lines.append(Total(f"the lines of {kind}", kind, sum(known, Decimal(0)), rounding))


def sums_on_page(view: MappedPage) -> CartSums:
    """Return the sums on a page, those in its data among them. Raises CannotEdit."""
    found = CartSums()
    lines: dict[str, list[Line]] = {}
    for key, showing in view.showings():
        if _is_line(showing):
            lines.setdefault(showing.group, []).append(_line_on(key, showing, found))
    for kind, of_kind in lines.items():
        found.add_lines(kind, of_kind)
    for role in ("cart.total", *(f"{card}.total" for card in view.site.cards)):
        found.totals += _totals_on(view, role, found)
    for embedded in view.documents():
        for data in embedded.rules:
            _add_data(found, embedded.document, data, view.site, view.page.url, view.product)
    return found


def moved_totals(sent: Page, shown: Page, site: SiteMap) -> dict[Decimal, Decimal]:
    """Return, by total as the shop has sent it, the total that a page of a cart with its lines shows.

    Only those that edits have moved; none where one is shown in two ways, or the page cannot be read.
    """
    try:
        before, after = (sums_on_page(MappedPage(page, site)) for page in (sent, shown))
    except CannotEdit:
        return {}
    if not before.lines or before.places != after.places:
        return {}
    pairs = {(old.value, new.value) for old, new in zip(before.totals, after.totals, strict=True)}
    found = {old: new for old, new in pairs if old != new}
    return found if len({old for old, _ in pairs}) == len(pairs) else {}


def sums_in_answer(document: Document, url: str, site: SiteMap) -> CartSums:
    """Return the sums in an answer in JSON. Raises CannotEdit."""
    found = CartSums()
    for data in site.data_at(url):
        _add_data(found, document, data, site, url, None)
    return found


def _is_line(showing: ProductPlace) -> bool:
    """Whether a place is a line of a cart: a row, or a card that shows a number of pieces or their sum."""
    if showing.group in ("product", "page"):
        return False
    return showing.group == ROW or any(map(showing.role, ("product.quantity", "product.subtotal")))


def _line_on(key: str, showing: ProductPlace, found: CartSums) -> Line:
    def shown(part: str) -> Iterator[tuple[Target, Decimal]]:
        for target in showing.all(f"product.{part}"):
            if (value := showing.number(target, f"{showing.group}.{part}")) is not None:
                yield target, value

    prices, sums = list(shown("price")), list(shown("subtotal"))
    for target, _ in (*sums, *prices)[:1]:
        found.currency = found.currency or _currency(showing, target, f"{showing.group}.price")
    pieces = next((value for _, value in shown("quantity")), Decimal(1))
    of_line = [(f"{showing.group}.subtotal", value) for _, value in sums]
    return Line(key, pieces, prices[0][1] if prices else None, of_line, _half(found.currency))


def _totals_on(view: MappedPage, role: str, found: CartSums) -> Iterator[Total]:
    showing = ProductPlace(view.page, view.site, "cart")
    due_lines = {
        line.mem_id: line
        for place in view.site.role(f"{view.page_type}.due_line")
        for line in view.page.find(place.css)
    }
    for place in view.site.role(role):
        for number, node in enumerate(view.page.find(place.css)):
            target = Target(node, place)
            if (value := showing.number(target, role)) is not None:
                found.currency = found.currency or _currency(showing, target, role)
                own = next(
                    (due_lines[each.mem_id] for each in lineage(node) if each.mem_id in due_lines), None
                )
                beside = _beside(own, place, showing) if own else None
                yield Total(role, f"{place.css} {number}", value, _half(found.currency), beside)


def _beside(due_line: LexborNode, total: Place, showing: ProductPlace) -> Decimal:
    """What the lines before the last one come to, without those that are totals of the cart themselves."""
    sums, line = Decimal(0), due_line.prev
    totals = {node.mem_id for node in showing.page.find(total.css)}
    while line is not None:
        if line.is_element_node and "hidden" not in line.attributes:
            inside = {node.mem_id for node in line.traverse()}
            figures = figures_at(Place(css="*"), amounts_line(line.text(separator=" ")), showing.page.usage)
            priced = [figure.value for figure in figures if figure.sign]
            sums += priced[0] if len(priced) == 1 and not inside & totals else Decimal(0)
        line = line.prev
    return sums


def _currency(showing: ProductPlace, target: Target, role: str) -> str:
    found = figures_at(target.place, showing.value(target), showing.usage(role, target))
    return found[0].currency if len(found) == 1 else ""


def _half(currency: str) -> Decimal:
    """Half of the smallest unit that a price in a currency is written in."""
    return Decimal(5).scaleb(-1 - minor_units(currency))


def _add_data(
    found: CartSums, document: Document, data: Data, site: SiteMap, url: str, own: str | None
) -> None:
    if not data.totals and "subtotal" not in data.roles:
        return
    entries = document.entries(data, url, own, site.query)
    shown = (each for each in entries if each[1].has("price") or each[1].has("subtotal"))
    if lines := [_line_in(key, entry) for key, entry in shown]:
        found.add_lines(f"{data.url or data.css} {data.items}", lines)
    found.totals += (
        Total("data.totals", f"{data.url or data.css} {path} {number}", value, CENT)
        for number, (path, value) in enumerate(document.totals(data))
    )


def _line_in(key: str, entry: ProductObject) -> Line:
    price, pieces = (
        next((value for value, _ in entry.figures(part)), None) for part in ("price", "quantity")
    )
    sums = [("data.subtotal", value) for value, _ in entry.figures("subtotal")]
    return Line(key, Decimal(1) if pieces is None else pieces, price, sums)
