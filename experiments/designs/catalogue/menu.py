"""Find the categories that a shop's menu leads to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag

from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean

_ENTRY: Final = "nav.navigation li"


@dataclass(frozen=True, slots=True)
class LeafCategory:
    """A category without categories below it; `again`: one of the same name stands before it.

    `listed`: it is one page, whose address was given.
    """

    name: str
    department: str
    url: str
    again: bool
    listed: bool = False

    @property
    def label(self) -> str:
        """The name of the category in the products' column `category`."""
        return f"{self.department} / {self.name}" if self.again and self.department else self.name


def menu_of(page: BeautifulSoup, base: str) -> list[LeafCategory]:
    """Return the leaves of a page's menu, in its order.

    Raises:
        UserError: the page has no such menu, or it leads to another host.
    """
    found: dict[str, LeafCategory] = {}
    names: set[str] = set()
    elsewhere = ""
    for entry in page.select(_ENTRY):
        link = entry.find("a", href=True, recursive=False)
        if link is None or entry.find("li") is not None:
            continue
        url = urljoin(base, str(link["href"])).partition("#")[0].partition("?")[0]
        if urlsplit(url).netloc != urlsplit(base).netloc:
            elsewhere = urlsplit(url).netloc
        elif url not in found:
            name = _text(link)
            found[url] = LeafCategory(name, _department(entry), url, name in names)
            names.add(name)
    if not found and elsewhere:
        raise UserError(
            f"{base}: the menu leads to {elsewhere}; set the shop's base URL to the address given"
        )
    if not found:
        raise UserError(
            f"{base}: no menu of categories (nav.navigation); name its listings: --category NAME=ADDRESS"
        )
    return list(found.values())


def listed(wanted: Sequence[str], base: str) -> list[LeafCategory]:
    """Return the categories that are given with the address of a listing: `Lamps=/lamps?page=2`."""
    parts = [text.partition("=") for text in wanted]
    return [
        LeafCategory(name.strip(), "", urljoin(base, address.strip()), again=False, listed=True)
        for name, _, address in parts
        if address.strip()
    ]


def chosen(categories: Sequence[LeafCategory], wanted: Sequence[str], base: str) -> list[LeafCategory]:
    """Return the categories named `wanted`, in the menu's order; all when none is named.

    Raises UserError.
    """
    known = dict.fromkeys(category.name.lower() for category in categories)
    for name in wanted:
        if name.lower() not in known:
            hint = did_you_mean(name.lower(), known, otherwise="open the shop and read its menu")
            raise UserError(f"--category {name}: not in the menu of {base}; {hint}")
    names = {name.lower() for name in wanted} or known.keys()
    return [category for category in categories if category.name.lower() in names]


def _department(entry: Tag) -> str:
    """The name of the entry above, empty for one at the top."""
    above = entry.find_parent("li")
    link = above.find("a", recursive=False) if above else None
    return _text(link) if link else ""


def _text(node: Tag) -> str:
    return " ".join(node.get_text().split())
