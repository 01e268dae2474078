"""Read a page for the proposal: its elements in document order, their texts and their names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from selectolax.lexbor import LexborNode

from interventions.errors import CannotEdit, UserError
from interventions.html.amounts import PRICE, Amount, amounts_in
from interventions.html.numbers import Figure
from interventions.html.raised import with_decimal_signs
from interventions.html.ranges import prices
from interventions.html.shadow import SHADOW, opened
from interventions.html.tree import parse, select
from interventions.yaml.sitemap import product_key

_SILENT = frozenset(["script", "style", "template", "noscript", "svg", "head", "title", "option"])
_ASIDE_TAGS = frozenset(["header", "footer", "nav"])
_ASIDE = re.compile(
    r"related|upsell|up-sell|cross-?sell|recommend|recently|similar|minicart|mini-?cart|mini-?basket|side-?cart"
    r"|cart-drawer|breadcrumb|footer|shipping|instal?lment|voucher|newsletter"
)
_BREAK = re.compile(r"(?=<br\b)", re.I)
_WHITE = re.compile(r"[ \t\n\f\r]+")
_WITHOUT_PRODUCT = re.compile(
    r"utm_\w+|[gf]clid|ref|page|sort|order|dir|q|query|search|view|per_?page|limit|currency|lang"
)
"""Parts of a query that say nothing of which product a page shows."""
_IDENTIFIES = re.compile(r"id$|^id|sku|product|item|article|code")


@dataclass(frozen=True)
class Capture:
    """A page's address and HTML, as the shop sends it or as it is after its scripts ran."""

    url: str
    html: str


class Scan:
    """A parsed page. Elements are told apart by `mem_id`."""

    def __init__(self, capture: Capture) -> None:
        self.url, self.key = capture.url, product_key(capture.url)
        source = with_decimal_signs(opened(capture.html.encode(errors="replace")).decode())
        source = _BREAK.sub(" ", source)  # `Lamp 10<br>9.50` is not 109.50
        try:
            self.tree = parse(source, scripting=True)
        except CannotEdit as error:
            raise UserError(f"{self.url}: {error}; map another page") from None
        self.order: dict[int, int] = {}
        self.nodes: list[LexborNode] = []
        for index, node in enumerate(self.tree.root.traverse() if self.tree.root else ()):
            self.order[node.mem_id] = index
            self.nodes.append(node)

    @cached_property
    def by_query(self) -> frozenset[str]:
        """The keys of addresses whose query says which product is meant, as in `/item?id=1`."""
        queries: dict[str, set[str]] = {}
        for node in select(self.tree, "a[href]"):
            href = (node.attributes.get("href") or "").strip()
            if "?" in href and (query := _query(href, self.url)):
                queries.setdefault(product_key(href, self.url), set()).add(query)
        return frozenset(key for key, found in queries.items() if len(found) > 1)

    def address(self, href: str) -> str:
        """Return what tells the pages of products apart: an address's key, and its query where needed."""
        key = product_key(href, self.url)
        query = _query(href, self.url) if key in self.by_query else ""
        return f"{key}?{query}" if query else key

    @cached_property
    def visible(self) -> list[LexborNode]:
        """The elements of the body that can show text."""
        return [n for n in self.nodes if not any(a.tag in _SILENT for a in (n, *ancestors(n)))]

    def innermost(self, shows: Callable[[str], object]) -> Iterator[tuple[LexborNode, str]]:
        """Yield the elements with a text of up to 80 characters for which `shows` holds, as for no child."""
        for node in self.visible:
            value = text(node)
            short = 0 < len(value) <= 80
            if short and shows(value) and not any(shows(text(child)) for child in node.iter()):
                yield node, value

    def between(self, first: LexborNode, second: LexborNode) -> int:
        """Return how many elements `second` stands behind `first`; negative: before it."""
        return self.order[second.mem_id] - self.order[first.mem_id]

    @cached_property
    def amounts(self) -> dict[int, list[Amount]]:
        """The amounts in each element, in order."""
        found: dict[int, list[Amount]] = defaultdict(list)
        if (body := self.tree.body) is None:
            return found
        for amount in amounts_in(body):
            for node in (amount.element, *ancestors(amount.element), body):
                found[node.mem_id].append(amount)
        return found

    def kind(self, node: LexborNode) -> str:
        """Return what the first amount in an element means; see `Amount.kind`."""
        return next((amount.kind for amount in self.amounts.get(node.mem_id, ())), PRICE)

    def is_former(self, node: LexborNode) -> bool:
        """Return whether an element shows a price that no longer holds, or a saving."""
        return self.kind(node) in ("former", "saving")

    def is_product_link(self, href: str) -> bool:
        """Return whether an address is another page of the shop."""
        return bool(href) and not href.startswith(("#", "javascript:", "mailto:", "tel:"))


def ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around an element, nearest first, without `<body>` and `<html>`.

    Those around a shadow tree are left out: no selector for an element in it can name them.
    """
    around = node.parent
    while around is not None and around.tag not in ("body", "html", "-undef", SHADOW):
        yield around
        around = around.parent


def text(node: LexborNode) -> str:
    """Return the text of an element with single spaces; no-break spaces, which group digits, are kept."""
    return squeezed(node.text())


def squeezed(value: str) -> str:
    """Return a text with single spaces."""
    return _WHITE.sub(" ", value).strip()


def label(node: LexborNode) -> str:
    """Return the text of the element before this one, such as the heading of a table's row."""
    before = node.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    return text(before) if before is not None else ""


def words(node: LexborNode) -> str:
    """Return the names of an element, in lower case: its classes, id and test id."""
    names = (
        node.attributes.get(name) or ""
        for name in ("class", "id", "data-testid", "data-test", "data-slot", "itemprop", "property")
    )
    return " ".join(" ".join(names).lower().replace("_", "-").split())


def called(node: LexborNode, pattern: str, levels: int = 2) -> bool:
    """Return whether `pattern` matches the names of the element, or of one up to `levels` around it."""
    around = [node, *ancestors(node)][: levels + 1]
    return any(re.search(pattern, words(one)) for one in around)


def is_aside(node: LexborNode) -> bool:
    """Return whether an element is beside the page's topic: in the header, footer, other products."""
    return any(a.tag in _ASIDE_TAGS or _ASIDE.search(words(a)) for a in (node, *ancestors(node)))


@lru_cache(maxsize=8192)
def number(value: str) -> Decimal | None:
    """Return the one figure of a text, or a range's lower end; None when it holds none or several."""
    found = _figures(value)
    return found[0].value if len(found) == 1 else None


@lru_cache(maxsize=8192)
def names_price(value: str) -> bool:
    """Return whether a text holds a figure that is written as a price, as with a currency beside it."""
    return any(figure.is_price for figure in _figures(value))


def _figures(value: str) -> list[Figure]:
    return prices(value) if any(map(str.isdecimal, value)) else []


def telling_query(links: Iterable[str], page: str) -> tuple[str, ...]:
    """Return the names of the query's parts that tell products apart where the paths of their pages do not.

    Parts that are called like an identifier come before others, such as a position; of several, one that
    differs in every link is enough. Without such links the result is empty.
    """
    queries: dict[str, list[dict[str, str]]] = defaultdict(list)
    for href in dict.fromkeys(links):
        queries[product_key(href, page)].append(dict(_parts(href, page)))
    alike = [found for found in queries.values() if len(found) > 1]

    def values(name: str, found: list[dict[str, str]]) -> int:
        return len({parts.get(name) for parts in found})

    names = dict.fromkeys(name for found in alike for parts in found for name in parts)
    differ = [name for name in names if any(values(name, found) > 1 for found in alike)]
    differ = [name for name in differ if _IDENTIFIES.search(name.lower())] or differ
    alone = (name for name in differ if all(values(name, found) == len(found) for found in alike))
    first = next(alone, None)
    return (first,) if first else tuple(differ)


def _query(href: str, page: str) -> str:
    """The parts of an address's query that may say which product is meant, in order."""
    return urlencode(sorted(_parts(href, page)))


def _parts(href: str, page: str) -> list[tuple[str, str]]:
    try:
        parts = parse_qsl(urlsplit(urljoin(page, href.strip())).query)
    except ValueError:
        return []
    return [part for part in parts if not _WITHOUT_PRODUCT.fullmatch(part[0].lower())]
