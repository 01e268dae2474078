"""set_reviews: another number of reviews, wherever the product shows one."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Annotated

from pydantic import RootModel

from interventions.edits.base import FIGURE_SCHEMA, Edit, figure, filled, whole
from interventions.edits.in_browser import PagePlaces, Verdict, figure_stands
from interventions.edits.showing import Change, ProductPlace
from interventions.html.page import Piece

Count = Annotated[
    Decimal | str,
    figure("a number of reviews", "a whole number from 1", whole(1, 10**9 - 1)),
    FIGURE_SCHEMA,
]
# "Rating" alone may be the name of the stars.
_WORD = re.compile(r"(?i)(?<![^\W\d_])(?:reviews?\b|(?<=\d\s)ratings?\b)")


class SetReviews(Edit, RootModel[Count], frozen=True):
    """Shows a count in every counter, and the word in its singular or plural."""

    def roles(self) -> tuple[str, ...]:
        return ("product.reviews",)

    def values(self) -> Mapping[str, Decimal | str]:
        return {"reviews": filled(self.root)}

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return figure_stands(there, "product.reviews", filled(self.root), done)

    def apply(self, showing: ProductPlace) -> Change:
        count = filled(self.root)
        change = showing.write("product.reviews", count)
        for target in showing.all("product.reviews"):
            showing.page.replace(target.node, target.attribute, partial(_inflect, count=count))
        return Change(change.matches, change.before, showing.value(showing.main("product.reviews")[0]))


def _inflect(text: str, *, count: Decimal) -> list[Piece]:
    return [Piece(*match.span(), _inflected(match[0], count)) for match in _WORD.finditer(text)]


def _inflected(word: str, count: Decimal) -> str:
    plural = "S" if word.isupper() else "s"
    return word.removesuffix(plural) + ("" if count == 1 else plural)
