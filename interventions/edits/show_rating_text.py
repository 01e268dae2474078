"""show_rating_text: the rating in words beside the stars, for readers of text."""

from pydantic import BaseModel

from interventions.edits.base import Change, Edit, Showing
from interventions.markup import escape


class ShowRatingText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds `Rating: 76%` after the stars; the figure is the page's own (`product.rating`)."""

    def roles(self) -> tuple[str, ...]:
        return ("product.stars",)

    def apply(self, showing: Showing) -> Change:
        text = f"Rating: {showing.value(showing.main('product.rating')[0])}"
        start = b'<span class="product-rating-details" style="margin:0 8px">'
        markup = start + escape(text, showing.page.output) + b"</span>"
        targets = showing.main("product.stars")
        for target in targets:
            showing.page.insert(target.node, "after", markup)
        return Change(len(targets), "", text)
