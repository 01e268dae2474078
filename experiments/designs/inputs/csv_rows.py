"""Read the CSV files of users, and name mistakes in them by file, line and column."""

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from interventions.errors import UserError
from interventions.yaml.yaml_problems import explain

_BREAK = re.compile(r"\r\n|\r|\n")
_LONGEST_CELL = 1_000_000

Read = TypeVar("Read", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a table: its cells that are not empty, by column.

    line: where the record begins, as an editor counts: the header is in line 1. A quoted cell may have
    several lines, so `lines` has where each cell begins.
    """

    file: str
    line: int
    cells: Mapping[str, str]
    lines: Mapping[str, int]

    def error(self, column: str, message: str) -> UserError:
        """The error to raise for a mistake in a column; `message` is `cause; fix`."""
        return UserError(f"{self.file}:{self.lines.get(column, self.line)}: {column}: {message}")

    def read(self, model: type[Read], prefix: str = "", names: Mapping[str, str] | None = None) -> Read:
        """Read the cells whose column begins with `prefix` into a model.

        `names` gives the field of a column where it has another name.

        Raises:
            UserError: a cell is missing or not what the model wants.
        """
        names = names or {}
        columns = {
            names.get(short := column.removeprefix(prefix), short): column
            for column in self.cells
            if column.startswith(prefix)
        }
        try:
            # A strict model, which YAML has too, is given what it knows: `Table.unused` names the rest.
            known = model.model_fields if model.model_config.get("extra") == "forbid" else columns
            given = {field: self.cells[column] for field, column in columns.items() if field in known}
            return model.model_validate(given)
        except ValidationError as failure:
            error = failure.errors(include_url=False)[0]
            place = (*error["loc"], *error.get("ctx", {}).get("path", ()))
            field = str(place[0]) if place else ""
            other = {field: column for column, field in names.items()}
            column = columns.get(field) or prefix + other.get(field, field)
            if error["type"] == "missing":
                raise self.error(column, "the cell is empty or missing; fill it in") from None
            message = explain(error).replace("write it without quotes or other signs", "mend the cell")
            raise self.error(column, message) from None


def _as_known(columns: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the columns, by a known name where they are one but for case, blanks and lines."""
    names = {_plain(name): name for name in known if name not in columns}
    return [column if column in known else names.pop(_plain(column), column) for column in columns]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def _refuse_twice(path: str, columns: Sequence[str], known: Collection[str]) -> None:
    """Raise UserError for two columns of one name; those that are known may not differ in case either."""
    plain, seen = {_plain(name) for name in known}, dict[str, str]()
    for column in filter(None, columns):
        name = _plain(column) if _plain(column) in plain else column
        if name in seen:
            raise UserError(f'{path}:1: "{seen[name]}" and "{column}" are one column; keep one of them')
        seen[name] = column


class Table(NamedTuple):
    """A CSV file of a user; `unused` names the columns that are not known, in a line if there are any."""

    columns: list[str]
    rows: list[Row]
    unused: list[str]


def read_rows(path: str, known: Collection[str] = ()) -> Table:
    """Read a CSV file (UTF-8, with a header line).

    known: the names that columns may have, see `_as_known`; none: any. Raises UserError.
    """
    line = 1
    try:
        csv.field_size_limit(_LONGEST_CELL)
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            columns = _as_known(next(reader, []), known)
            _refuse_twice(path, columns, known)
            if len(columns) == 1 and ";" in columns[0]:
                message = "the columns are separated by semicolons; separate them by commas"
                raise UserError(f"{path}:1: {message}")
            rows = []
            while True:
                line = reader.line_num + 1
                if (cells := next(reader, None)) is None:
                    break
                if not cells:  # an empty line
                    continue
                if len(cells) != len(columns):
                    number = "more" if len(cells) > len(columns) else "fewer"
                    message = f"{number} cells than the header has columns; mend the line"
                    raise UserError(f"{path}:{line}: {message}")
                if unprintable := next(
                    (name for name, text in zip(columns, cells, strict=True) if "\0" in text), ""
                ):
                    raise UserError(f"{path}:{line}: {unprintable}: a letter is 0 (NUL); remove it")
                breaks = accumulate((len(_BREAK.findall(text)) for text in cells[:-1]), initial=line)
                lines = dict(zip(columns, breaks, strict=True))
                filled = {
                    name: text.strip() for name, text in zip(columns, cells, strict=True) if text.strip()
                }
                rows.append(Row(path, line, filled, lines))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or 'cannot be read').lower()}; check the path") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: the text is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise UserError(f"{path}:{line}: not CSV: {error}; mend the line") from None
    if not rows:
        raise UserError(f"{path}: the table has no rows; add some")
    others = ", ".join(column for column in columns if known and column not in known)
    return Table(columns, rows, [f"{path}: columns that are not used: {others}"] if others else [])
