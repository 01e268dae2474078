"""Look at a page: its pruned HTML by one call inside the page; a tree and a screenshot on request."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from environments.observation.accessibility import read_tree
from environments.observation.closed_trees import Talk, read_closed
from environments.observation.ink import InkMoved, open_world, read_ink, take_bare
from environments.observation.picture import (
    drawn_in_picture,
    is_covered,
    make_ready,
    marked_in,
    take_picture,
    with_marks,
)
from environments.observation.stops import Stop
from environments.observation.views import View
from environments.observation.zoom import ViewportPart, in_part, take_part
from environments.protocol.observation import Box, VisibleElement, storable
from interventions.data_file import read_source
from interventions.edits.in_browser import (
    CardElements,
    CardQuery,
    Element,
    ElementQuery,
    InsertedElement,
    PageElements,
    ScreenBox,
    as_read,
)

LEGIBLE: Final = read_source(__file__, "legible.js")
_DRAWN_ON: Final = read_source(__file__, "drawn_on.js")
OBSERVE: Final = f"((placesOf, drawnOn) => {read_source(__file__, 'observe.js')})({LEGIBLE}, {_DRAWN_ON})"

PICTURES: Final = 12
"""How often a picture is taken until the page has not changed meanwhile."""


Inks = Sequence[tuple[float | None, str]]
"""The contrast of each text in a picture (None: it is illegible), and the words for why it may be so."""


@dataclass(frozen=True, slots=True)
class ObservationQuery:
    """What a look reads besides the observation; the agent is told none of it.

    `spots` are read of the page, `cards` of each of its cards. `own`: whether to read the texts of the
    observation too, those of each card by themselves. `drawn`:
    selectors of what a product's page has to show before it is looked at, where scripts draw the pages.
    `pictures`: whether to read the pictures of the observation too, in the same way. `rectangles`:
    the selectors of what is a card, where the texts and controls are to be read that can be seen in a
    picture, which simulated shoppers look at; None: they are not.
    """

    spots: tuple[ElementQuery, ...] = ()
    own: bool = False
    cards: tuple[CardQuery, ...] = ()
    drawn: tuple[str, ...] = ()
    pictures: bool = False
    rectangles: tuple[str, ...] | None = None


NOTHING: Final = ObservationQuery()


@dataclass(frozen=True, slots=True)
class PageObservation:
    """The contents of a page. `stop` is the index of the stop condition that holds, or -1.

    `said` is its text.
    """

    html: str
    title: str
    url: str
    stop: int
    said: str
    tree: str
    screenshot: bytes
    standing: PageElements
    drawn: tuple[VisibleElement, ...] = ()


class PageDisturbed(Exception):
    """The page has replaced functions that the call inside it uses."""


async def observe(
    page: Page,
    view: View,
    stops: Sequence[Stop],
    wanted: ObservationQuery = NOTHING,
    part: ViewportPart | None = None,
) -> PageObservation:
    """Look at a page; the observation is the same whatever else is `wanted`.

    `part`: the part of the viewport that the picture is to show; None: all of it.

    Raises:
        PageDisturbed: the page's scripts make it impossible.
        playwright.async_api.Error: the page is gone, or has just navigated.
    """
    inks: Inks = ()
    if view.screenshot:
        seen, picture, inks = await _pictured(page, view, stops, wanted, part)
    else:
        seen, picture = await _read(page, view, stops, wanted), b""
    standing = standing_of(seen, wanted, inks)
    tree = ""
    unread = seen.get("closed") and view.screenshot and wanted.own
    if view.tree or unread:
        session = await page.context.new_cdp_session(page)
        if view.tree:
            tree = await read_tree(session, seen["shown"])
        if unread:
            standing = with_texts(standing, await _held(read_closed(), session))
        await session.detach()
    drawn, marked = drawn_in_picture(seen.get("drawn"), inks), marked_in(seen.get("marked"))
    if drawn is None or marked is None:
        raise PageDisturbed("the page's scripts disturb the observation")
    if view.marks and part:
        picture, _ = with_marks(picture, in_part(marked, part))
    elif view.marks:
        picture, labels = with_marks(picture, marked)
        standing = _uncovered(standing, labels)
        drawn = tuple(each for each in drawn if not is_covered(each.box, labels))
    html, title = storable(seen["html"]) if view.html else "", storable(seen["title"])
    return PageObservation(
        html,
        title,
        seen["url"],
        seen["stop"],
        storable(seen["said"]),
        storable(tree),
        picture,
        standing,
        drawn,
    )


async def _read(page: Page, view: View, stops: Sequence[Stop], wanted: ObservationQuery) -> Any:
    return told(await page.evaluate(OBSERVE, asked(view, tuple(stops), wanted)), len(stops))


async def _held(talk: Talk, session: CDPSession) -> list[Any]:
    """What a talk with the browser leads to."""
    try:
        command = next(talk)
        while True:
            command = talk.send(await session.send(*command))
    except StopIteration as end:
        return list(end.value)


async def _pictured(
    page: Page, view: View, stops: Sequence[Stop], wanted: ObservationQuery, part: ViewportPart | None
) -> tuple[Any, bytes, Inks]:
    """What a page shows, its picture, and what can be read there: all stands there before it and after it."""
    await make_ready(page)
    session = await page.context.new_cdp_session(page)
    try:
        (world,) = await _held(open_world(), session)
        before = await _read(page, view, stops, wanted)
        for _ in range(PICTURES):
            picture = await (take_part(page, part) if part else take_picture(page))
            with suppress(InkMoved):
                same = blake2b(picture + repr([part, *map(before.get, (*_STILL, "inks"))]).encode()).digest()
                inks = _known_inks.get(same)
                is_asked = inks is None and before["inks"] and not part
                bare = await _held(take_bare(world, before["inks"]), session) if is_asked else []
                after = await _read(page, view, stops, wanted)
                if all(before.get(name) == after.get(name) for name in _STILL):
                    if inks is None:
                        inks = [each for it in bare for each in await _held(read_ink(it, picture), session)]
                        _remember(same, inks)
                    return after, picture, inks_of(after, inks)
                before = after
                continue
            before = await _read(page, view, stops, wanted)
        raise PageDisturbed("the page does not hold still for its picture")
    finally:
        with suppress(PlaywrightError):
            await session.detach()


_known_inks: Final[dict[bytes, list[float | None]]] = {}
"""What could be read in pictures that were seen before, by their bytes and what stands where in them."""


def _remember(same: bytes, inks: list[float | None]) -> None:
    if len(_known_inks) >= _MOST_KNOWN:
        _known_inks.clear()
    _known_inks[same] = inks


def _uncovered(standing: PageElements, labels: Sequence[Box]) -> PageElements:
    """What stands on a page, less what labels cover in the picture."""

    def hides(at: ScreenBox) -> bool:
        return is_covered((at.x, at.y, at.width, at.height), labels)

    def other(each: InsertedElement) -> InsertedElement:
        if not hides(each.on_screen):
            return each
        return replace(each, given="", on_screen=replace(each.on_screen, why=_UNDER))

    def element(each: Element) -> Element:
        each = replace(each, beside=tuple(map(other, each.beside)))
        if not each.given or not hides(each.on_screen):
            return each
        return replace(each, given="", on_screen=replace(each.on_screen, why=_UNDER))

    found = {spot: None if its is None else tuple(map(element, its)) for spot, its in standing.found.items()}
    cards = tuple(replace(card, standing=_uncovered(card.standing, labels)) for card in standing.cards)
    return replace(standing, found=found, cards=cards)


@lru_cache(maxsize=64)
def asked(view: View, stops: tuple[Stop, ...], wanted: ObservationQuery, *, marks: bool = True) -> str:
    """Return what the call inside the page is to read, as JSON; `marks`: whether it marks elements."""
    return json.dumps(
        {
            "wholePage": view.page == "whole",
            "tree": view.tree,
            "picture": view.screenshot,
            "onlyPicture": view.screenshot and not view.html,
            "marks": marks,
            "rectangles": wanted.rectangles,
            "stops": [asdict(stop) for stop in stops],
            "places": [asdict(spot) for spot in wanted.spots],
            "ownTexts": wanted.own,
            "ownPictures": wanted.pictures,
            "cards": [asdict(kind) for kind in wanted.cards],
        }
    )


def told(answer: Any, stops: int = 0) -> Any:
    """Return what the call inside the page has read, of so many stop conditions. Raises PageDisturbed."""
    seen = parsed(answer)
    if not _is_sound(seen, stops):
        raise PageDisturbed("the page's scripts disturb the observation")
    return seen


def parsed(answer: Any) -> Any:
    """Return what a script of ours has told in JSON; None where it is nothing that we wrote."""
    try:
        return json.loads(answer)
    except (TypeError, ValueError, RecursionError):
        return None


def inks_of(seen: Any, inks: Sequence[float | None]) -> Inks:
    """Return the inks of a page with the words that its script has for them."""
    return [(ink, storable(each["why"])) for ink, each in zip(inks, seen["inks"], strict=False)]


def standing_of(read: Any, wanted: ObservationQuery, inks: Inks = ()) -> PageElements:
    """Return what a page's script has `read` at the spots (`found`), the texts beside, and in cards.

    inks: what of it can be read in the picture, where the reader is given one.

    Raises:
        PageDisturbed: it is not what our script makes.
    """
    match read:
        case {"cards": [*cards]}:
            its = tuple(_card(card, wanted.cards, inks) for card in cards)
            return replace(_standing(read, wanted.spots, inks), cards=its)
    raise PageDisturbed("the page's scripts disturb the observation")


def _standing(read: Any, spots: Sequence[ElementQuery], inks: Inks) -> PageElements:
    match read:
        case {"found": [*found], "own": str(own), "pictures": [*pictures]} if (
            len(found) == len(spots)
            and all(each is None or _are_elements(each) for each in found)
            and all(isinstance(each, str) for each in pictures)
        ):
            return PageElements(
                {spot: _elements(each, inks) for spot, each in zip(spots, found, strict=True)},
                "\n".join(map(_text, own.split("\n"))),
                frozenset(map(storable, pictures)),
            )
    raise PageDisturbed("the page's scripts disturb the observation")


def with_texts(standing: PageElements, texts: Sequence[str]) -> PageElements:
    """Return what stands on a page, with further texts of the observation."""
    return replace(standing, own="\n".join((standing.own, *map(_text, texts))))


def _card(read: Any, kinds: Sequence[CardQuery], inks: Inks) -> CardElements:
    match read:
        case {"kind": int(number), "link": str(link)} if 0 <= number < len(kinds) and _is_on_screen(read):
            kind, box = kinds[number], _on_screen(read, inks)
            standing = PageElements({}) if box.why else _standing(read, kind.spots, inks)
            return CardElements(kind.group, storable(link), box, standing)
    raise PageDisturbed("the page's scripts disturb the observation")


def _elements(found: Any, inks: Inks) -> tuple[Element, ...] | None:
    if found is None:
        return None
    return tuple(
        Element(
            # Nobody reads an attribute that is never given: every character of it counts.
            " ".join(storable(each["text"]).split()) if each["given"] is None else _text(each["text"]),
            None if each["given"] is None else _given(each["given"], inks),
            tuple(
                InsertedElement(
                    storable(other["where"]),
                    _text(other["text"]),
                    _given(other["given"], inks),
                    _on_screen(other, inks),
                )
                for other in each["beside"]
            ),
            _on_screen(each, inks),
            storable(each["bid"]),
            each["list"],
        )
        for each in found
    )


def _given(given: Any, inks: Inks) -> str:
    """The text that a reader was given: in a picture, its pieces that can be read there."""
    if isinstance(given, str):
        return _text(given)
    return _text("".join(text for text, numbers in given if not numbers or any(_is_read(numbers, inks))))


def _is_read(numbers: Sequence[int], inks: Inks) -> Iterator[bool]:
    """Whether each of what is numbered can be read in the picture; without a picture all can."""
    return (not 0 <= number < len(inks) or inks[number][0] is not None for number in numbers)


def _on_screen(found: Any, inks: Inks) -> ScreenBox:
    x, y, width, height = found["box"]
    why, numbers = storable(found["why"]), found.get("inks", ())
    if not why and numbers and not any(_is_read(numbers, inks)):
        why = inks[numbers[0]][1]
    return ScreenBox(x, y, width, height, why)


def _text(text: str) -> str:
    return as_read(storable(text))


def _is_sound(seen: Any, stops: int) -> bool:
    match seen:
        case {
            "html": str(), "title": str(), "url": str(), "stop": int(stop), "said": str(), "shown": [*shown],
            "inks": [*inks],
        }:  # fmt: skip
            told = all(_is_ink(each) for each in inks)
            return told and -1 <= stop < stops and all(isinstance(index, int) for index in shown)
    return False


def _is_ink(each: Any) -> bool:
    match each:
        case {"at": int(), "says": str(), "why": str()}:
            return True
    return False


def _are_elements(found: Any) -> bool:
    return isinstance(found, list) and all(map(_is_element, found))


def _is_element(each: Any) -> bool:
    match each:
        case {"text": str(), "given": given, "bid": str(), "list": int(), "beside": [*others]}:
            is_given = given is None or _is_given(given)
            return is_given and _is_on_screen(each) and all(map(_is_inserted, others))
    return False


def _is_inserted(other: Any) -> bool:
    match other:
        case {"where": str(), "text": str(), "given": given}:
            return _is_given(given) and _is_on_screen(other)
    return False


def _is_given(given: Any) -> bool:
    """Whether it is a text, or the pieces of one with their numbers."""
    return isinstance(given, str) or (isinstance(given, list) and all(map(_is_piece, given)))


def _is_piece(piece: Any) -> bool:
    match piece:
        case [str(), [*numbers]]:
            return all(isinstance(number, int) for number in numbers)
    return False


def _is_on_screen(found: Any) -> bool:
    match found:
        case {"box": [int(), int(), int(), int()] as box, "why": str()}:
            numbers = found.get("inks", [])
            are_numbers = isinstance(numbers, list) and all(isinstance(each, int) for each in numbers)
            return are_numbers and all(abs(side) < FARTHEST for side in box)
    return False


_MOST_KNOWN: Final = 10_000
_STILL: Final = ("found", "cards", "marked", "drawn", "url", "stop")
"""What has to be the same before a picture is taken and after."""
_UNDER: Final = "covered by a mark"
FARTHEST: Final = 1 << 31
"""No page is so wide or high, in pixels; databases hold smaller numbers."""
