"""The index of the catalogue in SQLite, for listings and search."""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from environments.shop.catalogue import Catalogue, Product

Order = Literal["position", "name", "price", "relevance"]

_SCHEMA: Final = """
CREATE TABLE product (id INTEGER PRIMARY KEY, leaf TEXT NOT NULL, name TEXT NOT NULL, cents INTEGER NOT NULL);
CREATE INDEX product_leaf ON product (leaf);
CREATE VIRTUAL TABLE words USING fts5 (name, leaf, content='', tokenize='porter unicode61');
"""
_ORDER_BY: Final[dict[str, str]] = {
    "position": "product.id",
    "name": "product.name COLLATE NOCASE",
    "price": "product.cents",
    "relevance": "-words.rank",  # the rank of FTS5 is lowest for the best match
}
_MOST_WORDS: Final = 32
_SHOWCASES: Final = 24
_MOST_PRICE_RANGES: Final = 8


def showcases(catalogue: Catalogue) -> list[Product]:
    """Return what the first page shows: one product of most categories, or a user's own ones."""
    shown: dict[str, Product] = {}
    for product in catalogue.products:
        if product.own:
            shown[product.key] = product
        elif product.rating is not None and product.in_stock:
            shown.setdefault(product.category, product)
    return list(shown.values())[:_SHOWCASES]


@dataclass(frozen=True, slots=True)
class ProductQuery:
    """The products of a listing: those of these leaf categories, or those with any of these words.

    `price` is a half-open range in US dollars; either end may be None.
    """

    leaves: tuple[str, ...] | None = None
    text: str | None = None
    price: tuple[float | None, float | None] | None = None
    order: Order = "position"
    descending: bool = False
    limit: int = 12
    page: int = 1


@dataclass(frozen=True, slots=True)
class _PriceRange:
    """An entry of the price filter in dollars; `high` is excluded, and None in the last range."""

    low: int
    high: int | None
    count: int


@dataclass(frozen=True, slots=True)
class Paging:
    """The part of `total` items that is shown; a page past the end means the last one."""

    total: int
    limit: int
    wanted: int = 1

    @property
    def pages(self) -> int:
        """The number of pages, at least one."""
        return max(1, -(-self.total // self.limit))

    @property
    def page(self) -> int:
        """The number of the page shown, from 1."""
        return min(max(1, self.wanted), self.pages)

    @property
    def first(self) -> int:
        """The number of the first item shown, from 1."""
        return (self.page - 1) * self.limit + 1

    @property
    def last(self) -> int:
        """The number of the last item shown."""
        return min(self.page * self.limit, self.total)


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of a listing, and the filters that all its pages offer."""

    products: tuple[Product, ...]
    paging: Paging
    leaf_counts: dict[str, int]
    price_ranges: tuple[_PriceRange, ...]


class Store:
    """The index over one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._products = {product.id: product for product in catalogue.everything}
        self._db = sqlite3.connect(":memory:")
        self._db.executescript(_SCHEMA)
        rows = [(p.id, p.category, p.name, p.cents) for p in catalogue.products]
        self._db.executemany("INSERT INTO product (id, leaf, name, cents) VALUES (?, ?, ?, ?)", rows)
        self._db.execute("INSERT INTO words (rowid, name, leaf) SELECT id, name, leaf FROM product")
        # The catalogue never changes, and agents ask for the same few listings over and over.
        self.find = lru_cache(maxsize=1024)(self._find)

    def product(self, product_id: int) -> Product | None:
        """Return the product with this id; None when there is none."""
        return self._products.get(product_id)

    def _find(self, query: ProductQuery) -> Listing:
        """One page of the products that match; a text matches with any of its words."""
        source, conditions, values = self._where(query)
        # Both counts come from fixed clauses; whatever a visitor sends is bound as a value.
        where = f"FROM {source} WHERE {' AND '.join(conditions)}"
        leaf_counts = dict(
            self._db.execute(f"SELECT product.leaf, count(*) {where} GROUP BY product.leaf", values)
        )
        paging = Paging(sum(leaf_counts.values()), query.limit, query.page)
        direction = "DESC" if query.descending else "ASC"
        ids = self._db.execute(
            f"SELECT product.id {where} ORDER BY {_ORDER_BY[query.order]} {direction}, product.id"
            " LIMIT ? OFFSET ?",
            (*values, query.limit, paging.first - 1),
        )
        return Listing(
            products=tuple(self._products[product_id] for (product_id,) in ids),
            paging=paging,
            leaf_counts=leaf_counts,
            price_ranges=self._price_ranges(where, values) if paging.total else (),
        )

    def _where(self, query: ProductQuery) -> tuple[str, list[str], list[object]]:
        source, conditions, values = "product", ["1"], list[object]()
        if query.text is not None:
            source = "words JOIN product ON product.id = words.rowid"
            conditions.append("words MATCH ?")
            # Quoted, so that nothing in the text is read as search syntax; \w keeps quotes themselves out.
            terms = re.findall(r"\w+", query.text)[:_MOST_WORDS]
            values.append(" OR ".join(f'"{term}"' for term in terms) or '""')
        if query.leaves is not None:
            conditions.append(f"product.leaf IN ({', '.join('?' * len(query.leaves))})")
            values.extend(query.leaves)
        low, high = query.price or (None, None)
        if low is not None:
            conditions.append("cents >= ?")
            values.append(round(100 * low))
        if high is not None:
            conditions.append("cents < ?")
            values.append(round(100 * high))
        return source, conditions, values

    def _price_ranges(self, where: str, values: Sequence[object]) -> tuple[_PriceRange, ...]:
        """Ranges of equal width: the power of ten below the highest price."""
        ((highest,),) = self._db.execute(f"SELECT max(cents) {where}", values)
        width = 10 ** max(1, len(str(highest // 100)) - 1)
        counts = self._db.execute(
            f"SELECT min(cents / ?, ?) AS step, count(*) {where} GROUP BY step ORDER BY step",
            (100 * width, _MOST_PRICE_RANGES - 1, *values),
        )
        return tuple(
            _PriceRange(step * width, None if step == _MOST_PRICE_RANGES - 1 else (step + 1) * width, count)
            for step, count in counts
        )
