"""require_step: something that the shop wants to be given before the customer can go on."""

import html
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.charge import field_name
from interventions.edits.layer import Weight, lay_over
from interventions.edits.showing import Change, ProductPlace


class RequireStep(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a layer over a page that asks for something, such as a phone number; it needs no script.

    Without a `skip_label` the layer offers no other way on. What is typed goes nowhere and is not kept.
    """

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    text: Annotated[Text, Field(max_length=300)]
    asks: Annotated[Text, Field(max_length=60)]
    """What is to be given: the label of the field."""
    type: Literal["text", "email", "tel"] = "text"
    submit: Annotated[Text, Field(max_length=80)] = "Continue"
    skip_label: Annotated[Text, Field(max_length=80)] | None = None
    before: Literal["cart", "checkout"] = "checkout"
    """The page that it lies over."""
    weight: Weight = "equal"
    """Which button catches the eye: `accept` is the one that gives, `decline` the one that skips."""
    answer: Literal["", "gave", "skipped"] = ""
    """What was done; left out in files: nothing."""

    def words(self) -> str:
        return self.text

    def stages(self) -> tuple[str, ...]:
        return (self.before,)

    def roles(self) -> tuple[str, ...]:
        return ("page.body",)

    def outcomes(self, *, ordered: bool) -> Mapping[str, bool]:
        return {"gave": self.answer == "gave"}

    def result(self) -> str:
        return self.answer or "ignored"

    def is_kept(self) -> bool:
        return self.answer != "skipped"

    @property
    def name(self) -> str:
        """The name of its field: the words of the text, so that the shop has none of this name."""
        return field_name(self.text, "step")

    @property
    def skip(self) -> str:
        """The name of the button that skips."""
        return f"{self.name}_skip"

    def fields(self) -> frozenset[str]:
        return frozenset({self.name, self.skip})

    def sent(self, form: Mapping[str, str]) -> Self:
        """Return it as it is after a form. What was given stays given, also where another tab skips it."""
        if self.skip_label and form.get(self.skip):
            return self if self.answer else self.model_copy(update={"answer": "skipped"})
        return self.model_copy(update={"answer": "gave"}) if form.get(self.name, "").strip() else self

    def apply(self, showing: ProductPlace) -> Change | None:
        if self.answer:
            return None
        told = html.escape(self.asks, quote=False)
        field = f'<label>{told} <input type="{self.type}" name="{self.name}" required></label>'
        buttons = {'type="submit"': self.submit}
        if self.skip_label:
            buttons[f'name="{self.skip}" value="1" formnovalidate'] = self.skip_label
        return lay_over(showing, self.text, buttons, weight=self.weight, field=field)
