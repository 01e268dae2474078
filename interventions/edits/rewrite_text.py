"""rewrite_text: another text in the place of all of an element's own, such as a description."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, Field

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.showing import Change, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html.numbers import NumberUsage, figures, one_line

_UNIT: Final = re.compile(
    r"[\s-]?(%|°[CF]?|[\"″′]|(?:[mkc]?g|oz|lbs?|[mc]?l|fl\.? oz|[mck]?m|inch(?:es)?|in|ft|feet|k?W|m?Ah|V"
    r"|[MGT]B|[kMG]?Hz|hours?|h|min|minutes|days?|months?|years?)(?!\w))",
    re.IGNORECASE,
)


class RewriteText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Replaces the whole text of a role's element; `facts: keep`: no number may be lost, or new."""

    leftover: ClassVar[Leftover] = "sentence"
    readable: ClassVar[bool] = True

    role: RoleName = Field(alias="in")
    text: Text
    facts: Literal["keep", "free"] = "keep"

    def words(self) -> str:
        return self.text

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        elements, wanted = [each.alone() for each in there.main(self.role)], as_read(self.text)
        if not elements or any(each.text != wanted for each in elements):
            return Verdict(f"{self.role} shows {[each.text[:60] for each in elements]}")
        return Verdict(given=any(each.given == wanted for each in elements), at=tuple(elements))

    def apply(self, showing: ProductPlace) -> Change:
        targets = showing.main(self.role)
        if len({showing.value(target) for target in targets}) > 1:
            raise CannotEdit(f"it has {len(targets)} texts; name one with css: and a selector")
        if self.facts == "keep":
            usage = showing.page.usage
            old, new = _facts(_read(showing, targets[0]), usage), _facts(self.text, usage)
            if lost := old.keys() - new.keys():
                raise CannotEdit(f"the new text lacks {_named(old, lost)}; name it, or write facts: free")
            if added := new.keys() - old.keys():
                raise CannotEdit(f"the old text does not say {_named(new, added)}; write facts: free")
        return showing.write_text(self.role, self.text)


def _read(showing: ProductPlace, target: Target) -> str:
    """The text of a target; the figures of neighbouring elements are no one figure."""
    shown, node = showing.value(target), target.node
    is_own = target.attribute is None and shown == one_line(node.text())
    return node.text(separator=" ") if is_own else shown


def _facts(text: str, usage: NumberUsage) -> dict[tuple[str, str], str]:
    """The numbers of a text with their units and currencies, and how they are written."""
    found = {}
    for figure in figures(text, usage):
        unit = _UNIT.match(text, figure.end)
        name = unit[1].casefold().rstrip("s") if unit else figure.sign
        written = text[figure.start : unit.end() if unit else figure.end]
        minus = "-" if figure.signed < 0 else ""
        found[f"{figure.signed.normalize():f}", name] = one_line(f"{minus}{written}")
    return found


def _named(facts: dict[tuple[str, str], str], which: set[tuple[str, str]]) -> str:
    return ", ".join(f'"{facts[each]}"' for each in sorted(which))
