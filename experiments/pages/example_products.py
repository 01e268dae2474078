"""Make products to check interventions against: one of each category."""

from collections.abc import Iterable
from typing import Final

from environments.shop.departments import LEAF_PATHS
from interventions.apply.plan import ProductFacts

SHOP_CATEGORIES: Final = tuple(path[-1] for path in LEAF_PATHS)
"""The categories of the embedded shop, and of the consumer-choice study."""


def example_products(categories: Iterable[str] = SHOP_CATEGORIES) -> list[ProductFacts]:
    """Return a product of each category with all its facts."""
    return [
        ProductFacts(f"example-{number}", category, "Example product", 19.99, 84, 12)
        for number, category in enumerate(categories)
    ]
