"""Write the texts of the product page from the product's seed: features, details, reviews."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from environments.shop.catalogue import Product
from environments.shop.lexicon import SHELVES as LISTED
from environments.shop.lexicon import Shelf
from environments.shop.unlisted import UNLISTED

SHELVES: Final[dict[str, Shelf]] = LISTED | {item.path[-1]: item.shelf for item in UNLISTED}
_FEATURES: Final = 5
_LAST_DAY: Final = date(2023, 4, 18)

_AUTHORS: Final = (
    "Rosa M.", "Theo", "J. Albright", "Kim L.", "Pat", "Noor", "Grandpa Lou", "Dana W.", "S. Okafor", "Mei",
    "Tomas", "Ellie B.", "Greg from Ohio", "Priya", "H. Lindqvist", "Marta", "Devon", "Quiet Reader",
    "Ana C.", "Walt", "Joyce", "B. Nakamura", "Sam & Ivy", "L. Moreau", "Carmen", "Olek",
)  # fmt: skip

_TITLES: Final = {
    5: ("Love it", "Just what I hoped for", "Very happy", "Five stars from us", "Great {aspect}"),
    4: ("Very good", "Good {aspect}", "Nearly perfect", "Happy overall", "Solid choice"),
    3: ("It is all right", "Average", "Mixed feelings", "Does the job", "Fair {aspect}"),
    2: ("Not for me", "Expected more", "Disappointing {aspect}", "Below average"),
    1: ("Very disappointed", "Poor {aspect}", "Sent it back", "Would not buy again"),
}
_GOOD: Final = (
    "The {aspect} is excellent.",
    "I was surprised by how good the {aspect} is.",
    "The {aspect} could hardly be better.",
    "Everyone at home liked the {aspect}.",
)
_FAIR: Final = (
    "The {aspect} is fine, nothing more.",
    "I am still making up my mind about the {aspect}.",
    "The {aspect} is about what you would expect.",
)
_BAD: Final = (
    "The {aspect} let me down.",
    "I did not like the {aspect} at all.",
    "The {aspect} is worse than on the picture.",
)
_CLOSINGS: Final = {
    5: ("I have ordered it again already.", "No complaints at all.", "It arrived on time and well wrapped."),
    4: ("I would buy it again.", "One star less because of the price.", "Happy with it after a month."),
    3: ("It is okay for the price.", "I may try another one next time.", "Neither good nor bad."),
    2: ("I will look for something else.", "It stays in the cupboard now.", "Too expensive for what it is."),
    1: ("I asked for my money back.", "It went straight into the bin.", "Save your money."),
}


@dataclass(frozen=True, slots=True)
class Review:
    """One customer review; `stars` is 1 to 5."""

    id: int
    stars: int
    title: str
    text: str
    author: str
    posted: date


def features(product: Product) -> tuple[str, ...]:
    """Return the bullet list of the product page."""
    bullets = _rng(product, 1).sample(SHELVES[product.category].bullets, _FEATURES)
    return tuple(_sentence(bullet.format_map(product.words)) for bullet in bullets)


def details(product: Product) -> tuple[tuple[str, str], ...]:
    """Return the rows (label, value) of the details table."""
    rows = SHELVES[product.category].details
    first_day = _LAST_DAY - timedelta(days=_rng(product, 2).randrange(900, 3000))
    return (
        ("Manufacturer", product.brand),
        *((label, pattern.format_map(product.words)) for label, pattern in rows.items()),
        ("Item Number", product.sku),
        ("Date First Available", f"{first_day:%B} {first_day.day}, {first_day.year}"),
    )


def reviews(product: Product) -> tuple[Review, ...]:
    """Return all reviews, newest first.

    Their stars add up to `product.stars`, so that their mean is the rating.
    """
    rng = _rng(product, 3)
    age = 0
    written = []
    for number, stars in enumerate(_star_values(product, rng)):
        age += rng.randrange(1, 60)
        aspects = rng.sample(SHELVES[product.category].aspects, 2)
        title = rng.choice(_TITLES[stars]).format(aspect=aspects[0])
        text = " ".join((*_opinions(stars, aspects, rng), rng.choice(_CLOSINGS[stars])))
        posted = _LAST_DAY - timedelta(days=age)
        written.append(Review(1000 * product.id + number, stars, title, text, rng.choice(_AUTHORS), posted))
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
    moods = {5: (_GOOD, _GOOD), 4: (_GOOD, _FAIR), 3: (_FAIR, _FAIR), 2: (_FAIR, _BAD), 1: (_BAD, _BAD)}
    for mood, aspect in zip(moods[stars], aspects, strict=True):
        yield rng.choice(mood).format(aspect=aspect)


def _rng(product: Product, purpose: int) -> random.Random:
    return random.Random(product.seed * 8 + purpose)  # noqa: S311 - reproducible, not secret


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
