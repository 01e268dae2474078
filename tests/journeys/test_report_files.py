"""The files of a run: a folder for each database and run, whole reports, and nothing half written."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import make_url
from typer.testing import CliRunner

from analysis.reporting.sections import NamedTable, Report, Section
from experiments.bundles.bundle import write_bundle
from experiments.cli import app
from experiments.commands.results import write
from experiments.records.reading.tidy_tables import write_table
from experiments.records.store import Records, run_folder
from interventions.errors import UserError
from tests.experiments.command_line import forked_souk
from tests.experiments.running import HOTELS
from tests.journeys.programs import run_program


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file grow beyond 100 kB, as on a full disk or by a quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def a_report(*names: str) -> Report:
    frame = pd.DataFrame({"term": ["nudged"], "estimate": [1.5]})
    tables = tuple(NamedTable(name, name, frame) for name in names)
    return Report((Section("Effects", "Text.", tables),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sqlite:///runs/souk.db", "sqlite:///souk.db"),
        ("sqlite:///a.db", "sqlite:///b.db"),
        ("sqlite:///a.db", "sqlite:///a.sqlite"),
        ("sqlite:///x/a.db", "sqlite:///y/a.db"),
        ("postgresql://h/a", "postgresql://h/b"),
        ("postgresql://h/a", "postgresql://i/a"),
        ("postgresql://h:1/a", "postgresql://h:2/a"),
        ("postgresql://h/a-b", "postgresql://h/a_b"),
        ("postgresql:///a?host=/x", "postgresql:///a?host=/y"),
    ],
)
def test_two_databases_share_no_folder(one: str, other: str) -> None:
    assert run_folder(make_url(one), "r-1") != run_folder(make_url(other), "r-1")


def test_a_database_has_one_folder_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for short, long in (("runs/souk.db", f"{tmp_path}/runs/souk.db"), ("t.db", f"{tmp_path}/t.db?timeout=1")):
        folders = [run_folder(make_url(f"sqlite:///{path}"), "r-1").resolve() for path in (short, long)]
        assert folders[0] == folders[1]
    folders = [run_folder(make_url(f"postgresql://{who}@h/a"), "r-1") for who in ("a:secret", "b:other")]
    assert folders[0] == folders[1], "who asks, and with which password, does not matter"


def test_a_report_replaces_the_one_before_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("of the run")
    (tmp_path / "mine.csv").write_text("of the user")
    write(a_report("old", "both"), "choice", {"run": "r-1"}, tmp_path)
    assert {"report.html", "old.csv", "both.csv"} <= files_in(tmp_path).keys()
    write(a_report("both", "new"), "choice", {"run": "r-2"}, tmp_path)
    assert files_in(tmp_path).keys() == {
        "log.txt", "mine.csv", "report.html", "both.csv", "new.csv", ".report-files"
    }  # fmt: skip
    assert "r-2" in (tmp_path / "report.html").read_text()


@pytest.mark.thorough
def test_without_room_for_the_report_the_answer_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All trials are stored, and files may not grow any more, as on a full disk."""
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(HOTELS)
    whole = forked_souk("run", "x.yaml", "--db", "sqlite:///t.db", cwd=tmp_path)
    (folder,) = Path("t.db-runs").iterdir()
    before, answer = files_in(folder), "takes the option shown first"
    for form in ((), ("--json",)):
        with small_files():
            ended = CliRunner().invoke(app, ["analyze", "few-hotels", "--db", "sqlite:///t.db", *form])
        assert str(ended.exception) == (
            f"--out {folder}: the report cannot be written (File too large); make room, or choose "
            "another folder"
        )
        assert answer in whole.out
        assert answer in (json.loads(ended.stdout)["answer"][0] if form else ended.stdout)
    assert files_in(folder) == before


def test_a_full_disk_is_called_so(tmp_path: Path) -> None:
    """SQLite needs room also to read, and calls the lack of it a disk I/O error."""
    Records(f"sqlite:///{tmp_path}/t.db").close()
    full = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    # Without it half a file of compiled code would stay.
    command = f"{full}; sys.dont_write_bytecode = True; from experiments.cli import main; main()"
    ended = run_program(command, "status", "--db", "sqlite:///t.db", cwd=tmp_path)
    assert (ended.status, ended.err) == (
        2,
        "error: --db sqlite:///t.db: its disk is full or broken (disk I/O error); make room there\n",
    )


def test_a_list_of_files_that_a_stranger_wrote_removes_nothing_elsewhere(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.csv", tmp_path / "report"
    outside.write_text("stays")
    folder.mkdir()
    (folder / ".report-files").write_bytes(f"../outside.csv\n{outside}\n..\n.\n\n\xff\n".encode("latin-1"))
    write(a_report("new"), "choice", {"run": "r-1"}, folder)
    assert outside.read_text() == "stays"
    assert files_in(folder).keys() == {"report.html", "new.csv", ".report-files"}


def test_what_cannot_be_written_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    write(a_report("old"), "choice", {"run": "r-1"}, tmp_path)
    before = files_in(tmp_path)
    long = pd.DataFrame({"term": ["x" * 1000] * 1000})
    with small_files():
        with pytest.raises(UserError, match="choose another folder"):
            made = Report((Section("Effects", "Text.", (NamedTable("long", "long", long),)),))
            write(made, "choice", {}, tmp_path)
        for name in ("t.csv", "t.parquet"):
            with pytest.raises(UserError, match="cannot be written"):
                write_table(pd.DataFrame({"term": [str(i) * 100 for i in range(9_999)]}), tmp_path / name)
        with pytest.raises(UserError, match="cannot be written"):
            write_bundle(bytes(200_000), tmp_path / "t.zip")
    assert files_in(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == before.keys()
