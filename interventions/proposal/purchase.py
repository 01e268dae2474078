"""Learn from a purchase, up to the cart, how a shop tells that a product is in it, and what it shows."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from selectolax.lexbor import LexborNode

from interventions.html.tree import select
from interventions.proposal.cart import Purchase, SentRequest, cart_page, cart_roles
from interventions.proposal.checkout import checkout_page, checkout_roles
from interventions.proposal.facts import KEY
from interventions.proposal.phrases import says_add, says_cart, says_checkout
from interventions.proposal.roles import FoundRole
from interventions.proposal.scan import (
    Capture,
    Scan,
    called,
    names_price,
    squeezed,
    text,
)
from interventions.proposal.selectors import unique_selector
from interventions.yaml.choice import PRODUCT, CartRequest, Choice, Message
from interventions.yaml.sitemap import Place, product_key

_ID_NAMES: Final = re.compile(
    r"product|item|variant|variation|article|artikel|sku|merchandise|\bid\b|_id$|Id$", re.I
)
_NO_IDS: Final = re.compile(
    r"qty|quant|amount|count|token|csrf|nonce|form_key|return|redirect|next|uenc|url|session"
    r"|supplier|vendor|seller|merchant|store_?id|shop_?id|cart_?id|basket_?id|category|currency|region",
    re.I,
)
_HASH: Final = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{40,}", re.I)
"""What names a stored query (persisted GraphQL), not a product."""
_CART_PATH: Final = re.compile(
    r"cart|basket|bag|add|line-?item|order|warenkorb|panier|carrito|koszyk|korb", re.I
)
_SAYS: Final = re.compile(r"alert|message|notice|notif|toast|flash|success|snackbar|confirm|added")


@dataclass(frozen=True)
class PurchaseRules:
    """What a purchase teaches: the choice with its reasons, roles, and what tells the cart's page."""

    choice: Choice
    reasons: dict[str, str]
    roles: tuple[FoundRole, ...]
    cart_page: str = ""
    checkout_page: str = ""
    carts: tuple[Capture, ...] = ()
    """The pages of the cart and the checkout that were seen."""
    by_hand: tuple[str, ...] = ()
    """What is left to be written by hand, a line each."""
    id: str = ""
    """By what the request names the product."""


def learn(purchase: Purchase) -> PurchaseRules:
    """Return what a purchase teaches; what it does not is left out."""
    reasons: dict[str, str] = {}
    rules: dict[str, Any] = {}
    roles: list[FoundRole] = []
    named = ""
    if (asked := _request(purchase)) is not None:
        rule, why, id_role, named = asked
        rules["request"], reasons["request"] = (rule,), why
        roles += [id_role] if id_role else []
    tells_cart, cards, undone = "", [], ""
    pressed = 2 if purchase.second else 1
    pieces, scan, found = _line(purchase)
    if scan is not None:
        cards.append("row")
        seen = (purchase.before, purchase.after, purchase.checkout)
        pages = [p for p in seen if p is not None and product_key(p.url) != scan.key]
        tells_cart = cart_page(scan, [Scan(page) for page in pages], found)
        with_checkout, undone = checkout_roles(found, purchase, pressed)
        roles += with_checkout
    if purchase.elsewhere is not None:
        small = list(cart_roles(Scan(purchase.elsewhere), Scan(purchase.before), purchase, pressed, "mini"))
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
    more = (f"{purchase.checkout.url}: {undone}",) if purchase.checkout and undone else ()
    by_hand = (*purchase.by_hand, *more)
    carts = tuple(filter(None, (purchase.first, purchase.second, purchase.checkout)))
    return PurchaseRules(
        Choice(**rules), reasons, tuple(roles), tells_cart, checkout_page(purchase), carts, by_hand, named
    )


def _line(purchase: Purchase) -> tuple[int, Scan | None, list[FoundRole]]:
    """How many pieces are in the cart, the page that shows them, and the roles of the product's line.

    Where each piece has a line of its own, two tell nothing, and one does.
    """
    before = Scan(purchase.before)
    for pieces, page in ((2, purchase.second), (1, purchase.first)):
        scan = Scan(page) if page is not None else None
        if scan and (found := list(cart_roles(scan, before, purchase, pieces, "row"))):
            return pieces, scan, [replace(role, scripted=purchase.drawn) for role in found]
    return 2 if purchase.second else 1, None, []


# The request


def _request(purchase: Purchase) -> tuple[CartRequest, str, FoundRole | None, str] | None:
    sent = max(purchase.requests, key=lambda sent: _likely(sent, purchase), default=None)
    if sent is None or _likely(sent, purchase) <= 0:
        return None
    path = unquote(urlsplit(sent.url).path)
    rule: dict[str, Any] = {"path": _escaped(path), "method": sent.method}
    why, id_role, named = f"{sent.method} {path} followed the press", None, ""
    data = _json(sent)
    if (operation := _operation(data)) is not None:
        rule["operation"] = operation
        why = f"{sent.method} {path} with {operation} followed the press"
    ids = _ids(purchase)
    field = _id_field(sent, data, ids)
    if field is not None:
        rule["field"], named = field
        # A field that is called an id may be one as a whole, also in data.
        is_id = named in ids or _ID_NAMES.search(rule["field"].rpartition(".")[2])
        if not is_id and (tail := _tail(named)) in ids:
            rule["id_pattern"], named = "([^/]+)$", tail
        why += f"; {rule['field']} is {named}" + (", as on the page" if named in ids else "")
        id_role = _id_role(purchase, named)
    elif segment := _id_segment(path, ids):
        pattern = r"(\d+)" if segment.isdecimal() else "([^/]+)"
        rule["path"] = "/".join(pattern if part == segment else _escaped(part) for part in path.split("/"))
        why += f"; {segment} says which product"
        id_role, named = _id_role(purchase, segment), segment
    return CartRequest(**rule), why, id_role, named


def _escaped(path: str) -> str:
    return re.escape(path).replace(r"\-", "-")


def _likely(sent: SentRequest, purchase: Purchase) -> float:
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


def _json(sent: SentRequest) -> Any:
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


def _fields(sent: SentRequest, data: Any) -> Iterator[tuple[str, str]]:
    """The fields of a request with their values: names of a form's, paths into JSON's."""
    yield from parse_qsl(urlsplit(sent.url).query)
    if data is None:
        if "multipart" in sent.content_type:
            yield from re.findall(r'name="([^"]+)"\r?\n\r?\n([^\r\n]*)', sent.body)
        else:
            yield from parse_qsl(sent.body)
        return
    waiting: list[tuple[str, Any]] = [("$", data[0] if isinstance(data, list) and data else data)]
    if isinstance(data, list) and not isinstance(waiting[0][1], dict):
        waiting = [(f"$[{place}]", each) for place, each in enumerate(data)]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, dict):
            waiting += [(f"{path}.{key}", each) for key, each in value.items() if KEY.fullmatch(key)]
        elif isinstance(value, list):
            waiting += [(f"{path}[*]", each) for each in value[:3]]
        elif isinstance(value, str | int) and not isinstance(value, bool) and path != "$.query":
            yield path, str(value)


def _id_field(sent: SentRequest, data: Any, ids: set[str]) -> tuple[str, str] | None:
    """The field that says which product is meant, and its value."""
    found = [(name, value) for name, value in _fields(sent, data) if value and len(value) <= 100]
    found = [(name, value) for name, value in found if not _HASH.fullmatch(value)]
    found = [each for each in found if each[0].startswith("$.variables.")] or found
    found = [(name, value) for name, value in found if not _NO_IDS.search(name.rpartition(".")[2])]
    named = [(name, value) for name, value in found if _ID_NAMES.search(name.rpartition(".")[2])]
    known = [item for item in named if item[1] in ids]
    known = known or [item for item in found if item[1] in ids and len(item[1]) > 1]
    longer = [item for item in found if _tail(item[1]) in ids]
    name, value = next(iter(known or named or longer), ("", ""))
    if not name:
        return None
    if name.count(".") == 1 and "[" not in name and not _is_graphql(data):
        name = name.removeprefix("$.")
    return name, value


def _tail(value: str) -> str:
    """The last part of an address such as `gid://shop/ProductVariant/10000`."""
    return value.rpartition("/")[2]


def _ids(purchase: Purchase) -> set[str]:
    """What may be the product's id on its page: values of fields and attributes, parts of its address."""
    parts = urlsplit(purchase.url)
    found = {value for _, value in parse_qsl(parts.query)} | set(filter(None, unquote(parts.path).split("/")))
    found |= set(re.findall(r"\d+", parts.path))
    for node in select(
        Scan(purchase.before).tree,
        "input[type=hidden][value], [data-id], [data-product-id], [data-sku], button[value]",
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
    for node in select(scan.tree, "input[type=hidden][value], [data-product-id], [data-id], button[value]"):
        if _NO_IDS.search(node.attributes.get("name") or ""):
            continue
        for name in ("value", "data-product-id", "data-id"):
            same = node.attributes.get(name) == value
            if same and root is not None and (css := unique_selector([(root, node)])):
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
        is_part = node.tag in ("button", "a", "label", "li", "tr", "td")
        if not 4 < len(said) <= 200 or said in before or is_part:
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
    is_known = product_key(purchase.after.url) in known or says_checkout(path)
    return None if is_known or not re.search(r"added|/add\b", path) else _escaped(path)
