"""Read tables of choice sets that are ready to be shown, with all their attributes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from experiments.designs.cards.hotel_profiles import Alternative, Text
from experiments.designs.inputs.csv_rows import Row
from interventions.errors import UserError

LETTERS: Final = "abcdefgh"
Names = Mapping[str, str]
"""Column -> field, where their names differ."""

_STUDY: Final = {
    "hotel_id": "id",
    "review_score": "score",
    "review_count": "reviews",
    "room_type": "room",
    "cancellation_free": "cancellation",
    "breakfast_included": "breakfast",
}
"""The columns of the hotel study's task file, after the letter of the option."""

# The study's file writes the ids of third options as floats.
_Id = Annotated[Text, BeforeValidator(lambda text: re.sub(r"^(\d+)\.0$", r"\1", str(text)))]
_Flag = Annotated[int, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class ShownSet:
    """One choice set with the attributes with which it is shown once, in the order listed."""

    set: str
    repeat: int
    alternatives: tuple[Alternative, ...]


class _Option(BaseModel):
    """What is known of an option; other columns become attributes of their names, as text."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: _Id
    name: Text
    category: str = ""
    price: Annotated[float, Field(gt=0)] | None = None
    score: Annotated[float, Field(ge=0, le=10)] | None = None
    reviews: Annotated[int, Field(ge=0)] | None = None
    stars: Annotated[int, Field(ge=1, le=5)] | None = None
    cancellation: _Flag | None = None
    breakfast: _Flag | None = None


class _Task(BaseModel):
    task: Text
    repeat: Annotated[int, Field(ge=0)] = 0


def shown_sets_from(
    file: str, columns: list[str], rows: list[Row], attributes: frozenset[str]
) -> tuple[ShownSet, ...]:
    """Read the choice sets of a table, in its order; every option must have the `attributes`.

    Three forms are told apart by their columns: the hotel study's task file (`task_id`, `rep`, `a_hotel_id`,
    `b_name` ...), one row per set (`task`, `option_1_id`, `option_1_name`, `option_2_id` ...), and one row
    per option (`task`, `id`, `name` ...). `repeat` is a further column of the last two.

    Raises:
        UserError: no such table, or a mistake in a cell.
    """
    read: Iterator[tuple[Row, ShownSet]]
    if "a_hotel_id" in columns:
        prefixes = [f"{letter}_" for letter in LETTERS if f"{letter}_hotel_id" in columns]
        names = {"task_id": "task", "rep": "repeat"}
        read = (_wide(row, prefixes, attributes, _STUDY, names) for row in rows)
    elif "option_1_id" in columns:
        numbers = range(1, len(LETTERS) + 1)
        prefixes = [f"option_{number}_" for number in numbers if f"option_{number}_id" in columns]
        read = (_wide(row, prefixes, attributes, {}, {}) for row in rows)
    elif {"task", "id", "name"} <= set(columns):
        read = _long(rows, attributes)
    else:
        raise UserError(
            f"{file}:1: neither profiles (id, name, low, high, rooms ...) nor cards (task, option_1_id, "
            "option_1_name ... or task, id, name ...); name the columns so"
        )
    return tuple(_checked(read))


def _wide(
    row: Row, prefixes: list[str], attributes: frozenset[str], fields: Names, names: Names
) -> tuple[Row, ShownSet]:
    task = row.read(_Task, names=names)
    used = [prefix for prefix in prefixes if any(column.startswith(prefix) for column in row.cells)]
    options = [_alternative(row, attributes, prefix, fields) for prefix in used]
    return row, ShownSet(task.task, task.repeat, tuple(options))


def _long(rows: list[Row], attributes: frozenset[str]) -> Iterator[tuple[Row, ShownSet]]:
    """Rows of one task and repeat follow each other."""
    tasks: dict[tuple[str, int], tuple[Row, list[Alternative]]] = {}
    latest = None
    for row in rows:
        task = row.read(_Task)
        key = task.task, task.repeat
        if key in tasks and key != latest:
            raise row.error("task", f"the rows of task {task.task} do not follow each other; sort the table")
        cells = {column: text for column, text in row.cells.items() if column not in ("task", "repeat")}
        option = _alternative(replace(row, cells=cells), attributes, "", {})
        tasks.setdefault(key, (row, []))[1].append(option)
        latest = key
    for (name, repeat), (row, options) in tasks.items():
        yield row, ShownSet(name, repeat, tuple(options))


def _alternative(row: Row, attributes: frozenset[str], prefix: str, fields: Names) -> Alternative:
    option = row.read(_Option, prefix, fields)
    values = {name: value for name, value in option.model_dump().items() if value not in (None, "")}
    if missing := sorted(attributes - values.keys()):
        column = prefix + {field: column for column, field in fields.items()}.get(missing[0], missing[0])
        raise row.error(column, "the card shows it, but the cell is empty or missing; fill it in")
    # The study's file holds hotels and does not say so.
    return {"category": "hotel"} | values if fields else values


def _checked(read: Iterable[tuple[Row, ShownSet]]) -> Iterator[ShownSet]:
    seen: set[tuple[str, int]] = set()
    for row, shown_set in read:
        task = f"task {shown_set.set}"
        if (shown_set.set, shown_set.repeat) in seen:
            message = f"{task} stands twice with repeat {shown_set.repeat}; number its repeats"
            raise row.error("repeat", message)
        seen.add((shown_set.set, shown_set.repeat))
        ids = [str(option["id"]) for option in shown_set.alternatives]
        if not 2 <= len(ids) <= len(LETTERS):
            raise row.error("task", f"{task} has {len(ids)} options; give it 2 to {len(LETTERS)}")
        if len(set(ids)) < len(ids):
            raise row.error("id", f"{task} shows one option twice; the ids of a task must differ")
        yield shown_set
