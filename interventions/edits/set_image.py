"""set_image: another picture of a product."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, ClassVar
from urllib.parse import urljoin, urlsplit

from pydantic import AfterValidator, RootModel

from interventions.edits.base import Edit, Leftover
from interventions.edits.in_browser import PICTURES, ElementQuery, PagePlaces, Verdict
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import Place, SiteMap
from interventions.yaml.variables import VARIABLE

_OTHERS = ("srcset", "data-src", "data-srcset")
"""Where pages write the picture's address as well, for other screens or to load it later."""


def _check_address(address: str) -> str:
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = "?"
    if any(char.isspace() for char in address) or not (
        scheme in ("http", "https", "") or VARIABLE.search(address)
    ):
        raise ValueError(f'"{address}" is no address of a picture; write https://host/path or /path')
    return address


class SetImage(Edit, RootModel[Annotated[str, AfterValidator(_check_address)]], frozen=True):
    """Shows another picture; its address is absolute, or a path of the shop."""

    leftover: ClassVar[Leftover] = "picture"

    def roles(self) -> tuple[str, ...]:
        return ("product.image",)

    def values(self) -> Mapping[str, Decimal | str]:
        return {"image": self.root}

    def attribute(self, place: Place) -> str | None:
        return place.attribute or "src"

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        yield from super().spots(site)
        yield PICTURES

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        (place, *_) = there.places("product.image")
        elements = there.at(place, self.attribute(place))
        if elements:
            others = [element.text for element in elements if element.text != self.root]
        else:  # scripts may have put a gallery in the picture's place, as Magento's do
            elements = there.pictures_from(self.root)
            others = [each.text for change in done for each in there.pictures_from(change.before)]
        if others or not elements:
            return Verdict(f"product.image shows {others}")
        # Without pictures the reader is given none.
        given = any(element.given in (None, element.text) for element in elements)
        return Verdict(given=given, at=elements)

    def apply(self, showing: ProductPlace) -> Change:
        page, done = showing.page, []
        showing.main("product.image")
        for target in showing.all("product.image"):
            done.append(page.set_attribute(target.node, target.attribute or "src", self.root))
            for name in _OTHERS:
                if name in target.node.attributes:
                    page.set_attribute(target.node, name, self.root)
            around = target.node.parent
            if around is not None and around.tag == "picture":
                for source in page.find("source[srcset]", around):
                    page.set_attribute(source, "srcset", self.root)
        page.images.add(urljoin(page.url, self.root))
        return Change(len(done), *done[0])
