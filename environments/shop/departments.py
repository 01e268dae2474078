"""The category tree: twelve departments, up to three levels, 26 leaf categories that hold products."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

DEPARTMENTS: Final = (
    "Beauty & Personal Care",
    "Sports & Outdoors",
    "Clothing, Shoes & Jewelry",
    "Home & Kitchen",
    "Office Products",
    "Tools & Home Improvement",
    "Health & Household",
    "Patio, Lawn & Garden",
    "Electronics",
    "Cell Phones & Accessories",
    "Video Games",
    "Grocery & Gourmet Food",
)
"""The top level of the menu, in order; the ids of the departments are 3 to 14."""

FIRST_ID: Final = 3

LEAF_PATHS: Final[tuple[tuple[str, ...], ...]] = (
    ("Beauty & Personal Care", "Oral Care", "Toothpaste"),
    ("Beauty & Personal Care", "Oral Care", "Mouthwash"),
    ("Beauty & Personal Care", "Personal Care", "Deodorants & Antiperspirants"),
    ("Home & Kitchen", "Home Décor Products", "Mirrors"),
    ("Home & Kitchen", "Home Décor Products", "Artificial Plants & Flowers"),
    ("Electronics", "Camera & Photo", "Digital Cameras"),
    ("Electronics", "Camera & Photo", "Lenses"),
    ("Electronics", "Camera & Photo", "Flashes"),
    ("Electronics", "Headphones", "Earbud Headphones"),
    ("Electronics", "Headphones", "On-Ear Headphones"),
    ("Electronics", "Headphones", "Over-Ear Headphones"),
    ("Electronics", "Home Audio", "Speakers"),
    ("Electronics", "Portable Audio & Video", "Radios"),
    ("Electronics", "Television & Video", "Televisions"),
    ("Electronics", "Video Projectors"),
    ("Electronics", "Wearable Technology", "Smartwatches"),
    ("Cell Phones & Accessories", "Cell Phones"),
    ("Cell Phones & Accessories", "Accessories", "Virtual Reality (VR) Headsets"),
    ("Grocery & Gourmet Food", "Breads & Bakery", "Breads"),
    ("Grocery & Gourmet Food", "Breads & Bakery", "Cookies"),
    ("Grocery & Gourmet Food", "Breakfast Foods", "Cereals"),
    ("Grocery & Gourmet Food", "Dairy, Cheese & Eggs", "Cheese"),
    ("Grocery & Gourmet Food", "Dairy, Cheese & Eggs", "Yogurt"),
    ("Grocery & Gourmet Food", "Snacks & Sweets", "Chocolate"),
    ("Grocery & Gourmet Food", "Pantry Staples", "Pasta & Noodles"),
    ("Grocery & Gourmet Food", "Alcoholic Beverages", "Wine"),
)
"""The path of each leaf category in the tree."""

SECOND_PATHS: Final[tuple[tuple[str, ...], ...]] = (
    ("Beauty & Personal Care", "Tools & Accessories", "Mirrors"),
    ("Sports & Outdoors", "Sports Technology", "Smartwatches"),
    ("Sports & Outdoors", "Sports Technology", "Earbud Headphones"),
    ("Sports & Outdoors", "Camping & Hiking", "Radios"),
    ("Clothing, Shoes & Jewelry", "Watches", "Smartwatches"),
    ("Home & Kitchen", "Home Entertainment", "Televisions"),
    ("Home & Kitchen", "Home Entertainment", "Speakers"),
    ("Office Products", "Office Electronics", "Video Projectors"),
    ("Office Products", "Office Electronics", "On-Ear Headphones"),
    ("Office Products", "Office Décor", "Artificial Plants & Flowers"),
    ("Tools & Home Improvement", "Bath Fixtures", "Mirrors"),
    ("Tools & Home Improvement", "Jobsite Equipment", "Radios"),
    ("Health & Household", "Oral Care", "Toothpaste"),
    ("Health & Household", "Oral Care", "Mouthwash"),
    ("Health & Household", "Personal Care", "Deodorants & Antiperspirants"),
    ("Patio, Lawn & Garden", "Outdoor Décor", "Artificial Plants & Flowers"),
    ("Patio, Lawn & Garden", "Outdoor Entertainment", "Speakers"),
    ("Patio, Lawn & Garden", "Outdoor Entertainment", "Video Projectors"),
    ("Electronics", "Home Audio", "Radios"),
    ("Electronics", "Television & Video", "Video Projectors"),
    ("Video Games", "Virtual Reality", "Virtual Reality (VR) Headsets"),
    ("Video Games", "Gaming Accessories", "Over-Ear Headphones"),
    ("Video Games", "Gaming Accessories", "Televisions"),
    ("Grocery & Gourmet Food", "Snacks & Sweets", "Cookies"),
)
"""Leaf categories shown at a second place too, so that no department of the menu is empty."""


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
    folded = "".join(c for c in unicodedata.normalize("NFKD", text).lower() if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9]+", "-", folded).strip("-")


def build_tree() -> tuple[Category, ...]:
    """Build the twelve departments with everything below them; ids are given level by level."""
    paths = sorted((*LEAF_PATHS, *SECOND_PATHS), key=lambda path: DEPARTMENTS.index(path[0]))
    nodes = dict.fromkeys(path[:depth] for depth in (1, 2, 3) for path in paths if len(path) >= depth)
    ids = {path: FIRST_ID + number for number, path in enumerate(nodes)}

    def node(path: tuple[str, ...]) -> Category:
        children = tuple(node(child) for child in ids if child[:-1] == path)
        leaves = tuple(dict.fromkeys(leaf for child in children for leaf in child.leaves)) or (path[-1],)
        return Category(ids[path], path, "/".join(map(slug, path)) + ".html", leaves, children)

    return tuple(node((name,)) for name in DEPARTMENTS)
