"""style: another look of an element, such as its background or its size; its words stay."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import BaseModel, Field, model_validator

from interventions.edits.base import Edit, Leftover, ObservedIn, RoleName
from interventions.edits.in_browser import PagePlaces, Verdict
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import Place

Colour = Literal["black", "white", "grey", "red", "orange", "yellow", "green", "blue", "purple", "pink"]
"""Colours that CSS has by these names."""
_IN_LINES: Final = frozenset({"a", "abbr", "b", "em", "i", "label", "mark", "small", "span", "strong"})
_LAST_WORD: Final = "!important"


class Style(Edit, BaseModel, frozen=True, extra="forbid"):
    """Gives the element of a role another look; the role of a card, such as `item`, names all of the card."""

    leftover: ClassVar[Leftover] = ""

    role: RoleName
    background: Colour | None = None
    colour: Colour | None = None
    border: Colour | None = None
    scale: Annotated[float, Field(ge=0.8, le=1.4)] | None = None
    opacity: Annotated[float, Field(ge=0.2, lt=1)] | None = None
    blur: Annotated[float, Field(gt=0, le=8)] | None = None
    font: Literal["serif", "sans-serif", "monospace"] | None = None
    size: Annotated[float, Field(ge=8, le=40)] | None = None
    shadow: bool = False

    @model_validator(mode="after")
    def _has_look(self) -> Self:
        if not self._looks():
            raise ValueError("it changes no look; write one, such as background: yellow")
        return self

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def attribute(self, place: Place) -> str | None:
        return "#look"

    def observed_in(self) -> ObservedIn:
        return "picture"

    def _looks(self) -> list[str]:
        """What is declared, as browsers write it again."""
        looks = {
            "background-color": self.background,
            "background-image": self.background and "none",
            "color": self.colour,
            "outline": self.border and f"{self.border} solid 3px",
            "outline-offset": self.border and "-3px",  # so nothing moves
            "scale": self.scale and f"{self.scale:g}",
            "opacity": self.opacity and f"{self.opacity:g}",
            "filter": self.blur and f"blur({self.blur:g}px)",
            "font-family": self.font,
            "font-size": self.size and f"{self.size:g}px",
            "box-shadow": "rgba(0, 0, 0, 0.4) 0px 4px 16px 0px" if self.shadow else None,
        }
        return [f"{name}: {value} {_LAST_WORD}" for name, value in looks.items() if value]

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        elements = there.main(self.role, "#look")
        for element in elements:
            last = {part.strip() for part in element.text.split(";") if _LAST_WORD in part}
            if last != {*self._looks()}:
                return Verdict(f"{self.role} has style={element.text!r}")
        if not elements:
            return Verdict(f"nothing stands at {self.role}")
        is_seen = any(element.given for element in elements)
        in_view = is_seen or any(not element.on_screen.why for element in elements)
        return Verdict(given=in_view, at=elements, hidden="" if is_seen else elements[0].text)

    def apply(self, showing: ProductPlace) -> Change:
        page, done, look = showing.page, [], "; ".join(self._looks())
        for target in showing.main(self.role):
            own = page.value(target.node, "style")
            if "!" in own:
                raise CannotEdit(f'"{own}" has the last word already; write one style for an element')
            if self.scale and target.node.tag in _IN_LINES:
                raise CannotEdit(f"<{target.node.tag}> is a part of a line and has no scale; write size")
            # First: what is left open in the page's own would swallow what comes after it.
            style = f"{look}; {own}" if own else look
            done.append(page.set_attribute(target.node, "style", style))
            page.styles.add(style)
        return Change(len(done), *done[0])
