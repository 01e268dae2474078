"""Read the amounts that follow a price, such as 2,58 €/100 g and `Save 20%`, where they stand beside it.

Those with a role of the site map change with the price. The others do not, and have to be told.
"""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.apply.mapped_page import MappedPage
from interventions.edits.showing import FOLLOWERS, ProductPlace
from interventions.errors import CannotEdit
from interventions.html.amounts import Amount, amounts_in, near_price
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap

_STAY: Final = frozenset(["former", "shipping", "extra"])
"""The kinds of amounts that say the same beside another price."""
_WORDS: Final = {"unit": "price per unit", "": "the amount", "high": "the upper price"}
_ASIDE: Final = frozenset(["header", "footer", "nav"])
_MONEY: Final = ("price", "subtotal", "total", *(role.partition(".")[2] for role in FOLLOWERS))
_LONGEST: Final = 60


class _Following(NamedTuple):
    """An amount beside a price. `role` is the amount's, or says that it has none; `kind`: see `Amount`."""

    product: str
    kind: str
    role: str
    price: Decimal
    value: Decimal
    percent: bool = False

    @property
    def what(self) -> str:
        """What it is, in words."""
        return _WORDS.get(self.kind, self.kind)

    def should_be(self, sent: "_Following") -> tuple[Decimal, Decimal]:
        """Return what the amount is when it follows the price, and how far that may be rounded."""
        factor = self.price / sent.price
        value = sent.value * factor
        if self.percent:
            value = 100 - (100 - sent.value) * factor
        elif self.kind == "saving":
            value = sent.value + sent.price - self.price
        places = Decimal(1).scaleb(_exponent(sent.value))
        rounded = _half(self.value) + _half(sent.value) * (1 + factor)
        return value.quantize(places, ROUND_HALF_UP), rounded


def following_on(view: MappedPage) -> list[_Following]:
    """Return the amounts on a page that follow a price, or show it once more. Raises CannotEdit."""
    found: list[_Following] = []
    for key, showing in view.showings():
        price = _price(showing) if key and showing.group != "page" else None
        if price is None:
            continue
        for follower in FOLLOWERS:
            role, kind = showing.role(follower), follower.partition(".")[2].partition("_")[0]
            for target in showing.all(follower) if kind != "saving" else ():
                if (value := showing.number(target, role)) is not None:
                    found.append(_Following(key, kind, role, price, value))
        for each in _uncovered(view, showing):
            if each.role or each.figure.value == price:
                role = f"the text beside {showing.group}.price"
                found.append(_Following(key, each.kind, role, price, each.figure.value, each.percent))
    return found


def uncovered_on(view: MappedPage) -> list[str]:
    """Return the texts of amounts near the price of a product's own page that no role covers.

    Raises CannotEdit.
    """
    own = (showing for _, showing in view.showings() if showing.group == "product")
    texts = [each.text for showing in own for each in _uncovered(view, showing)]
    return [text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…" for text in dict.fromkeys(texts)]


def left_behind(page: Page, site: SiteMap) -> str:
    """Return a line on the amounts near the price that will not follow it, and what to do; empty: none."""
    try:
        texts = uncovered_on(MappedPage(page, site))
    except CannotEdit:
        return ""
    if not texts:
        return ""
    named = ", ".join(f"'{text}'" for text in texts)
    said = f"these {len(texts)} amounts" if len(texts) > 1 else "this amount"
    return (
        f"{said} near the price will not follow a new one: {named}; give the site map their roles "
        "(product.saving, product.instalment, ...), or take them away with the edit remove"
    )


def _price(showing: ProductPlace) -> Decimal | None:
    numbers = (showing.number(each, f"{showing.group}.price") for each in showing.all("product.price"))
    return next((number for number in numbers if number is not None), None)


def _uncovered(view: MappedPage, showing: ProductPlace) -> Iterator[Amount]:
    """The amounts around a price that no role covers and that do not stay as they are."""
    shown = next((each.node for each in showing.all("product.price") if each.attribute is None), None)
    if shown is None:
        return
    site, root = view.site, showing.root
    places = [place for part in _MONEY for place in site.role(f"{showing.group}.{part}")]
    nodes = [node for place in places for node in view.page.find(place.css, root)]
    if root is None:  # what stands in cards is of other products, and the cart's sums are of all
        others = [place for role in (*site.cards, "cart.total") for place in site.role(role)]
        nodes += [node for place in others for node in view.page.find(place.css)]
    covered = {node.mem_id for node in nodes}
    for amount in amounts_in(near_price(shown) if root is None else root, view.page.usage):
        node: LexborNode | None = amount.element
        while node is not None and node.mem_id not in covered and node.tag not in _ASIDE:
            node = node.parent
        if node is None and amount.kind not in _STAY:
            yield amount


def _half(value: Decimal) -> Decimal:
    return Decimal(5).scaleb(_exponent(value) - 1)


def _exponent(value: Decimal) -> int:
    return min(int(value.as_tuple().exponent), 0)
