"""review: a customer's review among those that the shop has of a product."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, Text, figure, filled, whole
from interventions.edits.in_browser import ElementQuery, PagePlaces, Verdict, is_one_of
from interventions.edits.reorder import Rank
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import SiteMap

_MOST = 5
_FIRST = "1"
Stars = Annotated[
    Decimal | str, figure("a number of stars", "a whole number from 1 to 5", whole(1, _MOST)), FIGURE_SCHEMA
]


class Review(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds a review to the first page of a product's reviews, at a rank among the shop's own (1: first).

    It looks like the review that is there, without its heading.
    """

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True
    one_product: ClassVar[bool] = True

    text: Annotated[Text, Field(max_length=2_000)]
    stars: Stars
    author: Annotated[Text, Field(max_length=60)]
    rank: Rank = Decimal(1)

    def words(self) -> str:
        return self.text

    def roles(self) -> tuple[str, ...]:
        parts = ("text", "item", "heading", "score", "author", "page")
        return (*(f"reviews.{part}" for part in parts), "product.reviews")

    def role_at(self, showing: ProductPlace) -> str:
        return "product.reviews" if showing.group == "product" else super().role_at(showing)

    def needs(self) -> tuple[str, ...]:
        return ("reviews.item", "reviews.text", "reviews.score", "reviews.author")

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        for role in ("reviews.text", "reviews.page"):
            yield from (ElementQuery(place.css, place.attribute) for place in site.role(role))

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        if there.places("reviews.page") and any(each.text != _FIRST for each in there.main("reviews.page")):
            return Verdict()  # another page of the reviews
        fits = is_one_of([self.text])
        found = [each for each in there.main("reviews.text") if fits(each.text)]
        if not found:
            return Verdict(f"no review says {self.text!r}")
        return Verdict(given=any(fits(each.given or "") for each in found), at=tuple(found))

    def apply(self, showing: ProductPlace) -> Change | None:
        if showing.group == "product":
            if not showing.has("product.reviews"):
                raise CannotEdit("the product has no reviews, among which another one can stand")
            return None
        reviews = [target.node for target in showing.main("reviews.item")]
        if any(showing.value(target) != _FIRST for target in showing.all("reviews.page")):
            return None
        made = showing.page.copied(reviews[0])
        own = ProductPlace(made, showing.site, showing.group)
        for target in own.all("reviews.heading"):
            made.remove(target.node)
        own.write("reviews.score", filled(self.stars) * 100 / _MOST)
        own.write_text("reviews.text", self.text)
        own.write_text("reviews.author", self.author)
        showing.page.insert_at_rank(reviews, int(filled(self.rank)), made)
        return Change(1, "", self.text)
