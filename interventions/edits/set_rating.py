"""set_rating: another rating, wherever the product shows one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, ClassVar

from pydantic import RootModel

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, figure, filled
from interventions.edits.in_browser import PagePlaces, Verdict, figure_stands
from interventions.edits.place_values import best_at, tolerance_at, value_at
from interventions.edits.showing import Change, ProductPlace

Rating = Annotated[
    Decimal | str,
    figure(
        "a rating",
        "a whole percentage from 0 to 100",
        lambda n: n.quantize(Decimal(1), ROUND_HALF_UP) if 0 <= n <= 100 else None,
    ),
    FIGURE_SCHEMA,
]


class SetRating(Edit, RootModel[Rating], frozen=True):
    """Shows a rating, given in percent: in words, in the stars' title and in their width."""

    leftover: ClassVar[Leftover] = "decimals"

    def roles(self) -> tuple[str, ...]:
        return ("product.rating",)

    def values(self) -> Mapping[str, Decimal | str]:
        return {"rating": filled(self.root)}

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        rating = filled(self.root)
        verdict = figure_stands(there, "product.rating", rating, done)
        if verdict.problem or verdict.given:
            return verdict
        # In a picture stars have no words; what `show_rating_text` has written beside them says the same.
        place = there.places("product.rating")[0]
        plain = {"attribute": None, "part": None, "pattern": None, "words": (), "scale": best_at(place)}
        words = place.model_copy(update=plain)
        written = tuple(
            each
            for each in there.beside("product.stars")
            if (shown := value_at(words, each.given, spaced=True)) is not None
            and abs(shown - rating) <= tolerance_at(place)
        )
        return replace(verdict, given=True, at=written) if written else verdict

    def apply(self, showing: ProductPlace) -> Change:
        return showing.write("product.rating", filled(self.root))
