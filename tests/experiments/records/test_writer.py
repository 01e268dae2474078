"""The writer: many trials in few transactions, each once; a database that is locked, a disk that is full."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from experiments.records import asking, tables
from experiments.records.record import Trace, TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record, count


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(f"sqlite:///{tmp_path}/t.db?timeout=0.01")


@pytest.fixture
def other(tmp_path: Path, records: Records) -> sqlite3.Connection:
    """Another program with the same file."""
    return sqlite3.connect(tmp_path / "t.db", isolation_level=None)


@pytest.mark.slow
async def test_what_ends_together_is_one_transaction(records: Records) -> None:
    commits = []
    sql.event.listen(records.engine, "commit", commits.append)
    writer = Writer(records)
    await asyncio.gather(*(writer.store(a_record(f"t{number}")) for number in range(200)))
    assert len(records.finished("r-1")) == 200
    assert len(commits) < 10
    await writer.store(a_record("t200"))
    assert "t200" in records.finished("r-1")
    await writer.close()


@pytest.mark.parametrize(("trace", "steps", "pages"), [("full", 1, 1), ("light", 1, 0), ("none", 0, 0)])
async def test_what_is_kept_of_the_steps(records: Records, trace: Trace, steps: int, pages: int) -> None:
    writer = Writer(records, trace)
    record = a_record("t1")
    record.answers.append(
        {"number": 0, "card": "c", "text": "A", "value": "A", "reason": "", "rule": "letter"}
    )
    await writer.store(record)
    await writer.close()
    assert [count(records, table) for table in (tables.steps, tables.artifacts)] == [steps, pages]
    assert [count(records, table) for table in (tables.options, tables.answers)] == [2, 1]
    with records.engine.connect() as connection:
        kept = connection.execute(sql.select(tables.steps.c.action, tables.steps.c.observation)).all()
    assert [(row.action, bool(row.observation)) for row in kept] == [("click('1')", bool(pages))] * steps


@pytest.fixture
def locked(other: sqlite3.Connection) -> asyncio.Event:
    """Another program holds the database; set as soon as that is said."""
    other.execute("BEGIN IMMEDIATE")
    return asyncio.Event()


async def test_a_locked_database_is_waited_for(
    records: Records, other: sqlite3.Connection, locked: asyncio.Event
) -> None:
    said: list[str] = []
    writer = Writer(records, say=lambda line: (said.append(line), locked.set())[0])
    storing = asyncio.gather(*(writer.store(a_record(f"t{number}")) for number in range(3)))
    await locked.wait()
    assert not storing.done()
    other.execute("COMMIT")
    await storing
    assert len(records.finished("r-1")) == 3
    assert len(said) == 1
    assert "database is locked" in said[0]
    await writer.close()


async def test_a_database_that_stays_locked_is_the_users_concern(
    records: Records, other: sqlite3.Connection, locked: asyncio.Event
) -> None:
    writer = Writer(records, say=lambda _: None, patience=0.0)
    with pytest.raises(UserError, match="database is locked; 1 finished trials are not stored") as caught:
        await writer.store(a_record("t1"))
    assert "\n" not in str(caught.value)
    other.execute("COMMIT")
    with pytest.raises(UserError):
        await writer.store(a_record("t2"))
    await writer.close()


@pytest.mark.parametrize("stays", [False, True])
async def test_closing_stores_what_waits_or_says_what_could_not_be_stored(
    stays: bool, records: Records, other: sqlite3.Connection, locked: asyncio.Event
) -> None:
    writer = Writer(records, say=lambda _: locked.set())
    storing = asyncio.create_task(writer.store(a_record("t1")))
    await locked.wait()
    storing.cancel()
    if stays:
        with pytest.raises(UserError, match="1 finished trials are not stored"):
            await writer.close()
        other.execute("COMMIT")
        return
    other.execute("COMMIT")
    await writer.close()
    assert records.finished("r-1") == {"t1"}
    assert storing.cancelled()


class Held(Records):
    """Saves once it is let go."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.saving, self.go_on = threading.Event(), threading.Event()

    def save(self, *finished: TrialRecord) -> None:
        self.saving.set()
        assert self.go_on.wait(60)
        super().save(*finished)


async def test_what_ends_while_others_are_written_is_written_next(tmp_path: Path) -> None:
    records = Held(f"sqlite:///{tmp_path}/t.db")
    writer = Writer(records)
    first = asyncio.create_task(writer.store(a_record("t1")))
    assert await asyncio.to_thread(records.saving.wait, 60)
    second = asyncio.create_task(writer.store(a_record("t2")))
    await asyncio.sleep(0)  # it stands in the queue
    records.go_on.set()
    await asyncio.wait_for(asyncio.gather(first, second), 60)
    assert records.finished("r-1") == {"t1", "t2"}
    await writer.close()


async def test_a_full_disk_stops_at_once_and_what_was_stored_is_sound(
    records: Records, other: sqlite3.Connection
) -> None:
    writer = Writer(records)
    for number in range(5):
        await writer.store(a_record(f"t{number}"))
    pages = other.execute("PRAGMA page_count").fetchone()[0]

    def limit(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    # The database's own limit gives the error of a full disk, on every machine and to every user.
    sql.event.listen(records.engine, "checkout", limit)
    with pytest.raises(UserError, match=r"disk is full or broken \(database or disk is full\); make room"):
        for number in range(5, 1_000):
            await writer.store(a_record(f"t{number}", page=f"{number}" * 1_000))
    await writer.close()
    stored = records.finished("r-1")
    assert {f"t{number}" for number in range(5)} <= stored
    assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    sql.event.remove(records.engine, "checkout", limit)
    records.engine.dispose()
    again = Writer(records)
    await again.store(a_record("last"))
    await again.close()
    assert records.finished("r-1") == {*stored, "last"}


async def test_a_record_that_no_database_takes_is_not_hidden(records: Records) -> None:
    broken = a_record("t1")
    broken.options.append(broken.options[0])
    writer = Writer(records)
    with pytest.raises(sql.exc.IntegrityError):
        await writer.store(broken)
    await writer.close()


async def test_a_file_that_is_locked_for_long_is_no_server_that_stands_still(
    records: Records, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Records(records.engine.url.render_as_string().replace("0.01", "1"))
    monkeypatch.setattr(asking, "SILENT_SECONDS", 0.1)
    said, locked = list[str](), asyncio.Event()
    writer = Writer(records, say=lambda line: (said.append(line), locked.set())[0])
    other.execute("BEGIN IMMEDIATE")
    stored = asyncio.create_task(writer.store(a_record("t1")))
    await locked.wait()
    other.rollback()
    await stored
    assert "database is locked" in said[0]
    await writer.close()
