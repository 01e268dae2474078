"""Say in plain words what was changed in the trials that a person had, from the receipts."""

from collections.abc import Callable

from experiments.designs.shop.design import ShopDesign
from experiments.people.screens import words_of
from experiments.records.reading.people import changes_in
from experiments.records.store import Records


def changes_of(records: Records, design: ShopDesign) -> Callable[[str, str], list[str]]:
    """Return what says, of a person and in a language, each change that the person's pages had."""

    def changes(participant: str, language: str) -> list[str]:
        words = words_of(language)
        lines = dict[str, None]()
        for row in changes_in(records, design.run_id, participant):
            product = design.products.get(row["product"] or "")
            about = f"{product.name}: " if product else ""
            before, after = row["before"].strip()[:200], row["after"].strip()[:200]
            if before and after:
                lines[f"{about}“{after}”; {words['before']} “{before}”"] = None
            elif after:
                lines[f"{about}“{after}” {words['added']}"] = None
            else:
                lines[f"{about}“{before}” {words['removed']}"] = None
        return list(lines)

    return changes
