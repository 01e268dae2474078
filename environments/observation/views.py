"""The ways in which a page is shown to an agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


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

    @property
    def names_elements(self) -> bool:
        """Whether the agent is shown the marks by which actions name elements."""
        return self.html or self.tree or self.marks


Modality = Literal["html", "tree", "screenshot", "both", "marks"]
"""A way in which a page is shown.

As pruned HTML, as accessibility tree, as picture, as HTML and picture, or as a picture with marks on what can
be acted on.
"""

VIEWS: Final[Mapping[Modality, View]] = {
    "html": View(),
    "tree": View(tree=True, html=False),
    "screenshot": View(screenshot=True, html=False, pointer=True),
    "both": View(screenshot=True, pointer=True),
    "marks": View(screenshot=True, html=False, marks=True, pointer=True),
}
