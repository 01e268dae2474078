"""Check that the pages of an episode agree on each product's price, rating and number of reviews."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from interventions.apply.mapped_page import MappedPage
from interventions.apply.product_json import Document
from interventions.edits.base import tolerance_at
from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.content_type import is_html, is_json
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.limited import one_page
from interventions.yaml.sitemap import Data, SiteMap

PARTS = ("price", "rating", "reviews")


@dataclass(frozen=True)
class Sighting:
    """A figure that one page shows for a product: price in currency units, rating in percent."""

    product: str
    part: str
    value: Decimal
    role: str
    url: str
    tolerance: Decimal = Decimal(0)
    """Half of the last decimal, for ratings that are written on a scale such as 0 to 5."""


def sightings(body: bytes, *, content_type: str, url: str, site: SiteMap) -> list[Sighting]:
    """Return the figures that a page, or an answer in JSON, shows for products; none for other content."""
    try:
        if is_html(content_type):
            return sightings_on(Page(body, content_type, Marks(frozenset()), url), site)
        if is_json(content_type) and site.loads(url):
            return list(_in_answer(body, content_type, url, site))
    except (CannotEdit, UnicodeError):
        pass
    return []


@one_page()
def sightings_on(page: Page, site: SiteMap) -> list[Sighting]:
    """Return the figures that a page shows for products; none where it cannot be read."""
    try:
        return list(_on_page(page, site))
    except CannotEdit:
        return []


def disagreements(seen: Iterable[Sighting]) -> list[str]:
    """Return one line for each product and part that pages show with different values."""
    lines = []
    for (product, part), group in groupby(sorted(seen, key=_order), key=lambda s: (s.product, s.part)):
        found = list(group)
        first = found[0]
        others = [s for s in found if abs(s.value - first.value) > max(s.tolerance, first.tolerance)]
        if others:
            other = others[0]
            lines.append(
                f"{product}: {part} is {first.value} as {first.role} on {first.url}, "
                f"but {other.value} as {other.role} on {other.url}"
            )
    return lines


def _order(sighting: Sighting) -> tuple[str, str]:
    return sighting.product, sighting.part


def _on_page(page: Page, site: SiteMap) -> Iterator[Sighting]:
    view = MappedPage(page, site)
    for key, showing in view.showings():
        if not key or showing.group == "page":
            continue
        for part in PARTS:
            role = f"{showing.group}.{part}"
            for target in showing.all(f"product.{part}"):
                if (value := showing.number(target, role)) is not None:
                    yield Sighting(key, part, value, role, page.url, tolerance_at(target.place))
    for embedded in view.documents():
        for data in embedded.rules:
            yield from _in_data(embedded.document, data, site, page.url, view.product)


def _in_answer(body: bytes, content_type: str, url: str, site: SiteMap) -> Iterator[Sighting]:
    document = Document(body.decode(charset.detect(body, content_type)[0]))
    for data in site.data_at(url):
        yield from _in_data(document, data, site, url, None)


def _in_data(document: Document, data: Data, site: SiteMap, url: str, own: str | None) -> Iterator[Sighting]:
    for key, entry in document.entries(data, url, own, site.query):
        for part in PARTS if key else ():
            for value, scale in entry.figures(part):
                shown, tolerance = value, Decimal(0)
                if scale is not None:
                    shown, tolerance = value * 100 / scale, Decimal(5) / scale
                yield Sighting(key, part, shown, f"data.{part}", url, tolerance)
