"""Read what a page states of its product for machines: JSON-LD, microdata and RDFa in schema.org's terms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from interventions.apply.product_json import Document
from interventions.errors import CannotEdit
from interventions.html.tree import select
from interventions.proposal.scan import Scan, ancestors, number, squeezed, text

KEY = re.compile(r"[A-Za-z_]\w*")
JSON_LD = 'script[type*="application/ld+json"]'
_META = {
    "name": ("og:title",),
    "price": ("product:price:amount", "og:price:amount", "product:sale_price:amount"),
    "stock": ("product:availability", "og:availability"),
}
_MICRODATA = {
    "name": "name",
    "price": "price",
    "rating": "ratingValue",
    "best": "bestRating",
    "reviews": "reviewCount",
    "ratings": "ratingCount",
    "stock": "availability",
}


@dataclass
class Facts:
    """The stated value of each part of the product: `name`, `price`, `rating`, `best`, `reviews`, `stock`.

    `sources`: part -> where it was stated.
    """

    values: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def add(self, part: str, value: object, source: str) -> None:
        """Note a value; the first one stated counts."""
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            self.values.setdefault(part, squeezed(str(value)))
            self.sources.setdefault(part, source)

    def states(self, part: str, value: str) -> bool:
        """Return whether a text shows the stated value: the same text, or the same single figure."""
        stated = self.values.get(part)
        if stated is None:
            return False
        figure = number(stated)
        return value == stated or (figure is not None and number(value) == figure)


def stated_facts(scan: Scan) -> Facts:
    """Return what the page states of the product that it is about; of several, the first."""
    facts = Facts()
    if (product := next(products_in_json_ld(scan), None)) is not None:
        _from_json_ld(facts, product)
    for part, name in _MICRODATA.items():
        for node in select(scan.tree, f'[itemprop~="{name}"], [property="{name}"], [property$=":{name}"]'):
            if part != "name" or _of_product(node):
                source = f"microdata (itemprop={name})" if "itemprop" in node.attributes else f"RDFa ({name})"
                facts.add(part, node.attributes.get("content") or text(node), source)
                break
    for part, properties in _META.items():
        for name in properties:
            for node in select(scan.tree, f'meta[property="{name}"], meta[name="{name}"]'):
                facts.add(part, node.attributes.get("content"), f"meta {name}")
    if "ratings" in facts.values:
        facts.add("reviews", facts.values["ratings"], facts.sources["ratings"])
    return facts


def products_in_json_ld(scan: Scan) -> Iterator[dict[str, Any]]:
    """Yield the Product objects in a page's JSON-LD."""
    for node in select(scan.tree, JSON_LD):
        try:
            root = Document(node.text()).root
        except CannotEdit:
            continue
        yield from (found for found in objects(root) if _is_product(found))


def _is_product(found: dict[str, Any]) -> bool:
    """Return whether an object of JSON-LD has the type Product (alone or in a list of types)."""
    kinds = found.get("@type")
    several = kinds if isinstance(kinds, list) else [kinds]
    return any(kind in ("Product", "ProductGroup") for kind in several)


def _from_json_ld(facts: Facts, product: dict[str, Any]) -> None:
    source = "JSON-LD"
    facts.add("name", product.get("name"), source)
    offers = product.get("offers")
    for offer in offers if isinstance(offers, list) else [offers]:
        if isinstance(offer, dict):
            first = offer.get("priceSpecification")
            first = first[0] if isinstance(first, list) and first else first
            inner = first.get("price") if isinstance(first, dict) else None
            facts.add("price", offer.get("price") or offer.get("lowPrice") or inner, source)
            facts.add("stock", offer.get("availability"), source)
    rating = product.get("aggregateRating")
    if isinstance(rating, dict):
        facts.add("rating", rating.get("ratingValue"), source)
        facts.add("best", rating.get("bestRating"), source)
        facts.add("reviews", rating.get("reviewCount") or rating.get("ratingCount"), source)


def _of_product(node: Any) -> bool:
    """A name may be that of a brand, a review's author or a bread crumb."""
    scope = next((a for a in ancestors(node) if {"itemscope", "typeof"} & a.attributes.keys()), None)
    if scope is None:
        return True
    kind = scope.attributes.get("itemtype") or scope.attributes.get("typeof") or ""
    return kind.rstrip("/").endswith("Product")


def objects(root: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in JSON, from the outermost inwards."""
    waiting = [root]
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, dict):
            yield value
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value


def values(root: dict[str, Any], deepest: int) -> Iterator[tuple[str, Any]]:
    """Yield what stands in an object, and in the objects in it, each with its path as JSONPath."""
    waiting: list[tuple[str, Any]] = [("$", root)]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, dict) and path.count(".") < deepest:
            waiting += [(f"{path}.{each}", inner) for each, inner in value.items() if KEY.fullmatch(each)]
        else:
            yield path, value
