"""Check in a browser's page that an edited place shows what the edit made."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Final, Literal
from urllib.parse import urljoin

from interventions.edits.place_values import figures_at, tolerance_at, value_at, with_cents
from interventions.edits.showing import Change
from interventions.html.numbers import NumberUsage
from interventions.html.ranges import PriceSpan
from interventions.yaml.sitemap import Place, SiteMap

Where = Literal["before", "after", "inside"]

_FEW = 60
_WHOLE = NumberUsage(whole=True)

_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Soft hyphen, zero-width space, word joiner, byte order mark: they only say where a line may be broken."""
_IDLE_JOINERS = re.compile("(?<![^\u0000-\u052f\u1e00-\u200b\u200e-\u206f])[\u200c\u200d]+")
"""Zero-width (non-)joiners after Latin, Greek and Cyrillic letters, figures and signs.

They change nothing there; after others (Arabic and Indic letters, emoji) they change what is drawn.
"""


@dataclass(frozen=True, slots=True)
class ElementQuery:
    """Elements of a page to read, whoever is shown them: their text, or an attribute.

    `part`: a selector; the attribute is that of the first such element inside. The attribute `#text` stands
    for all text in the element, also in a script, `#comment` for the comments beside and in it, `#look` for
    its inline style, and `#default` for the label of an option that is chosen from the start. In a card
    `:scope` is the card itself.
    """

    css: str
    attribute: str | None = None
    part: str | None = None


PICTURES: Final = ElementQuery("img", "src")
"""All pictures of a page."""


@dataclass(frozen=True, slots=True)
class CardQuery:
    """What to read of all cards of a kind (`group`), which `css` finds.

    `link` leads to the product that a card shows; `spots` are read of each card by itself.
    """

    group: str
    css: str
    link: ElementQuery
    spots: tuple[ElementQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class ScreenBox:
    """Where an element is on the screen: its box in pixels from the upper left corner of the viewport.

    `why`: why nothing of its text can be read there; empty where something can, and where it has no text.
    """

    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    why: str = ""


NOWHERE: Final = ScreenBox()


@dataclass(frozen=True, slots=True)
class InsertedElement:
    """An element that an edit may have put `before`, `after` or `inside` another element."""

    where: str
    text: str
    given: str
    on_screen: ScreenBox = NOWHERE


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a page: its text, or an attribute, in the form of `as_read`.

    `given`: the part of it that the reader was given; None: an attribute that no reader is ever given.
    `bid`: the mark by which the reader can act on it, or on what is in it; empty where there is none.
    `in_list`: a number that elements of the same spot share where they have the same parent.
    """

    text: str
    given: str | None
    beside: tuple[InsertedElement, ...] = ()
    on_screen: ScreenBox = NOWHERE
    bid: str = ""
    in_list: int = 0

    def alone(self) -> "Element":
        """Return the element without what edits have put inside."""
        text, given = self.text, self.given
        for each in self.beside:
            if each.where == "inside":
                text = text.replace(each.text, "", 1)
                given = given and given.replace(each.given, "", 1)
        return replace(self, text=as_read(text), given=given and as_read(given))


@dataclass(frozen=True, slots=True)
class PageElements:
    """The elements of a page at each spot (None: the browser does not know the selector).

    `own`: the texts that the reader was given outside of cards, in the form of `as_read`, one line each;
    empty unless asked for. `pictures`: the addresses of the pictures there, if the reader is given pictures.
    `cards`: the page's cards.
    """

    found: Mapping[ElementQuery, tuple[Element, ...] | None]
    own: str = ""
    pictures: frozenset[str] = frozenset()
    cards: tuple["CardElements", ...] = ()


@dataclass(frozen=True, slots=True)
class CardElements:
    """A card of a page: the address that leads to its product, and what stands in it.

    `on_screen.why`: why nothing of it can be seen; then nothing else of it was read.
    """

    group: str
    link: str
    on_screen: ScreenBox
    standing: PageElements


class PlaceNotRead(LookupError):
    """A place has not been read, so nothing can be said of it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check in the browser: what is wrong with the page, or an empty text.

    `given`: whether the reader was given what the edit made. `at`: the elements that show it. `hidden`: a
    text that stands where people do not look, so that nothing is wrong where the reader was not given it.
    """

    problem: str = ""
    given: bool = True
    at: tuple[Element | InsertedElement, ...] = ()
    hidden: str = ""


class PagePlaces:
    """The places of a product's own page in a browser, by role. Raises PlaceNotRead.

    url: the page's address.
    """

    def __init__(self, site: SiteMap, standing: PageElements, url: str = "") -> None:
        self._site, self._found, self._url = site, standing.found, url

    def pictures_from(self, address: str) -> tuple[Element, ...]:
        """Return the page's pictures from an address, which may be relative. They are read at `PICTURES`."""
        wanted = urljoin(self._url, address)
        return tuple(
            each for each in self.every(PICTURES) if each.text and urljoin(self._url, each.text) == wanted
        )

    def every(self, spot: ElementQuery) -> tuple[Element, ...]:
        """Return the elements at a spot of no role; none where it was not read."""
        return self._found.get(spot) or ()

    def at(self, place: Place, attribute: str | None) -> tuple[Element, ...]:
        """Return the elements of a place."""
        found = self._found.get(ElementQuery(place.css, attribute))
        if found is None:
            raise PlaceNotRead(place.css)
        return found

    def main(self, role: str, attribute: str | None = None) -> tuple[Element, ...]:
        """Return the elements of a role's first place, with their text or `attribute`.

        `attribute` None: the attribute that the place names, if it names one.
        """
        place = self._site.role(role)[0]
        return self.at(place, attribute or place.attribute)

    def beside(self, role: str) -> tuple[InsertedElement, ...]:
        """Return what edits may have put beside the elements of a role; nothing where these were not read."""
        return tuple(
            inserted
            for place in self._site.role(role)[:1]
            for element in self._found.get(ElementQuery(place.css, place.attribute)) or ()
            for inserted in element.beside
        )

    def places(self, role: str) -> tuple[Place, ...]:
        """Return the places of a role."""
        return self._site.role(role)

    def all(self, role: str) -> Iterator[tuple[Place, Element]]:
        """Yield the elements of all places of a role."""
        for place in self._site.role(role):
            for element in self.at(place, place.attribute):
                yield place, element


def as_read(text: str) -> str:
    """Return a text as a reader sees it: without characters that nobody sees, white space as one space."""
    return " ".join(_IDLE_JOINERS.sub("", _UNSEEN.sub("", text)).split())


def inserted(there: PagePlaces, role: str, where: Where, fits: Callable[[str], bool], text: str) -> Verdict:
    """Check that a text for which `fits` holds is the whole text of an element where an edit put it.

    What stands beside a cell of a table stands in it.
    """
    found = [
        each for element in there.main(role) for each in element.beside if each.where in (where, "inside")
    ]
    standing = [each for each in found if fits(each.text)]
    if not standing:
        return Verdict(f"{text!r} does not stand {where} {role}")
    return Verdict(given=any(fits(each.given) for each in standing), at=tuple(standing))


def is_one_of(texts: Iterable[str]) -> Callable[[str], bool]:
    """Return a test whether a text is one of `texts`, which may be cut (and then end in `…`)."""
    wanted = [as_read(text) for text in texts]

    def fits(text: str) -> bool:
        return any(
            text.startswith(each[:-1]) if each.endswith("…") and len(each) > 1 else text == each
            for each in wanted
        )

    return fits


def holds(text: str, wanted: str) -> bool:
    """Return whether a text, `as_read`, holds `wanted` as whole words or figures: 9.99 is not in 19.99."""
    wanted = as_read(wanted)
    return bool(wanted) and re.search(bounded(wanted), text) is not None


def bounded(wanted: str) -> str:
    """Return a regular expression for a text that is not part of a longer word or figure."""
    return _bounded(wanted, re.escape(wanted))


def in_pieces(wanted: str, *, alone: bool = False) -> re.Pattern[str]:
    """Return a regular expression for a text in lines: in one of them or in several, in whatever case.

    alone: these lines hold nothing else. A text that begins with a figure has its figures in one piece: the
    lines `1` and `9.99 €` are no 19.99 €.
    """
    letters = "".join(wanted.split())
    pattern = re.escape(letters[:1])
    for before, letter in pairwise(letters):
        gap = "" if letters[0].isdigit() and before.isdigit() and letter.isdigit() else r"\s*"
        pattern += gap + re.escape(letter)
    return re.compile(rf"(?im)^\s*{pattern}\s*$" if alone else f"(?i){_bounded(wanted, pattern)}")


def _bounded(wanted: str, pattern: str) -> str:
    before = r"(?<!\w)(?<!\d[.,])" if re.match(r"\w", wanted) else ""
    after = r"(?!\w)(?![.,]\d)" if re.search(r"\w\Z", wanted) else ""
    return f"{before}{pattern}{after}"


def figure_stands(there: PagePlaces, role: str, value: Decimal, done: Sequence[Change]) -> Verdict:
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


def _whole_figures(there: PagePlaces, role: str) -> Iterator[tuple[Place, Element, Element | None]]:
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
