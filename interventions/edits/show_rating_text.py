"""show_rating_text: the rating in words beside the stars, for readers of text."""

import html
from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel

from interventions.edits.base import Edit, Leftover
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.place_values import best_at, value_at
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import Place

_STYLE = "margin:0 8px"


class ShowRatingText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds `Rating: 76%`, or `Rating: 3.8 out of 5`, after the stars; the figure is the page's own."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True
    repeats: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("product.stars",)

    def needs(self) -> tuple[str, ...]:
        return ("product.stars", "product.rating")

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        texts = [change.after for change in done]
        return inserted(there, "product.stars", "after", is_one_of(texts), texts[0])

    def apply(self, showing: ProductPlace) -> Change:
        target = showing.main("product.rating")[0]
        rating = said(showing.value(target), target.place)
        text = rating if rating.casefold().startswith("rating") else f"Rating: {rating}"
        markup = (
            f'<span class="product-rating-details" style="{_STYLE}">{html.escape(text, quote=False)}</span>'
        )
        return showing.insert_at("product.stars", "after", text, markup, style=_STYLE)


def said(text: str, place: Place) -> str:
    """Return the rating that stands at a place as people say it: for `star-rating Four`, `4 out of 5`."""
    rating, best = value_at(place, text), best_at(place)
    if rating is None or not (best or place.pattern):
        return text
    if not best:
        return f"{rating.normalize():f}%"
    return f"{(rating * best / 100).normalize():f} out of {best}"
