"""show_rating_text: the rating in words beside the stars, for readers of text."""

import html
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel

from interventions.edits.base import Change, Edit, Showing
from interventions.edits.in_browser import There, Verdict, inserted, is_one_of

_STYLE = "margin:0 8px"


class ShowRatingText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds `Rating: 76%` after the stars; the figure is the page's own (`product.rating`)."""

    readable: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("product.stars",)

    def needs(self) -> tuple[str, ...]:
        return ("product.stars", "product.rating")

    def stands(self, there: There, done: Sequence[Change]) -> Verdict | None:
        texts = [change.after for change in done]
        return inserted(there, "product.stars", "after", is_one_of(texts), texts[0])

    def apply(self, showing: Showing) -> Change:
        rating = showing.value(showing.main("product.rating")[0])
        text = rating if rating.casefold().startswith("rating") else f"Rating: {rating}"
        markup = (
            f'<span class="product-rating-details" style="{_STYLE}">{html.escape(text, quote=False)}</span>'
        )
        targets = showing.main("product.stars")
        for target in targets:
            showing.insert(target.node, "after", markup, style=_STYLE)
        return Change(len(targets), "", text)
