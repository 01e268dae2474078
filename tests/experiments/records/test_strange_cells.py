"""Databases of strangers: whatever stands in a cell, a command ends with a result or with one line."""

import gc
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError

from experiments.records import tables
from experiments.records.seals import seal_run
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.records.integrity.test_strange_databases import souk
from tests.experiments.records.test_store import a_record, a_row, some_facts
from tests.experiments.running import HOTELS, run_here
from tests.mutations import changed
from tests.support import size

WTP = """\
name: prices
task: card
mode: text
cards: willingness-to-pay
agents: [simulated:anchored]
design:
  factorial: {repeats: 2, conditions: [control, low]}
"""
COLUMNS = sorted(
    (table.name, column.name) for table in tables.metadata.tables.values() for column in table.columns
)
VALUES = (
    "NULL", "''", "x''", "x'ff'", "CAST(x'ff' AS TEXT)", "CAST(x'6100' AS TEXT)", "'text'",
    "'x' || char(27) || '[31m'", "0", "-1", "7", "0.5", "9e999", "-9e999", "1e300", "9223372036854775807",
    "-9223372036854775808", "'{'", "'{}'", "'[]'", "'[1]'", "'3'", "'null'", "'{\"inputs\": 3}'",
    "'{\"\": [null]}'", "'NaN'", "'nan'", "'2026-01-01'", "'2026-13-01T00:00:00+00:00'",
    "'9999-12-31T23:59:59+00:00'", "'0001-01-01T00:00:00+14:00'", "printf('%.*c', 3000, 'x')",
    "printf('%.*c', 30000, '[')", "'../../up'", "'/dev/zero'", "char(55357)",
)  # fmt: skip
STUDIES = ("choice", "conjoint", "montecarlo", "anchoring")
Words = tuple[str, ...]
RUNS = {"choice": "r-1", "anchoring": "r-1"}
"""The run of each study."""
COMMANDS = (
    ("status",), ("status", "--json"), ("status", "RUN"), ("db", "check"),
    ("export", "--out", "t.csv", "RUN"), ("analyze", "RUN", "--json"), ("report", "RUN"),
    ("bundle", "RUN", "--out", "b.zip"), ("pause", "RUN"), ("runs", "delete", "RUN", "--yes"),
)  # fmt: skip
PROMPTS = [{"anchor": 10.0, "fields": "scene+anchor"}]
SCORES = [
    {"number": value, "target": f"{value}%", "value": float(value), "logprob": -1.0 - value / 10}
    | {"tokens": 2, "shifted": 0, "note": ""}
    for value in range(6)
]
MORE = ("receipts", "calls", "disagreements", "unchecked", "on_screen", "factors")
"""Tables in which every trial of the made studies has a row."""


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of each kind of study, `KIND.db`."""
    folder = tmp_path_factory.mktemp("studies")
    for kind, text in (("conjoint", HOTELS), ("montecarlo", WTP)):
        (folder / "x.yaml").write_text(text)
        run_here("x.yaml", folder)
        (folder / "t.db").rename(folder / f"{kind}.db")
        records = Records(f"sqlite:///{folder}/{kind}.db")
        RUNS[kind] = records.latest_run()["run"]
        records.close()
    for kind in ("choice", "anchoring"):
        records = Records(f"sqlite:///{folder}/{kind}.db")
        facts = {"experiment": {"seed": 1, "environment": "shop"}, "versions": {"souk": "0.1.0"}}
        records.begin_run("r-1", "nudges", some_facts(analysis=kind, **facts))
        for number in range(12):
            record = a_record(f"t{number}", condition=("low", "high")[number % 2], set=f"s{number // 4}")
            if kind == "anchoring":
                record = replace(record, prompts=PROMPTS, scores=SCORES)
            rows = {table.name: [a_row(table)] for table in tables.OF_TRIAL if table.name in MORE}
            records.save(replace(record, **rows))
        records.close()
    return folder


def run_command(kind: str, words: Words) -> None:
    """It ends with a result that does not speak to the terminal, or with one line."""
    named = {"RUN": RUNS[kind]}
    souk(*(named.get(word, word) for word in words))


def without_constraints(connection: sqlite3.Connection) -> None:
    """What a column may not hold is kept out by its declaration, which a stranger can change."""
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')")
    connection.commit()


@contextmanager
def database(studies: Path, kind: str) -> Iterator[sqlite3.Connection]:
    """A copy of a study's database, to be changed, in a folder of its own, in which commands then run."""
    with TemporaryDirectory() as folder, chdir(folder):
        shutil.copy(studies / f"{kind}.db", "t.db")
        with closing(sqlite3.connect("t.db")) as connection:
            without_constraints(connection)
        with closing(sqlite3.connect("t.db")) as connection:
            yield connection
        gc.collect()  # what a command has opened is closed when its process ends


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(4, 4_000))
@example(kind="choice", cells=[(("trials", "tokens_in"), "9e999")], everywhere=False, command=("status",))
@example(kind="montecarlo", cells=[(("calls", "failed"), "7")], everywhere=True, command=("status",))
@example(kind="choice", cells=[(("trials", "nudge"), "x''")], everywhere=False, command=("status", "--json"))
@example(
    kind="choice", cells=[(("control", "updated_at"), "x''")], everywhere=False, command=("status", "RUN")
)
@given(
    kind=st.sampled_from(STUDIES),
    cells=st.lists(st.tuples(st.sampled_from(COLUMNS), st.sampled_from(VALUES)), min_size=1, max_size=2),
    everywhere=st.booleans(),
    command=st.sampled_from(COMMANDS),
)
def test_a_strange_cell(
    studies: Path, kind: str, cells: list[tuple[tuple[str, str], str]], everywhere: bool, command: Words
) -> None:
    with database(studies, kind) as connection:
        for (table, column), value in cells:
            key = list(tables.metadata.tables[table].primary_key.columns.keys() or [column])[-1]
            where = "" if everywhere else f"WHERE {key} = (SELECT max({key}) FROM {table})"
            with suppress(sqlite3.IntegrityError):  # a key would stand twice
                connection.execute(f'UPDATE {table} SET "{column}" = {value} {where}')
        connection.commit()
        run_command(kind, command)


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(4, 1_500))
@given(kind=st.sampled_from(STUDIES), data=st.data(), command=st.sampled_from(COMMANDS))
def test_strange_facts_of_a_run(studies: Path, kind: str, data: st.DataObject, command: Words) -> None:
    """A stranger seals what he has written."""
    with database(studies, kind) as connection:
        (facts,) = connection.execute("SELECT facts FROM runs").fetchone()
        strange = json.dumps(data.draw(changed(json.loads(facts))))
        connection.execute("UPDATE runs SET facts = ?", [strange])
        connection.commit()
        with suppress(UserError, DBAPIError):
            records = Records("sqlite:///t.db")
            with records.writing() as writing:
                seal_run(writing, RUNS[kind])
            records.close()
        run_command(kind, command)
