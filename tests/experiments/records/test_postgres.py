"""A PostgreSQL database by its URL: the same study as in SQLite, several runs at once, the commands."""

import asyncio
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from experiments.records import asking, database
from experiments.records.integrity.check import check_database
from experiments.records.reading.tidy_tables import receipts_table, response_table, tidy_table
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.status import run_statuses
from interventions.errors import UserError
from tests.experiments.chains import has_whole_chains
from tests.experiments.postgres_server import PostgresServer
from tests.experiments.records.test_store import a_record, some_facts
from tests.experiments.runs.test_status import HOTELS, app

WTP = """\
name: few-wtp
task: card
mode: text
cards: willingness-to-pay
design: {factorial: {repeats: 4}}
agents: [simulated:anchored]
seed: 3
"""


@pytest.mark.slow
async def test_two_runs_at_once_give_what_they_give_in_files_of_their_own(
    tmp_path: Path, server: PostgresServer
) -> None:
    both, running = server.new_database(), []
    for name, text in (("hotels", HOTELS.replace("SETS", "20")), ("wtp", WTP)):
        (tmp_path / f"{name}.yaml").write_text(text)
        for db in (both, f"sqlite:///{tmp_path}/{name}.db"):
            file = str(tmp_path / f"{name}.yaml")
            running.append(ExperimentRun(file, agents=None, limit=None, db=db, out=tmp_path))
    await asyncio.gather(*(each.run(Console(quiet=True)) for each in running))
    shared = Records(both)
    for name, table in (("hotels", tidy_table), ("wtp", response_table)):
        alone = Records(f"sqlite:///{tmp_path}/{name}.db")
        (run,) = run_statuses(alone)
        (same,) = run_statuses(shared, run.run)
        assert (same.state, same.done, same.cells) == ("finished", run.done, run.cells)
        first, second = (table(records, run.run).drop(columns="seconds") for records in (alone, shared))
        pd.testing.assert_frame_equal(first, second, check_dtype=False)
        assert receipts_table(shared, run.run).empty
    assert has_whole_chains(both)
    db = ["--db", both]
    for command in ("pause", "status", "resume", "status"):
        result = CliRunner().invoke(app, [command, *db], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert "hotel-choices" in result.output


@pytest.mark.slow
@pytest.mark.parametrize("url", ["postgresql://nobody:secret@127.0.0.1:1/x", "postgresql+psycopg://h:1/x"])
def test_a_server_that_is_not_there_is_one_line_without_the_password(url: str) -> None:
    with pytest.raises(UserError, match="check that it exists and can be written") as caught:
        Records(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_database_of_bytes_keeps_every_character(server: PostgresServer) -> None:
    """Where the system has no locale, PostgreSQL makes databases without an encoding of their own."""
    records = Records(server.new_database("SQL_ASCII"))
    records.begin_run("r", "hôtels 選択", some_facts())
    (found,) = run_statuses(records)
    assert found.name == "hôtels 選択"


def test_a_database_that_lacks_characters_is_refused_in_one_line(server: PostgresServer) -> None:
    with pytest.raises(UserError, match="its encoding LATIN1 lacks characters") as caught:
        Records(server.new_database("LATIN1") + "&password=secret")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(asking, "HURRIED_SECONDS", 0.3)
    monkeypatch.setitem(database._LASTING, "connect_timeout", 2)  # no shorter one is possible


@pytest.mark.slow
async def test_a_server_that_stands_still_is_waited_for(server: PostgresServer, hasty: None) -> None:
    records = Records(server.new_database())
    told = asyncio.Event()
    said: list[str] = []
    writer = Writer(records, say=lambda line: (said.append(line), told.set())[0])
    await writer.store(a_record("t1"))
    with server.standing_still():
        stored = asyncio.create_task(writer.store(a_record("t2")))
        await told.wait()
        assert not stored.done()
    await stored
    assert records.finished("r-1") == {"t1", "t2"}
    assert said == [f"waiting for the database {records.url}: it does not answer"]
    await writer.close()


@pytest.mark.slow
async def test_a_server_that_stands_still_is_not_waited_for_at_the_end(
    server: PostgresServer, hasty: None
) -> None:
    records = Records(server.new_database())
    writer = Writer(records)
    await writer.store(a_record("t1"))
    with server.standing_still():
        stored = asyncio.create_task(writer.store(a_record("t2")))
        await asyncio.sleep(0)  # it is on its way
        await writer.close()
        with pytest.raises(UserError, match=r"it does not answer; 1 finished trials are not stored; once it"):
            await stored
    assert records.finished("r-1") == {"t1"}


@pytest.mark.thorough
@pytest.mark.slow
async def test_an_admission_ends_while_the_server_stands_still(server: PostgresServer, hasty: None) -> None:
    records = Records(server.new_database())
    records.begin_run("r-1", "nudges", some_facts())
    admission = await Admission(records, "r-1").__aenter__()
    with server.standing_still():
        looking = asyncio.create_task(admission._look(beat=True))
        await asyncio.sleep(0)
        looking.cancel()
        await admission.__aexit__(asyncio.CancelledError, None, None)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "made"),
    [
        (
            "trigger other_reason",
            "CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN NEW.reason := ''other''; RETURN NEW; END'; "
            "CREATE TRIGGER other_reason BEFORE INSERT ON trials FOR EACH ROW EXECUTE FUNCTION other()",
        ),
        ("rule nothing", "CREATE RULE nothing AS ON INSERT TO options DO INSTEAD NOTHING"),
        ("policy few", "CREATE POLICY few ON trials USING (outcome = 'choice')"),
    ],
)
def test_what_others_have_put_into_a_database_is_named(name: str, made: str, server: PostgresServer) -> None:
    url = server.new_database()
    records = Records(url)
    of_another = "CREATE TABLE mine (x TEXT); CREATE RULE own AS ON INSERT TO mine DO ALSO NOTHING"
    for statement in (of_another, made):
        Records(url).close()
        with records.engine.begin() as connection:
            connection.exec_driver_sql(statement)
    records.close()
    with pytest.raises(UserError, match=name):
        Records(url)
    structure, *_ = check_database(url, lambda *_: None)
    assert (structure.ok, name in structure.found) == (False, True)
