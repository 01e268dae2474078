"""Say in plain words what was false in the trials that a person had, from the receipts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.listing import ShowOnly
from experiments.people.screens import words_of
from experiments.records.reading.people import changes_in
from experiments.records.record import Row
from experiments.records.store import Records
from interventions.edits.base import Edit
from interventions.edits.registry import EDITS

_EDITS: Final[Sequence[type[Edit]]] = [*EDITS.values(), ShowOnly]
_REPEATS: Final = frozenset(edit.kind() for edit in _EDITS if edit.repeats)

Changes = Callable[[str, str, Sequence[Row]], list[str]]
"""Says, of a person and in a language, what was false; further receipts are of a trial that is not stored."""


def changes_of(records: Records, design: ShopDesign) -> Changes:
    """Return what says each text that a person was shown and that the shop has not sent, or not so."""

    def changes(participant: str, language: str, unstored: Sequence[Row]) -> list[str]:
        words = words_of(language)
        lines = dict[str, None]()
        for name, before, after in false_texts([*changes_in(records, design.run_id, participant), *unstored]):
            product = design.products.get(name)
            about = f"{product.name}: " if product else ""
            if before and after:
                lines[f"{about}“{after[:200]}”; {words['before']} “{before[:200]}”"] = None
            elif after:
                lines[f"{about}“{after[:200]}” {words['added']}"] = None
            else:
                lines[f"{about}“{before[:200]}” {words['removed']}"] = None
        return list(lines)

    return changes


def false_texts(receipts: Iterable[Row]) -> Iterator[tuple[str, str, str]]:
    """Yield product, the shop's text and the one that was shown, where these differ; one may be empty.

    Where several edits have changed one place of a page, the first text is the shop's, and the last one was
    shown. What the shop says itself is not false.
    """
    shown: list[list[str]] = []
    last: dict[tuple[str, ...], list[str]] = {}
    for row in receipts:
        if not row["intervention"] or row["edit"] in _REPEATS:
            continue
        before, after = (" ".join(row[name].split()) for name in ("before", "after"))
        place = (row["page_hash_before"], row["product"] or "", row["role"])
        if before and after and place in last and last[place][2] == before:
            last[place][2] = after
            continue
        shown.append([place[1], before, after])
        if before:
            last[place] = shown[-1]
    yield from ((product, before, after) for product, before, after in shown if before != after)
