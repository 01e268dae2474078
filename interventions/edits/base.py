"""What all edits have in common, and the places on a page where they work."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache, partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema
from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.edits.in_browser import Element, Spot, There, Verdict
from interventions.errors import CannotEdit
from interventions.html.numbers import (
    UNKNOWN,
    Figure,
    NumberUsage,
    figures,
    machine_figure,
    on_scale,
    one_line,
    prices_per_unit,
    rating_out_of,
    tells_unit,
)
from interventions.html.page import Page, Piece, Where
from interventions.html.raised import has_raised_cents, with_decimal_signs
from interventions.html.ranges import PriceSpan, prices, prices_within
from interventions.yaml.limited import search
from interventions.yaml.notations import check_css
from interventions.yaml.sitemap import Place, SiteMap
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import did_you_mean

LONGEST = 2000
"""The longest text, in characters, in which a figure is looked for."""
_FEW = 60
_LEVELS, _BESIDE = 3, 80
"""How many elements around a figure are searched for its currency, and how long their texts may be."""
FOLLOWERS = ("product.unit_price", "product.high_price")
"""The roles of prices that change by the same factor as the product's price."""
_PRICES = (".price", ".unit_price", ".high_price", ".subtotal", ".total")
_SUMS = (".subtotal", ".total")
_WHITE = re.compile(r"[ \t\n\f\r]+")


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


_CELLS: Final = frozenset(["td", "th"])
_IN_CELLS: Final[Mapping[Where, Where]] = {"before": "prepend", "after": "append"}


@dataclass(frozen=True)
class Earlier:
    """What edits of data have replaced of a product: its names, and its price in currency units."""

    names: frozenset[str] = frozenset()
    price: Decimal | None = None


@dataclass(frozen=True)
class Showing:
    """Where a product shows: on its own page (`group` product), in a card (item) or a cart row (row).

    The group `page` is the page as a whole.
    """

    page: Page
    site: SiteMap
    group: str
    root: LexborNode | None = None
    earlier: Earlier = Earlier()

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
                yield Target(node, place)

    def main(self, role: str) -> list[Target]:
        """Return the elements of a role's first place. Raises CannotEdit when there are none."""
        places = self.site.role(self.role(role))
        if not places:
            raise CannotEdit(f"the site map {self.site.name} has no such role")
        found = self.page.find(places[0].css, self.root)
        if not found:
            raise CannotEdit(f'nothing on the page matches "{places[0].css}"')
        return [Target(node, places[0]) for node in found]

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

    def scale_followers(self, role: str, factor: Decimal) -> None:
        """Multiply what follows a price: the upper end of its range, and the prices of a unit.

        Those have roles of their own; prices of a unit may also stand in the texts of the price's role.
        """
        for target in self.all(role):
            if target.attribute is None and tells_unit(self.value(target)):
                self._scale(target, self.usage(role, target), factor, _per_unit_at)
        for follower in FOLLOWERS:
            for target in self.all(follower):
                if not self._scale(target, self.usage(follower, target), factor, figures_at):
                    raise CannotEdit(f'no figure in "{self.value(target)}"')

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
        said = said._replace(per_unit=role.endswith(".unit_price"))
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
        return LexborHTMLParser(signed, is_fragment=True).text() if signed != plain else raw

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


def pattern_part(place: Place, text: str) -> str | None:
    """Return what the place's pattern takes of a text; None where it finds nothing."""
    match = search(place.pattern, text) if place.pattern and len(text) <= LONGEST else None
    return match[1] if match else None


def figures_at(
    place: Place, text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False
) -> list[Figure]:
    """Return the figures of a text that give the value of a place: one, where the text is as expected.

    A range of prices is one.
    """
    if place.pattern:
        match = search(place.pattern, text) if len(text) <= LONGEST else None
        return prices_within(text, *match.span(1), usage) if match and match[1] else []
    if place.attribute and (machine := machine_figure(text.strip())):
        return [machine]
    can_be_range = not (place.scale or place.part or usage.whole or usage.per_unit)
    found = (prices if can_be_range else figures)(text, usage, spaced=spaced)
    if usage.per_unit:  # the others say how much a unit is
        return [each for each in found if each.is_price] or found
    rating = rating_out_of(found, place.scale) if place.scale else None
    if len(found) > 1 and not rating:
        per_unit, rest = prices_per_unit(found, text)
        found = rest if per_unit and len(rest) == 1 else found
    return [rating] if rating else found


def _per_unit_at(place: Place, text: str, usage: NumberUsage) -> list[Figure]:
    per_unit, rest = prices_per_unit(prices(text[:LONGEST], usage), text)
    return per_unit if rest else []


def value_at(
    place: Place, text: str, usage: NumberUsage = UNKNOWN, *, spaced: bool = False
) -> Decimal | None:
    """Return the figure that a text at a place shows, ratings in percent.

    Returns None unless the text holds exactly one figure. `spaced`: its white space has been made ordinary.
    """
    if place.words:
        found = [n for n, word in enumerate(place.words, 1) if word in text.split()]
        return Decimal(found[0]) * 100 / len(place.words) if len(found) == 1 else None
    shown = figures_at(place, text[:LONGEST], usage, spaced=spaced)
    if len(shown) != 1:
        return None
    return shown[0].value * 100 / place.scale if place.scale else shown[0].value


def with_cents(place: Place, whole: str, cents: str, usage: NumberUsage = UNKNOWN) -> Decimal | None:
    """Return the price whose whole part and cents stand in two elements; None where they are no figures."""
    left, right = figures_at(place, whole, usage, spaced=True), figures(cents)
    if len(left) != 1 or len(right) != 1 or not left[0].is_whole:
        return None
    return left[0].value + Decimal(f"0.{right[0].digits}")


def _cents(price: Decimal, old: Figure) -> str:
    """The decimals of a price, as many as stand on the page. Raises CannotEdit."""
    places = len(old.digits)
    decimals = f"{price % 1:f}".partition(".")[2].rstrip("0")
    if len(decimals) > places:
        raise CannotEdit(f"{price} has more decimals than the page shows in an element of their own")
    return decimals.ljust(places, "0")


def best_at(place: Place) -> int | None:
    """Return the highest rating that can stand at a place; None where ratings are percentages."""
    return len(place.words) or place.scale


def tolerance_at(place: Place) -> Decimal:
    """Return half of the last decimal for ratings on a scale such as 0 to 5, else 0."""
    scale = best_at(place)
    return Decimal(5) / scale if scale else Decimal(0)


def figure_stands(there: There, role: str, value: Decimal, done: Sequence[Change]) -> Verdict:
    """Check that every figure at the places of a role is the one that an edit wrote there."""
    main, *_ = there.places(role)
    alone = main.model_copy(update={"part": None})
    wanted = {value, *filter(None, (value_at(alone, change.after, spaced=True) for change in done))}
    highest = {end for change in done if (end := _upper_end(main, change.after)) is not None}
    given: list[bool] = []
    found = False
    for place, element, cents in _whole_figures(there, role):
        shown = _figure_there(place, element.text, cents.text if cents else None)
        if shown is None:
            continue
        found |= place == main
        upper = _upper_end(place, element.text)
        moved = upper is not None and bool(highest) and upper not in highest
        if moved or all(abs(shown - each) > tolerance_at(place) for each in wanted):
            return Verdict(f'{role} shows "{element.text[:_FEW]}"')
        if element.given is not None:
            figure = _figure_there(place, element.given, cents.given if cents else None)
            given.append(figure is not None)
    if not found:
        return Verdict(f"{role} shows no figure")
    return Verdict(given=any(given) or not given, at=there.main(role))


def _whole_figures(there: There, role: str) -> Iterator[tuple[Place, Element, Element | None]]:
    """The elements of a role; a price in two elements is one, with its cents."""
    elements = [(place, element.alone()) for place, element in there.all(role)]
    cents = iter([element for place, element in elements if place.part == "fraction"])
    for place, element in elements:
        if place.part != "fraction":
            yield place, element, next(cents, None) if place.part else None


def _figure_there(place: Place, text: str, cents: str | None) -> Decimal | None:
    if place.part:
        return with_cents(place, text, cents or "", _WHOLE)
    return value_at(place, text, spaced=True)


def _upper_end(place: Place, text: str) -> Decimal | None:
    """The upper end of a range of prices; None where a text shows none."""
    found = figures_at(place, text, spaced=True)
    return found[0].high.value if len(found) == 1 and isinstance(found[0], PriceSpan) else None


_WHOLE = NumberUsage(whole=True)


def _word(text: str, *, words: tuple[str, ...], percent: Decimal) -> list[Piece]:
    new = words[max(1, round(percent * len(words) / 100)) - 1]
    return [Piece(*match.span(), new) for match in _any_of(words).finditer(text)]


@lru_cache(maxsize=256)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")


class Edit:
    """One change to a page: a frozen pydantic model; `InsertText` is `insert_text` in YAML.

    An edit with one argument is a `pydantic.RootModel`, so that YAML has it bare: `set_price: 19.99`.
    """

    one_product: ClassVar[bool] = False
    """Whether the edit makes no sense for every product at once."""
    readable: ClassVar[bool] = False
    """Whether `Change.after` is a text that a reader of the page sees."""
    script: ClassVar[str] = ""
    """The inline script that the edit puts into a page; empty: none."""

    @classmethod
    def kind(cls) -> str:
        """Return the edit's name in YAML, such as `set_price`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def roles(self) -> tuple[str, ...]:
        """Return the roles that the edit changes, the one that it is about first.

        The names are those on a product's own page.
        """
        raise NotImplementedError

    def role_at(self, showing: Showing) -> str:
        """Return the role that the edit is about where a product shows."""
        return self.roles()[0]

    def needs(self) -> tuple[str, ...]:
        """Return the roles without which the edit cannot be made on a product's own page."""
        return self.roles()[:1]

    def apply(self, showing: Showing) -> Change | None:
        """Make the change where the product shows. Raises CannotEdit.

        Returns None when there is nothing to change here.
        """
        raise NotImplementedError

    def attribute(self, place: Place) -> str | None:
        """Return the attribute that the edit changes at a place of its role.

        Returns None when it changes the element or its text.
        """
        return place.attribute

    def spots(self, site: SiteMap) -> Iterator[Spot]:
        """Yield what is to be read from a product's own page in a browser, to check the change."""
        for place in site.role(self.roles()[0]):
            yield Spot(place.css, self.attribute(place))

    def stands(self, there: There, done: Sequence[Change]) -> Verdict | None:
        """Check that a product's own page in a browser shows what was `done`.

        Returns None when that cannot be told. Raises NotRead.
        """
        return None

    def words(self) -> str:
        """Return the edit's own text that it shows a reader; empty when it has none."""
        return ""

    def values(self) -> Mapping[str, Decimal | str]:
        """Return the new value of each part of a product, such as `price`; data about the product follow."""
        return {}


def _check_role(role: str, info: ValidationInfo) -> str:
    known: Any = (info.context or {}).get("roles")
    if role.startswith("css:"):
        check_css(role.removeprefix("css:"))
    elif known is not None and role not in known:
        raise ValueError(f'unknown role "{role}"; {did_you_mean(role, known, noun="known roles")}')
    return role


def _check_text(text: str) -> str:
    text = _WHITE.sub(" ", text).strip(" ")
    if not text:
        raise ValueError("the text is empty; write what to show")
    return text


RoleName = Annotated[str, AfterValidator(_check_role)]
"""A role of the site map, or `css:` and a selector for a product's own page."""

Text = Annotated[str, AfterValidator(_check_text)]
"""Visible text; it may hold `${variables}`. White space counts as one space, as it does on a page."""


def figure(
    name: str, example: str, check: Callable[[Decimal], Decimal | None]
) -> Callable[[object], Decimal | str]:
    """Return a validator for a figure, or a text with `${variables}` that will become one.

    `check` returns the value as it will be shown, or None when it is out of range.
    """

    def validate(value: object) -> Decimal | str:
        if isinstance(value, str) and VARIABLE.search(value):
            return value
        try:
            number = None if isinstance(value, bool) else check(Decimal(str(value)))
        except InvalidOperation:
            number = None
        if number is None:
            raise ValueError(f'"{value}" is not {name}; write {example}')
        return number

    return validate


FIGURE_SCHEMA = WithJsonSchema(
    {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"\$\{|^[0-9.]+$"}]}
)


def filled(value: Decimal | str) -> Decimal:
    """Return the figure of a compiled edit. Raises CannotEdit when its variables are not filled in."""
    if isinstance(value, str):
        raise CannotEdit(f'the variables in "{value}" are not filled in')
    return value
