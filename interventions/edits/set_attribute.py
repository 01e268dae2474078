"""set_attribute: another value of an element's attribute."""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel

from interventions.edits.base import Edit, Leftover, RoleName
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import Place

_OF_TOOLS = ("toolname", "tooldescription", "toolparamdescription")
"""What WebMCP calls a form and its fields."""
_INERT = frozenset(
    "alt class dir disabled height hidden label lang placeholder role title value width".split()  # noqa: SIM905
).union(_OF_TOOLS)
"""Attributes that run nothing and lead nowhere."""


def _check_name(name: str) -> str:
    name = name.lower()
    if not re.fullmatch(r"[a-z_:][-a-z0-9_:.]*", name):
        raise ValueError(f'"{name}" is no name for an attribute; write it like title or data-price')
    if name not in _INERT and not name.startswith(("aria-", "data-")):
        raise ValueError(
            f'"{name}" may run code or lead away; use one of {", ".join(sorted(_INERT))}, aria-*, data-*'
        )
    return name


class SetAttribute(Edit, BaseModel, frozen=True, extra="forbid"):
    """Sets an attribute of a role's element, such as `title` or `alt`; adds it where there is none."""

    leftover: ClassVar[Leftover] = ""

    role: RoleName
    name: Annotated[str, AfterValidator(_check_name)]
    value: str

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def attribute(self, place: Place) -> str | None:
        return self.name

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        elements, value = there.main(self.role, self.name), as_read(self.value)
        for element in elements:
            # Scripts add classes of their own.
            kept = set(value.split()) <= set(element.text.split()) if self.name == "class" else False
            if not kept and as_read(element.text) != value:
                return Verdict(f"{self.role} has {self.name}={element.text!r}")
        if not elements:
            return Verdict(f"nothing stands at {self.role}")
        seen = [element.given for element in elements if element.given is not None]
        return Verdict(given=not (seen and value) or value in seen, at=elements)

    def apply(self, showing: ProductPlace) -> Change:
        done = [
            showing.page.set_attribute(target.node, self.name, self.value)
            for target in showing.main(self.role)
        ]
        return Change(len(done), *done[0])
