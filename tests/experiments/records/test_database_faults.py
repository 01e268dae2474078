"""A database that goes away in the middle of a run, and one that a run cannot write."""

import asyncio
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy as sql
from rich.console import Console

from experiments.records import tables
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from tests.experiments.command_line import environment
from tests.experiments.postgres_server import PostgresServer
from tests.experiments.records.test_store import a_record, count, some_facts
from tests.experiments.runs.test_status import an_experiment


@pytest.mark.thorough
@pytest.mark.slow
async def test_a_server_that_restarts_is_waited_for(server: PostgresServer) -> None:
    records = Records(server.new_database())
    records.begin_run("r-1", "nudges", some_facts())
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        threading.Thread(target=server.start).start()

    writer = Writer(records, say=say)
    async with Admission(records, "r-1") as admission:
        for number in range(10):
            await writer.store(a_record(f"t{number}"))
        server.stop()
        await asyncio.gather(*(writer.store(a_record(f"t{number}")) for number in range(10, 30)))
        assert admission.reason == ""
    await writer.close()
    assert len(said) == 1
    assert said[0].startswith("waiting for the database ")
    assert len(records.finished("r-1")) == 30
    assert [count(records, table) for table in (tables.options, tables.steps)] == [60, 30]
    records.close()


@pytest.mark.slow
async def test_a_connection_that_is_cut_while_it_writes_leaves_each_trial_once(
    server: PostgresServer,
) -> None:
    records = Records(server.new_database())
    cuts = iter([True, False, True])
    others = sql.text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid != pg_backend_pid() AND datname = current_database()"
    )
    second = sql.create_engine(records.engine.url, poolclass=sql.NullPool)

    # The server closes the connection after the rows were sent and before they are committed.
    @sql.event.listens_for(records.engine, "commit")
    def cut(_: sql.Connection) -> None:
        if next(cuts, False):
            with second.connect() as connection:
                connection.execute(others)

    writer = Writer(records, say=lambda _: None)
    for number in range(4):
        await writer.store(a_record(f"t{number}"))
    await writer.close()
    assert len(records.finished("r-1")) == 4
    assert [count(records, table) for table in (tables.options, tables.steps)] == [8, 4]
    assert next(cuts, None) is None
    records.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_file_that_cannot_grow_ends_the_run_with_one_line(tmp_path: Path) -> None:
    """The operating system refuses to let the file grow, as a full disk or a quota does."""
    again = an_experiment(tmp_path, 300)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))

    result = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "run", "x.yaml", "--db", "sqlite:///t.db"],
        cwd=tmp_path,
        env=environment({}),
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert result.returncode == 2, result.stderr
    *_, last = result.stderr.splitlines()
    assert last.startswith("error: --db sqlite:///t.db: ")
    assert "Traceback" not in result.stderr
    stored = again.records.finished(again.design.run_id)
    assert 0 < len(stored) < again.total == 1_200
    with again.records.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    again = an_experiment(tmp_path, 300)
    assert again.done == len(stored)
    asyncio.run(again.run(Console(quiet=True)))
    assert again.done == again.total
