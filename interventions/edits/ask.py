"""ask: the question of a choice card in a product's page."""

import re
from typing import Annotated, Any, ClassVar
from urllib.parse import urljoin

from pydantic import BaseModel, Field, field_serializer, field_validator

from interventions.cards.card import Card
from interventions.cards.page import ANSWER_PATH, render_fragment
from interventions.edits.base import Edit, Leftover, RoleName
from interventions.edits.insert_text import FLOW
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.html.placement import lineage

_NO_FORM = frozenset(["a", "button", "form", "label"])
_STYLE = re.compile(r' style="([^"]*)"')


class Ask(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a card's question after a role's element on the product's own page; the proxy takes the answer."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    after: RoleName = "product.title"
    card: Card
    number: Annotated[int, Field(ge=0)] = 0
    """Which card of a trial it is, from 0."""
    problem: str = ""
    """What was wrong with the answer before."""

    @field_validator("card")
    @classmethod
    def _is_a_question(cls, card: Card) -> Card:
        if card.alternatives:
            raise ValueError("a card with alternatives is a page of its own; ask it without a product's page")
        return card

    @field_serializer("card")
    def _whole(self, card: Card) -> dict[str, Any]:
        # Without its default values nobody could tell a letter from a number.
        return card.model_dump(mode="json")

    def roles(self) -> tuple[str, ...]:
        return (self.after,)

    def apply(self, showing: ProductPlace) -> Change | None:
        if showing.group != "product":
            return None
        page, node = showing.page, showing.main(self.after)[0].node
        around = [element.tag for element in lineage(node.parent)]
        if not around or around[0] not in FLOW or _NO_FORM & set(around):
            raise CannotEdit(f"a form cannot stand after <{node.tag}> here")
        action = urljoin(page.url, ANSWER_PATH)  # whole: a page may have another base
        markup = render_fragment(self.card, action=action, number=self.number, problem=self.problem)
        page.styles |= set(_STYLE.findall(markup))
        showing.insert(node, "after", markup)
        return Change(1, "", self.card.question)
