"""Whatever a table holds: one line that names the place, or numbers that are finite. Never a traceback.

A valid table of each kind that `souk analyze` reads is damaged in generated ways.
"""

import csv
import io
import json
import re
import tempfile
import warnings
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.tables.errors import AnalysisError
from experiments.studies.kinds import STUDIES, read_tables
from tests.mutations import as_json, changed, damaged
from tests.support import size

Row = dict[str, object]


@dataclass(frozen=True)
class Valid:
    """A table that can be analysed, and the file beside it that a folder needs.

    numbers: its columns of numbers; floor: those that are never below 0. group: the column whose equal rows
    are checked against each other.
    """

    kind: str
    file: str
    rows: tuple[Row, ...]
    numbers: frozenset[str]
    floor: frozenset[str]
    group: str
    beside: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def header(self) -> list[str]:
        return list(self.rows[0])

    @property
    def records(self) -> list[list[str]]:
        """The header and the rows, as texts."""
        return [self.header, *([str(value) for value in row.values()] for row in self.rows)]


def choices() -> Valid:
    rng = np.random.default_rng(1)
    rows = [
        {
            "trial": f"t{trial}",
            "agent": f"agent {trial % 2}",
            "set": f"s{trial % 6}",
            "option": f"p{place}",
            "nudge_text": f"Best of\nall {trial % 3}" if trial % 4 == place else "",
            "nudged": int(trial % 4 == place),
            "position": place,
            "outcome": "choice" if trial else "no_choice",
            "chosen": "" if not trial else int(place == rng_choice),
            "category": f"c{trial % 3}",
            "price": 10 + (trial * 7 + place * 3) % 11,
            "rating": 60 + (trial * 5 + place * 13) % 40,
            "direction": 1,
            "condition": "nudged" if trial % 4 < 2 else "none",
            "steps": 3 + trial % 2,
        }
        for trial in range(32)
        for rng_choice in [int(rng.integers(2))]
        for place in range(2)
    ]
    numbers = frozenset({"nudged", "position", "chosen", "price", "rating", "direction", "steps"})
    return Valid("choice", "choices.csv", tuple(rows), numbers, numbers - {"direction"}, "trial")


def cards() -> Valid:
    rng = np.random.default_rng(2)
    rows = [
        {
            "trial": f"t{trial}",
            "agent": "lab:small",
            "set": f"s{trial // 2}",
            "option": f"h{place}",
            "attr_name": f"Inn\nof {place}",
            "attr_chain": ("Hyatt", "Hilton", "Independent")[place],
            "position": place if trial % 2 else size - 1 - place,
            "ordering": "forward" if trial % 2 else "reversed",
            "outcome": "choice",
            "chosen": int(place == taken),
            "price": int(prices[place]),
            "rating": int(ratings[place]),
            "attr_stars": int(stars[place]),
        }
        for trial in range(40)
        for size in [2 if trial % 4 < 2 else 3]
        for prices, ratings, stars in [
            (rng.integers(50, 300, 3), rng.integers(60, 99, 3), rng.integers(1, 6, 3))
        ]
        for taken in [int(rng.integers(size))]
        for place in range(size)
    ]
    numbers = frozenset({"position", "chosen", "price", "rating", "attr_stars"})
    return Valid("conjoint", "cards.csv", tuple(rows), numbers, numbers, "trial")


def tasks() -> Valid:
    rng = np.random.default_rng(3)
    rows: list[Row] = []
    for task in range(1, 21):
        row: Row = {"task_id": task, "group_id": (task + 1) // 2, "rep": 1 + task % 2}
        for place, letter in enumerate("abc"):
            shown = letter != "c" or task > 10
            row |= {
                f"{letter}_{name}": value if shown else ""
                for name, value in {
                    "hotel_id": 3 * task + place,
                    "name": f"Hyatt\n{task}" if place else "Inn",
                    "stars": 2 + place,
                    "neighborhood": "Midtown",
                    "review_score": 7 + place / 2,
                    "review_count": int(rng.integers(10, 900)),
                    "room_type": "King Room",
                    "cancellation_free": int(rng.integers(2)),
                    "breakfast_included": int(rng.integers(2)),
                    "amenities": "WiFi; Bar",
                    "price": int(rng.integers(80, 300)),
                }.items()
            }
        rows.append(row)
    letters = rng.choice(["A", "B"], 20)
    orders = {
        name: "task_id,choice\n" + "".join(f"{task + offset},{letters[task - 1]}\n" for task in range(1, 21))
        for name, offset in (("choices_small_orig.csv", 0), ("choices_small_swap.csv", 10_000))
    }
    each = (
        "hotel_id",
        "stars",
        "review_score",
        "review_count",
        "cancellation_free",
        "breakfast_included",
        "price",
    )
    numbers = frozenset({"task_id", "rep", *(f"{letter}_{name}" for letter in "abc" for name in each)})
    floor = numbers - {"task_id", "rep"} - {f"{letter}_hotel_id" for letter in "abc"}
    return Valid("conjoint", "study/tasks.csv", tuple(rows), numbers, floor, "task_id", orders)


def orders() -> Valid:
    """The same study; the file of the choices is damaged."""
    study = tasks()
    text = study.beside["choices_small_swap.csv"]
    rows = tuple(csv.DictReader(io.StringIO(text)))
    written = io.StringIO()
    csv.writer(written).writerows(study.records)
    beside = {
        "tasks.csv": written.getvalue(),
        "choices_small_orig.csv": study.beside["choices_small_orig.csv"],
    }
    numbers = frozenset({"task_id"})
    return Valid("conjoint", "study/choices_small_swap.csv", rows, numbers, frozenset(), "task_id", beside)


def asked(item: str, condition: str, repeat: int, agent: str, invalid: str) -> Row:
    """The cells that every table of responses has; the first answer of each kind is `invalid`."""
    return {
        "trial": f"{item}/{condition}/{repeat}",
        "agent": agent,
        "item": item,
        "condition": condition,
        "repeat": repeat,
        "reason": "" if repeat else invalid,
    }


def valuations() -> Valid:
    rng = np.random.default_rng(4)
    rows = [
        asked(item, condition, repeat, agent, "two\nnumbers")
        | {
            "response": "" if not repeat else round(price + rng.normal(0, 5), 2),
            "reference": price,
            "low": price - 10,
            "high": price + 10,
            "anchor": {"low": 15, "high": 95}.get(condition, ""),
        }
        for agent in ("old-7b", "new-70b")
        for item, price in (("mug", 20.5), ("pen", 30))
        for condition in ("control", "low", "high")
        for repeat in range(4)
    ]
    numbers = frozenset({"repeat", "response", "reference", "low", "high", "anchor"})
    floor = frozenset({"response", "reference", "low", "high"})
    return Valid("montecarlo", "wtp.csv", tuple(rows), numbers, floor, "item")


def answers() -> Valid:
    rng = np.random.default_rng(5)
    rows = [
        asked(item, condition, repeat, agent, "not\na letter")
        | {
            "scenario": "base",
            "temperature": 1,
            "family": agent,
            "response": ""
            if not repeat
            else int(rng.integers(2))
            if item == "framing"
            else int(rng.integers(90)),
        }
        for agent in ("alpha", "beta")
        for item in ("anchoring", "framing")
        for condition in ("control", "treatment")
        for repeat in range(6)
    ]
    numbers = frozenset({"repeat", "temperature", "response"})
    return Valid(
        "biases",
        "answers.csv",
        tuple(rows),
        numbers,
        frozenset({"temperature"}),
        "item",
        options={"valid": 3},
    )


def scores() -> Valid:
    rng = np.random.default_rng(6)
    rows = [
        {
            "trial": f"{stimulus}/{condition}/{fields}",
            "agent": "tiny",
            "stimulus": stimulus,
            "anchor": anchor,
            "condition": condition,
            "fields": fields,
            "note": "of a\nfew" if not value else "",
            "target": f"{value}%",
            "value": value,
            "logprob": round(-3 - 3 * rng.random(), 4),
            "shifted": 0,
        }
        for stimulus in ("lift", "tower")
        for condition, anchor in (("low", 10), ("high", 65))
        for fields in ("scene+anchor", "scene", "anchor", "")
        for value in range(0, 60, 10)
    ]
    numbers = frozenset({"anchor", "value", "logprob", "shifted"})
    return Valid("anchoring", "scores.csv", tuple(rows), numbers, frozenset({"shifted"}), "stimulus")


def simulation() -> Valid:
    rng = np.random.default_rng(7)
    rows = [
        {
            "VariationID": question,
            "Anchor": anchor,
            "TargetToken": f"{value}%",
            "LogProbFullPrompt": round(-3 - 3 * rng.random(), 4),
            **{
                f"Shapley_{name}": round(rng.normal(), 3)
                for name in ("scene", "comparative", "absolute", "anchor")
            },
            "TargetInt": value,
        }
        for question in range(2)
        for anchor in (10, 65)
        for value in range(0, 60, 10)
    ]
    numbers = frozenset(rows[0]) - {"TargetToken"}
    name = "anchoring_lab_tiny_results_standard.csv"
    return Valid("anchoring", name, tuple(rows), numbers, frozenset({"VariationID"}), "VariationID")


TABLES = {
    each.__name__: each() for each in (choices, cards, tasks, orders, valuations, answers, scores, simulation)
}


@dataclass(frozen=True)
class Damage:
    """What is done to a table. row, column: of the cell, where one cell is damaged."""

    how: str
    row: int = 0
    column: str = ""
    value: str = ""


VALUES = (
    "",
    "text",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "-1",
    "2",
    "0",
    "1e308",
    "-1e308",
    "1e-308",
    "1e16",
    "0.5",
    "12,5",
    "$3",
    "1_000",
    "0x10",
    "True",
    "low",
    "high",
    "choice",
    "none",
    "2026-01-01",
    "\N{ARABIC-INDIC DIGIT THREE}",
    " 7 ",
    "a\nb",
    "=1+1",
    "101",
    "x" * 1_000,
    "x" * 100_000,
)
UNREADABLE = ("text", "nan", "NaN", "inf", "1e308", "1e16", "12,5", "$3", "1_000", "0x10")
"""What no column of numbers takes."""
WHOLE = (
    "dropped",
    "header",
    "empty",
    "twice",
    "renamed",
    "deleted",
    "repeated",
    "semicolons",
    "tabs",
    "bom",
    "latin-1",
    "utf-16",
    "crlf",
    "cr",
    "folder",
    "missing",
    "unclosed",
    "quoted",
    "short",
    "long",
    "blank",
    "constant",
    "zeros",
    "blanks",
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


def check_document(document: dict[str, Any]) -> None:
    """Every number is finite, for JSON has no others; a row without any result has a note."""
    for name, rows in document.items():
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and "estimate" in row:
                results = [row.get(each) for each in ("estimate", "statistic", "p_value")]
                empty = results == [None] * 3 and row.get("term") != "Residual"
                assert row.get("note") or not empty, (name, row)


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


def strange_columns(rows: int) -> dict[str, Any]:
    """Columns of types and values that no table of ours has, by name."""
    odd = pa.array(["text"] * rows).view(pa.binary())
    return {
        "lists": pa.array([[1]] * rows),
        "empty lists": pa.array([[]] * rows, pa.list_(pa.int64())),
        "structures": pa.array([{"a": 1}] * rows),
        "maps": pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff"] * rows),
        "text that is none": pa.array([b"\xff"] * rows).view(pa.string()),
        "text as bytes": odd,
        "long text": pa.array(["x" * 2_000] * rows, pa.large_string()),
        "control characters": pa.array(["\x1b[31m\0"] * rows),
        "words": pa.array(["text"] * rows).dictionary_encode(),
        "nothing": pa.nulls(rows),
        "truth": pa.array([True] * rows),
        "times": pa.array([0] * rows, pa.timestamp("ns", "UTC")),
        "far times": pa.array([2**62] * rows, pa.timestamp("us")),
        "days": pa.array([10**9] * rows, pa.date32()),
        "durations": pa.array([5] * rows, pa.duration("us")),
        "clocks": pa.array([5] * rows, pa.time32("s")),
        "decimals": pa.array([Decimal("1e30")] * rows, pa.decimal256(60, 2)),
        "small decimals": pa.array([Decimal("1.5")] * rows, pa.decimal128(10, 2)),
        "large numbers": pa.array([2**64 - 1] * rows, pa.uint64()),
        "halves": pa.array(np.full(rows, 1.5, np.float16)),
        "infinite": pa.array([float("inf")] * rows),
        "not numbers": pa.array([float("nan")] * rows),
        "empty": pa.array([None] * rows, pa.int64()),
        "ones": pa.array([1] * rows),
        "one missing": pa.array([None, *[1] * (rows - 1)], pa.int64()),
        "in groups": pa.chunked_array([pa.array([1] * (rows - 1)), pa.array([1])]),
    }


PARQUETS = [name for name, table in TABLES.items() if not table.beside]
STRANGE_COLUMNS = sorted(strange_columns(2))


def parquet(table: Valid) -> pa.Table:
    frame = pd.DataFrame(list(table.rows)).replace({"": None})
    for name in table.numbers:
        frame[name] = pd.to_numeric(frame[name])
    return pa.Table.from_pandas(frame)


def check_parquet(table: Valid, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        path.write_bytes(content)
        try:
            analysis = STUDIES[table.kind].analyze(read_tables(table.kind, [path]), **table.options)
        except AnalysisError as error:
            assert str(error).startswith(str(path))
            assert len(str(error).splitlines()) == 1 and len(str(error)) < 1_000
            return
    check_document(json.loads(analysis.to_json(), parse_constant=pytest.fail))


def written(table: pa.Table) -> bytes:
    packed = io.BytesIO()
    pq.write_table(table, packed)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("column", "kind", "said"),
    [
        ("option", "lists", "column 'option' holds lists"),
        ("category", "text that is none", "Invalid UTF8"),
        ("steps", "bytes", "Invalid UTF8"),
        ("price", "words", "price: 'text' is not a number"),
    ],
)
def test_what_no_table_holds_is_told(column: str, kind: str, said: str, tmp_path: Path) -> None:
    table, path = parquet(TABLES["choices"]), tmp_path / "t.parquet"
    at = table.schema.get_field_index(column)
    path.write_bytes(written(table.set_column(at, column, strange_columns(table.num_rows)[kind])))
    with pytest.raises(AnalysisError, match=said):
        STUDIES["choice"].analyze(read_tables("choice", [path]))


@pytest.mark.parametrize(
    "facts", [b"{}", b"[", b'{"columns": 3}', b'{"index_columns": ["price"], "columns": []}']
)
def test_what_pandas_has_noted_is_not_read(facts: bytes, tmp_path: Path) -> None:
    table, path = parquet(TABLES["choices"]), tmp_path / "t.parquet"
    path.write_bytes(written(table.replace_schema_metadata({"pandas": facts})))
    assert list(read_tables("choice", [path])) == table.column_names


@settings(max_examples=size(8, 1_500))
@given(data=st.data(), name=st.sampled_from(PARQUETS), kind=st.sampled_from(STRANGE_COLUMNS))
def test_a_parquet_file_with_a_strange_column(data: st.DataObject, name: str, kind: str) -> None:
    table = parquet(TABLES[name])
    column = data.draw(st.sampled_from([*table.column_names, "", "attr_x", "phi_x", "__index_level_0__"]))
    strange = strange_columns(table.num_rows)[kind]
    at = table.schema.get_field_index(column)
    table = table.append_column(column, strange) if at < 0 else table.set_column(at, column, strange)
    check_parquet(TABLES[name], written(table))


@settings(max_examples=size(4, 300))
@given(data=st.data(), name=st.sampled_from(PARQUETS))
def test_a_parquet_file_with_strange_facts(data: st.DataObject, name: str) -> None:
    """What pandas says of a table stands beside it, as JSON."""
    table = parquet(TABLES[name])
    facts = data.draw(changed(json.loads(table.schema.metadata[b"pandas"])).map(as_json))
    check_parquet(TABLES[name], written(table.replace_schema_metadata({"pandas": facts})))


@settings(max_examples=size(10, 3_000))
@given(data=st.data(), name=st.sampled_from(PARQUETS))
def test_a_damaged_parquet_file(data: st.DataObject, name: str) -> None:
    check_parquet(TABLES[name], data.draw(damaged(written(parquet(TABLES[name])))))


def test_lines_are_those_of_the_whole_files_where_agents_are_left_out(tmp_path: Path) -> None:
    table, path = TABLES["choices"], tmp_path / "choices.csv"
    row = next(number for number in range(40, 60) if table.records[number][1] == "agent 1")
    damage = Damage("cell", row, "price", "-50")
    line = line_of(damaged_table(table, damage, path), row, table.header.index("price"))
    for files in ([path], [path, path]):
        kept = read_tables("choice", files, only=["agent 1"])
        with pytest.raises(AnalysisError, match=rf"choices\.csv:{line}: price: '-50' is below 0; correct it"):
            STUDIES["choice"].analyze(kept)
    damaged_table(table, Damage("dropped", 1, "agent"), path)
    with pytest.raises(AnalysisError, match=r"choices\.csv: column 'agent' is missing"):
        STUDIES["choice"].analyze(read_tables("choice", [path], only=["agent 1"]))
