"""Where a product shows on a page, and how edits read and write what stands there."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final

from selectolax.lexbor import LexborNode

from interventions.edits.place_values import (
    LONGEST,
    figures_at,
    pattern_part,
    stated_scale,
    value_at,
    with_cents,
)
from interventions.errors import CannotEdit
from interventions.html.amounts import follower_roles, is_percent
from interventions.html.numbers import (
    Figure,
    NumberUsage,
    figures,
    on_scale,
    one_line,
    prices_per_unit,
    tells_unit,
)
from interventions.html.page import Page, Piece, Where
from interventions.html.placement import lineage
from interventions.html.raised import has_raised_cents, with_decimal_signs
from interventions.html.ranges import PriceSpan, prices
from interventions.html.tree import parse
from interventions.yaml.sitemap import Place, SiteMap

_LEVELS, _BESIDE = 3, 80
"""How many elements around a figure are searched for its currency, and how long their texts may be."""
SAVING: Final = "product.saving"
"""The role of what a price saves: it follows by the difference, and in percent."""
FOLLOWERS = ("product.high_price", *(f"product.{role}" for role in follower_roles()))
"""The roles of amounts that follow the product's price: but for the saving, by the same factor."""
_AMOUNTS = tuple(f".{role}" for role in follower_roles())
_PRICES = (".price", ".high_price", ".subtotal", ".total", *_AMOUNTS)
_SUMS = (".subtotal", ".total")


@dataclass(frozen=True)
class Change:
    """The result of an edit: the number of places, and the text before and after in the first place."""

    matches: int
    before: str
    after: str


@dataclass(frozen=True)
class Target:
    """An element at a place of a role."""

    node: LexborNode
    place: Place

    @property
    def attribute(self) -> str | None:
        """The attribute that holds the value (None: the element's text does)."""
        return self.place.attribute


_BEST: Final = "[itemprop=bestRating], [property=bestRating], [property$=':bestRating']"
_CELLS: Final = frozenset(["td", "th"])
_IN_CELLS: Final[Mapping[Where, Where]] = {"before": "prepend", "after": "append"}


@dataclass(frozen=True)
class Earlier:
    """What edits have replaced of a product before: its names in data, and its first price in currency units.

    `currency`: in which code the page showed that price (empty: unknown); None: it stood in data only. `ids`:
    by which data have called the product.
    """

    names: frozenset[str] = frozenset()
    price: Decimal | None = None
    currency: str | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProductPlace:
    """Where a product shows: on its own page (`group` product), in a card (item) or a cart row (row).

    The group `page` is the page as a whole.
    """

    page: Page
    site: SiteMap
    group: str
    root: LexborNode | None = None
    earlier: Earlier = Earlier()
    options: Set[str] = frozenset()
    """The keys of the products to choose from, as far as they are known."""

    def role(self, name: str) -> str:
        """Return the role's name here: `product.title` is `item.title` in a card.

        The name is empty when the role does not occur here.
        """
        if name.startswith("css:"):
            return name if self.group == "product" else ""
        group, _, part = name.partition(".")
        if group == "product":
            name = f"{self.group}.{part}"
        elif group != self.group:
            return ""
        return name if name in self.site.roles else ""

    def all(self, role: str) -> Iterator[Target]:
        """Yield every element of a role, those of its first place first."""
        for place in self.site.role(self.role(role)):
            for node in self.page.find(place.css, self.root):
                yield Target(node, self._scaled(node, place))

    def main(self, role: str) -> list[Target]:
        """Return the elements of a role's first place. Raises CannotEdit when there are none."""
        places = self.site.role(self.role(role))
        if not places:
            raise CannotEdit(f"the site map {self.site.name} has no such role")
        found = self.page.find(places[0].css, self.root)
        if not found:
            raise CannotEdit(f'nothing on the page matches "{places[0].css}"')
        return [Target(node, self._scaled(node, places[0])) for node in found]

    def _scaled(self, node: LexborNode, place: Place) -> Place:
        """The place with the scale that the page states for a rating: in its text, or as `bestRating`."""
        if place.scale is None:
            return place
        stated = stated_scale(self.page.value(node, place.attribute))
        box = next((each for each in lineage(node) if _tells_rating(each)), None)
        if box is not None and stated is None:
            best = next(iter(self.page.find(_BEST, box)), None)
            text = best and (best.attributes.get("content") or best.text()).strip()
            stated = int(text) if text and text.isascii() and text.isdigit() else None
        return place.model_copy(update={"scale": stated}) if stated and stated != place.scale else place

    def has(self, role: str) -> bool:
        """Return whether the page shows the role here."""
        places = self.site.role(self.role(role))
        return bool(places and self.page.find(places[0].css, self.root))

    def value(self, target: Target) -> str:
        """Return the text or attribute of a target, as earlier edits leave it."""
        return self.page.value(target.node, target.attribute)

    def names(self, target: Target) -> str | None:
        """Return what a target names, such as an id: its value, or the part that the place's `pattern` takes.

        None where the pattern finds nothing.
        """
        value = self.value(target)
        return pattern_part(target.place, value) if target.place.pattern else value

    def moved(self, target: Target, role: str, price: Decimal) -> Decimal:
        """Return what a place shows when the product's first price is `price`.

        A variant keeps its difference to the first price. Raises CannotEdit where it has another currency.
        """
        old, base = self.number(target, role), self.earlier.price
        if old is None or base is None or old in (base, price):
            return price
        if self.earlier.currency is None:
            return old  # scripts have drawn it from data that edits have changed
        text = self.value(target)
        found = {each.currency for each in figures_at(target.place, text, self.usage(role, target))}
        if self.earlier.currency and found - {"", self.earlier.currency}:
            raise CannotEdit(
                f'"{one_line(text)}" is no amount in {self.earlier.currency}, in which the new price is; '
                "keep the shop in one currency"
            )
        return apart(old, base, price)

    def write(self, role: str, value: Decimal) -> Change:
        """Write another figure into every place of a role; the first place has to hold a figure."""
        main, *_ = self.main(role)
        before = self._joined(main, role)
        targets, done = list(self.all(role)), []
        self._check_parts([target.place.part for target in targets], value)
        self._check_ends(role, [target for target in targets if target.place == main.place])
        for target in targets:
            place = target.place
            usage = self.usage(role, target)
            if not (place.part or place.attribute) and _cents_behind(target.node):
                raise CannotEdit(
                    f'the cents stand behind the element of "{self.value(target)}"; '
                    "name both, with part: whole and part: fraction"
                )
            change: Callable[[str], Sequence[Piece]] = partial(self._figures, usage, place, value)
            if place.words:
                change = partial(_word, words=place.words, percent=value)
            texts = self.page.replace(target.node, target.attribute, change)
            if texts:
                done.append(texts)
            elif not done or place.part:
                raise CannotEdit(f'no figure in "{self.value(target)}"')
        if before is not None:
            return Change(len(done), before, self._joined(main, role) or "")
        return Change(len(done), *done[0])

    def follow(self, role: str, old: Decimal, new: Decimal) -> None:
        """Keep in step what follows a price: the upper end of its range, instalments, savings and the like.

        Those have roles of their own; prices of a unit may also stand in the texts of the price's role.
        """
        factor = new / old
        for target in self.all(role):
            if target.attribute is None and tells_unit(self.value(target)):
                self._scale(target, self.usage(role, target), factor, _per_unit_at)
        self._save(old, new)
        for follower in FOLLOWERS:
            for target in self.all(follower) if follower != SAVING else ():
                if not self._scale(target, self.usage(follower, target), factor, figures_at):
                    raise CannotEdit(f'no figure in "{self.value(target)}"')

    def _save(self, old: Decimal, new: Decimal) -> None:
        """Write what the new price saves against the shop's former one, which stays."""
        targets = list(self.all(SAVING))
        told = [(target, *_savings(self.value(target), self.usage(SAVING, target))) for target in targets]
        amounts = [each.value for _, sums, _ in told for each in sums]
        shares = [each.value for _, _, percents in told for each in percents]
        if not targets:
            return
        if not amounts and not (shares and shares[0] < 100):
            raise CannotEdit(f'no figure in "{self.value(targets[0])}"')
        former = old + amounts[0] if amounts else old / (1 - shares[0] / 100)
        if new >= former:
            said = one_line(self.value(targets[0]))
            raise CannotEdit(f'"{said}" says that it is cheaper than {former:.2f}; set a price below that')
        for target, _, _ in told:
            usage = self.usage(SAVING, target)
            self.page.replace(target.node, target.attribute, partial(_saved, usage, former, new))

    def _scale(
        self,
        target: Target,
        usage: NumberUsage,
        factor: Decimal,
        find: Callable[[Place, str, NumberUsage], list[Figure]],
    ) -> bool:
        def change(text: str) -> list[Piece]:
            found = find(target.place, text, usage)
            return [Piece(each.start, each.end, each.write(_rounded(each.value, factor))) for each in found]

        return self.page.replace(target.node, target.attribute, change) is not None

    @staticmethod
    def _check_parts(parts: Sequence[str | None], price: Decimal) -> None:
        """Raises CannotEdit where whole parts lack their cents, or the other way round."""
        wholes, cents = parts.count("whole"), parts.count("fraction")
        if wholes != cents and (cents or price % 1):
            raise CannotEdit(f"the page shows {wholes} whole parts of the price, and cents for {cents}")

    def _check_ends(self, role: str, targets: Sequence[Target]) -> None:
        """Raises CannotEdit where two elements of a place are the ends of one range of prices."""
        for first, second in pairwise(targets if role.endswith(".price") else ()):
            low, high = self.number(first, role), self.number(second, role)
            if low != high and any(
                isinstance(each, PriceSpan) and (each.low.value, each.high.value) == (low, high)
                for text in around(first.node)
                for each in prices(text, self.page.usage)
            ):
                raise CannotEdit(
                    f'"{self.value(first)}" and "{self.value(second)}" are the ends of one range; '
                    "give the upper one the role product.high_price"
                )

    @staticmethod
    def _figures(usage: NumberUsage, place: Place, value: Decimal, text: str) -> list[Piece]:
        found = figures_at(place, text, usage)
        if place.part == "fraction":
            return [Piece(each.start, each.end, each.write_digits(_cents(value, each))) for each in found]
        if len(found) > 1 and any(each.sign for each in found):
            raise CannotEdit(
                f'"{one_line(text)}" shows several prices, and the edit has one; '
                "say with pattern which it is, or leave the product out"
            )
        if place.scale and any(each.value > place.scale for each in found):
            raise CannotEdit(f'the rating in "{one_line(text)}" is above its scale, which is {place.scale}')
        written, padded = on_scale(value, place.scale), place.scale is None
        if place.part == "whole":
            written = value.to_integral(ROUND_FLOOR)
            if not all(each.is_whole for each in found):
                raise CannotEdit(f'"{one_line(text)}" is no whole part of a price')
        return [_piece(each, written, padded=padded) for each in found]

    def usage(self, role: str, target: Target) -> NumberUsage:
        """Return what the page says of a target's figure; counts and whole parts of prices have no decimals.

        The currency of a price may stand beside its element.
        """
        said, place = self.page.usage, target.place
        if not said.currency and role.endswith(_PRICES) and not place.attribute:
            said = said._replace(currency=_currency_beside(target.node, said))
        said = said._replace(per_unit=role.endswith(_AMOUNTS))
        return said._replace(whole=role.endswith((".reviews", ".quantity")) or place.part == "whole")

    def number(self, target: Target, role: str) -> Decimal | None:
        """Return the figure that a target shows, ratings in percent; None unless it shows exactly one.

        Only sums can be below 0. Of a price in two elements the whole part has the price, and the cents have
        nothing.
        """
        usage = self.usage(role, target)
        if target.place.part:
            cents = self._cents_beside(target, role)
            return with_cents(target.place, self._text(target), self._text(cents), usage) if cents else None
        text = self._text(target)
        value = value_at(target.place, text, usage)
        if value is not None and role.endswith(_SUMS):
            return figures_at(target.place, text, usage)[0].signed
        return value

    def rounding(self, target: Target, role: str) -> Decimal:
        """Return how far a word for thousands rounds the figure that a target shows; else 0."""
        found = figures_at(target.place, self._text(target)[:LONGEST], self.usage(role, target))
        return max((each.rounding for each in found), default=Decimal(0))

    def _joined(self, target: Target, role: str) -> str | None:
        """The text of a price in two elements; None where it stands in one."""
        cents = self._cents_beside(target, role)
        if cents is None:
            return None
        whole = figures(self.value(target), self.usage(role, target), spaced=True)
        if len(whole) != 1:
            return None
        return whole[0].joined("".join(each.digits for each in figures(self.value(cents))))

    def _cents_beside(self, target: Target, role: str) -> Target | None:
        """The cents of a whole part: those with the same number among all."""
        if target.place.part != "whole":
            return None
        targets = list(self.all(role))
        wholes = [each.node.mem_id for each in targets if each.place.part == "whole"]
        cents = [each for each in targets if each.place.part == "fraction"]
        return cents[wholes.index(target.node.mem_id)] if len(cents) == len(wholes) else None

    def original(self, target: Target) -> str:
        """Return the text of a target as the page has it, raised cents as decimals."""
        raw = self.page.raw(target.node, target.attribute)
        bare = target.attribute or target.place.part or next(target.node.iter(), None) is None
        if bare or len(plain := target.node.html or "") > LONGEST:
            return raw
        signed = with_decimal_signs(plain, self.page.usage)
        return parse(signed, is_fragment=True).text() if signed != plain else raw

    def _text(self, target: Target) -> str:
        """The text of a target as it was written, unless an edit has changed it."""
        shown, raw = self.value(target), self.page.raw(target.node, target.attribute)
        return self.original(target) if one_line(raw) == shown else shown

    def write_text(self, role: str, text: str) -> Change:
        """Write a text into a role's first place, and into its other places where they hold the old text."""
        first, *others = self.main(role)
        before, after = self._write_text(first, text)
        matches = 1
        for target in (*others, *(t for t in self.all(role) if t.place != first.place)):
            value = self.value(target)
            old = next((each for each in (before, *self.earlier.names) if each and each in value), "")
            if before == after and after in value:  # here too the page's data have carried the text
                matches += 1
            elif old:
                self._write_text(target, value.replace(old, after))
                matches += 1
        return Change(matches, before, after)

    def _write_text(self, target: Target, text: str) -> tuple[str, str]:
        if target.attribute:
            return self.page.set_attribute(target.node, target.attribute, text)
        return self.page.set_text(target.node, text)

    def insert(
        self, node: LexborNode, where: Where, markup: str, *, style: str = "", script: str = ""
    ) -> None:
        """Put an element beside or into a node; `style` and `script` are its inline style and script.

        A cell of a table has nothing beside it: what would stand there stands in it.
        """
        if node.tag in _CELLS:
            where = _IN_CELLS.get(where, where)
        self.page.styles |= {style} - {""}
        self.page.scripts |= {script} - {""}
        self.page.insert(node, where, markup.encode(self.page.output, "xmlcharrefreplace"))

    def insert_at(
        self, role: str, where: Where, text: str, markup: str, *, style: str = "", script: str = ""
    ) -> Change:
        """Put an element that shows `text` beside or into each element of a role's first place."""
        targets = self.main(role)
        for target in targets:
            self.insert(target.node, where, markup, style=style, script=script)
        return Change(len(targets), "", text)


def _tells_rating(node: LexborNode) -> bool:
    """Whether an element holds the parts of a rating, in the terms of schema.org."""
    said = node.attributes
    return any(
        (said.get(name) or "").endswith("Rating") for name in ("itemtype", "typeof", "itemprop", "property")
    )


def apart(old: Decimal, base: Decimal, new: Decimal) -> Decimal:
    """Return the price of a variant when the `base` price becomes `new`: as much dearer, or in proportion."""
    return new + old - base if new + old > base else _rounded(old, new / base) if base else new


def _savings(text: str, usage: NumberUsage) -> tuple[list[Figure], list[Figure]]:
    """The amounts of a text that says what a price saves, and the percentages."""
    found = figures(text[:LONGEST], usage)
    percents = [each for each in found if is_percent(each, text)]
    others = [each for each in found if each not in percents]
    return [each for each in others if each.is_price] or [each for each in others if each.decimals], percents


def _saved(usage: NumberUsage, former: Decimal, new: Decimal, text: str) -> list[Piece]:
    """The piece of a text that says what a price saves, from its first figure to its last."""
    sums, percents = _savings(text, usage)
    parts = [(each.start, each.end, each.write(_rounded(former - new, Decimal(1)))) for each in sums]
    for each in percents:
        share = (1 - new / former) * 100
        share = share.quantize(Decimal(1), ROUND_HALF_UP) if each.is_whole else share
        parts.append((each.start, each.end, each.write(share, padded=False)))
    parts.sort()
    written, end = "", parts[0][0]
    for start, until, part in parts:
        written, end = f"{written}{text[end:start]}{part}", until
    return [Piece(parts[0][0], end, written, tuple(parts))]


def _rounded(value: Decimal, factor: Decimal) -> Decimal:
    """The value times the factor, to cents, or to as many decimals as the value has."""
    places = min(int(value.as_tuple().exponent), -2)
    return (value * factor).quantize(Decimal(1).scaleb(places), ROUND_HALF_UP)


def _piece(figure: Figure, value: Decimal, *, padded: bool) -> Piece:
    parts = figure.changes(value) if isinstance(figure, PriceSpan) else ()
    return Piece(figure.start, figure.end, figure.write(value, padded=padded), tuple(parts))


def _currency_beside(node: LexborNode, usage: NumberUsage) -> str:
    """The currency of a figure whose sign stands in another element; empty where none is near."""
    own = figures(node.text()[:LONGEST], usage)
    if len(own) != 1 or own[0].sign:
        return ""
    for text in around(node):
        if found := {each.currency for each in figures(text, usage) if each.text == own[0].text} - {""}:
            return found.pop() if len(found) == 1 else ""
    return ""


def _cents_behind(node: LexborNode) -> bool:
    """Whether an element holds the whole part of a price, and the element behind it the cents."""
    if not node.text().rstrip()[-1:].isdecimal():
        return False
    behind = node.next
    while behind is not None and not behind.is_element_node and not behind.text().strip():
        behind = behind.next
    if behind is None or not behind.is_element_node:
        return False
    own = node.html or ""
    return not has_raised_cents(own) and has_raised_cents(f"{own}{behind.html}")


def around(node: LexborNode) -> Iterator[str]:
    """Yield the short texts of the elements around one, from the inside out."""
    outer = node.parent
    for _ in range(_LEVELS):
        text = outer.text() if outer is not None else ""
        if outer is None or len(text) > _BESIDE:
            break
        yield text
        outer = outer.parent


def _per_unit_at(place: Place, text: str, usage: NumberUsage) -> list[Figure]:
    per_unit, rest = prices_per_unit(prices(text[:LONGEST], usage), text)
    return per_unit if rest else []


def _cents(price: Decimal, old: Figure) -> str:
    """The decimals of a price, as many as stand on the page. Raises CannotEdit."""
    places = len(old.digits)
    decimals = f"{price % 1:f}".partition(".")[2].rstrip("0")
    if len(decimals) > places:
        raise CannotEdit(f"{price} has more decimals than the page shows in an element of their own")
    return decimals.ljust(places, "0")


def _word(text: str, *, words: tuple[str, ...], percent: Decimal) -> list[Piece]:
    new = words[max(1, round(percent * len(words) / 100)) - 1]
    return [Piece(*match.span(), new) for match in _any_of(words).finditer(text)]


@lru_cache(maxsize=256)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")
