"""add_line: a line that the shop puts into the cart by itself, or that the cart offers."""

import html
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, Field

from interventions.edits.base import Text, filled
from interventions.edits.charge import Charge, due_places, field_name, in_format
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import STAGES

_ADD: Final = "add"
_REMOVE: Final = "remove"
_FORM: Final = "display:inline;margin-left:8px"


class AddLine(Charge, BaseModel, frozen=True, extra="forbid"):
    """Puts a line into the cart that nobody asked for, with a button that removes it; it needs no script.

    With `added: false` the cart offers the same line, with a button that adds it. A line that was removed is
    not offered again.
    """

    label: Annotated[Text, Field(max_length=60)]
    price: Price
    added: bool = True
    """Whether it is in the cart before any button is pressed."""
    pressed: Literal["", "add", "remove"] = ""
    """The button that was pressed last; left out in files: none."""

    def words(self) -> str:
        return self.label

    def stages(self) -> tuple[str, ...]:
        return STAGES

    @property
    def label_of_line(self) -> str:
        return self.label

    @property
    def is_charged(self) -> bool:
        return self.pressed == _ADD or (self.added and not self.pressed)

    def is_kept(self) -> bool:
        return self.is_charged

    @property
    def name(self) -> str:
        """The name of its field: the words of the label."""
        return field_name(self.label, "line")

    def fields(self) -> frozenset[str]:
        return frozenset({self.name})

    def sent(self, form: Mapping[str, str]) -> Self:
        button = form.get(self.name)
        return self.model_copy(update={"pressed": button}) if button in (_ADD, _REMOVE) else self

    def apply(self, showing: ProductPlace) -> Change | None:
        is_cart, amount = showing.group == "cart", filled(self.price)
        if is_cart:
            showing.page.styles.add(_FORM)
        if self.is_charged:
            control = self._button(_REMOVE, "Remove") if is_cart else ""
            return self.put_line(showing, self.label, amount, control=control)
        if not is_cart or self.pressed:
            return None
        line, told = showing.main("cart.due_line")[0].node, html.escape(self.label, quote=False)
        price = html.escape(in_format(showing, due_places(showing)[0], amount), quote=False)
        offer = f"{told} (+{price}){self._button(_ADD, 'Add')}"
        row = f'<tr><td colspan="2">{offer}</td></tr>' if line.tag == "tr" else f"<div>{offer}</div>"
        showing.insert(line, "after", row)
        return Change(1, "", self.label)

    def _button(self, value: str, text: str) -> str:
        button = f'<button name="{self.name}" value="{value}">{text}</button>'
        return f' <form method="post" style="{_FORM}">{button}</form>'
