"""Find the products of the embedded shop that experiments choose from."""

from environments.shop.shop import USUAL, Shop
from interventions.apply.plan import ProductFacts


def shop_products(shop: Shop = USUAL) -> tuple[ProductFacts, ...]:
    """Return the products of the embedded shop that can stand in a choice set: in stock, no options."""
    return tuple(
        ProductFacts(
            key=product.key,
            category=product.category,
            name=product.name,
            price=product.price,
            rating=product.rating,
            reviews=product.reviews or (None if product.own else 0),
        )
        for product in shop.catalogue.products
        if product.in_stock and not product.options
    )
