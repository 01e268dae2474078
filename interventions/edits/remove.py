"""remove: take an element away."""

from pydantic import RootModel

from interventions.edits.base import Change, Edit, RoleName, Showing


class Remove(Edit, RootModel[RoleName], frozen=True):
    """Removes the element of a role, on every page that shows it."""

    def roles(self) -> tuple[str, ...]:
        return (self.root,)

    def apply(self, showing: Showing) -> Change:
        targets = showing.main(self.root)
        before = showing.page.value(targets[0].node, None)
        for target in targets:
            showing.page.remove(target.node)
        return Change(len(targets), before, "")
