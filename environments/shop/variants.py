"""The variants of products: what the interfaces for programs sell."""

from collections.abc import Iterator
from itertools import product as combinations

from environments.shop.catalogue import Catalogue, Product
from environments.shop.sessions import Choices


def variants(product: Product) -> Iterator[Choices]:
    """Yield every combination of the product's options; the first is the featured one."""
    yield from combinations(*([(option, value) for value in option.values] for option in product.options))


def variant_id(product: Product, choices: Choices) -> str:
    """Return the id of a variant: that of the product, followed by the ids of its values."""
    return "-".join([product.sku, *(str(value.id) for _, value in choices)])


def variant_title(product: Product, choices: Choices) -> str:
    """Return the product's name, and what is chosen of it."""
    values = ", ".join(value.title for _, value in choices)
    return f"{product.name} ({values})" if values else product.name


class VariantIds:
    """The products and variants of a catalogue by their ids."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._products = {product.sku: product for product in catalogue.everything}
        every = ((product, each) for product in catalogue.everything for each in variants(product))
        self._variants = {variant_id(*variant): variant for variant in every}

    def resolve(self, item_id: str) -> tuple[Product | None, Choices | None]:
        """Return a variant, or a product whose options are not chosen, or neither."""
        return self._variants.get(item_id) or (self._products.get(item_id), None)
