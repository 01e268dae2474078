"""Find what the cart shows, in its page after a product was put into it: the line, its figures, the sums."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from selectolax.lexbor import LexborNode

from interventions.html.tree import select
from interventions.proposal.roles import Confidence, FoundRole
from interventions.proposal.scan import (
    Capture,
    Scan,
    ancestors,
    called,
    is_aside,
    names_price,
    number,
    text,
    words,
)
from interventions.proposal.selectors import column, line_selector, names, unique_selector
from interventions.yaml.sitemap import Place, product_key

_COUNTS = "qty|quant|amount|menge|anzahl|count"


@dataclass(frozen=True)
class SentRequest:
    """A request that followed the press of the button: what was asked, and how it was answered."""

    method: str
    url: str
    content_type: str
    body: str
    status: int
    document: bool


@dataclass(frozen=True)
class Purchase:
    """What was seen while one product was put into the cart of a fresh session.

    `before`, `after`: the page as it stood before and after the press. `first`, `second`: the cart's page as
    the shop sends it, with one piece and with two; `drawn`: as scripts draw it, where only then it shows the
    product. `elsewhere`: the product's page as sent with two pieces.
    `checkout`: the page to which the cart's page has led, with two pieces, where a plain link leads there.
    `troubles`: what could not be done. `by_hand`: what is left to a person, who may do more than open links.
    """

    name: str
    url: str
    price: Decimal | None
    before: Capture
    after: Capture
    requests: tuple[SentRequest, ...] = ()
    first: Capture | None = None
    second: Capture | None = None
    elsewhere: Capture | None = None
    drawn: bool = False
    checkout: Capture | None = None
    troubles: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


def shows_line(page: Capture, purchase: Purchase, kind: str) -> bool:
    """Return whether a page shows the product in the cart; kind: as in `cart_roles`."""
    return _row(Scan(page), purchase, kind) is not None


def cart_roles(scan: Scan, other: Scan, purchase: Purchase, pieces: int, kind: str) -> Iterator[FoundRole]:
    """Yield the roles of the line that shows the product, and `cart.total`.

    kind: `row` on the cart's page, `mini` for the small cart in the header. `other`: a page without the line.
    """
    root = scan.tree.root
    row = _row(scan, purchase, kind)
    if root is None or row is None:
        return
    css = line_selector(root, row, product_key(purchase.url), other.tree.root)
    if css is None:
        return
    link, name = _row_link(scan, row, purchase), _row_name(row, purchase.name)
    price, total = _row_prices(scan, row, purchase.price, pieces)
    if link is None:
        return
    yield FoundRole(kind, (Place(css=css),), purchase.name, "high", "shows the product after the press")
    parts: list[tuple[str, LexborNode | None, str | None, str]] = [
        ("link", link, "href", "leads to the product"),
        ("name", name, None, "the product's name"),
        ("price", price, None, "the price of one piece"),
    ]
    if kind == "row":
        parts.insert(1, ("title", name, None, "the product's name"))
        field = _quantity(row, pieces)
        holder = "value" if field is not None and field.tag == "input" else None
        parts.append(("quantity", field, holder, "how many"))
        parts.append(("subtotal", total, None, "price times quantity"))
    for part, node, attribute, reason in parts:
        if node is None:
            continue
        selector = unique_selector([(row, node)], product_key(purchase.url))
        if selector is None:
            selector = _first_link(row, link) if part == "link" else column(row, node)
        if selector is None:
            continue
        place = Place(css=selector, attribute=attribute)
        shown = (node.attributes.get(attribute) or "") if attribute else text(node)
        sure = pieces == 2 or part not in ("price", "subtotal")
        yield FoundRole(f"{kind}.{part}", (place,), shown, "high" if sure else "medium", reason)
    if kind == "row" and (found := _totals(scan, row, purchase.price, pieces)) is not None:
        yield found


def _first_link(row: LexborNode, link: LexborNode) -> str | None:
    first = row.css_first("a")
    return "a" if first is not None and first.mem_id == link.mem_id else None


def _row(scan: Scan, purchase: Purchase, kind: str) -> LexborNode | None:
    """The smallest element around a link to the product that shows a price and, in the cart, how many."""
    key = product_key(purchase.url)
    for link in scan.visible:
        if link.tag != "a" or is_aside(link) is not (kind == "mini"):
            continue
        href = link.attributes.get("href") or ""
        if not href or scan.address(href) != scan.address(purchase.url) or product_key(href, scan.url) != key:
            continue
        held: LexborNode | None = None
        for around in ancestors(link):
            if around.tag in ("main", "form", "table", "tbody") or len(text(around)) > 600:
                break
            prices = [node for node in select(around, "*") if _innermost_price(node, purchase.price)]
            if not prices or purchase.name not in text(around):
                continue
            held = held or around
            if kind == "mini" or _quantity(around, None) is not None:
                held = around
                break
        if held is not None:
            return held
    return None


def _innermost_price(node: LexborNode, price: Decimal | None) -> bool:
    return _is_price(node, price) and not any(_is_price(inner, price) for inner in node.iter())


def _is_price(node: LexborNode, price: Decimal | None) -> bool:
    """Whether an element shows a price: a figure with a currency, or one that is called a price.

    A figure that is only called so must be the product's own price, or that of two pieces.
    """
    value = text(node)
    figure = number(value) if 0 < len(value) <= 40 else None
    if figure is None or names_price(value):
        return figure is not None
    bare = price is not None and figure in (price, 2 * price)
    return bare and called(node, r"price|amount|total|\bsum|\bnet\b", 1)


def _row_link(scan: Scan, row: LexborNode, purchase: Purchase) -> LexborNode | None:
    key = scan.address(purchase.url)
    links = [a for a in select(row, "a[href]") if scan.address(a.attributes.get("href") or "") == key]
    return next((a for a in links if text(a) == purchase.name), next(iter(links), None))


def _row_name(row: LexborNode, name: str) -> LexborNode | None:
    return next(
        (n for n in select(row, "*") if text(n) == name and not any(text(c) == name for c in n.iter())), None
    )


def _row_prices(
    scan: Scan, row: LexborNode, price: Decimal | None, pieces: int
) -> tuple[LexborNode | None, LexborNode | None]:
    """The elements that show the price of one piece, and the sum of the line."""
    nodes = [n for n in select(row, "*") if _innermost_price(n, price) and not scan.is_former(n)]
    values = [number(text(n)) for n in nodes]
    one = price
    if price is None or not {price, price * pieces} & set(values):
        one = next((v for v in values if v is not None and v * pieces in values), None)
    if one is None:
        return None, None
    ones = [n for n, v in zip(nodes, values, strict=True) if v == one]
    sums = [n for n, v in zip(nodes, values, strict=True) if v == one * pieces]
    if pieces == 1:  # one figure may be either
        return ones[0], (sums[-1] if len(sums) > 1 else None)
    return next(iter(ones), None), next(iter(sums), None)


def _quantity(row: LexborNode, pieces: int | None) -> LexborNode | None:
    """The field, or the text, that says how many pieces are in the cart.

    A field may be called by the product's number alone, as `<input name="m10234">`.
    """
    kinds = ("text", "number", "tel")
    fields = [node for node in select(row, "input") if (node.attributes.get("type") or "text") in kinds]
    for node in fields:
        value, named = node.attributes.get("value") or "", node.attributes.get("name") or ""
        right = value.isdecimal() and (pieces is None or int(value) == pieces)
        counts = node.attributes.get("type") == "number" or re.search(
            _COUNTS, f"{words(node)} {named}".lower()
        )
        if right and counts:
            return node
    if pieces is not None and len(fields) == 1 and fields[0].attributes.get("value") == str(pieces):
        return fields[0]
    for node in select(row, "*"):
        value = text(node)
        says = pieces is not None and number(value) == pieces and re.fullmatch(r"\W*\d+\W*x?\W*", value)
        if says and not any(text(inner) for inner in node.iter()):
            return node
    return None


def _totals(scan: Scan, row: LexborNode, price: Decimal | None, pieces: int) -> FoundRole | None:
    """The sums of the cart outside of its rows."""
    sums = list(_sums(scan, row, price, pieces))
    if not sums:
        return None
    sure: Confidence = "high" if pieces == 2 else "medium"
    return FoundRole("cart.total", tuple(place for place, _ in sums), sums[0][1], sure, "the cart's sum")


def totals_on(scan: Scan, purchase: Purchase, pieces: int) -> list[Place]:
    """Return where a page that comes after the cart shows the cart's sum, outside of its lines."""
    row = _row(scan, purchase, "row")
    return [place for place, _ in _sums(scan, row, purchase.price, pieces)]


def _sums(
    scan: Scan, row: LexborNode | None, price: Decimal | None, pieces: int
) -> Iterator[tuple[Place, str]]:
    root = scan.tree.root
    if root is None or price is None:
        return
    inside = {row.mem_id, *(node.mem_id for node in select(row, "*"))} if row is not None else set()
    for node, value in scan.innermost(lambda value: number(value) == price * pieces):
        if not _is_price(node, price) or node.mem_id in inside or is_aside(node) or scan.is_former(node):
            continue
        if css := unique_selector([(root, node)]):
            yield Place(css=css), value


def cart_page(scan: Scan, others: Sequence[Scan], roles: Sequence[FoundRole]) -> str:
    """Return a selector of what is on the cart's page, and not on the others."""
    own = roles[0].places[0].css
    return own_page(scan, others, scan.tree.css_first(own), own) or own


def own_page(scan: Scan, others: Sequence[Scan], row: LexborNode | None = None, own: str = "") -> str:
    """Return a selector of what is on a page, and not on the others; empty where nothing is.

    What is around the `row`, which `own` finds, comes first.
    """
    around = [*reversed([row, *ancestors(row)])] if row is not None else []
    body = [scan.tree.body] if scan.tree.body is not None else []
    near = (css for node in (*body, *around) for css in names(node))
    # A line of the cart may be on every page; then anything that is on this page only.
    rest = (css for node in scan.visible for css in names(node))
    candidates = chain(near, [own] if own else [], rest)
    return next((css for css in candidates if not any(select(other.tree, css) for other in others)), "")
