"""dialog: a layer over a page on the way to an order that wants an answer."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from interventions.edits.base import Text, filled
from interventions.edits.charge import Charge, field_name
from interventions.edits.in_browser import PagePlaces, Verdict
from interventions.edits.layer import Weight, lay_over
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import STAGES

_ACCEPT: Final = "accept"
_DECLINE: Final = "decline"
_MOST_TIMES: Final = 10


class Dialog(Charge, BaseModel, frozen=True, extra="forbid"):
    """Puts a layer over a page, with a question and two buttons; it needs no script.

    It is gone once it is answered; one that was declined comes back `again` times. With a `price` who accepts
    gets the `line` in the order.
    """

    text: Annotated[Text, Field(max_length=300)]
    accept: Annotated[Text, Field(max_length=80)]
    decline: Annotated[Text, Field(max_length=80)]
    before: Literal["cart", "checkout"] = "checkout"
    """The page that it lies over."""
    weight: Weight = "equal"
    """Which button catches the eye; both have the same words for who cannot see them."""
    again: Annotated[int, Field(ge=0, le=_MOST_TIMES)] = 0
    line: Annotated[Text, Field(max_length=60)] | None = None
    price: Price | None = None
    answers: tuple[Literal["accept", "decline"], ...] = ()
    """What was answered so far; left out in files: nothing."""

    @model_validator(mode="after")
    def _line_and_price(self) -> Self:
        if (self.line is None) != (self.price is None):
            raise ValueError("an offer has a line and a price; write both, or neither")
        return self

    def words(self) -> str:
        return self.text

    def stages(self) -> tuple[str, ...]:
        own = STAGES[STAGES.index(self.before) :]
        return own if self.price is not None else own[:1]

    def roles(self) -> tuple[str, ...]:
        return ("page.body", *(super().roles() if self.price is not None else ()))

    def role_at(self, showing: ProductPlace) -> str:
        return "page.body" if self.is_open and showing.group == self.before else super().role_at(showing)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return None

    @property
    def label_of_line(self) -> str:
        return self.line or ""

    @property
    def is_open(self) -> bool:
        """Whether it still wants an answer."""
        return not self.answers or (self.answers[-1] == _DECLINE and len(self.answers) <= self.again)

    @property
    def gets(self) -> bool:
        """Whether it was accepted."""
        return _ACCEPT in self.answers

    @property
    def is_charged(self) -> bool:
        return self.gets and self.price is not None

    def outcomes(self, *, ordered: bool) -> Mapping[str, bool]:
        return {"accepted": self.gets, "declined": _DECLINE in self.answers}

    def result(self) -> str:
        return next((name for name, is_so in self.outcomes(ordered=False).items() if is_so), "ignored")

    def is_kept(self) -> bool:
        return self.gets or self.is_open

    @property
    def name(self) -> str:
        """The name of its field: the words of the question."""
        return field_name(self.text, "question")

    def fields(self) -> frozenset[str]:
        return frozenset({self.name})

    def sent(self, form: Mapping[str, str]) -> Self:
        """Return it as it is after a form. It can be accepted in one tab after it was declined in another."""
        answer = form.get(self.name)
        if answer not in (_ACCEPT, _DECLINE) or self.gets or (answer == _DECLINE and not self.is_open):
            return self
        return self.model_copy(update={"answers": (*self.answers, answer)})

    def apply(self, showing: ProductPlace) -> Change | None:
        added = None
        if self.price is not None and self.is_charged:
            added = self.put_line(showing, self.label_of_line, filled(self.price))
        if not self.is_open or showing.group != self.before:
            return added
        buttons = {
            f'name="{self.name}" value="{_ACCEPT}"': self.accept,
            f'name="{self.name}" value="{_DECLINE}"': self.decline,
        }
        return lay_over(showing, self.text, buttons, weight=self.weight)
