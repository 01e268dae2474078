"""Find the old price of a product beside a link to it, in lists that the site map does not describe."""

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urljoin

from selectolax.lexbor import LexborNode

from experiments.treatment.list_order import page_at
from experiments.treatment.old_values import place_of_price, replaced_prices
from experiments.treatment.sights import ProductObservation
from interventions.apply.mapped_page import MappedPage
from interventions.edits.in_browser import as_read
from interventions.errors import CannotEdit
from interventions.html.numbers import figures
from interventions.html.placement import lineage
from interventions.html.tree import select
from proxy.session import Session
from proxy.shown_page import ShownPage

LONGEST_PART: Final = 300
"""The most characters of a part: of a card, or of a line of a table."""


def old_price_by_link(seen: Sequence[ProductObservation], session: Session, keys: Sequence[str]) -> str:
    """Return where a page shows the price that an edit has replaced beside a link to the product.

    Empty where none does. A product's own page, and the cards of the site map, are checked elsewhere.
    """
    leftovers, late = session.plan.leftovers, session.plan.late
    prices = {
        (each.product, price)
        for each in session.receipts
        if leftovers.get((each.intervention, each.edit)) == "price"
        and each.role.endswith(".price")
        and each.page_type != "data"
        and each.intervention not in late
        if each.product in keys
        for price in replaced_prices(as_read(each.before), as_read(each.after))
    }
    for sight in seen if prices else ():
        for key, price in sorted(prices):
            # The browser says what was shown, the page as it was sent what belongs together.
            if not sight.sent or key == sight.product or not _is_given(price, sight):
                continue
            page = page_at(sight.url, session)
            for part in parts_of(key, page, session) if page else ():
                if place_of_price(part, price):
                    said = " ".join(part.split())[:60]
                    return f"the agent was shown the old price of {key} too on {sight.url}: {said!r}"
    return ""


def _is_given(price: str, sight: ProductObservation) -> bool:
    return any(place_of_price(standing.own, price) for standing in sight.standings)


def parts_of(key: str, page: ShownPage, session: Session) -> Iterator[str]:
    """Yield the texts, a line each, of the parts of a product that the site map does not describe.

    A part is the smallest element around a link to the product that holds a price. It leads nowhere else, and
    holds no card and nothing of the page's own product.
    """
    if page.parsed is None:
        return
    view = MappedPage(page.parsed, session.site, session.plan.by_product, session.known)
    try:
        cards = [showing.root for _, showing in view.showings() if showing.root is not None]
    except CannotEdit:
        return
    own = [
        node
        for role in ("product.title", "product.price")
        for place in session.site.role(role)
        for node in page.parsed.find(place.css)
    ]
    within = {card.mem_id for card in cards}
    outside = {each.mem_id for node in (*cards, *own, page.parsed.tree.body) for each in lineage(node)}

    def target(link: LexborNode) -> str:
        address = link.attributes.get("href") or ""
        return "" if address.startswith("#") else session.product_at(urljoin(page.url, address))

    for link in page.parsed.find("a[href]"):
        around = list(lineage(link))
        if target(link) != key or any(each.mem_id in within for each in around):
            continue
        for part in around:
            text = part.text(separator="\n")
            if part.mem_id in outside or len(text) > LONGEST_PART:
                break
            if {*map(target, select(part, "a[href]"))} - {key, ""}:
                break
            if any(figure.is_price for figure in figures(text)):
                yield text
                break
