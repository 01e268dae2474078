"""What edits that add to the sum of an order have in common: a line before the sum, and another sum."""

import html
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import ClassVar

from selectolax.lexbor import LexborNode

from interventions.edits.base import Edit, Leftover, filled
from interventions.edits.in_browser import PagePlaces, Verdict
from interventions.edits.place_values import figures_at
from interventions.edits.showing import Change, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html.numbers import amounts_line, one_line
from interventions.html.ranges import prices

_RIGHT = "float:right"


class Charge(Edit):
    """An edit that adds a line and its amount to the sum of an order, on each of its `stages`.

    What the customer pays is at the role `STAGE.due`; the line stands before `STAGE.due_line`.
    """

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return tuple(f"{stage}.{part}" for stage in self.stages() for part in ("due", "due_line"))

    def needs(self) -> tuple[str, ...]:
        return self.roles()

    @property
    def label_of_line(self) -> str:
        """What the line of the order is called."""
        raise NotImplementedError

    def is_named_in(self, text: str) -> bool:
        """Whether a text names it, by its line."""
        return self.label_of_line.casefold() in text.casefold()

    @property
    def is_charged(self) -> bool:
        """Whether the line is in an order that is placed now."""
        return True

    def drift(self, whole: Decimal) -> Decimal:
        """Return what it adds to the sum without a line, where all else but edits comes to `whole`."""
        return Decimal(0)

    def role_at(self, showing: ProductPlace) -> str:
        return f"{showing.group}.due"

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return None  # a product's own page shows nothing of it

    def put_line(
        self,
        showing: ProductPlace,
        label: str,
        amount: Decimal,
        *,
        name: str = "",
        kept: bool = True,
        control: str = "",
    ) -> Change:
        """Put a line before the sum, and the amount into the sum.

        name: of the field that decides about the line, whose script finds it by the name. kept: whether the
        line counts; else it is hidden, and the sum stays.
        """
        line = showing.main(f"{showing.group}.due_line")[0].node
        text = in_format(showing, due_places(showing)[0], amount)
        facts = (f' data-charge="{html.escape(name)}"' if name else "") + ("" if kept else " hidden")
        told, shown = (html.escape(each, quote=False) for each in (label, text))
        if look := _look_of_amount(line):
            shown = f'<span class="{html.escape(look)}">{shown}</span>'
        if line.tag == "tr":
            cells = f'<th class="mark" scope="row">{told}{control}</th><td class="amount">{shown}</td>'
            showing.insert(line, "before", f'<tr class="totals"{facts}>{cells}</tr>')
        else:
            markup = f'<div{facts}><span style="{_RIGHT}">{shown}</span><span>{told}{control}</span></div>'
            showing.insert(line, "before", markup, style=_RIGHT)
        if kept:
            raise_due(showing, amount)
        return Change(1, "", f"{label} {text}" if kept else "")


def _look_of_amount(line: LexborNode) -> str:
    """The class that amounts have in the line before this one, so that an added line looks like it."""
    before = line.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    inner = list(before.traverse())[1:] if before is not None else []
    elements = [node for node in inner if node.is_element_node]
    return (elements[-1].attributes.get("class") or "") if elements else ""


def field_name(words: str, otherwise: str) -> str:
    """Return the name of a field of a form: the words that stand beside it, as shops name theirs.

    otherwise: the name where no word has Latin letters or figures.
    """
    return "_".join(re.findall(r"[a-z0-9]+", words.lower())) or otherwise


def due_places(showing: ProductPlace) -> list[Target]:
    """Return where a page shows what is to be paid. Raises CannotEdit."""
    return showing.main(f"{showing.group}.due")


def raise_due(showing: ProductPlace, amount: Decimal) -> None:
    """Add an amount to what is to be paid. Raises CannotEdit."""
    showing.page.charged += amount
    for target in due_places(showing):
        usage = showing.usage(f"{showing.group}.due", target)
        showing.page.shift(target.node, amount, partial(figures_at, target.place, usage=usage))


def due(showing: ProductPlace) -> Decimal:
    """Return what is to be paid without what edits add to it, such as other fees. Raises CannotEdit."""
    target = due_places(showing)[0]
    value = showing.number(target, f"{showing.group}.due")
    if value is None:
        raise CannotEdit(f'the text "{showing.value(target)}" does not hold exactly one figure')
    return value + showing.page.shifted(target.node) - showing.page.charged


def in_format(showing: ProductPlace, target: Target, amount: Decimal) -> str:
    """Return an amount in the format of the sum at a place, with its no-break spaces. Raises CannotEdit."""
    raw = showing.original(target)
    found = prices(raw, showing.page.usage)
    if len(found) != 1:
        raise CannotEdit(f'the text "{one_line(raw)}" does not hold exactly one figure')
    return amounts_line(raw[: found[0].start] + found[0].write(amount) + raw[found[0].end :])


def share(percent: Decimal | str, whole: Decimal) -> Decimal:
    """Return a share of an amount, in whole cents."""
    return (whole * filled(percent) / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)
