"""Act at points of a page, and tell what stands there."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page
from playwright.async_api import TimeoutError as PlaywrightTimeout

from environments.observation.observe import FARTHEST, parsed
from environments.protocol.actions import EVERY, Action, ActionError, points_at
from environments.protocol.observation import storable
from interventions.data_file import read_source
from interventions.html.inline_script import called
from interventions.yaml.sitemap import Dismissal, SiteMap

BUTTONS: Final = {"left": "left", "middle": "middle", "right": "right"}
SIDE_BUTTONS: Final = ("back", "forward")
MODIFIERS: Final = ("Shift", "Control", "Alt", "Meta")
MOST_CLICKS: Final = 3
LONGEST_WAIT_MS: Final = 5_000.0
LAYER_MS: Final = 1_500
"""How long a layer may take to come, and to go."""
PRESSED: Final = "button, a, [role=button], input[type=submit], input[type=button], summary"

DESCRIBED: Final = read_source(__file__, "described.js")
HIT: Final = f"((described) => {read_source(__file__, 'hit.js')})({DESCRIBED})"
ACTED_ON: Final = f"((described) => {read_source(__file__, 'acted_on.js')})({DESCRIBED})"
NAMED: Final = f"([bid, roles]) => ({ACTED_ON})(document.querySelectorAll(`[bid='${{bid}}']`), roles)"
"""ACTED_ON for the element of a bid; without Playwright's own search, which is a script of 340 KB."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What stood at the point of an action: the element (its tag, text and mark), and the role around it.

    Of an action on an element by its mark the point is the middle of its box. `href`: where the link around
    it leads; empty where there is none. No tag: nothing stood there.
    """

    x: float
    y: float
    tag: str = ""
    text: str = ""
    bid: str = ""
    role: str = ""
    href: str = ""


async def hit_at(page: Page, x: float, y: float, site: SiteMap | None) -> Hit:
    """Return what stands at a point of the viewport."""
    try:
        read = parsed(await page.evaluate(HIT, [x, y, roles_in_json(site)]))
    except PlaywrightError:
        read = None
    return _hit(read, x, y)


def _hit(read: Any, x: float, y: float) -> Hit:
    match read:
        case {"tag": str(tag), "text": str(text), "href": str(href), "bid": str(bid), "role": str(role)}:
            return Hit(x, y, storable(tag), storable(text), storable(bid), storable(role), storable(href))
    return Hit(x, y)


def acted_on(answer: Any) -> tuple[str, tuple[Hit, ...]] | None:
    """Return what `ACTED_ON` has told: the dialog over the element, and the element; None: there is none."""
    match parsed(answer):
        case {"dialog": str(dialog), "hit": {"x": int(x) | float(x), "y": int(y) | float(y), **read}} if (
            abs(x) < FARTHEST and abs(y) < FARTHEST
        ):
            return storable(dialog), (_hit(read, x, y),)
        case {"dialog": str(dialog)}:
            return storable(dialog), ()
    return None


_DISMISS: Final = read_source(__file__, "dismiss.js")


async def dismiss(page: Page, buttons: Sequence[Dismissal]) -> None:
    """Press the buttons of a page that take its layers away, as a site map names them.

    Those that have not come after `LAYER_MS` are not there.

    Raises:
        playwright.async_api.Error: the page is gone.
    """
    for each in buttons:
        text = re.compile(rf"^\s*{re.escape(each.text)}\s*$", re.IGNORECASE) if each.text else None
        button = page.locator(each.css) if each.css else page.locator(PRESSED, has_text=text)
        with suppress(PlaywrightTimeout):
            await button.first.click(timeout=LAYER_MS)
            await button.first.wait_for(state="hidden", timeout=LAYER_MS)


def dismissing(site: SiteMap) -> str:
    """Return a script for the pages of other browsers that presses the buttons of `dismiss`; empty: none."""
    buttons = [button.model_dump() for button in site.dismiss]
    told = {"buttons": buttons, "pressed": PRESSED, "milliseconds": LAYER_MS}
    return called(_DISMISS, told) if buttons else ""


def roles_of(site: SiteMap) -> Iterator[tuple[str, str]]:
    """Yield the roles of a site map, each with a selector of one of its places."""
    return ((role, place.css) for role, places in site.roles.items() for place in places)


def roles_in_json(site: SiteMap | None) -> str:
    """Return `roles_of` as a text: Playwright takes milliseconds to pass the list itself to a page."""
    return json.dumps(list(roles_of(site)) if site else [])


def acted_at(action: Action, pointer: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    """Return the points at which an action does something: of a drag its start and its end.

    pointer: where the pointer is, at which buttons are pressed and released. A side button goes back or
    forward, and does nothing at a point. Raises ActionError.
    """
    points = points_at(action)
    if action.name == "mouse_click" and EVERY[action.name].complete(action.args)[2] in SIDE_BUTTONS:
        return ()
    if action.name in ("mouse_down", "mouse_up"):
        return (pointer,)
    return (points[0], points[-1]) if len(points) > 1 else points


async def point(page: Page, action: Action) -> str:
    """Take an action of the pointer or the keyboard; return why it cannot be taken, or an empty string.

    Raises:
        playwright.async_api.Error: the page is gone.
    """
    try:
        return await _point(page, action)
    except ActionError as error:
        return str(error)


async def _point(page: Page, action: Action) -> str:
    size = page.viewport_size or {"width": 0, "height": 0}
    args = EVERY[action.name].complete(action.args)
    points = points_at(action)
    for x, y in points:
        if not (0 <= x < size["width"] and 0 <= y < size["height"]):
            return (
                f"{action.name}: ({x:g}, {y:g}) lies outside of the picture, which is {size['width']} x "
                f"{size['height']} pixels"
            )
    match action.name, args:
        case "mouse_click", (float(x), float(y), str(button), int(count), str(modifiers)):
            if not 1 <= count <= MOST_CLICKS:
                return f"mouse_click: count must be 1 to {MOST_CLICKS}"
            if button in SIDE_BUTTONS:
                await (page.go_back() if button == "back" else page.go_forward())
                return ""
            pressed = _button(button)
            async with _held(page, modifiers):
                await page.mouse.click(x, y, button=pressed, click_count=count)
        case "mouse_move", (float(x), float(y)):
            await page.mouse.move(x, y)
        case "mouse_down", (str(button),):
            await page.mouse.down(button=_button(button))
        case "mouse_up", (str(button),):
            await page.mouse.up(button=_button(button))
        case "mouse_drag", (str(), str(button), str(modifiers)):
            pressed = _button(button)
            async with _held(page, modifiers):
                await page.mouse.move(*points[0])
                await page.mouse.down(button=pressed)
                for x, y in points[1:]:
                    await page.mouse.move(x, y)
                await page.mouse.up(button=pressed)
        case "scroll_at", (float(x), float(y), float(dx), float(dy), str(modifiers)):
            async with _held(page, modifiers):
                await page.mouse.move(x, y)
                await page.mouse.wheel(dx, dy)
                await page.evaluate(SCROLLED)
        case "keyboard_type", (str(text),):
            await page.keyboard.type(text)
        case "keyboard_hold", (str(key), float(ms)):
            if not 0 <= ms <= LONGEST_WAIT_MS:
                return f"keyboard_hold: ms must be 0 to {LONGEST_WAIT_MS:g}"
            async with AsyncExitStack() as held:
                for name in re.split(r"\+(?!$)", key):  # a plus at the end is the key itself
                    await page.keyboard.down(name)
                    held.push_async_callback(page.keyboard.up, name)
                await asyncio.sleep(ms / 1000)
        case "wait", (float(ms),):
            await asyncio.sleep(min(max(ms, 0.0), LONGEST_WAIT_MS) / 1000)
    return ""


# A wheel scrolls in the frames that follow.
SCROLLED: Final = read_source(__file__, "scrolled.js")


def _button(name: str) -> Any:
    if name not in BUTTONS:
        raise ActionError(f"button must be one of {', '.join((*BUTTONS, *SIDE_BUTTONS))}, not {name[:20]!r}")
    return BUTTONS[name]


@asynccontextmanager
async def _held(page: Page, modifiers: str) -> Any:
    names = [name for name in modifiers.split("+") if name]
    if unknown := [name for name in names if name not in MODIFIERS]:
        raise ActionError(
            f"modifiers must be of {', '.join(MODIFIERS)}, joined by +, not {unknown[0][:20]!r}"
        )
    async with AsyncExitStack() as stack:
        for name in names:
            await page.keyboard.down(name)
            stack.push_async_callback(page.keyboard.up, name)
        yield
