"""What all edits have in common, and the places on a page where they work."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema
from selectolax.lexbor import LexborNode

from interventions.edits.in_browser import Spot, There, Verdict
from interventions.errors import CannotEdit
from interventions.html.numbers import (
    UNKNOWN,
    Figure,
    Usage,
    figure_within,
    figures,
    machine_figure,
    on_scale,
    one_line,
    rating_out_of,
)
from interventions.html.page import Page, Piece, Where
from interventions.yaml.notations import check_css
from interventions.yaml.sitemap import Place, SiteMap
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import did_you_mean

LONGEST = 2000
"""The longest text, in characters, in which a figure is looked for."""
_FEW = 60
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


@dataclass(frozen=True)
class Showing:
    """Where a product shows: on its own page (`group` product), in a card (item) or a cart row (row).

    The group `page` is the page as a whole.
    """

    page: Page
    site: SiteMap
    group: str
    root: LexborNode | None = None

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

    def write(self, role: str, value: Decimal) -> Change:
        """Write another figure into every place of a role; the first place has to hold a figure."""
        self.main(role)
        done = []
        for target in self.all(role):
            place = target.place
            change: Callable[[str], Sequence[Piece]] = partial(self._figures, role, target, value)
            if place.words:
                change = partial(_word, words=place.words, percent=value)
            texts = self.page.replace(target.node, target.attribute, change)
            if texts:
                done.append(texts)
            elif not done:
                raise CannotEdit(f'no figure in "{self.value(target)}"')
        return Change(len(done), *done[0])

    def _figures(self, role: str, target: Target, value: Decimal, text: str) -> list[Piece]:
        place = target.place
        written, padded = on_scale(value, place.scale), place.scale is None
        return [
            Piece(figure.start, figure.end, figure.write(written, padded=padded))
            for figure in figures_at(place, text, self.usage(role))
        ]

    def usage(self, role: str) -> Usage:
        """Return what the page says of its figures, as far as it concerns a role: counts have no decimals."""
        return UNKNOWN if role.endswith((".reviews", ".quantity")) else self.page.usage

    def number(self, target: Target, role: str) -> Decimal | None:
        """Return the figure that a target shows, ratings in percent; None unless it shows exactly one."""
        shown, raw = self.value(target), self.page.raw(target.node, target.attribute)
        return value_at(target.place, raw if one_line(raw) == shown else shown, self.usage(role))

    def write_text(self, role: str, text: str) -> Change:
        """Write a text into a role's first place, and into its other places where they hold the old text."""
        first, *others = self.main(role)
        before, after = self._write_text(first, text)
        matches = 1
        for target in (*others, *(t for t in self.all(role) if t.place != first.place)):
            value = self.value(target)
            if before and before in value:
                self._write_text(target, value.replace(before, after))
                matches += 1
        return Change(matches, before, after)

    def _write_text(self, target: Target, text: str) -> tuple[str, str]:
        if target.attribute:
            return self.page.set_attribute(target.node, target.attribute, text)
        return self.page.set_text(target.node, text)

    def insert(
        self, node: LexborNode, where: Where, markup: str, *, style: str = "", script: str = ""
    ) -> None:
        """Put an element beside or into a node; `style` and `script` are its inline style and script."""
        self.page.styles |= {style} - {""}
        self.page.scripts |= {script} - {""}
        self.page.insert(node, where, markup.encode(self.page.output, "xmlcharrefreplace"))


def figures_at(place: Place, text: str, usage: Usage = UNKNOWN, *, spaced: bool = False) -> list[Figure]:
    """Return the figures of a text that give the value of a place: one, where the text is as expected."""
    if place.pattern:
        # A site map's own pattern may take long on what it does not expect.
        match = re.search(place.pattern, text) if len(text) <= LONGEST else None
        figure = figure_within(text, *match.span(1), usage) if match and match[1] else None
        return [figure] if figure else []
    if place.attribute and (machine := machine_figure(text.strip())):
        return [machine]
    found = figures(text, usage, spaced=spaced)
    rating = rating_out_of(found, place.scale) if place.scale else None
    return [rating] if rating else found


def value_at(place: Place, text: str, usage: Usage = UNKNOWN, *, spaced: bool = False) -> Decimal | None:
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


def tolerance_at(place: Place) -> Decimal:
    """Return half of the last decimal for ratings on a scale such as 0 to 5, else 0."""
    scale = len(place.words) or place.scale
    return Decimal(5) / scale if scale else Decimal(0)


def figure_stands(there: There, role: str, value: Decimal, done: Sequence[Change]) -> Verdict:
    """Check that every figure at the places of a role is the one that an edit wrote there."""
    main, *_ = there.places(role)
    wanted = {value, *filter(None, (value_at(main, change.after, spaced=True) for change in done))}
    given: list[bool] = []
    for place, element in there.all(role):
        shown = value_at(place, element.text, spaced=True)
        if shown is None:
            continue
        if all(abs(shown - each) > tolerance_at(place) for each in wanted):
            return Verdict(f'{role} shows "{element.text[:_FEW]}"')
        if element.given is not None:
            given.append(value_at(place, element.given, spaced=True) is not None)
    if not any(value_at(main, element.text, spaced=True) is not None for element in there.main(role)):
        return Verdict(f"{role} shows no figure")
    return Verdict(given=any(given) or not given, at=there.main(role))


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

    @classmethod
    def kind(cls) -> str:
        """Return the edit's name in YAML, such as `set_price`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def roles(self) -> tuple[str, ...]:
        """Return the roles that the edit changes, the one that it is about first.

        The names are those on a product's own page.
        """
        raise NotImplementedError

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
