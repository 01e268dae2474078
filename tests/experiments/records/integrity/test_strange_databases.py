"""Whatever has become of a database: one line that names it, or a true answer; never a traceback."""

import gc
import json
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.tables.errors import AnalysisError
from experiments.cli import app
from experiments.records.errors import DatabaseFailure, Unreadable, told
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record, some_facts
from tests.experiments.running import HOTELS, run_here
from tests.support import size

DB = "sqlite:///t.db"

STRANGE = {
    "facts that are no JSON": "UPDATE runs SET facts = '{'",
    "facts that are a list": "UPDATE runs SET facts = '[]'",
    "facts of another form": "UPDATE runs SET facts = '{\"inputs\": 3}'",
    "a run without its start": "UPDATE runs SET started_at = x'00ff'",
    "no table of steps": "DROP TABLE steps",
    "no table of trials": "DROP TABLE trials",
    "no table of requests": "DROP TABLE control",
    "no table of versions": "DROP TABLE souk_schema",
    "no version": "DELETE FROM souk_schema",
    "text in a number of an option": "UPDATE options SET price = 'abc'",
    "text in a number of a trial": "UPDATE trials SET tokens_in = 'abc'",
    "bytes in an outcome": "UPDATE trials SET outcome = x'ff'",
    "bytes that are no text": "UPDATE trials SET reason = CAST(x'ff' AS TEXT)",
    "attributes that are no JSON": "UPDATE attributes SET attributes = 'stars'",
    "attributes that are a number": "UPDATE attributes SET attributes = '3'",
    "a cost in words": "UPDATE control SET wasted = 'much'",
    "one row too few": "DELETE FROM options WHERE position = 1 AND trial > 'c'",
    "a choice that was not made": "UPDATE trials SET choice = 'none'",
    "a page that is no page": "UPDATE artifacts SET data = x'00'",
    "a page of another name": "UPDATE artifacts SET data = (SELECT max(data) FROM artifacts)",
    "a sign of life that is no time": "UPDATE runners SET seen_at = 'never'",
    "a sign of life without a zone": "UPDATE runners SET seen_at = '2026-01-01', ended_at = NULL",
    "a process with a number in words": "UPDATE runners SET settled = 'all'",
}

FOREIGN = {
    "trigger other_price": "CREATE TRIGGER other_price AFTER INSERT ON options BEGIN "
    "UPDATE options SET price = 1 WHERE rowid = NEW.rowid; END",
    "view cheap": "CREATE VIEW cheap AS SELECT * FROM options WHERE price < 1",
    "index one_answer": "CREATE UNIQUE INDEX one_answer ON answers (run, trial)",
    "table notes": "DROP TABLE notes; CREATE TABLE notes (run TEXT NOT NULL, trial TEXT NOT NULL, "
    "tags TEXT NOT NULL, note TEXT NOT NULL, updated_at TEXT NOT NULL, "
    "PRIMARY KEY (run, trial) ON CONFLICT IGNORE)",
}
"""What Souk never makes, and what makes it."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "x.yaml").write_text(HOTELS)
    run_here("x.yaml", folder)
    return folder


@pytest.fixture
def folder(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("t.db", "x.yaml"):
        shutil.copy(study / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def souk(*arguments: str) -> tuple[int, str]:
    """The status of a command and what it prints: the result, or the one line with which it fails."""
    result = CliRunner().invoke(app, [*arguments, "--db", DB])
    assert "\x1b" not in result.output
    if result.exception is None or isinstance(result.exception, SystemExit):
        assert result.exit_code in (0, 1, 2), result.output
        return result.exit_code, result.stdout
    error = result.exception
    line = str(error) if isinstance(error, UserError | AnalysisError) else told(error)
    assert line, error
    assert "\n" not in line
    return 2, line


def goes_on(folder: Path) -> None:
    """The same command goes on with the run, and its end is that of an undisturbed run."""
    run_here("x.yaml", folder)
    (only,) = json.loads(souk("status", "--json")[1])
    assert (only["state"], only["done"]) == ("finished", 16)
    assert souk("db", "check")[0] == 0


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", list(STRANGE)[:: size(6, 1)])
def test_strange_content(name: str, folder: Path) -> None:
    connection = sqlite3.connect("t.db")
    with connection:
        connection.execute(STRANGE[name])
    connection.close()
    status, said = souk("db", "check")
    assert status == (0 if "UPDATE runners" in STRANGE[name] else 2), said
    souk("status")
    souk("export", "--out", "t.csv")
    with suppress(UserError, *DatabaseFailure):
        run_here("x.yaml", folder)
    gc.collect()  # what a command has opened is closed when its process ends
    status, said = souk("db", "check", "--repair", "--yes")
    if name != "no version":  # which it was cannot be known
        assert status == 0, said
        goes_on(folder)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FOREIGN)
def test_what_others_have_put_into_a_database_is_named_and_changes_nothing(name: str, folder: Path) -> None:
    connection = sqlite3.connect("t.db")
    connection.executescript(FOREIGN[name])
    connection.execute("CREATE TABLE mine (x TEXT)")  # beside Souk's, it changes nothing
    connection.close()
    for command in (("db", "check"), ("status",), ("export", "--out", "t.csv")):
        status, said = souk(*command)
        assert (status, name in said) == (2, True), said
    with pytest.raises(UserError, match=name):
        run_here("x.yaml", folder)
    gc.collect()
    assert souk("db", "check", "--repair", "--yes")[0] == 0
    goes_on(folder)


def test_what_cannot_be_read_is_not_finished(folder: Path) -> None:
    with sqlite3.connect("t.db") as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'answers'").fetchone()[0]
    connection.close()
    with (folder / "t.db").open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 2048)
    status, said = souk("status")
    assert status == 0
    assert "finished" not in said
    assert "damaged" in said
    assert "damaged" in souk("status", "few-hotels")[1]


def test_a_database_is_not_made_of_what_its_wal_file_has_left(folder: Path) -> None:
    """`t.db` was moved while `t.db-wal` held trials: a new file would make SQLite throw these away."""
    (folder / "t.db-wal").write_bytes(b"stored trials")
    (folder / "t.db").rename("elsewhere.db")
    for command in (("status",), ("run", "x.yaml"), ("db", "check")):
        status, said = souk(*command)
        assert status == 2
        assert "t.db-wal, which belongs to it" in said
    assert (folder / "t.db-wal").read_bytes() == b"stored trials"


def test_a_copy_without_its_wal_file_is_no_empty_database(folder: Path) -> None:
    (folder / "t.db").unlink()
    connection = sqlite3.connect("t.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    status, said = souk("status")
    assert (status, "no runs are in it" in said) == (2, True), said


@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_file_that_is_taken_away_leaves_all_that_was_stored(how: str, folder: Path) -> None:
    url = f"sqlite:///{folder}/new.db"
    records, other = Records(url), Records(url)
    records.begin_run("r-1", "nudges", some_facts())
    for number in range(5):
        records.save(a_record(f"t{number}"))
    other.save(a_record("t5"))
    for end in ("", "-wal", "-shm") if how == "deleted" else ("",):
        path = folder / f"new.db{end}"
        path.unlink() if how == "deleted" else path.rename(folder / f"old.db{end}")
    if how == "replaced":
        shutil.copy("t.db", "new.db")
        (folder / "new.db-wal").unlink()
        (folder / "new.db-shm").unlink()
    for opened, change in ((records, records.save), (other, other.save)):
        with pytest.raises(Unreadable, match=r"moved or deleted .* is in .*new\.db\.rescued"):
            change(a_record("t6"))
        with pytest.raises(Unreadable):
            opened.finished("r-1")
        opened.close()
    for name in ("new.db.rescued", "new.db.rescued-2"):
        rescued = Records(f"sqlite:///{folder}/{name}")
        assert rescued.finished("r-1") == {f"t{number}" for number in range(6)}
        rescued.close()
