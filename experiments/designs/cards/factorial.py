"""Design factorial studies: willingness to pay for products, with and without an anchor."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, model_validator

from environments.shop.catalogue import Catalogue, generate
from environments.shop.prose import features
from experiments.designs.cards.alternatives import PriceQuestions
from experiments.designs.cards.experiment_file import CardExperiment, Condition, Factorial
from experiments.designs.cards.hotel_profiles import Text
from experiments.designs.cards.trial import CardTrial
from experiments.designs.inputs.csv_rows import read_rows
from experiments.designs.inputs.experiment_file import StrictModel
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source, did_you_mean, load_yaml, problem_at, validate

SHIPPED: Final = {"wtp": Path(__file__).parent / "wtp.yaml"}
_PRODUCTS: Final = ("design", "factorial", "products")

Problem = Callable[[str, str], UserError]
"""Makes the error for a message on a key or column of a product."""

Dollars = Annotated[float, Field(gt=0)]


class _AskedProduct(StrictModel):
    """A product that is asked about.

    A product of the embedded shop needs only its key and its range.
    """

    key: Text
    """A key of its own, or the key of a product of the embedded shop."""
    name: str = ""
    """The product's name in tables; its key when empty."""
    title: str = ""
    description: str = ""
    price: Dollars | None = None
    """The list price, with which responses are compared; it is never shown."""
    low: Dollars
    """The lowest market price of such products."""
    high: Dollars
    """The highest market price of such products."""

    @model_validator(mode="after")
    def _is_a_range(self) -> "_AskedProduct":
        if self.high < self.low:
            raise problem_at("high", message=f"is below low, {self.low:g}; swap the two")
        return self


class ProductFile(StrictModel):
    """A YAML file of products."""

    products: Annotated[tuple[_AskedProduct, ...], Field(min_length=1)]


class FactorialDesign:
    """The trials of a factorial; a block is one repeat of one product, in all conditions."""

    analysis = "montecarlo"
    quota: int | None = None
    attempts: int = 0
    notes: Sequence[str] = ()

    def __init__(self, spec: Factorial, experiment: CardExperiment, source: Source) -> None:
        self._spec = spec
        self._temperature = experiment.temperature
        self._questions = PriceQuestions(experiment.cards, source)
        shop = generate()
        asked, self.notes = _read_products(spec.products, source)
        self._products = [_completed(product, shop, error) for product, error in asked]
        self._pages = frozenset(product.key for product in shop.everything)
        self.sets = len(self._products)
        self.size = self.sets * len(spec.conditions) * spec.repeats

    def content(self) -> object:
        """Return what the design is made of, to be hashed."""
        products = [product.model_dump(mode="json") for product in self._products]
        cards = [card.model_dump(mode="json") for trial in next(self.blocks()) for card in trial.cards]
        return [products, cards]

    def blocks(self) -> Iterator[list[CardTrial]]:
        """Yield the trials of every product in all conditions, product after product, repeat after repeat."""
        cells = [
            [self._trial(product, condition) for condition in self._spec.conditions]
            for product in self._products
        ]
        for repeat in range(self._spec.repeats):
            for block in cells:
                yield [replace(trial, repeat=repeat) for trial in block]

    def _trial(self, product: _AskedProduct, condition: Condition) -> CardTrial:
        return CardTrial(
            id="",
            agent="",
            set=product.key,
            cards=self._questions.fill(condition, product.title, product.description),
            condition=condition,
            temperature=self._temperature,
            item=product.name or product.key,
            reference=product.price,
            low=product.low,
            high=product.high,
            page=product.key if product.key in self._pages else "",
        )

    def summary(self) -> str:
        """Describe in words what is asked."""
        conditions, repeats = self._spec.conditions, self._spec.repeats
        return (
            f"{self.sets} products x {len(conditions)} conditions ({', '.join(conditions)}) x {repeats:,} "
            f"repeats = {self.size:,} questions"
        )


def _read_products(name: str, source: Source) -> tuple[list[tuple[_AskedProduct, Problem]], list[str]]:
    """The products of a file, each with the way to tell a mistake in it, and notes. Raises UserError."""
    if name.lower().endswith(".csv"):
        known = _AskedProduct.model_fields
        table = read_rows(str(source.file_at(_PRODUCTS, name)), known)
        return [(row.read(_AskedProduct), row.error) for row in table.rows], table.unused
    if name not in SHIPPED and not name.endswith((".yaml", ".yml")):
        hint = did_you_mean(name, SHIPPED, noun="shipped")
        raise source.error(_PRODUCTS, f'unknown products "{name}"; {hint} (or give a .yaml or .csv file)')
    file = load_yaml(SHIPPED.get(name) or source.file_at(_PRODUCTS, name))

    def error(index: int, key: str, message: str) -> UserError:
        return file.error(("products", index, key), message)

    products = validate(file, ProductFile).products
    return [(product, partial(error, index)) for index, product in enumerate(products)], []


def _completed(product: _AskedProduct, shop: Catalogue, error: Problem) -> _AskedProduct:
    """The product with what the embedded shop says of it. Raises UserError."""
    try:
        sold = shop.by_key[product.key]
    except KeyError:
        for name in ("title", "description", "price"):
            if not getattr(product, name):
                message = "missing, and the embedded shop has no such product; add it, or mend the key"
                raise error(name, message) from None
        return product
    known = {
        "title": sold.name,
        "description": "\n".join(f"- {feature}" for feature in features(sold)),
        "price": sold.price,
    }
    for name in known:
        if getattr(product, name):
            raise error(name, "the embedded shop's page says it; remove it, or change the key")
    return product.model_copy(update=known)
