"""The words that the catalogue's products and their pages are made of: `shelves.yaml`, `unlisted.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from interventions.data_file import items, read_data


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


@dataclass(frozen=True, slots=True)
class UnlistedProduct:
    """A product with a page of its own that no listing shows.

    `path` is its category, and the last part of `path` names its picture.
    """

    path: tuple[str, ...]
    brand: str
    name: str
    cents: int
    bullets: tuple[str, ...]
    details: Mapping[str, str]


@cache
def shelves() -> Mapping[str, Shelf]:
    """Return the word lists of each leaf category."""
    return {
        category: Shelf(
            **{part: items(told[part]) for part in ("brands", "heads", "tails", "bullets", "aspects")},
            words={slot: items(text) for slot, text in told["words"].items()},
            grades={slot: items(text) for slot, text in told["grades"].items()},
            options=told["options"],
            details=told["details"],
        )
        for category, told in read_data(__file__, "shelves.yaml").items()
    }


@cache
def unlisted() -> Mapping[str, UnlistedProduct]:
    """Return the products that no listing shows, by their category."""
    return {
        told["path"][-1]: UnlistedProduct(
            **told | {"path": tuple(told["path"]), "bullets": tuple(told["bullets"])}
        )
        for told in read_data(__file__, "unlisted.yaml")
    }
