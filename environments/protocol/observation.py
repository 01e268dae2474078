"""What an agent sees: pruned HTML of the active tab, the open tabs, the last error, more on request."""

from dataclasses import dataclass
from typing import Literal

from environments.protocol.actions import Interface, Signature, offered
from environments.protocol.shown_product import ShownProduct

Box = tuple[int, int, int, int]
"""Left, top, width and height, in pixels of the picture."""


@dataclass(frozen=True, slots=True)
class VisibleElement:
    """A text or control that can be seen in a picture.

    `kind`: text, link, button, radio, checkbox, list or field. `box`: left, top, width, height in pixels of
    the picture. `size`: of its letters in pixels; `contrast`: of the ink with its ground (WCAG 2, 1 to 21).
    `card`: the number of the card of a list on which it stands; -1: on none.
    """

    kind: str
    text: str
    box: Box
    size: float
    contrast: float
    card: int = -1

    @property
    def centre(self) -> tuple[float, float]:
        """The point in the middle of the box."""
        left, top, width, height = self.box
        return left + width / 2, top + height / 2


@dataclass(frozen=True, slots=True)
class Tab:
    """An open browser tab."""

    title: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True)
class ShopTool:
    """A tool that a shop offers: its name, its description, and the JSON Schema of its arguments as text."""

    name: str
    description: str
    schema: str


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the browser before one action.

    `html` holds what is visible in the active tab, in its viewport or on its whole `page`; interactive
    elements carry a `bid` attribute, which actions name. `error` is why the last action failed, or empty.
    `step` counts from 0. `tree` is the accessibility tree of what `html` shows, and `screenshot` a PNG of the
    viewport; both are empty unless they were asked for. `product` is what stands at the site map's roles on a
    product's page, and `drawn` what can be seen in the picture; language models are told neither.

    `marks`: whether elements can be named by their marks; `pointer`: whether points of the picture can be
    acted on. `html` is empty where the page is shown in another way. `arrived`: whether the last action led
    to another page or tab. `zoomed`: whether the picture is a part of the viewport, enlarged.

    By an `interface` without pages there are no tabs: `data` is what the shop has answered last, as JSON, and
    `shop_tools` are those that it offers. `orders`: whether an order is to be placed there.
    """

    goal: str
    html: str
    tabs: tuple[Tab, ...]
    error: str = ""
    step: int = 0
    tree: str = ""
    screenshot: bytes = b""
    page: Literal["viewport", "whole"] = "viewport"
    product: ShownProduct | None = None
    drawn: tuple[VisibleElement, ...] = ()
    marks: bool = True
    pointer: bool = False
    arrived: bool = False
    zoomed: bool = False
    interface: Interface = "page"
    data: str = ""
    shop_tools: tuple[ShopTool, ...] = ()
    orders: bool = False

    @property
    def active_tab(self) -> int:
        """Index of the active tab."""
        return next(index for index, tab in enumerate(self.tabs) if tab.active)

    @property
    def actions(self) -> dict[str, Signature]:
        """What can be done now, by its name."""
        return offered(marks=self.marks, pointer=self.pointer, interface=self.interface, orders=self.orders)


def storable(text: str) -> str:
    """Return the text with a question mark for each half of a character.

    Such halves (surrogates) cannot be sent or stored.
    """
    return text.encode(errors="replace").decode()
