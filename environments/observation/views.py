"""The ways in which a shop is shown to an agent: a page in one of several forms, or data without a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from environments.protocol.actions import Interface


@dataclass(frozen=True, slots=True)
class View:
    """The settings of an observation: what it holds beside the tabs and the last error."""

    page: Literal["viewport", "whole"] = "viewport"
    """How much of the page is shown, as HTML and as tree."""
    tree: bool = False
    """Whether the accessibility tree is shown too."""
    screenshot: bool = False
    """Whether a PNG of the viewport is shown too."""
    html: bool = True
    """Whether the HTML is shown."""
    marks: bool = False
    """Whether the marks of the elements are drawn into the picture."""
    pointer: bool = False
    """Whether the agent may act at points of the picture."""
    interface: Interface = "page"
    """What the agent meets the shop by; other interfaces than pages show none of them."""

    @property
    def names_elements(self) -> bool:
        """Whether the agent is shown the marks by which actions name elements."""
        return self.html or self.tree or self.marks


Modality = Literal["html", "tree", "screenshot", "both", "marks", "feed", "mcp"]
"""A way in which a shop is shown.

A page as pruned HTML, as accessibility tree, as picture, as HTML and picture, or as a picture with marks on
what can be acted on; without pages, the products as data at once (`feed`), or the shop's tools (`mcp`).
"""

VIEWS: Final[Mapping[Modality, View]] = {
    "html": View(),
    "tree": View(tree=True, html=False),
    "screenshot": View(screenshot=True, html=False, pointer=True),
    "both": View(screenshot=True, pointer=True),
    "marks": View(screenshot=True, html=False, marks=True, pointer=True),
    "feed": View(html=False, interface="feed"),
    "mcp": View(html=False, interface="mcp"),
}
