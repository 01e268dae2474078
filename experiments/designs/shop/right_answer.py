"""Say which products are right for a user who has told what counts, and what an order has to hold."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from experiments.designs.inputs.experiment_file import StrictModel

Figure = Literal["price", "rating", "reviews"]
Limits = dict[Figure, Annotated[float, Field(ge=0, lt=10**9)]]


class RightAnswer(StrictModel):
    """The right products: those within the limits, and of them the one that is extreme in a figure.

    The figures are those that a trial has shown. Where no product is right, choosing nothing is right.
    """

    at_most: Limits = Field(default={})
    at_least: Limits = Field(default={})
    """Ratings are percentages of five stars."""
    carries: str | None = None
    """The id of an intervention: right is only the product that carries it."""
    lowest: Figure | None = None
    highest: Figure | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_dump(exclude_defaults=True):
            raise ValueError("nothing is right; write at_most, at_least, carries, lowest or highest")
        if self.lowest and self.highest:
            raise ValueError("one figure is extreme; write lowest or highest")
        return self


class Wants(StrictModel):
    """What an order has to hold for the task of its trial to be done."""

    product: Literal["any", "right"] = "any"
    """One of the choice set; or, of those, one that is right for the trial's profile, by what was shown."""
    quantity: Annotated[int, Field(ge=1, strict=True)] = 1
    no_extras: Annotated[bool, Field(strict=True)] = False
    """Whether an order with a line that nobody asked for, and that could be refused, fails."""
