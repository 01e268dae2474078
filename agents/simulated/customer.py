"""Simulate the way from the cart to an order: fill in the form, read boxes and sums or not, and order."""

import random
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.simulated.readers.checkout_page import (
    CART,
    NEXT,
    PLACE,
    PROCEED,
    CheckoutPage,
    read_checkout_page,
)
from agents.simulated.readers.product_page import text_of
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from interventions.html.tree import parse

PERSON: Final = {
    "email": "kim@example.org",
    "firstname": "Kim",
    "lastname": "Sample",
    "street": "1 Example Street",
    "city": "Springfield",
    "postcode": "01101",
    "telephone": "555 0100",
}
"""Who orders, by the names of fields: nobody."""
_OF_TYPES: Final = {"email": PERSON["email"], "tel": PERSON["telephone"]}
_DOWN, _UP = Action("scroll", (0.0, 600.0)), Action("scroll", (0.0, -10_000.0))
_MOST_SCROLLS: Final = 3


class CheckoutHabits(BaseModel):
    """How much of a checkout a customer reads; what it never asked for, it does not want."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reads_boxes: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="share of orders in which it reads boxes and the cart, and leaves extras",
    )
    reads_sums: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of orders in which it gives up where a line is new that no page before the cart"
        " has told of",
    )


def wants_order(goal: str) -> bool:
    """Return whether the goal is an order, and not only something in the cart."""
    return "place the order" in goal.lower()


class Customer:
    """One customer at one checkout; what it reads is drawn once, by `seed`."""

    def __init__(self, habits: CheckoutHabits, *, seed: int) -> None:
        source = random.Random(f"checkout {seed}")  # noqa: S311 (sampling; nothing is secret)
        self._reads_boxes = source.random() < habits.reads_boxes
        self._reads_sums = source.random() < habits.reads_sums
        self._scrolled = 0
        self._has_looked_up = False
        self._extra = ""
        self._told: set[str] = set()

    def read(self, html: str) -> None:
        """Read a page before the cart, and know from then on what it tells of."""
        if self._reads_sums:
            self._told.add(text_of(parse(html).body).lower())

    def decide(self, observation: Observation) -> tuple[str, Action]:
        """Return the thought and the action: the next step towards the order that is in view."""
        page = read_checkout_page(observation.html)
        if observation.arrived:
            self._scrolled, self._has_looked_up = 0, False
        if page.has_total:
            self._extra = next((" ".join(each) for each in page.extras if not self._was_told_of(each)), "")
        if step := self._next(page):
            self._scrolled = 0
            return step
        self._scrolled += 1
        if self._scrolled > _MOST_SCROLLS:
            self._scrolled = 0
            return "I look at the top of the page.", _UP
        return "I look for the way to the order.", _DOWN

    def _was_told_of(self, extra: tuple[str, ...]) -> bool:
        """Whether a page before the cart has said what the line is called, and its amount."""
        return any(all(part.lower() in text for part in extra) for text in self._told)

    def _next(self, page: CheckoutPage) -> tuple[str, Action] | None:
        if page.answers:
            if (self._reads_boxes or self._reads_sums) and len(page.answers) > 1:
                return "I did not ask for this.", Action("click", (page.answers[-1],))
            for bid, kind in page.asked:
                return "It asks me for this.", Action("fill", (bid, _OF_TYPES.get(kind, "Kim Sample")))
            return "I press the first button.", Action("click", (page.answers[0],))
        if page.removals and (self._reads_boxes or self._reads_sums):
            return "I did not ask for this.", Action("click", (page.removals[0],))
        for bid, name in page.fields:
            if name in PERSON and {NEXT, PLACE} & page.steps.keys():
                return f"The order needs my {name}.", Action("fill", (bid, PERSON[name]))
        if PLACE in page.steps:
            if self._reads_boxes or self._reads_sums:
                for box in page.boxes:
                    if box.gets:
                        return f"I did not ask for this: {box.label}", Action("click", (box.bid,))
            if self._reads_sums and self._extra:
                told = f"I did not expect to pay {self._extra}."
                return told, Action("give_up", ("the order costs more than was said",))
            if self._reads_sums and not page.has_total and not self._has_looked_up:
                self._has_looked_up = True
                return "Before I order I look at what it costs.", _UP
            return "I place the order.", Action("click", (page.steps[PLACE],))
        for step, thought in (
            (NEXT, "I go on."),
            (PROCEED, "I go to the checkout."),
            (CART, "It is in the cart; I go there."),
        ):
            if step in page.steps:
                return thought, Action("click", (page.steps[step],))
        return None
