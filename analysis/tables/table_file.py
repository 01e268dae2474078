"""Read tables from files, and find in which line of which file each row stands."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.tables.errors import AnalysisError

ROW, PART = "row_in_files", "part"
"""The column, and the mark in `attrs`, of a table that lacks some rows of its files."""
LONGEST_QUOTATION = 60
"""The most characters of a wrong value that a message shows."""


class RowPlaces:
    """The places of a table's rows in their files, for messages. Rows are counted from 0, as read.

    What a table was read from is in its `attrs["source"]`: the name of a file, or several with their numbers
    of rows. A table made in Python may have a name there, too.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self._files = _files(table)
        self._rows = table[ROW] if PART in table.attrs else None

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(name for name, _ in self._files))

    def of(self, row: int, column: str = "") -> str:
        """Return the place of a row: `answers.csv:7` in a CSV file, `answers.parquet: row 6` in others.

        The line is that where the cell of `column` begins, as an editor counts: fields may have several.
        """
        files = list(self._files)
        row = row if self._rows is None else int(self._rows.loc[row])
        while len(files) > 1 and row >= files[0][1]:
            row -= files.pop(0)[1]
        name = files[0][0]
        line = _line(Path(name), row, column)
        return f"{name}: row {row + 1}" if line is None else f"{name}:{line}"


def read_frame(path: str | Path, texts: Mapping[str, str] | type[str]) -> pd.DataFrame:
    """Read any table; `texts` are the columns of a CSV file that are text, or `str` for all of them.

    The file's name is kept in `attrs` for `RowPlaces`.

    Raises AnalysisError if the file is missing, has another suffix or cannot be parsed, or a column stands
    twice.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if path.is_dir():
        raise AnalysisError(f"{path}: is a folder; name a .csv or .parquet file")
    if suffix not in {".csv", ".parquet"}:
        raise AnalysisError(f"{path}: unknown table format {path.suffix!r}; use .csv or .parquet")
    try:
        if suffix == ".csv":
            data = _checked_csv(path)
            # Only an empty field is missing: an agent may be called "NA" or "None".
            table = pd.read_csv(
                io.BytesIO(data), dtype=texts, keep_default_na=False, na_values=[""], low_memory=False
            )
        else:
            table = _read_parquet(path)
    except AnalysisError:
        raise
    except FileNotFoundError:
        raise AnalysisError(f"{path}: no such file; export the run first") from None
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise AnalysisError(f"{path}: not a readable table: {reason}; export it again") from None
    _refuse_repeated(path, [str(name) for name in table])
    table.attrs["source"] = str(path)
    return table


def together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join several read tables into one whose rows are still found in their files."""
    if len(tables) == 1:
        return tables[0]
    joined = pd.concat(tables, ignore_index=True)
    joined.attrs["source"] = tuple(each for table in tables for each in _files(table))
    return joined


def selected(table: pd.DataFrame, wanted: "pd.Series[bool]") -> pd.DataFrame:
    """Return some rows of a read table, which are still found in their files."""
    rows = table.assign(**{ROW: np.arange(len(table))})[wanted].reset_index(drop=True)
    rows.attrs |= {"source": _files(table), PART: True}
    return rows


def first_row(wrong: "pd.Series[bool]") -> int:
    """Return the number of the first wrong row; there must be one, and the index must count the rows."""
    return int(wrong.index[wrong][0])


def quoted(value: object) -> str:
    """Write a value for a message: in quotation marks, in one line, shortened."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_QUOTATION else f"{text[:LONGEST_QUOTATION]}...")


def _files(table: pd.DataFrame) -> tuple[tuple[str, int], ...]:
    source = table.attrs.get("source", "table")
    return source if isinstance(source, tuple) else ((str(source), len(table)),)


def _read_parquet(path: Path) -> pd.DataFrame:
    """The table in a Parquet file whose texts are UTF-8, also where they are declared as bytes.

    What pandas has noted in the file is left out: in a file of a stranger it may be anything.

    Raises AnalysisError for lists, and OSError, ValueError, OverflowError or ArrowException for no table.
    """
    with pq.ParquetFile(path) as file:
        table = file.read().replace_schema_metadata()
    if several := [each.name for each in table.schema if pa.types.is_nested(each.type)]:
        raise AnalysisError(f"{path}: column {quoted(several[0])} holds lists; write one value in each cell")
    bytes_of = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    table = table.cast(
        pa.schema(
            each.with_type(pa.string()) if any(is_bytes(each.type) for is_bytes in bytes_of) else each
            for each in table.schema
        )
    )
    table.validate(full=True)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _checked_csv(path: Path) -> bytes:
    """The content of a CSV file whose records all have as many fields as the header.

    A parser made for speed fills short records and takes a quotation mark for closed at the end of the file.
    """
    data = path.read_bytes()
    records = _records(path, data)
    _, header = next(records, (1, []))
    if not header:
        raise AnalysisError(f"{path}: not a readable table: the file is empty; export it again")
    if len(header) == 1 and (other := next((each for each in ";\t|" if each in header[0]), "")):
        raise AnalysisError(f"{path}:1: the columns are separated by {other!r}; separate them by commas")
    _refuse_repeated(path, [name for name in header if name])
    for line, fields in records:
        if len(fields) != len(header):
            raise AnalysisError(
                f"{path}:{line}: {len(fields)} fields, but the header has {len(header)};"
                " write one for each column, in quotation marks where it holds a comma"
            )
    return data


def _records(path: Path, data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Each record of a CSV file with the line in which it begins; empty lines are none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _breaks(data[: error.start].decode("latin-1")) + 1
        raise AnalysisError(f"{path}:{line}: not a readable table: not UTF-8; save it as UTF-8") from None
    if "\0" in text:
        line = _breaks(text[: text.index("\0")]) + 1
        raise AnalysisError(f"{path}:{line}: not a readable table: a byte is 0; save it as UTF-8 text")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise AnalysisError(
                f"{path}:{line}: not a readable table: {error}; close each quotation mark, and double those"
                " within a field"
            ) from None
        if fields:
            yield line, fields


def _line(path: Path, row: int, column: str) -> int | None:
    """The line in which a cell begins; None where the file has no lines, or is not as it was."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return None
    records = _records(path, path.read_bytes())
    _, header = next(records, (1, []))
    found = next(islice(records, row, None), None)
    if found is None:
        return None
    line, fields = found
    before = fields[: header.index(column)] if column in header else []
    return line + sum(map(_breaks, before))


def _breaks(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise AnalysisError(f"{path}: column {quoted(name)} stands twice; keep one of them")
