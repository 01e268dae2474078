"""Find the products of the embedded shop that experiments choose from."""

from functools import cache

from environments.shop.catalogue import generate
from interventions.apply.plan import ProductFacts


@cache
def shop_products() -> tuple[ProductFacts, ...]:
    """Return the shop's products that can stand in a choice set: in stock, without options."""
    return tuple(
        ProductFacts(
            key=product.key,
            category=product.category,
            name=product.name,
            price=product.price,
            rating=product.rating,
            reviews=product.reviews,
        )
        for product in generate().products
        if product.in_stock and not product.options
    )
