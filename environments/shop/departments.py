"""The category tree: twelve departments, up to three levels, 26 leaf categories that hold products."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from interventions.data_file import read_data

FIRST_ID: Final = 3


@cache
def departments() -> tuple[str, ...]:
    """Return the names of the departments, in the order of the menu."""
    return tuple(read_data(__file__, "tree.yaml")["departments"])


@cache
def leaf_paths(part: str = "leaves") -> tuple[tuple[str, ...], ...]:
    """Return the path of each leaf category in the tree; with `second` further places of some."""
    return tuple(tuple(path.split(" > ")) for path in read_data(__file__, "tree.yaml")[part])


@dataclass(frozen=True, slots=True)
class Category:
    """A node of the tree. `leaves` are the leaf categories below it (or itself), whose products it lists."""

    id: int
    path: tuple[str, ...]
    url: str
    leaves: tuple[str, ...]
    children: tuple["Category", ...]

    @property
    def name(self) -> str:
        """The last name of the category's path."""
        return self.path[-1]

    def walk(self) -> Iterator["Category"]:
        """Yield this category and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def slug(text: str) -> str:
    """Return a text in lower case, without accents, with one hyphen for each run of other characters."""
    folded = unicodedata.normalize("NFKD", text).lower()
    if not folded.isascii():
        folded = "".join(char for char in folded if not unicodedata.combining(char))
    return re.sub(r"[^a-z0-9]+", "-", folded).strip("-")


def build_tree() -> tuple[Category, ...]:
    """Build the twelve departments with everything below them; ids are given level by level."""
    paths = sorted((*leaf_paths(), *leaf_paths("second")), key=lambda path: departments().index(path[0]))
    nodes = dict.fromkeys(path[:depth] for depth in (1, 2, 3) for path in paths if len(path) >= depth)
    ids = {path: FIRST_ID + number for number, path in enumerate(nodes)}

    def node(path: tuple[str, ...]) -> Category:
        children = tuple(node(child) for child in ids if child[:-1] == path)
        leaves = tuple(dict.fromkeys(leaf for child in children for leaf in child.leaves)) or (path[-1],)
        return Category(ids[path], path, "/".join(map(slug, path)) + ".html", leaves, children)

    return tuple(node((name,)) for name in departments())
