"""Find the way from the cart to the checkout, and what the checkout's page shows of the cart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborNode

from interventions.html.tree import select
from interventions.proposal.cart import Purchase, cart_roles, own_page, totals_on
from interventions.proposal.phrases import is_cart_button, opens_checkout, says_order
from interventions.proposal.roles import FoundRole, with_places
from interventions.proposal.scan import Capture, Scan, squeezed, text
from interventions.yaml.sitemap import Place

_RISKY: Final = re.compile(
    r"(?<![a-z])(?:pay|payment|paypal|place|confirm|submit|buy|express|logout|add|remove|delete)(?![a-z])",
    re.I,
)
"""What an address must not say that is opened without a person's word."""
_BY_SCRIPT: Final = ("onclick", "data-method", "data-confirm", "data-remote", "ping", "download")
"""Attributes of links that do more than lead to a page."""


def checkout_link(cart: Capture) -> str:
    """Return the address of the first plain link on the cart's page that leads to the checkout; empty: none.

    A link that says anything of buying, ordering or paying is none, nor is a button, or a link with a script.
    """
    scan = Scan(cart)
    for node in scan.visible:
        if node.tag != "a" or is_cart_button(node) or any(name in node.attributes for name in _BY_SCRIPT):
            continue
        said = (text(node), node.attributes.get("aria-label"), node.attributes.get("title"))
        labels = [squeezed(label) for label in said if label]
        if not any(map(opens_checkout, labels)) or any(map(says_order, labels)):
            continue
        address = _address(cart.url, node)
        if address and not _RISKY.search(urlsplit(address).path):
            return address
    return ""


def _address(page: str, node: LexborNode) -> str:
    """Where a link leads, if that is another page of the same shop."""
    try:
        address = urljoin(page, (node.attributes.get("href") or "").strip()).partition("#")[0]
        own, parts = urlsplit(page), urlsplit(address)
    except ValueError:
        return ""
    same_shop = (parts.scheme, parts.netloc) == (own.scheme, own.netloc)
    return address if same_shop and (parts.path, parts.query) != (own.path, own.query) else ""


def leads_elsewhere(asked: str, reached: str) -> bool:
    """Return whether a shop has answered with another page than the checkout, such as a log-in."""
    wanted, there = (urlsplit(url).path.rstrip("/") for url in (asked, reached))
    return not f"{there}/".startswith(f"{wanted}/")


def checkout_roles(
    roles: Sequence[FoundRole], purchase: Purchase, pieces: int
) -> tuple[tuple[FoundRole, ...], str]:
    """Return the roles of the cart with their places on the checkout's page, and what is left by hand."""
    page = purchase.checkout
    if page is None:
        return tuple(roles), ""
    scan = Scan(page)
    there = {role.role: role for role in cart_roles(scan, Scan(purchase.before), purchase, pieces, "row")}
    lines = {role.role: role for role in roles if role.role.partition(".")[0] == "row"}
    joined = dict(_joined(lines, there)) if "row" in there else {}
    sums = [_there_only(place, purchase) for place in totals_on(scan, purchase, pieces)]
    result = []
    for role in roles:
        more = [each for each in sums if role.role == "cart.total" and not _matches(scan, role, each)]
        result.append(joined.get(role.role) or with_places(role, more))
    if "row" in there and not joined:
        return tuple(result), "its lines have another form than the cart's: row and row.* are by hand there"
    return tuple(result), ""


def _there_only(place: Place, purchase: Purchase) -> Place:
    """A place that finds nothing on the other pages, where any price might be taken for the total."""
    if not any(select(Scan(page).tree, place.css) for page in _others(purchase)):
        return place
    page = checkout_page(purchase)
    return place.model_copy(update={"css": f"html:has({page}) {place.css}"}) if page else place


def _others(purchase: Purchase) -> list[Capture]:
    pages = (purchase.before, purchase.after, purchase.first, purchase.second, purchase.elsewhere)
    return [page for page in pages if page is not None]


def _matches(scan: Scan, role: FoundRole, place: Place) -> bool:
    """Whether places of a role find already what another place finds."""
    known = {node.mem_id for each in role.places for node in select(scan.tree, each.css)}
    return all(node.mem_id in known for node in select(scan.tree, place.css))


def _joined(lines: dict[str, FoundRole], there: dict[str, FoundRole]) -> Iterator[tuple[str, FoundRole]]:
    """The roles of a line, each with one place that finds it on both pages; none where that cannot be.

    An edit needs the first place of a role in each line.
    """
    both = lines.keys() & there.keys()
    figures = {"row.price", "row.quantity", "row.subtotal"}
    if figures & (lines.keys() ^ there.keys()) or "row" not in both:
        return
    places = {name: (lines[name].places[0], there[name].places[0]) for name in both}
    if any(first.attribute != second.attribute for first, second in places.values()):
        return
    for name, (first, second) in places.items():
        css = first.css if first.css == second.css else f"{first.css}, {second.css}"
        place = first.model_copy(update={"css": css})
        yield name, replace(lines[name], places=(place, *lines[name].places[1:]))


def checkout_page(purchase: Purchase) -> str:
    """Return a selector of what is on the checkout's page, and on none of the others; empty where none is."""
    page = purchase.checkout
    return own_page(Scan(page), [Scan(each) for each in _others(purchase)]) if page else ""
