"""Read from a look what the agent is shown at the site map's roles of a product's page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from interventions.edits.in_browser import Element, ElementQuery, PageElements
from interventions.edits.place_values import value_at
from interventions.yaml.sitemap import Place, SiteMap

NAME, PRICE, RATING, REVIEWS = (f"product.{part}" for part in ("name", "price", "rating", "reviews"))
BUTTON: Final = "product.add_to_cart"


@dataclass(frozen=True, slots=True)
class ShownProduct:
    """A product as its page shows it; a field that the agent is not shown is empty.

    `price` is in currency units, `rating` in percent; `add_to_cart` is the bid of the button.
    """

    name: str = ""
    price: float | None = None
    rating: float | None = None
    reviews: int | None = None
    add_to_cart: str = ""


def product_spots(site: SiteMap) -> tuple[ElementQuery, ...]:
    """Return what has to be read of a page."""
    roles = (NAME, PRICE, RATING, REVIEWS, BUTTON)
    return tuple(ElementQuery(place.css, place.attribute) for role in roles for place in site.role(role))


def shown_product(standing: PageElements, site: SiteMap) -> ShownProduct | None:
    """Return the product that a page shows; None where it shows nothing at the roles."""
    price, rating, reviews = (_figure(standing, site, role) for role in (PRICE, RATING, REVIEWS))
    shown = ShownProduct(
        name=next((element.given for _, element in _given(standing, site, NAME) if element.given), ""),
        price=price,
        rating=rating,
        reviews=None if reviews is None else int(reviews),
        add_to_cart=next((element.bid for _, element in _given(standing, site, BUTTON) if element.bid), ""),
    )
    return None if shown == ShownProduct() else shown


def _given(standing: PageElements, site: SiteMap, role: str) -> Iterator[tuple[Place, Element]]:
    for place in site.role(role):
        for element in standing.found.get(ElementQuery(place.css, place.attribute)) or ():
            yield place, element


def _figure(standing: PageElements, site: SiteMap, role: str) -> float | None:
    parts: dict[str, str] = {}
    for place, element in _given(standing, site, role):
        if place.part:
            parts.setdefault(place.part, re.sub(r"\D", "", element.given or ""))
        elif element.given and (value := value_at(place, element.given, spaced=True)) is not None:
            return float(value)
    # Neither part tells the price alone.
    whole, fraction = parts.get("whole"), parts.get("fraction")
    return float(f"{whole}.{fraction}") if whole and fraction else None
