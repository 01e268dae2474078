"""Whatever a table holds: one line that names the place, or numbers that are finite. Never a traceback.

A valid table of each kind is damaged in generated ways.
"""

import csv
import io
import json
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.tables.errors import AnalysisError
from experiments.studies.kinds import STUDIES, read_tables
from tests.journeys.valid_tables import TABLES, Valid, check_document
from tests.support import size


@dataclass(frozen=True)
class Damage:
    """What is done to a table. row, column: of the cell, where one cell is damaged."""

    how: str
    row: int = 0
    column: str = ""
    value: str = ""


VALUES = (
    *("", "text", "nan", "NaN", "inf", "-inf", "-1", "2", "0", "1e308", "-1e308", "1e-308", "1e16", "0.5"),
    *("12,5", "$3", "1_000", "0x10", "True", "low", "high", "choice", "none", "2026-01-01", "101", " 7 "),
    *("\N{ARABIC-INDIC DIGIT THREE}", "a\nb", "=1+1", "x" * 1_000, "x" * 100_000),
)
UNREADABLE = ("text", "nan", "NaN", "inf", "1e308", "1e16", "12,5", "$3", "1_000", "0x10")
"""What no column of numbers takes."""
WHOLE = (
    *("dropped", "header", "empty", "twice", "renamed", "deleted", "repeated", "semicolons", "tabs", "bom"),
    *("latin-1", "utf-16", "crlf", "cr", "folder", "missing", "unclosed", "quoted", "short", "long", "blank"),
    *("constant", "zeros", "blanks"),
)


@st.composite
def damages(draw: st.DrawFn, table: Valid) -> Damage:
    how = draw(st.sampled_from(("cell",) * len(WHOLE) + ("other",) * 8 + WHOLE))
    row = draw(st.integers(1, len(table.rows)))
    column = draw(st.sampled_from(table.header))
    value = draw(st.sampled_from(VALUES))
    if how == "other":  # another kind's value
        source = draw(st.sampled_from(list(TABLES.values())))
        value = str(draw(st.sampled_from(source.rows))[draw(st.sampled_from(source.header))])
        how = "cell"
    return Damage(how, row, column, value)


def damaged_table(table: Valid, damage: Damage, path: Path) -> list[list[str]]:  # noqa: PLR0915
    """Write the damaged table; returns the records that then stand there."""
    records, at = table.records, table.header.index(damage.column)
    ending, delimiter, encoding = "\n", ",", "utf-8"
    match damage.how:
        case "cell":
            records[damage.row][at] = damage.value
        case "dropped":
            records = [[*record[:at], *record[at + 1 :]] for record in records]
        case "renamed":
            records[0][at] += " "
        case "twice":
            records[0][at] = records[0][at - 1]
        case "header":
            records = records[:1]
        case "empty":
            records = []
        case "deleted":
            del records[damage.row]
        case "repeated":
            records.insert(damage.row, records[damage.row])
        case "constant":
            records[1:] = [[*record[:at], damage.value, *record[at + 1 :]] for record in records[1:]]
        case "zeros":
            records[1:] = [[*record[:at], "0", *record[at + 1 :]] for record in records[1:]]
        case "blanks":
            records[1:] = [[*record[:at], "", *record[at + 1 :]] for record in records[1:]]
        case "short":
            records[damage.row] = records[damage.row][:-1]
        case "long":
            records[damage.row] = [*records[damage.row], "more"]
        case "blank":
            records.insert(damage.row, [])
        case "latin-1":
            records[damage.row][at], encoding = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "latin-1"
        case "utf-16" | "bom":
            encoding = "utf-16" if damage.how == "utf-16" else "utf-8-sig"
        case "semicolons" | "tabs":
            delimiter = ";" if damage.how == "semicolons" else "\t"
        case "crlf" | "cr":
            ending = "\r\n" if damage.how == "crlf" else "\r"
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator=ending)
    for number, record in enumerate(records):
        if damage.how in ("unclosed", "quoted") and number == damage.row:
            cell = '"open' if damage.how == "unclosed" else '"a" b'
            line = ",".join([*record[:at], cell, *record[at + 1 :]])
            written.write(line.replace("\n", " ") + ending)
        else:
            writer.writerow(record)
    if damage.how == "folder":
        path.mkdir()
    elif damage.how != "missing":
        path.write_bytes(written.getvalue().encode(encoding))
    return records


def line_of(records: list[list[str]], row: int, column: int) -> int:
    """The line in which a cell begins, of a file as `damaged_table` writes it."""
    before = [*(cell for record in records[:row] for cell in record), *records[row][:column]]
    return 1 + row + sum(cell.count("\n") for cell in before)


def check(table: Valid, damage: Damage, folder: Path) -> Any:
    """The analysis of a damaged table, or None where it is refused as it should be."""
    path = folder / table.file
    path.parent.mkdir(exist_ok=True)
    for name, text in table.beside.items():
        (path.parent / name).write_bytes(text.encode())
    records = damaged_table(table, damage, path)
    given_path = path.parent if table.beside else path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            analysis = STUDIES[table.kind].analyze(read_tables(table.kind, [given_path]), **table.options)
    except AnalysisError as error:
        check_message(table, damage, records, path, str(error))
        return None
    if damage.how == "cell":
        assert not (damage.value in UNREADABLE and damage.column in table.numbers), (
            "a value that is no number was accepted"
        )
        assert not (damage.value == "-1" and damage.column in table.floor), "a negative value was accepted"
    check_document(json.loads(analysis.to_json(), parse_constant=pytest.fail))
    return analysis


def check_message(table: Valid, damage: Damage, records: list[list[str]], path: Path, message: str) -> None:
    assert len(message.splitlines()) == 1 and len(message) < 1_000
    if damage.how in ("folder", "missing"):
        assert message.startswith(str(path.parent if table.beside else path)), message
        return
    if path.name == "tasks.csv" and "is not in tasks.csv" in message:
        return  # said of the choice without its task
    found = re.match(rf"{re.escape(str(path))}(?::(\d+))?: (?:(\S+): )?", message)
    assert found, message
    line, column = found[1] and int(found[1]), found[2]
    if damage.how == "cell":
        assert line, f"no line: {message}"
        rows = [number for number in range(1, len(records)) if spans(records, number, line)]
        assert len(rows) == 1, f"{line} is no line of a row: {message}"
        at, group = table.header.index(damage.column), table.header.index(table.group)
        itself = column == damage.column and rows[0] == damage.row
        if itself or (damage.column in table.numbers and damage.value in UNREADABLE):
            assert line == line_of(records, damage.row, at), message
            assert damage.column in message
        changed = {table.records[damage.row][group], records[damage.row][group]}
        related = records[rows[0]][group] in changed or rows[0] == damage.row or "stands twice" in message
        assert related, f"row {rows[0]} has nothing to do with it: {message}"
    elif damage.how in ("short", "long", "unclosed", "quoted"):
        assert line == line_of(records, damage.row, 0), message
    elif damage.how in ("dropped", "renamed") and not line:
        assert damage.column in message


def spans(records: list[list[str]], row: int, line: int) -> bool:
    last = len(records[row]) - 1
    return line_of(records, row, 0) <= line <= line_of(records, row, last) + records[row][last].count("\n")


@pytest.mark.thorough
@pytest.mark.parametrize("name", TABLES)
def test_the_tables_themselves_are_right(name: str, tmp_path: Path) -> None:
    table = TABLES[name]
    assert check(table, Damage("none", 1, table.header[0]), tmp_path) is not None


@pytest.mark.parametrize("name", TABLES)
@settings(max_examples=size(3, 200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_table(name: str, data: st.DataObject) -> None:
    table = TABLES[name]
    with tempfile.TemporaryDirectory() as folder:
        check(table, data.draw(damages(table)), Path(folder))


def test_lines_are_those_of_the_whole_files_where_agents_are_left_out(tmp_path: Path) -> None:
    table, path = TABLES["choices"], tmp_path / "choices.csv"
    row = 5 + next(number for number, row in enumerate(table.rows) if row["agent"] == "agent 1")
    damage = Damage("cell", row, "price", "-50.5")
    line = line_of(damaged_table(table, damage, path), row, table.header.index("price"))
    told = rf"choices\.csv:{line}: price: '-50\.5' is below 0; correct it"
    for files in ([path], [path, path]):
        kept = read_tables("choice", files, only=["agent 1"])
        with pytest.raises(AnalysisError, match=told):
            STUDIES["choice"].analyze(kept)
    damaged_table(table, Damage("dropped", 1, "agent"), path)
    with pytest.raises(AnalysisError, match=r"choices\.csv: column 'agent' is missing"):
        STUDIES["choice"].analyze(read_tables("choice", [path], only=["agent 1"]))
