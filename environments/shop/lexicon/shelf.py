"""The generator's knowledge of one category: words, name patterns, and phrases for the product page."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shelf:
    """Word lists of one leaf category.

    Patterns are `str.format` templates over `brand` and the slots in `words` and `grades`. The fillers of a
    grade run from cheap to dear, so that a costly television is also a large one.
    """

    brands: tuple[str, ...]
    heads: tuple[str, ...]
    tails: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]
    grades: Mapping[str, tuple[str, ...]]
    options: Mapping[str, str]
    details: Mapping[str, str]
    bullets: tuple[str, ...]
    aspects: tuple[str, ...]


def shelf(
    *,
    brands: str,
    heads: str,
    tails: str,
    words: dict[str, str],
    grades: dict[str, str],
    options: dict[str, str],
    details: dict[str, str],
    bullets: str,
    aspects: str,
) -> Shelf:
    """Build a shelf from lists written as text, their items separated by semicolons."""
    return Shelf(
        brands=_items(brands),
        heads=_items(heads),
        tails=_items(tails),
        words={slot: _items(text) for slot, text in words.items()},
        grades={slot: _items(text) for slot, text in grades.items()},
        options=options,
        details=details,
        bullets=_items(bullets),
        aspects=_items(aspects),
    )


def _items(text: str) -> tuple[str, ...]:
    return tuple(" ".join(item.split()) for item in text.split(";"))
