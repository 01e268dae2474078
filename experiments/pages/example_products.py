"""Make products to check interventions against: one of each category."""

from collections.abc import Iterable

from environments.shop.departments import leaf_paths
from interventions.apply.plan import ProductFacts


def shop_categories() -> list[str]:
    """Return the categories of the embedded shop, and of the consumer-choice study."""
    return [path[-1] for path in leaf_paths()]


def example_products(categories: Iterable[str] = ()) -> list[ProductFacts]:
    """Return a product of each category, if none is given of each of the shop's, with all its facts."""
    return [
        ProductFacts(f"example-{number}", category, "Example product", 19.99, 84, 12)
        for number, category in enumerate(categories or shop_categories())
    ]
