"""remove: take an element away."""

from collections.abc import Sequence

from pydantic import RootModel

from interventions.edits.base import Edit, RoleName
from interventions.edits.in_browser import PagePlaces, Verdict
from interventions.edits.showing import Change, ProductPlace


class Remove(Edit, RootModel[RoleName], frozen=True):
    """Removes the element of a role, on every page that shows it."""

    def roles(self) -> tuple[str, ...]:
        return (self.root,)

    def takes_out(self) -> str:
        return self.root

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        there_again = there.main(self.root)
        return Verdict(f"{self.root} shows {there_again[0].text[:60]!r}" if there_again else "")

    def apply(self, showing: ProductPlace) -> Change:
        targets = showing.main(self.root)
        before = showing.page.value(targets[0].node, None)
        for target in targets:
            showing.page.remove(target.node)
        return Change(len(targets), before, "")
