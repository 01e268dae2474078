"""Find products in the JSON that a page embeds, by the name and the price that the page shows."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from selectolax.lexbor import LexborNode

from interventions.apply.product_json import Document
from interventions.errors import CannotEdit
from interventions.html.tree import select
from interventions.proposal.facts import JSON_LD, KEY, objects, products_in_json_ld, values
from interventions.proposal.scan import Scan, number
from interventions.proposal.selectors import unique_selector
from interventions.yaml.sitemap import Data, Value, product_key

_PRICE_KEY = re.compile("price|amount|value|text|cost", re.I)
_START = re.compile(
    r"\s*(?:(?:var|let|const)\s+|window\.)?(?P<name>[A-Za-z_$][\w$.]*)\s*=\s*(?=[{\[])|\s*[{\[]"
)


@dataclass(frozen=True)
class FoundData:
    """A rule for a site map's `data`, with what it finds and the reason."""

    rule: Data
    text: str
    reason: str
    texts: dict[str, str] = field(default_factory=dict, compare=False)
    """What stands in such objects -> where: the product's id may be among them."""

    def with_id(self, value: str) -> "FoundData":
        """Return the rule with the part `id`, where such objects hold this id."""
        if value not in self.texts:
            return self
        roles = {"id": (Value(path=self.texts[value]),)}
        return replace(self, rule=self.rule.model_copy(update={"roles": self.rule.roles | roles}))


def embedded_data(scan: Scan, shown: dict[str, tuple[str, Decimal]]) -> Iterator[FoundData]:
    """Yield rules for the JSON of a page.

    `shown`: product key -> the name and the price that the page shows.
    """
    if next(products_in_json_ld(scan), None) is not None:
        yield FoundData(_JSON_LD_RULE, "Product", "JSON-LD of the type Product")
    for node in select(scan.tree, "script"):
        kind = (node.attributes.get("type") or "").lower()
        if "application/ld+json" in kind or node.attributes.get("src"):
            continue
        if css := _script_selector(scan, node):
            with suppress(CannotEdit):
                yield from _rules(scan, css, Document(node.text()).root, shown)


def _rules(scan: Scan, css: str, root: Any, shown: dict[str, tuple[str, Decimal]]) -> Iterator[FoundData]:
    """One rule for each shape of object that holds a shown product's name and price."""
    seen: set[str] = set()
    for found in objects(root):
        for name, price in shown.values():
            names = [key for key, value in found.items() if value == name and KEY.fullmatch(key)]
            prices = [path for path, value in _figures(found) if value == price]
            if not names or not prices:
                continue
            holder = prices[0].split(".")[1]
            items = f"$..[?@.{names[0]} && @.{holder}]"
            if items not in seen:
                seen.add(items)
                links = [f"$.{key}" for key, value in found.items() if _is_link(scan, key, value, shown)]
                roles = {"name": f"$.{names[0]}", "price": prices}
                rule = Data.model_validate({"css": css, "items": items, "link": links[:1], "roles": roles})
                yield FoundData(rule, name, "holds the name and the price that the page shows")


def _figures(root: dict[str, Any]) -> Iterator[tuple[str, Decimal]]:
    """Paths of prices below an object, as JSONPath, at most three levels down."""
    for path, value in values(root, 4):
        is_short = isinstance(value, str | int | float) and len(str(value)) <= 40
        figure = number(str(value)) if is_short and _PRICE_KEY.search(path) else None
        if figure is not None:
            yield path, figure


def _is_link(scan: Scan, key: str, value: Any, shown: dict[str, tuple[str, Decimal]]) -> bool:
    is_address = isinstance(value, str) and "/" in value and KEY.fullmatch(key)
    return bool(is_address) and product_key(value, scan.url) in shown


def _script_selector(scan: Scan, node: LexborNode) -> str | None:
    """By its id or type; a script that sets a variable, by the variable's name."""
    root = scan.tree.root
    source = node.text()
    found = _START.match(source)
    if root is None or found is None:
        return None
    if (css := unique_selector([(root, node)])) is not None:
        return css
    css = f'script:lexbor-contains("{found[0].strip()}")' if found["name"] else ""
    if kind := node.attributes.get("type"):
        css = f'script[type="{kind}"]'
    return css if css and len(select(root, css)) == 1 else None


_JSON_LD_RULE = Data.model_validate(
    {
        "css": JSON_LD,
        "items": '$..[?@["@type"] == "Product"]',
        "link": ["$.url", "$.offers.url", '$["@id"]'],
        "roles": {
            "name": "$.name",
            "price": ["$.offers.price", "$.offers[*].price", "$.offers.priceSpecification.price"],
            "rating": {"path": "$.aggregateRating.ratingValue", "scale": 5},
            "reviews": ["$.aggregateRating.reviewCount", "$.aggregateRating.ratingCount"],
        },
    }
)
