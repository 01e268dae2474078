"""fee: a compulsory cost, which appears late or early on the way to an order."""

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from interventions.edits.base import FIGURE_SCHEMA, Text, figure, filled
from interventions.edits.charge import Charge, due, share
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import STAGES

_MOST = 1_000
Percent = Annotated[
    Decimal | str,
    figure("a percentage", "a number above 0 such as 10", lambda n: n if 0 < n <= _MOST else None),
    FIGURE_SCHEMA,
]


class Fee(Charge, BaseModel, frozen=True, extra="forbid"):
    """Adds a line to each order: an amount, or a share of what it comes to without such lines.

    It stands on the page `start` and on all that follow: a fee that starts on a late page drips.
    """

    label: Annotated[Text, Field(max_length=60)]
    amount: Price | None = None
    percent: Percent | None = None
    start: Literal["cart", "checkout", "order"] = "cart"

    @model_validator(mode="after")
    def _one_figure(self) -> Self:
        if (self.amount is None) == (self.percent is None):
            raise ValueError("a fee has an amount or a percent; write one of the two")
        return self

    def words(self) -> str:
        return self.label

    @property
    def label_of_line(self) -> str:
        return self.label

    def stages(self) -> tuple[str, ...]:
        return STAGES[STAGES.index(self.start) :]

    def apply(self, showing: ProductPlace) -> Change:
        if self.amount is not None:
            return self.put_line(showing, self.label, filled(self.amount))
        return self.put_line(showing, self.label, share(self.percent or "", due(showing)))
