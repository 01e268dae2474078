"""Generate the catalogue, which depends on one seed alone.

Equal seeds give equal catalogues on every machine: all draws come from `random.Random` seeded with integers,
and all arithmetic is on integers and plain sums and products. Texts that only the product page needs are
derived from `Product.seed` when asked for (see `prose.py`).
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pydantic import TypeAdapter

from environments.shop.departments import Category, build_tree, leaf_paths, slug
from environments.shop.lexicon import Shelf, UnlistedProduct, shelves, unlisted
from environments.shop.market import MARKETS, percent, price_cents, quantile, ratings, strata

SMALLEST_SHELF: Final = 60
LONGEST_KEY: Final = 200
_TWO_OPTIONS: Final = 0.3
_SEED_STEP: Final = 1_000_003
_SKU_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NAME_LENGTHS: Final = ((0, 30), (0.05, 37), (0.25, 64), (0.5, 98), (0.75, 155), (0.95, 190), (1, 196))
"""Quantile function of the length of names, in characters."""


@dataclass(frozen=True, slots=True)
class OptionValue:
    """One value of an option; `id` is unique in the catalogue."""

    id: int
    title: str


@dataclass(frozen=True, slots=True)
class Option:
    """A choice that a product requires, such as its color."""

    id: int
    title: str
    values: tuple[OptionValue, ...]


@dataclass(frozen=True, slots=True)
class OwnContent:
    """What a user's table says of a product: the lines of its description, further columns, its picture.

    `picture` is a file's content, in Base64, of the type `media`; both are empty where there is none.
    """

    description: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    picture: str = field(default="", repr=False)
    media: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """A product of the shop.

    `rating` is in percent, None without reviews; `stars` is the sum of the reviews' star values, 1 to 5 each.
    `words` and `seed` are what its texts are made of; a product of a user's table has its `own` instead.
    """

    id: int
    key: str
    sku: str
    name: str
    brand: str
    category: str
    path: tuple[str, ...]
    cents: int
    rating: int | None
    reviews: int
    stars: int
    options: tuple[Option, ...]
    in_stock: bool
    words: Mapping[str, str] = field(repr=False, compare=False)
    seed: int = field(repr=False)
    own: OwnContent | None = None

    @property
    def price(self) -> float:
        """The price in currency units."""
        return self.cents / 100


@dataclass(frozen=True)
class Catalogue:
    """All products, and the category tree in which they are shown.

    `unlisted` products have a page, and can be bought, but stand in no listing and are not found by search.
    """

    seed: int
    products: tuple[Product, ...]
    departments: tuple[Category, ...]
    unlisted: tuple[Product, ...] = ()
    currency: str = "USD"
    language: str = "en"

    def to_json(self) -> bytes:
        """Return the catalogue as JSON, which `from_json` reads."""
        return TypeAdapter(Catalogue).dump_json(self)

    @staticmethod
    def from_json(text: bytes) -> "Catalogue":
        """Read a catalogue. Raises pydantic.ValidationError."""
        return TypeAdapter(Catalogue).validate_json(text)

    @property
    def everything(self) -> tuple[Product, ...]:
        """All products that have a page."""
        return self.products + self.unlisted

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """Every node of the tree, parents first."""
        return tuple(node for department in self.departments for node in department.walk())

    @cached_property
    def by_key(self) -> dict[str, Product]:
        """All products that have a page, by their url keys."""
        return {product.key: product for product in self.everything}


def generate(seed: int = 0) -> Catalogue:
    """Make the catalogue: 26 leaf categories with at least 60 products each.

    `seed` is not negative.
    """
    products: list[Product] = []
    taken: set[str] = set()
    for number, category in enumerate(MARKETS):
        rng = random.Random(seed * _SEED_STEP + number)  # noqa: S311 - reproducible, not secret
        products.extend(_shelf_products(category, seed, 1 + len(products), taken, rng))
    hidden = enumerate(unlisted().values(), 1 + len(products))
    return Catalogue(
        seed, tuple(products), build_tree(), tuple(_unlisted(item, seed, number) for number, item in hidden)
    )


def _unlisted(item: UnlistedProduct, seed: int, product_id: int) -> Product:
    return Product(
        id=product_id,
        key=slug(item.name),
        sku=_sku(seed, product_id),
        name=item.name,
        brand=item.brand,
        category=item.path[-1],
        path=item.path,
        cents=item.cents,
        rating=None,
        reviews=0,
        stars=0,
        options=(),
        in_stock=True,
        words={"brand": item.brand},
        seed=seed * _SEED_STEP + len(MARKETS) + product_id,
    )


def _shelf_products(
    category: str, seed: int, first_id: int, taken: set[str], rng: random.Random
) -> Iterator[Product]:
    """The products of one leaf category; `taken` holds the url keys in use and grows."""
    shelf, market = shelves()[category], MARKETS[category]
    path = next(path for path in leaf_paths() if path[-1] == category)
    n = max(SMALLEST_SHELF, market.size // 4)
    order = rng.sample(range(n), n)
    rated = order[round(n * market.unrated) :]
    rating_of = dict(zip(rated, ratings(market, len(rated), rng), strict=True))
    optioned = set(rng.sample(range(n), round(n * market.optioned)))
    out_of_stock = next(k for k in order if k not in rating_of and k not in optioned)
    price_quantiles, lengths = strata(n, rng), strata(n, rng)
    for k in range(n):
        while True:
            words = _words(shelf, price_quantiles[k], rng)
            name = _name(shelf, words, int(quantile(lengths[k], _NAME_LENGTHS)), rng)
            key = slug(name)
            if key not in taken and len(key) <= LONGEST_KEY:
                break
        taken.add(key)
        product_id = first_id + k
        stars, reviews = rating_of.get(k, (0, 0))
        yield Product(
            id=product_id,
            key=key,
            sku=_sku(seed, product_id),
            name=name,
            brand=words["brand"],
            category=category,
            path=path,
            cents=price_cents(market, price_quantiles[k], rng.random()),
            rating=percent(stars, reviews) if reviews else None,
            reviews=reviews,
            stars=stars,
            options=_options(shelf, words, product_id, rng) if k in optioned else (),
            in_stock=k != out_of_stock,
            words=words,
            seed=seed * _SEED_STEP + len(MARKETS) + product_id,
        )


def _words(shelf: Shelf, u: float, rng: random.Random) -> dict[str, str]:
    """A filler for every slot; those of a grade follow the price quantile u, with some noise."""
    words = {"brand": rng.choice(shelf.brands)}
    for slot, fillers in shelf.words.items():
        words[slot] = rng.choice(fillers)
    for slot, fillers in shelf.grades.items():
        words[slot] = fillers[int(min(max(u + rng.uniform(-0.15, 0.15), 0), 0.999) * len(fillers))]
    return words


def _name(shelf: Shelf, words: Mapping[str, str], length: int, rng: random.Random) -> str:
    """A head pattern, followed by as many further phrases as `length` (characters) allows."""
    name = rng.choice(shelf.heads).format_map(words)
    for pattern in rng.sample(shelf.tails, len(shelf.tails)):
        phrase = pattern.format_map(words)
        if len(name) + len(phrase) + 2 <= length and phrase not in name:
            name = f"{name}, {phrase}"
    return name


def _options(
    shelf: Shelf, words: Mapping[str, str], product_id: int, rng: random.Random
) -> tuple[Option, ...]:
    """One option, now and then two, with two to six values; the product's own word is among them."""
    titles = list(shelf.options)[: 1 + (rng.random() < _TWO_OPTIONS)]
    options = []
    for number, title in enumerate(titles):
        slot = shelf.options[title]
        fillers = shelf.grades.get(slot) or shelf.words[slot]
        others = [filler for filler in fillers if filler != words[slot]]
        chosen = {words[slot], *rng.sample(others, rng.randint(1, min(5, len(others))))}
        option_id = 10 * product_id + number
        values = [
            OptionValue(100 * option_id + n, filler) for n, filler in enumerate(fillers) if filler in chosen
        ]
        options.append(Option(option_id, title, tuple(values)))
    return tuple(options)


def _sku(seed: int, product_id: int) -> str:
    """Ten letters and digits that look like a retailer's number; one per product."""
    # The factor is coprime to 36, so that this is a bijection and needs no look-up of taken numbers.
    number = (product_id + seed * _SEED_STEP) * 1_234_567_891_237 % 36**8
    letters = []
    for _ in range(8):
        number, digit = divmod(number, 36)
        letters.append(_SKU_LETTERS[digit])
    return "B0" + "".join(letters)
