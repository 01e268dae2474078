"""checkout_option: something that can be added to an order, or left, in the form of the checkout."""

import html
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, Field

from interventions.data_file import read_source
from interventions.edits.base import Text, filled
from interventions.edits.charge import Charge, due_places, field_name, in_format
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace

_SCRIPT: Final = read_source(__file__, "checkout_option.js")
_STYLE: Final = "display:block;margin:12px 0;font-size:14px;line-height:1.4"
_THOUSANDS: Final = Decimal("1234.5")


class CheckoutOption(Charge, BaseModel, frozen=True, extra="forbid"):
    """Adds a box to the form of the checkout, which stands for a line of the order, or for a consent.

    `price` is in currency units; without it the box is about a consent, and no line. `means` says what a tick
    does: with `opt_out` the customer gets it unless the box is ticked.
    """

    script: ClassVar[str] = _SCRIPT

    label: Annotated[Text, Field(max_length=200)]
    line: Annotated[Text, Field(max_length=60)] | None = None
    """What the line of the order is called; by default as the box."""
    price: Price | None = None
    ticked: bool = False
    """Whether the box is ticked when the page opens; a form that was sent says how it is from then on."""
    means: Literal["opt_in", "opt_out"] = "opt_in"

    def words(self) -> str:
        return self.label

    def stages(self) -> tuple[str, ...]:
        return ("checkout", "order") if self.price is not None else ("checkout",)

    def roles(self) -> tuple[str, ...]:
        return ("checkout.place", *(super().roles() if self.price is not None else ()))

    def role_at(self, showing: ProductPlace) -> str:
        return "checkout.place" if showing.group == "checkout" else super().role_at(showing)

    @property
    def name(self) -> str:
        """The name of the field: the words of the label."""
        return field_name(self.label, "option")

    @property
    def gets(self) -> bool:
        """Whether the customer gets it, as the box is now."""
        return self.ticked == (self.means == "opt_in")

    @property
    def is_charged(self) -> bool:
        return self.gets and self.price is not None

    def outcomes(self, *, ordered: bool) -> Mapping[str, bool]:
        return {"consented": ordered and self.gets} if self.price is None else {}

    def is_kept(self) -> bool:
        return self.gets

    @property
    def label_of_line(self) -> str:
        return self.line or self.label

    def fields(self) -> frozenset[str]:
        return frozenset({self.name})

    def sent(self, form: Mapping[str, str]) -> Self:
        return self.model_copy(update={"ticked": bool(form[self.name])}) if self.name in form else self

    def apply(self, showing: ProductPlace) -> Change | None:
        amount = None if self.price is None else filled(self.price)
        if showing.group == "order":
            return (
                self.put_line(showing, self.label_of_line, amount)
                if amount is not None and self.gets
                else None
            )
        facts, told = "", html.escape(self.label, quote=False)
        if amount is not None:
            target = due_places(showing)[0]
            facts = (
                f' data-due="{html.escape(target.place.css)}" data-amount="{amount}"'
                f' data-large="{html.escape(in_format(showing, target, _THOUSANDS))}"'
                f' data-opt-out="{int(self.means == "opt_out")}"'
            )
            told += f" (+{html.escape(in_format(showing, target, amount), quote=False)})"
        ticked = " checked" if self.ticked else ""
        markup = (
            f'<div class="field choice" style="{_STYLE}"{facts}><label>'
            f'<input type="checkbox" name="{self.name}" value="1"{ticked}> <span>{told}</span></label>'
            f"<script>{_SCRIPT}</script></div>"
        )
        target = showing.main("checkout.place")[0]
        showing.insert(target.node, "before", markup, style=_STYLE, script=_SCRIPT)
        if amount is not None:
            self.put_line(showing, self.label_of_line, amount, name=self.name, kept=self.gets)
        return Change(1, "", self.label)
