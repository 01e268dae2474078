"""Read what stands on a page around an observation that is not Souk's, in Playwright's synchronous API."""

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from playwright.sync_api import CDPSession, Page
from playwright.sync_api import Error as PlaywrightError

from environments.observation.closed_trees import Talk, read_closed
from environments.observation.ink import InkMoved, open_world, read_ink, take_bare
from environments.observation.observe import (
    OBSERVE,
    PICTURES,
    ObservationQuery,
    PageDisturbed,
    asked,
    inks_of,
    standing_of,
    told,
    with_texts,
)
from environments.observation.views import View
from interventions.edits.in_browser import PageElements

T = TypeVar("T")


def observe_around(
    page: Callable[[], Page], view: View, wanted: ObservationQuery, observe: Callable[[], T]
) -> tuple[T, tuple[PageElements, PageElements]]:
    """Observe the page that is active; return this, and what stood there before it and after it.

    A page that leads on meanwhile is observed again. The texts that must stand nowhere are those of the
    whole page: the reader of a tree is given them all.

    Raises:
        PageDisturbed: the page leads on without end, or cannot be read.
        playwright.sync_api.Error: the page is gone, or has just navigated.
    """
    url, before = _read(page(), view, wanted)
    for _ in range(PICTURES):
        observation = observe()
        now, after = _read(page(), view, wanted)
        if url == now:
            return observation, (before, after)
        url, before = now, after
    raise PageDisturbed("the page does not hold still for its observation")


def _read(page: Page, view: View, wanted: ObservationQuery) -> tuple[str, PageElements]:
    """The address of a page, and what stands there."""
    session = page.context.new_cdp_session(page)
    try:
        (world,) = _held(open_world(), session)
        told_of = partial(_told, session, world)
        url, standing = told_of(view, wanted)
        if wanted.own:
            _, whole = told_of(replace(view, page="whole"), replace(wanted, spots=()))
            standing = _with_texts_of(whole, standing)
        return url, standing
    finally:
        with suppress(PlaywrightError):
            session.detach()


def _with_texts_of(whole: PageElements, standing: PageElements) -> PageElements:
    """Raises PageDisturbed: the page has got other cards meanwhile."""
    pairs = [*zip(standing.cards, whole.cards, strict=False)]
    if len(standing.cards) != len(whole.cards) or any(card.link != other.link for card, other in pairs):
        raise PageDisturbed("the page does not hold still for its observation")
    cards = tuple(
        replace(
            card,
            standing=replace(card.standing, own=other.standing.own, pictures=other.standing.pictures),
        )
        for card, other in pairs
    )
    return replace(standing, own=whole.own, pictures=whole.pictures, cards=cards)


def _told(session: CDPSession, world: int, view: View, wanted: ObservationQuery) -> tuple[str, PageElements]:
    argument = asked(view, (), wanted, marks=False)
    call = {"executionContextId": world, "functionDeclaration": OBSERVE, "arguments": [{"value": argument}]}
    for _ in range(PICTURES):
        seen = told(session.send("Runtime.callFunctionOn", call)["result"].get("value"))
        with suppress(InkMoved):
            inks = _inks(session, world, seen["inks"])
            standing = standing_of(seen, wanted, inks_of(seen, inks))
            if wanted.own and seen.get("closed"):
                standing = with_texts(standing, _held(read_closed(world), session))
            return seen["url"], standing
    raise PageDisturbed("the page does not hold still for its picture")


def _inks(session: CDPSession, world: int, texts: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """What of the texts can be read in a picture. Raises InkMoved: the page has changed meanwhile."""
    if not texts:
        return []
    picture = b64decode(session.send("Page.captureScreenshot", {"format": "png"})["data"])
    (bare,) = _held(take_bare(world, texts), session)
    return _held(read_ink(bare, picture), session)


def _held(talk: Talk, session: CDPSession) -> list[Any]:
    """What a talk with the browser leads to."""
    try:
        command = next(talk)
        while True:
            command = talk.send(session.send(*command))
    except StopIteration as end:
        return list(end.value)
