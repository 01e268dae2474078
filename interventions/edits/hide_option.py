"""hide_option: one value less to choose from, such as a colour."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.in_browser import ElementQuery, PagePlaces, Verdict, as_read, holds
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import Place, SiteMap


class HideOption(Edit, RootModel[Text], frozen=True):
    """Takes away the value with this label from a product's options."""

    leftover: ClassVar[Leftover] = ""

    def roles(self) -> tuple[str, ...]:
        return ("product.option",)

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        yield from super().spots(site)
        for place in site.role("product.option"):
            yield ElementQuery(_around(place).css)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        labels = [element.text.casefold() for element in there.main("product.option")]
        label = as_read(self.root).casefold()
        if label in labels:
            return Verdict(f"product.option shows {self.root!r}")
        for around in there.at(_around(there.places("product.option")[0]), None):
            # What the options leave of the list that holds them: Red may be part of Dark Red.
            left = around.text.casefold()
            for other in sorted(labels, key=len, reverse=True):
                left = left.replace(other, " ", 1)
            if holds(left, label):
                return Verdict(f"the list of product.option shows {self.root!r}")
        return Verdict()

    def apply(self, showing: ProductPlace) -> Change:
        options = showing.main("product.option")
        found = [target for target in options if showing.value(target).casefold() == self.root.casefold()]
        if not found:
            labels = ", ".join(showing.value(target) for target in options)
            raise CannotEdit(f'no option "{self.root}"; there are: {labels}')
        for target in found:
            showing.page.remove(target.node)
        return Change(len(found), self.root, "")


def _around(place: Place) -> Place:
    """The elements in which options stand."""
    return Place(css=f":has(> :is({place.css}))")
