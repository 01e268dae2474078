"""Write the texts of the product page from the product's seed: features, details, reviews."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Final

from environments.shop.catalogue import Product
from environments.shop.lexicon import Shelf, UnlistedProduct, shelves, unlisted
from interventions.data_file import items, read_data

_FEATURES: Final = 5
_LAST_DAY: Final = date(2023, 4, 18)


@dataclass(frozen=True, slots=True)
class CustomerReview:
    """One customer review; `stars` is 1 to 5."""

    id: int
    stars: int
    title: str
    text: str
    author: str
    posted: date


def features(product: Product) -> tuple[str, ...]:
    """Return the bullet list of the product page; of a user's product the lines of its description."""
    if product.own:
        return product.own.description
    bullets = _rng(product, 1).sample(_shelf(product).bullets, _FEATURES)
    return tuple(_sentence(bullet.format_map(product.words)) for bullet in bullets)


def details(product: Product) -> tuple[tuple[str, str], ...]:
    """Return the rows (label, value) of the details table."""
    if product.own:
        return product.own.attributes
    rows = _shelf(product).details
    first_day = _LAST_DAY - timedelta(days=_rng(product, 2).randrange(900, 3000))
    return (
        ("Manufacturer", product.brand),
        *((label, pattern.format_map(product.words)) for label, pattern in rows.items()),
        ("Item Number", product.sku),
        ("Date First Available", f"{first_day:%B} {first_day.day}, {first_day.year}"),
    )


def reviews(product: Product) -> tuple[CustomerReview, ...]:
    """Return all reviews, newest first.

    Their stars add up to `product.stars`, so that their mean is the rating. Of a user's product only their
    number is known: there are none.
    """
    if product.own:
        return ()
    rng, words = _rng(product, 3), _words()
    age = 0
    written = []
    for number, stars in enumerate(_star_values(product, rng)):
        age += rng.randrange(1, 60)
        aspects = rng.sample(shelves()[product.category].aspects, 2)
        title = rng.choice(words[f"title {stars}"]).format(aspect=aspects[0])
        text = " ".join((*_opinions(stars, aspects, rng), rng.choice(words[f"closing {stars}"])))
        posted = _LAST_DAY - timedelta(days=age)
        author = rng.choice(words["authors"])
        written.append(CustomerReview(1000 * product.id + number, stars, title, text, author, posted))
    return tuple(written)


def _star_values(product: Product, rng: random.Random) -> list[int]:
    """Values from 1 to 5 with the sum `product.stars`: level at first, spread by moves that keep the sum."""
    count = product.reviews
    if not count:
        return []
    base, rest = divmod(product.stars, count)
    values = [base + (number < rest) for number in range(count)]
    for _ in range(count):
        up, down = rng.randrange(count), rng.randrange(count)
        if up != down and values[up] < 5 and values[down] > 1:
            values[up] += 1
            values[down] -= 1
    rng.shuffle(values)
    return values


def _opinions(stars: int, aspects: list[str], rng: random.Random) -> Iterator[str]:
    """Two sentences that fit the star value."""
    moods = {
        5: ("good", "good"),
        4: ("good", "fair"),
        3: ("fair", "fair"),
        2: ("fair", "bad"),
        1: ("bad", "bad"),
    }
    for mood, aspect in zip(moods[stars], aspects, strict=True):
        yield rng.choice(_words()[mood]).format(aspect=aspect)


def _shelf(product: Product) -> Shelf | UnlistedProduct:
    return unlisted().get(product.category) or shelves()[product.category]


@cache
def _words() -> dict[str, tuple[str, ...]]:
    return {name: items(text) for name, text in read_data(__file__, "reviews.yaml").items()}


def _rng(product: Product, purpose: int) -> random.Random:
    return random.Random(product.seed * 8 + purpose)  # noqa: S311 - reproducible, not secret


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
