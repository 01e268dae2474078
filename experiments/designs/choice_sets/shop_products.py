"""Find the products of the embedded shop that experiments choose from."""

from functools import cache

from environments.shop.catalogue import Catalogue, generate
from interventions.apply.plan import ProductFacts


@cache
def shop_products() -> tuple[ProductFacts, ...]:
    """Return the shop's products that can stand in a choice set."""
    return products_of(generate())


def products_of(catalogue: Catalogue) -> tuple[ProductFacts, ...]:
    """Return the products of a catalogue that can stand in a choice set: in stock, without options."""
    return tuple(
        ProductFacts(
            key=product.key,
            category=product.category,
            name=product.name,
            price=product.price,
            rating=product.rating,
            reviews=product.reviews or (None if product.own else 0),
        )
        for product in catalogue.products
        if product.in_stock and not product.options
    )
