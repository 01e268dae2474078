"""One product of each kind that pages differ by."""

from dataclasses import dataclass

from environments.shop.catalogue import Catalogue, Product


@dataclass(frozen=True)
class Examples:
    rated: Product
    unrated: Product
    optioned: Product
    sold_out: Product
    single_review: Product


def pick(catalogue: Catalogue) -> Examples:
    products = catalogue.products
    return Examples(
        rated=next(p for p in products if p.reviews > 10 and not p.options),
        unrated=next(p for p in products if p.rating is None and not p.options and p.in_stock),
        optioned=next(p for p in products if len(p.options) == 2 and p.rating is not None),
        sold_out=next(p for p in products if not p.in_stock),
        single_review=next(p for p in products if p.reviews == 1 and not p.options),
    )
