"""order_total: the sum of an order drifts away from its lines."""

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, model_validator

from interventions.edits.base import FIGURE_SCHEMA, figure, filled
from interventions.edits.charge import Charge, due, due_places, in_format, raise_due, share
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace
from interventions.html.numbers import figures
from interventions.yaml.sitemap import STAGES

Factor = Annotated[
    Decimal | str,
    figure("a factor", "a number above 1, to 10, such as 1.2", lambda n: n if 1 < n <= 10 else None),
    FIGURE_SCHEMA,
]


class OrderTotal(Charge, BaseModel, frozen=True, extra="forbid"):
    """Raises what is to be paid, by a factor or an amount, and adds no line that says why.

    So it does on the page `start` and on all that follow. The factor is of what the order comes to without
    what edits add.
    """

    factor: Factor | None = None
    add: Price | None = None
    start: Literal["cart", "checkout", "order"] = "checkout"

    @model_validator(mode="after")
    def _one_figure(self) -> Self:
        if (self.factor is None) == (self.add is None):
            raise ValueError("the total has a factor or an amount to add; write one of the two")
        return self

    @property
    def label_of_line(self) -> str:
        return ""

    @property
    def is_charged(self) -> bool:
        return False

    def is_named_in(self, text: str) -> bool:
        """Whether a text names it, by its amount or percentage."""
        own = filled(self.add) if self.add is not None else (filled(self.factor or "") - 1) * 100
        return own in {figure.value for figure in figures(text)}

    def stages(self) -> tuple[str, ...]:
        return STAGES[STAGES.index(self.start) :]

    def drift(self, whole: Decimal) -> Decimal:
        return (
            filled(self.add) if self.add is not None else share((filled(self.factor or "") - 1) * 100, whole)
        )

    def apply(self, showing: ProductPlace) -> Change:
        dues, drift, page = due_places(showing), self.drift(due(showing)), showing.page
        before = due(showing) + page.charged
        raise_due(showing, drift)
        page.drift += drift
        texts = (in_format(showing, dues[0], each) for each in (before, before + drift))
        return Change(len(dues), *texts)
