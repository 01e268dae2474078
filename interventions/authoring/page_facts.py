"""Read what a page says of the products that it shows, through a site map."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from interventions.apply.consistency import Sighting, sightings_on
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import ProductFacts
from interventions.apply.product_json import Document
from interventions.edits.showing import Showing
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap


@dataclass(frozen=True)
class PageFacts:
    """A page's type, and its products by key.

    The products are the one that the page is about, else those in its cards and rows. `links`: key -> what a
    card links to.
    """

    page_type: str
    products: dict[str, ProductFacts]
    links: dict[str, str] = field(default_factory=dict)


def page_facts(body: bytes, *, content_type: str, url: str, site: SiteMap) -> PageFacts:
    """Read a page's products. Raises CannotEdit.

    Categories are known where the site map has a role for them.
    """
    page = Page(body, content_type, Marks(frozenset()), url)
    view, seen = MappedPage(page, site), sightings_on(page, site)
    products: dict[str, ProductFacts] = {}
    links: dict[str, str] = {}
    for key, showing in view.showings():
        if key and showing.group != "page" and key == (view.product or key):
            products.setdefault(key, _facts(key, showing, [s for s in seen if s.product == key]))
            link = next(showing.all(f"{showing.group}.link"), None)
            links.setdefault(key, showing.value(link) if link else "")
    return PageFacts(view.page_type, products, links)


def _facts(key: str, showing: Showing, seen: Iterable[Sighting]) -> ProductFacts:
    def text(part: str) -> str:
        return next((showing.value(target) for target in showing.all(f"product.{part}")), "")

    def value(part: str) -> float | None:
        return next((float(sighting.value) for sighting in seen if sighting.part == part), None)

    rating, reviews = value("rating"), value("reviews")
    return ProductFacts(
        key=key,
        category=text("category"),
        name=text("name"),
        price=value("price"),
        rating=None if rating is None else round(rating),
        reviews=None if reviews is None else round(reviews),
    )


def data_facts(text: str, url: str, site: SiteMap) -> PageFacts:
    """Read the products of an answer in JSON. Raises CannotEdit."""
    products: dict[str, ProductFacts] = {}
    document = Document(text)
    for data in site.data_at(url):
        for key, entry in document.entries(data, url):
            price, _ = next(entry.figures("price"), (None, None))
            facts = ProductFacts(key, name=entry.text("name"), price=None if price is None else float(price))
            if key:
                products.setdefault(key, facts)
    return PageFacts("data", products)
