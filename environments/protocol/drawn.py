"""What can be seen in a picture of a page."""

from dataclasses import dataclass

Box = tuple[int, int, int, int]
"""Left, top, width and height, in pixels of the picture."""


@dataclass(frozen=True, slots=True)
class Drawn:
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
