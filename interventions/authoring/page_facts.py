"""Read what a page says of the products that it shows, through a site map."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interventions.apply.consistency import figures_of
from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import ProductFacts
from interventions.apply.product_json import Document
from interventions.edits.showing import ProductPlace
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.limited import one_page
from interventions.yaml.sitemap import SiteMap


class ShownFacts(NamedTuple):
    """What a place shows of a product: price in currency units, rating in percent; None: not shown."""

    title: str | None = None
    stock: str | None = None
    price: float | None = None
    rating: float | None = None
    reviews: int | None = None

    def or_else(self, other: "ShownFacts") -> "ShownFacts":
        """Return these facts, and those of another place where nothing is shown here."""
        return self._replace(
            **{name: its for name, its in other._asdict().items() if getattr(self, name) is None}
        )


@dataclass(frozen=True)
class _PageFacts:
    """A page's type, and its products by key.

    The products are the one that the page is about, else those in its cards and rows. `links`: key -> what a
    card links to.
    """

    page_type: str
    products: dict[str, ProductFacts]
    links: dict[str, str] = field(default_factory=dict)


def page_facts(body: bytes, *, content_type: str, url: str, site: SiteMap) -> _PageFacts:
    """Read a page's products. Raises CannotEdit.

    Categories are known where the site map has a role for them.
    """
    view = MappedPage(Page(body, content_type, Marks(frozenset()), url), site)
    found: dict[str, ShownFacts] = {}
    first: dict[str, ProductPlace] = {}
    for key, showing, shown in shown_on(view, from_data=True):
        if key == (view.product or key):
            found[key] = found.get(key, shown).or_else(shown)
            first.setdefault(key, showing)
    products, links = {}, {}
    for key, showing in first.items():
        products[key] = _facts(key, showing, found[key])
        link = next(showing.all(f"{showing.group}.link"), None)
        links[key] = showing.value(link) if link else ""
    return _PageFacts(view.page_type, products, links)


@one_page()
def shown_on(view: MappedPage, *, from_data: bool = False) -> list[tuple[str, ProductPlace, ShownFacts]]:
    """Return what each place of a page shows of a product, the product's own page first.

    A figure for which the site map has no role is that of the page's data; with `from_data` also one that the
    place does not show. A rating above its scale is none. Raises CannotEdit.
    """
    seen, places = figures_of(view.page, view.site), []
    own = MappedPage(view.page, view.site).product  # its name in the figures, which know no addresses
    for key, showing in view.showings():
        if not key or showing.group == "page":
            continue
        found: dict[str, Any] = {"title": _text(showing, "name"), "stock": _text(showing, "stock")}
        its = {key, own} if showing.group == "product" else {key}
        for each in seen:
            part, group = each.part, each.role.partition(".")[0]
            is_data = group == "data" and (from_data or not showing.role(f"product.{part}"))
            if part == "rating" and each.value > 100:
                continue
            if view.known.get(each.product, each.product) in its and (group == showing.group or is_data):
                found.setdefault(part, round(each.value) if part == "reviews" else float(each.value))
        places.append((key, showing, ShownFacts(**found)))
    return places


def _text(showing: ProductPlace, part: str) -> str | None:
    """The text of a role's first element."""
    return next((showing.value(target) for target in showing.all(f"product.{part}")), None)


def _facts(key: str, showing: ProductPlace, shown: ShownFacts) -> ProductFacts:
    return ProductFacts(
        key=key,
        category=_text(showing, "category") or "",
        name=shown.title or "",
        price=shown.price,
        rating=None if shown.rating is None else round(shown.rating),
        reviews=shown.reviews,
    )


def data_facts(text: str, url: str, site: SiteMap) -> _PageFacts:
    """Read the products of an answer in JSON. Raises CannotEdit."""
    products: dict[str, ProductFacts] = {}
    document = Document(text)
    for data in site.data_at(url):
        for key, entry in document.entries(data, url):
            price, _ = next(entry.figures("price"), (None, None))
            facts = ProductFacts(key, name=entry.text("name"), price=None if price is None else float(price))
            if key:
                products.setdefault(key, facts)
    return _PageFacts("data", products)
