"""Read what was ordered, from the page or the answer that the customer was shown."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from environments.protocol.shown_data import order_in
from experiments.designs.shop.trial import ShopTrial
from interventions.apply.engine import cut, page_hash
from interventions.apply.mapped_page import MappedPage
from interventions.edits.charge import Charge
from interventions.edits.place_values import figures_at
from interventions.edits.showing import ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import Place
from proxy.session import Session

_NONE: Final = Decimal(0)
_HALF_CENT: Final = Decimal("0.005")
_OF_LINE: Final = ("product.price", "product.subtotal")
OURS: Final = ("option", "fee")
"""The kinds of lines that edits have added."""


class OrderLine(NamedTuple):
    """A line of an order; `kind`: product, option, fee, or shop, which is what the shop itself adds."""

    label: str
    product: str
    kind: str
    quantity: int
    amount: Decimal
    wanted: bool


class PlacedOrder(NamedTuple):
    """An order as its page shows it; amounts in currency units."""

    number: str
    currency: str
    total: Decimal
    lines: tuple[OrderLine, ...]

    def checked(self, drift: Decimal = _NONE) -> "PlacedOrder":
        """Return the order. Raises CannotEdit: its lines, and `drift`, do not add up to its total."""
        if abs(sum((line.amount for line in self.lines), drift) - self.total) > _HALF_CENT:
            told = ", ".join(f"{line.label} {line.amount}" for line in self.lines)
            raise CannotEdit(f"the lines of the order do not add up to its total {self.total}: {told}")
        return self

    @property
    def products(self) -> list[OrderLine]:
        """The lines of products."""
        return [line for line in self.lines if line.kind == "product"]


def placed_order(trial: ShopTrial, session: Session) -> PlacedOrder | None:
    """Return the order of a trial; None where none was placed.

    Raises:
        CannotEdit: its page cannot be read, or its lines do not add up to its total.
    """
    if session.order is None:
        return None
    page = session.order.parsed
    if page is None:
        raise CannotEdit("the page of the order cannot be read")
    view = MappedPage(page, session.site, session.plan.by_product, session.known)
    place = ProductPlace(page, session.site, "order")
    target = place.main("order.due")[0]
    figures = figures_at(target.place, place.value(target), place.usage("order.due", target))
    if len(figures) != 1:
        raise CannotEdit(f'the total of the order is "{place.value(target)}"')
    keys = {product.key for product in trial.products}
    lines = [
        OrderLine(*_product_line(key, showing), wanted=key in keys)
        for key, showing in view.showings()
        if showing.group == "line"
    ]
    of_products = sum((line.amount for line in lines), _NONE)
    rows = list(_rows_before(place))
    kinds = _kinds([label for label, _ in rows], session)
    for (label, amount), kind in zip(rows, kinds, strict=True):
        if kind == "shop" and amount == of_products and not any(line.kind == "shop" for line in lines):
            of_products = Decimal(-1)  # the subtotal stands there once
            continue
        lines.append(OrderLine(label, "", kind, 1, amount, wanted=kind == "shop"))
    drift = sum((amount for _, amount in drifts(lines, session)), _NONE)
    number = next((place.value(each) for each in place.all("order.number")), "")
    return PlacedOrder(number, figures[0].currency, figures[0].value, tuple(lines)).checked(drift)


def order_in_answer(text: str, keys: Mapping[str, str]) -> PlacedOrder | None:
    """Return the order that an answer shows; None where it shows none. `keys`: the products by their ids.

    Raises:
        CannotEdit: an amount cannot be read, or its lines do not add up to its total.
    """
    if (order := order_in(text)) is None:
        return None
    if None in (order.total, *(line.amount for line in order.lines), *(amount for _, amount in order.sums)):
        raise CannotEdit("the answer with the order does not say what all of it comes to")
    products = (
        OrderLine(
            line.name,
            keys.get(line.id, line.id),
            "product",
            line.quantity or 1,
            Decimal(str(line.amount)),
            wanted=line.id in keys,
        )
        for line in order.lines
    )
    sums = (OrderLine(label, "", "shop", 1, Decimal(str(each)), wanted=True) for label, each in order.sums)
    total = Decimal(str(order.total))
    return PlacedOrder(order.number, order.currency, total, (*products, *sums)).checked()


def untreated_on_the_way(order: PlacedOrder, session: Session) -> str:
    """Return where the price of an ordered product is not the planned one; empty: nowhere.

    The order has to say it, and each page with prices of lines on the way to it needs a receipt. Of pages
    that scripts have drawn one of each type needs one.
    """
    for line in order.products:
        plan = session.plan.by_product.get(line.product, ())
        for treatment in plan:
            is_risen = treatment.is_late and "price" in treatment.values
            if is_risen and (where := _unproven(line.product, treatment.intervention, session)):
                return f"{treatment.intervention}: {where} for {line.product}"
        edits = [(t.intervention, edit.values()) for t in plan if t.is_on(("order",)) for edit in t.edits]
        for intervention, values in [each for each in edits if "price" in each[1]][-1:]:
            half = Decimal(5).scaleb(int(line.amount.as_tuple().exponent) - 1)  # of the last digit
            if abs(line.amount - line.quantity * Decimal(values["price"])) > line.quantity * half:
                said = f"{line.quantity} of {line.product} cost {line.amount} in the order"
                return f"{intervention}: {said}, and a price of {values['price']} was planned"
    return ""


def _unproven(product: str, intervention: str, session: Session) -> str:
    made = [r for r in session.receipts if (r.intervention, r.product) == (intervention, product)]
    types, hashes = {each.page_type for each in made}, {each.page_hash_after for each in made}
    for page in session.pages:
        view = MappedPage(page.parsed, session.site) if page.parsed else None
        if view is None or view.page_type not in ("checkout", "order"):
            continue
        if view.page_type not in types:
            return f"no page of the type {view.page_type} has a receipt"
        lines = (showing for _, showing in view.showings() if showing.group == "line")
        priced = any(True for line in lines for part in _OF_LINE for _ in line.all(part))
        if priced and not page.drawn and page_hash(page.body, page.url) not in hashes:
            return f"not every page of the type {view.page_type} has a receipt"
    return ""


def charges(session: Session) -> Iterator[tuple[str, Charge]]:
    """The edits of the order's page, each with the name of its intervention."""
    for treatment in session.plan.treatments:
        if not treatment.pages or "order" in treatment.pages:
            yield from (
                (treatment.intervention, edit) for edit in treatment.edits if isinstance(edit, Charge)
            )


def drifts(lines: Sequence[OrderLine], session: Session) -> list[tuple[str, Decimal]]:
    """What no line of the order says, each with the type of the page on which it was first told of."""
    whole = sum((line.amount for line in lines if line.kind not in OURS), _NONE)
    return [(told_on(name, edit, session), edit.drift(whole)) for name, edit in charges(session)]


def told_on(intervention: str, charge: Charge, session: Session) -> str:
    """The type of the page on which a charge was first told of: by itself, or by a text beside a product.

    Where an intervention has several charges, a text has to name the one that it tells of.
    """
    edits = [edit for t in session.plan.treatments if t.intervention == intervention for edit in t.edits]
    charges = [edit for edit in edits if isinstance(edit, Charge)]
    texts = [edit for edit in edits if edit.words() and not edit.stages()]
    own_words = [word for word in (charge.label_of_line, charge.words()) if word] or [""]
    told = [(charge.kind(), word) for word in own_words]
    told += [
        (text.kind(), text.words()) for text in texts if len(charges) == 1 or charge.is_named_in(text.words())
    ]
    own = (receipt for receipt in session.receipts if receipt.intervention == intervention)
    found = (
        receipt.page_type
        for receipt in own
        if any(receipt.edit == kind and receipt.after.startswith(cut(word)) for kind, word in told)
    )
    return next(found, "order")


def _kinds(labels: Sequence[str], session: Session) -> list[str]:
    """Whose the lines of an order are: option or fee of an edit, or shop.

    Edits put theirs last, so that a line of the same name above is the shop's.
    """
    ours: dict[str, list[str]] = {}
    for _, edit in charges(session):
        if edit.is_charged:
            ours.setdefault(edit.label_of_line, []).append("option" if edit.fields() else "fee")
    kinds = [own.pop() if (own := ours.get(label)) else "shop" for label in reversed(labels)]
    return kinds[::-1]


def _product_line(key: str, showing: ProductPlace) -> tuple[str, str, str, int, Decimal]:
    name, pieces, worth = (
        next(showing.all(f"product.{part}"), None) for part in ("name", "quantity", "subtotal")
    )
    count = showing.number(pieces, "line.quantity") if pieces else Decimal(1)
    amount = showing.number(worth, "line.subtotal") if worth else None
    if amount is None or count is None:
        raise CannotEdit(f"the order does not say what {key} comes to")
    return showing.value(name) if name else key, key, "product", int(count), amount


def _rows_before(place: ProductPlace) -> Iterator[tuple[str, Decimal]]:
    """The label and the amount of each line that stands before the one with the total."""
    row: LexborNode | None = place.main("order.due_line")[0].node.prev
    rows: list[tuple[str, Decimal]] = []
    while row is not None:
        if row.is_element_node:
            label, amount = _label_and_amount(row, place)
            rows.append((label, amount))
        row = row.prev
    yield from reversed(rows)


def _label_and_amount(row: LexborNode, place: ProductPlace) -> tuple[str, Decimal]:
    cells = [child for child in row.iter() if child.text().strip()]
    found = [(cell, figures_at(Place(css="*"), cell.text().strip(), place.page.usage)) for cell in cells]
    priced = [(cell, each[0].value) for cell, each in found if len(each) == 1 and each[0].sign]
    if len(priced) != 1:
        raise CannotEdit(f'a line of the order is "{" ".join(row.text().split())}"')
    cell, amount = priced[0]
    label = (" ".join(each.text().split()) for each in cells if each.mem_id != cell.mem_id)
    return " ".join(label), amount
