"""Say where a catalogue differs from the shop's pages, and which displayed figures of a run are not known."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from experiments.records.record import Row
from interventions.apply.plan import ProductFacts
from interventions.authoring.page_facts import ShownFacts

_TOLERANCE: Final = {"price": 0.005, "rating": 1.5, "reviews": 0.5}
"""How far a catalogue's figure may be from the page's: ratings are rounded, here and there."""
COMPARED: Final = (
    "option",
    "name",
    "sent_title",
    *(f"{source}_{part}" for source in ("catalogue", "sent") for part in _TOLERANCE),
)
"""The columns of options that `differences` compares."""


def figure_row(product: ProductFacts, sent: ShownFacts) -> Row:
    """Return the columns of an option that `differences` compares, for a product and its page as sent."""
    mine = {f"catalogue_{part}": getattr(product, part) for part in _TOLERANCE}
    its = {f"sent_{part}": value for part, value in sent._asdict().items()}
    return {"option": product.key, "name": product.name, **mine, **its}


def differences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each kind of figure that the catalogue has otherwise than the page as it was sent.

    `rows` have the columns of options; the catalogue's name is `name`. What one of both lacks is no
    difference.
    """
    found: dict[str, dict[str, str]] = {}
    products = set[str]()
    for row in rows:
        products.add(row["option"])
        for part in ("title", *_TOLERANCE):
            mine = row["name"] if part == "title" else row[f"catalogue_{part}"]
            if (its := row[f"sent_{part}"]) is not None and mine is not None and not _agree(part, mine, its):
                said = f"{row['option']} has {_written(mine)} there and {_written(its)} on its page"
                found.setdefault(part, {}).setdefault(row["option"], said)
    return [
        f"{part}: {len(those):,} of {len(products):,} products are otherwise in the catalogue than on the "
        f"shop's page: {next(iter(those.values()))}; import the catalogue anew, or correct it"
        for part, those in found.items()
    ]


def unread_notes(lacking: Iterable[tuple[str, int]]) -> list[str]:
    """Return a line for each reason why displayed figures are not known.

    `lacking` has the cells `unread` of options, each with how many options have it.
    """
    reasons, total = Counter[str](), 0
    for why, number in lacking:
        total += number
        reasons.update(dict.fromkeys(filter(None, why.split("; ")), number))
    return [
        f"{number:,} of {total:,} options of choices have no displayed figure in the table: {why}"
        for why, number in sorted(reasons.items())
    ]


def _agree(part: str, mine: Any, its: Any) -> bool:
    if part != "title":
        in_hundreds = part == "reviews" and its >= 1000 and its % 100 == 0  # as "1.2k" is
        return bool(abs(mine - its) <= (50 if in_hundreds else _TOLERANCE[part]))
    one, other = (" ".join(text.casefold().split()).rstrip("…. ") for text in (mine, its))
    return one in other or other in one  # cards cut titles off, pages add a brand


def _written(value: float | str) -> str:
    return repr(value) if isinstance(value, str) else f"{value:.10g}"
