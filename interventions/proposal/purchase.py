"""Learn from one purchase, up to the cart, how a shop says that a product is in the cart, and what the cart shows."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from selectolax.lexbor import LexborNode

from interventions.proposal.phrases import says_add, says_cart, says_checkout
from interventions.proposal.roles import FoundRole, with_places
from interventions.proposal.scan import (
    Capture,
    Scan,
    ancestors,
    called,
    is_aside,
    is_former_price,
    names_price,
    number,
    squeezed,
    text,
    words,
)
from interventions.proposal.selectors import column, names, unique_selector
from interventions.yaml.choice import PRODUCT, CartRequest, Choice, Message
from interventions.yaml.sitemap import Place, product_key

_ID_NAMES: Final = re.compile(
    r"product|item|variant|variation|article|artikel|sku|merchandise|\bid\b|_id$|Id$", re.I
)
_NO_IDS: Final = re.compile(
    r"qty|quant|amount|count|token|csrf|nonce|form_key|return|redirect|next|uenc|url|session", re.I
)
_CART_PATH: Final = re.compile(
    r"cart|basket|bag|add|line-?item|order|warenkorb|panier|carrito|koszyk|korb", re.I
)
_SAYS: Final = re.compile(r"alert|message|notice|notif|toast|flash|success|snackbar|confirm|added")
_TOTAL: Final = re.compile(r"total|sum|amount")


@dataclass(frozen=True)
class Sent:
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
    the shop sends it, with one piece and with two. `elsewhere`: the product's page as sent with two pieces.
    `troubles`: what could not be done.
    """

    name: str
    url: str
    price: Decimal | None
    before: Capture
    after: Capture
    requests: tuple[Sent, ...] = ()
    first: Capture | None = None
    second: Capture | None = None
    elsewhere: Capture | None = None
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Learned:
    """What a purchase teaches: the choice with its reasons, roles, and what tells the cart's page."""

    choice: Choice
    reasons: dict[str, str]
    roles: tuple[FoundRole, ...]
    cart_page: str = ""


def learn(purchase: Purchase) -> Learned:
    """Return what a purchase teaches; what it does not is left out."""
    reasons: dict[str, str] = {}
    rules: dict[str, Any] = {}
    roles: list[FoundRole] = []
    if (asked := _request(purchase)) is not None:
        rule, why, id_role = asked
        rules["request"], reasons["request"] = (rule,), why
        roles += [id_role] if id_role else []
    pieces = 2 if purchase.second else 1
    page = purchase.second or purchase.first
    cart_page, cards = "", []
    if page is not None:
        scan, other = Scan(page), Scan(purchase.before)
        found = list(_cart_roles(scan, other, purchase, pieces, "row"))
        roles += found
        if found:
            cards.append("row")
            cart_page = _cart_page(scan, other, found)
    if purchase.elsewhere is not None:
        small = list(_cart_roles(Scan(purchase.elsewhere), Scan(purchase.before), purchase, pieces, "mini"))
        roles += small
        cards += ["mini"] if small else []
    if cards:
        rules["cart"] = tuple(cards)
        reasons["cart"] = (
            f"the product stands there after the press, {'two pieces' if pieces == 2 else 'one piece'}"
        )
    if (said := _message(purchase)) is not None:
        rules["message"], reasons["message"] = (said[0],), said[1]
    if reached := _address(purchase):
        rules["address"], reasons["address"] = (reached,), "reached by the press"
    return Learned(Choice(**rules), reasons, tuple(roles), cart_page)


# The request


def _request(purchase: Purchase) -> tuple[CartRequest, str, FoundRole | None] | None:
    scored = sorted(
        (
            (score, index)
            for index, sent in enumerate(purchase.requests)
            if (score := _likely(sent, purchase)) > 0
        ),
        key=lambda item: (-item[0], item[1]),
    )
    if not scored:
        return None
    sent = purchase.requests[scored[0][1]]
    path = unquote(urlsplit(sent.url).path)
    rule: dict[str, Any] = {"path": re.escape(path).replace(r"\-", "-"), "method": sent.method}
    why, id_role = f"{sent.method} {path} followed the press", None
    data = _json(sent)
    if (operation := _operation(data)) is not None:
        rule["operation"] = operation
        why = f"{sent.method} {path} with {operation} followed the press"
    ids = _ids(purchase)
    field = _id_field(sent, data, ids)
    if field is not None:
        rule["field"], value = field
        why += (
            f"; {rule['field']} is {value}, as on the page"
            if value in ids
            else f"; {rule['field']} is {value}"
        )
        id_role = _id_role(purchase, value)
    elif segment := _id_segment(path, ids):
        pattern = r"(\d+)" if segment.isdecimal() else "([^/]+)"
        rule["path"] = "/".join(
            pattern if part == segment else re.escape(part).replace(r"\-", "-") for part in path.split("/")
        )
        why += f"; {segment} says which product"
        id_role = _id_role(purchase, segment)
    return CartRequest(**rule), why, id_role


def _likely(sent: Sent, purchase: Purchase) -> float:
    """How likely it is that a request put the product into the cart."""
    path, data = unquote(urlsplit(sent.url).path), _json(sent)
    if sent.status >= 400 or sent.status == 0:
        return 0
    if sent.method == "GET":
        adds = re.search(r"add|buy", f"{path}?{urlsplit(sent.url).query}", re.I) and _CART_PATH.search(path)
        return 1.0 if adds else 0
    if _is_graphql(data):
        return 5.0 if _operation(data) else 0
    score = 3.0 * bool(_CART_PATH.search(path)) + bool(re.search(r"add", path, re.I))
    score += 2.0 * (_id_field(sent, data, _ids(purchase)) is not None) + sent.document
    says_nothing = re.search(r"collect|analytic|track|log|beacon|event|metric", path, re.I)
    return 0 if says_nothing and score < 4 else score


def _json(sent: Sent) -> Any:
    if "json" not in sent.content_type and not sent.body.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(sent.body)
    except (ValueError, RecursionError):
        return None


def _is_graphql(data: Any) -> bool:
    first = data[0] if isinstance(data, list) and data else data
    return isinstance(first, dict) and ("query" in first or "operationName" in first) and "variables" in first


def _operation(data: Any) -> str | None:
    """The field that a GraphQL mutation asks for, else the name of the operation."""
    first = data[0] if isinstance(data, list) and data else data
    if not _is_graphql(first):
        return None
    query = first.get("query")
    if isinstance(query, str):
        found = re.search(r"\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)", query)
        return found[1] if found else None
    name = first.get("operationName")
    return name if isinstance(name, str) and re.search("add|cart|basket", name, re.I) else None


def _fields(sent: Sent, data: Any) -> Iterator[tuple[str, str]]:
    """The fields of a request with their values: names of a form's, paths into JSON's."""
    yield from parse_qsl(urlsplit(sent.url).query)
    if data is None:
        if "multipart" in sent.content_type:
            yield from re.findall(r'name="([^"]+)"\r?\n\r?\n([^\r\n]*)', sent.body)
        else:
            yield from parse_qsl(sent.body)
        return
    waiting: list[tuple[str, Any]] = [("$", data[0] if isinstance(data, list) and data else data)]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, dict):
            waiting += [
                (f"{path}.{key}", each) for key, each in value.items() if re.fullmatch(r"[A-Za-z_]\w*", key)
            ]
        elif isinstance(value, list):
            waiting += [(f"{path}[*]", each) for each in value[:3]]
        elif isinstance(value, str | int) and not isinstance(value, bool) and path != "$.query":
            yield path, str(value)


def _id_field(sent: Sent, data: Any, ids: set[str]) -> tuple[str, str] | None:
    """The field that says which product is meant, and its value."""
    found = [(name, value) for name, value in _fields(sent, data) if value and len(value) <= 100]
    found = [(name, value) for name, value in found if not _NO_IDS.search(name.rpartition(".")[2])]
    named = [(name, value) for name, value in found if _ID_NAMES.search(name.rpartition(".")[2])]
    known = [item for item in named if item[1] in ids] or [
        item for item in found if item[1] in ids and len(item[1]) > 1
    ]
    name, value = next(iter(known or named), ("", ""))
    if not name:
        return None
    graphql = _is_graphql(data)
    return (
        name.removeprefix("$.") if name.count(".") == 1 and "[" not in name and not graphql else name
    ), value


def _ids(purchase: Purchase) -> set[str]:
    """What the product's page says that may be the product's id: values of fields, attributes, its address."""
    parts = urlsplit(purchase.url)
    found = {value for _, value in parse_qsl(parts.query)} | set(filter(None, unquote(parts.path).split("/")))
    found |= set(re.findall(r"\d+", parts.path))
    for node in Scan(purchase.before).tree.css(
        "input[type=hidden][value], [data-id], [data-product-id], [data-sku], button[value]"
    ):
        for name in ("value", "data-id", "data-product-id", "data-sku"):
            if (value := node.attributes.get(name)) and not _NO_IDS.search(node.attributes.get("name") or ""):
                found.add(value)
    return found


def _id_segment(path: str, ids: set[str]) -> str | None:
    """The part of a path that says which product is meant."""
    parts = [part for part in path.split("/") if part in ids or part.isdecimal()]
    return parts[-1] if parts else None


def _id_role(purchase: Purchase, value: str) -> FoundRole | None:
    scan = Scan(purchase.before)
    root = scan.tree.root
    for node in scan.tree.css("input[type=hidden][value], [data-product-id], [data-id], button[value]"):
        if _NO_IDS.search(node.attributes.get("name") or ""):
            continue
        for name in ("value", "data-product-id", "data-id"):
            if (
                root is not None
                and node.attributes.get(name) == value
                and (css := unique_selector([(root, node)]))
            ):
                place = (Place(css=css, attribute=name),)
                return FoundRole("product.id", place, value, "high", "what the request names the product by")
    return None


# The message and the address


def _message(purchase: Purchase) -> tuple[Message, str] | None:
    """What the page says after the press that it did not say before."""
    scan, before = Scan(purchase.after), {text(node) for node in Scan(purchase.before).visible}
    root = scan.tree.root
    best: tuple[float, LexborNode, str] | None = None
    for node in scan.visible:
        said = text(node)
        if (
            not 4 < len(said) <= 200
            or said in before
            or node.tag in ("button", "a", "label", "li", "tr", "td")
        ):
            continue
        named = purchase.name and purchase.name in said and said != purchase.name
        marked = called(node, _SAYS.pattern, 3) or (node.attributes.get("role") or "") in ("alert", "status")
        if not (named or marked) or names_price(said) or said == purchase.name:
            continue
        if not named and not (says_cart(said) or says_add(said)):
            continue
        score = 4.0 * bool(named) + 2 * marked + says_cart(said[:40]) - len(said) / 100
        if best is None or score > best[0]:
            best = score, node, said
    if best is None or root is None or not (css := unique_selector([(root, best[1])])):
        return None
    _, node, said = best
    says = said.replace(purchase.name, PRODUCT, 1) if purchase.name in said else said
    # Icons and signs at the ends, and what comes after the first sentence, may change.
    head, mark, rest = says.partition(PRODUCT)
    rest = re.split(r"[.!。！](?:\s|$)", rest if mark else head, maxsplit=1)[0]
    says = squeezed(f"{head if mark else ''}{mark}{rest}").strip(' ×✓✔x"“”«»') if mark else squeezed(rest)
    says = re.sub(r"^[^\w$]+", "", says)
    if not says.replace(PRODUCT, "").strip(" .!\"'“”") or says.count(PRODUCT) > 1:
        return None
    return Message(css=css, says=says), "appeared after the press"


def _address(purchase: Purchase) -> str | None:
    """A page that is reached only by adding: not the product's, and not the cart's own."""
    path = unquote(urlsplit(purchase.after.url).path)
    cart = {product_key(page.url) for page in (purchase.first, purchase.second) if page}
    known = {product_key(purchase.before.url), *cart}
    if (
        product_key(purchase.after.url) in known
        or says_checkout(path)
        or not re.search(r"added|/add\b", path)
    ):
        return None
    return re.escape(path).replace(r"\-", "-")


# The cart


def _cart_roles(scan: Scan, other: Scan, purchase: Purchase, pieces: int, kind: str) -> Iterator[FoundRole]:
    root = scan.tree.root
    row = _row(scan, purchase, kind)
    if root is None or row is None:
        return
    css = unique_selector([(root, row)], product_key(purchase.url), other.tree.root)
    if css is None:
        return
    link, name = _row_link(scan, row, purchase), _row_name(row, purchase.name)
    price, total = _row_prices(row, purchase.price, pieces)
    if link is None:
        return
    yield FoundRole(kind, (Place(css=css),), purchase.name, "high", "shows the product after the press")
    parts: list[tuple[str, LexborNode | None, str | None, str]] = [
        ("link", link, "href", "leads to the product"),
        ("name", name, None, "the product's name"),
        ("title", name, None, "the product's name"),
        ("price", price, None, "the price of one piece"),
    ]
    if kind == "row":
        field = _quantity(row, pieces)
        parts.append(
            ("quantity", field, "value" if field is not None and field.tag == "input" else None, "how many")
        )
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
        if (
            not href
            or scan_key(scan, href) != scan_key(scan, purchase.url)
            or product_key(href, scan.url) != key
        ):
            continue
        held: LexborNode | None = None
        for around in ancestors(link):
            if around.tag in ("main", "form", "table", "tbody") or len(text(around)) > 600:
                break
            prices = [node for node in around.css("*") if _innermost_price(node)]
            if not prices or purchase.name not in text(around):
                continue
            held = held or around
            if kind == "mini" or _quantity(around, None) is not None:
                held = around
                break
        if held is not None:
            return held
    return None


def scan_key(scan: Scan, href: str) -> str:
    """What tells the product of an address: its key and, where products are told apart so, its query."""
    parts = urlsplit(href)
    return (
        f"{product_key(href, scan.url)}?{parts.query}"
        if "=" in parts.query and scan.by_query
        else product_key(href, scan.url)
    )


def _innermost_price(node: LexborNode) -> bool:
    value = text(node)
    if not value or len(value) > 40 or number(value) is None or not names_price(value):
        return False
    return not any(names_price(text(inner)) and number(text(inner)) is not None for inner in node.iter())


def _row_link(scan: Scan, row: LexborNode, purchase: Purchase) -> LexborNode | None:
    links = [
        a
        for a in row.css("a[href]")
        if scan_key(scan, a.attributes.get("href") or "") == scan_key(scan, purchase.url)
    ]
    return next((a for a in links if text(a) == purchase.name), next(iter(links), None))


def _row_name(row: LexborNode, name: str) -> LexborNode | None:
    return next(
        (n for n in row.css("*") if text(n) == name and not any(text(c) == name for c in n.iter())), None
    )


def _row_prices(
    row: LexborNode, price: Decimal | None, pieces: int
) -> tuple[LexborNode | None, LexborNode | None]:
    """The elements that show the price of one piece, and the sum of the line."""
    nodes = [n for n in row.css("*") if _innermost_price(n) and not is_former_price(n)]
    values = [number(text(n)) for n in nodes]
    one = (
        price
        if price in values
        else next((v for v in values if v is not None and v * pieces in values), None)
    )
    if one is None:
        return None, None
    ones = [n for n, v in zip(nodes, values, strict=True) if v == one]
    sums = [n for n, v in zip(nodes, values, strict=True) if v == one * pieces]
    if pieces == 1:
        return ones[0], (sums[-1] if len(sums) > 1 else None)
    return next(iter(ones), None), next(iter(sums), None)


def _quantity(row: LexborNode, pieces: int | None) -> LexborNode | None:
    """The field, or the text, that says how many pieces are in the cart."""
    for node in row.css("input, select"):
        kind, value = node.attributes.get("type") or "text", node.attributes.get("value") or ""
        named = f"{words(node)} {node.attributes.get('name') or ''}".lower()
        if kind in ("text", "number", "tel") and node.tag == "input":
            right = value.isdecimal() and (pieces is None or int(value) == pieces)
            if right and (kind == "number" or re.search("qty|quant|amount|menge|anzahl|count", named)):
                return node
    for node in row.css("*"):
        value = text(node)
        if pieces is not None and number(value) == pieces and re.fullmatch(r"\W*\d+\W*x?\W*", value):
            if not any(text(inner) for inner in node.iter()):
                return node
    return None


def _totals(scan: Scan, row: LexborNode, price: Decimal | None, pieces: int) -> FoundRole | None:
    """The sums of the cart outside of its rows."""
    root = scan.tree.root
    if root is None or price is None:
        return None
    inside = {row.mem_id, *(node.mem_id for node in row.css("*"))}
    places: list[Place] = []
    shown = ""
    for node, value in scan.innermost(lambda value: number(value) == price * pieces and names_price(value)):
        if node.mem_id in inside or is_aside(node) or is_former_price(node):
            continue
        if css := unique_selector([(root, node)]):
            places.append(Place(css=css))
            shown = shown or value
    if not places:
        return None
    found = FoundRole(
        "cart.total", (places[0],), shown, "high" if pieces == 2 else "medium", "the cart's sum"
    )
    return with_places(found, places[1:])


def _cart_page(scan: Scan, other: Scan, roles: Sequence[FoundRole]) -> str:
    """What is on the cart's page, and not on the product's."""
    row = scan.tree.css_first(roles[0].places[0].css)
    around = [row, *ancestors(row)] if row is not None else []
    body = [scan.tree.body] if scan.tree.body is not None else []
    candidates = (css for node in (*body, *reversed(around)) if node is not None for css in names(node))
    return next((css for css in candidates if not other.tree.css(css)), roles[0].places[0].css)
