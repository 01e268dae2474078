"""Damaged databases: check finds what differs, repair keeps only what is as it was stored, a run goes on.

The oracle is the undamaged database of a real run: whatever bytes are changed, `check` says that something is
damaged or everything equals the original; after `repair` each trial that is there equals the original one.
"""

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.records import tables
from experiments.records.control import Runner, request_state
from experiments.records.integrity.check import check_database
from experiments.records.integrity.deletion import delete_run
from experiments.records.integrity.salvage import Salvage, SalvageFindings
from experiments.records.integrity.upkeep import move, repair, vacuum
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.record import artifact_hash
from experiments.records.store import Records
from experiments.runs.status import run_statuses
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record, some_facts
from tests.experiments.running import HOTELS, run_here
from tests.support import size

PAGE = 4096
COMPARED = [tables.runs, tables.control, *tables.OF_TRIAL, tables.artifacts]
"""The tables with what a run has stored; the others say which processes are at work."""

Contents = dict[str, set[tuple[Any, ...]]]


def quiet(*_: object) -> None:
    """What is said of the progress."""


@dataclass(frozen=True)
class Study:
    """A run that nobody disturbed."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        return self.folder / "t.db"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    (folder / "x.yaml").write_text(HOTELS.replace("sets: 8", "sets: 24"))
    run_here("x.yaml", folder)
    records = Records(f"sqlite:///{folder}/t.db")
    name = records.latest_run()["run"]
    records.close()
    assert not (folder / "t.db-wal").exists()
    return Study(folder, name)


def contents(file: Path) -> Contents:
    """All rows, as text where they are JSON."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return {
            table.name: set(connection.execute(f'SELECT * FROM "{table.name}"').fetchall())
            for table in COMPARED
        }
    finally:
        connection.close()


@st.composite
def places(draw: st.DrawFn) -> tuple[float, int, bytes]:
    """Where, from 0 to 1, how far from there, and the bytes that are written there."""
    where, offset = draw(st.floats(0, 0.999999)), draw(st.integers(0, PAGE - 1))
    kind = draw(st.sampled_from(["bytes", "page", "zeros", "long"]))
    if kind == "bytes":
        return where, offset, draw(st.binary(min_size=1, max_size=8))
    if kind == "zeros":
        return where, 0, bytes(PAGE)
    seed = draw(st.integers(0, 2**32))
    return where, 0 if kind == "page" else offset, noise(seed, PAGE if kind == "page" else 2048)


def noise(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)


def damage(file: Path, several: list[tuple[float, int, bytes]]) -> None:
    pages = file.stat().st_size // PAGE
    with file.open("r+b") as opened:
        for where, offset, data in several:
            opened.seek(int(where * pages) * PAGE + offset)
            opened.write(data[: file.stat().st_size - opened.tell()])


LARGE = [
    [
        (number * step % 100 / 100, 0, data)
        for step, data in ((37, noise(number, PAGE)), (53, bytes(PAGE)), (71, noise(-number, PAGE)))
    ]
    for number in range(1, 40)
]
"""Three pages each that are overwritten."""


def lost_of(found: SalvageFindings) -> set[str]:
    return {trial for trials in found.damaged.values() for trial in trials}


def table_of(folder: Path) -> pd.DataFrame:
    """The end table of the run, without times."""
    records = Records(f"sqlite:///{folder}/t.db")
    table = tidy_table(records, records.latest_run()["run"]).drop(columns="seconds")
    records.close()
    return table


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("several", LARGE[: size(2, 20)])
def test_a_repaired_run_goes_on_to_the_end_of_an_undisturbed_one(
    several: list[tuple[float, int, bytes]], study: Study, tmp_path: Path
) -> None:
    for name in ("t.db", "x.yaml"):
        shutil.copy(study.folder / name, tmp_path)
    damage(tmp_path / "t.db", several)
    try:
        repair(f"sqlite:///{tmp_path}/t.db", quiet)
    except UserError as error:  # where the list of tables was overwritten
        assert "its list of tables is lost" in str(error)
        return
    run_here("x.yaml", tmp_path)
    pd.testing.assert_frame_equal(table_of(tmp_path), table_of(study.folder))
    assert all(finding.ok for finding in check_database(f"sqlite:///{tmp_path}/t.db", quiet))


@pytest.fixture
def filled(url: str) -> Iterator[Records]:
    """Two runs with pages, and a page that no trial shows."""
    records = Records(url)
    for run in ("r-1", "r-2"):
        records.begin_run(run, "nudges", some_facts(agents=["simulated:balanced"]))
        for number in range(6):
            records.save(a_record(f"t{number}", page=f"<p>{run} {number}</p>", run=run, cost=0.1 * number))
    request_state(records, "r-2", "paused")
    with records.writing() as connection:
        connection.execute(tables.artifacts.insert().values(hash="unnamed", data=b"x"))
    yield records
    records.close()


def whole(url: str) -> SalvageFindings:
    with Salvage(url) as salvage:
        return salvage.read(quiet)


@pytest.mark.thorough
@pytest.mark.slow
def test_damaged_trials_go_and_the_others_stay(filled: Records, url: str) -> None:
    trials, options, artifacts = tables.trials, tables.options, tables.artifacts
    with filled.writing() as connection:
        connection.execute(
            trials.update().where(trials.c.trial == "t0", trials.c.run == "r-1").values(seed=2)
        )
        connection.execute(options.delete().where(options.c.trial == "t1", options.c.position == 1))
        connection.execute(trials.delete().where(trials.c.trial == "t2"))
        page = artifact_hash("<p>r-2 4</p>")
        connection.execute(artifacts.update().where(artifacts.c.hash == page).values(data=b"no page"))
        connection.execute(tables.runs.update().where(tables.runs.c.run == "r-2").values(name="x"))
    filled.close()
    wrong = {finding.name: finding.found for finding in check_database(url, quiet) if not finding.ok}
    assert wrong == {
        "runs": "facts damaged or missing: r-2",
        "trials": "7 as stored, 5 damaged: r-1/t0, r-1/t1, r-1/t2, ...",
        "pages": f"6 as stored, 1 damaged or missing: {page}",
        "chains": "0 whole, 2 broken: r-1: link 2 (trial t2): the trial is not stored any more",
    }
    found = repair(url, quiet).found
    assert {run: sorted(names) for run, names in found.damaged.items()} == {
        "r-1": ["t0", "t1", "t2"],
        "r-2": ["t1", "t2"],
    }
    after = whole(url)
    assert (after.trials, after.lost, after.pages, after.known_lost, after.unnamed) == (7, 0, 6, 1, [])
    again = Records(url)
    assert again.finished("r-1") == {"t3", "t4", "t5"}
    with pytest.raises(KeyError):
        again.artifact(page)
    again.save(a_record("t9", page="<p>r-2 4</p>"))
    assert again.artifact(page) == "<p>r-2 4</p>", "what was lost is stored again when it comes again"
    again.close()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_moves_with_all_that_it_holds(
    kind: str, filled: Records, url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("server") if kind == "postgresql" else None
    to = server.new_database() if server else f"sqlite:///{tmp_path}/new.db"
    runner = Runner("r-1", trials=6)
    runner.begin(filled)
    with pytest.raises(UserError, match=r"process \d+ on .* is at work; stop it first"):
        move(filled, to, quiet)
    runner.end(filled)
    found = move(filled, to, quiet)
    assert (found.trials, found.pages, found.unnamed) == (12, 12, ["unnamed"])
    new = Records(to)
    for run in ("r-1", "r-2"):
        assert new.finished(run) == filled.finished(run)
        assert new.latest_run(run) == filled.latest_run(run)
        assert [each.to_dict() for each in run_statuses(new, run)] == [
            each.to_dict() for each in run_statuses(filled, run)
        ]
    assert new.artifact(artifact_hash("<p>r-2 4</p>")) == "<p>r-2 4</p>"
    with pytest.raises(UserError, match="there are runs in it already"):
        move(filled, to, quiet)
    new.close()
    assert all(finding.ok for finding in check_database(to, quiet))


def test_what_is_damaged_does_not_move(filled: Records, tmp_path: Path) -> None:
    with filled.writing() as connection:
        connection.execute(tables.trials.update().where(tables.trials.c.trial == "t3").values(choice="b"))
    to = f"sqlite:///{tmp_path}/new.db"
    with pytest.raises(UserError, match="it is damaged; souk db check --repair first"):
        move(filled, to, quiet)
    assert whole(to).trials == 0, "all or nothing"


@pytest.mark.thorough
@pytest.mark.slow
def test_space_is_given_back_unless_a_run_is_at_work(filled: Records) -> None:
    for number in range(40):
        records_page = "".join(f"<p>{number} {word}</p>" for word in range(2_000))
        filled.save(a_record(f"t{number}", page=records_page, run="r-3"))
    runner = Runner("r-1", trials=6)
    runner.begin(filled)
    with pytest.raises(UserError, match="is at work"):
        vacuum(filled)
    runner.end(filled)
    delete_run(filled, "r-3")
    before, after = vacuum(filled)
    assert after < before
    assert len(filled.finished("r-1")) == 6


def test_a_file_without_its_list_of_tables_is_named_and_stays(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    shutil.copy(study.file, file)
    damage(file, [(0.0, 0, bytes(PAGE))])
    left = file.read_bytes()
    with pytest.raises(UserError, match=r"not a database; its list .*a copy.*: sqlite3 \S+ \.recover$"):
        repair(f"sqlite:///{file}", quiet)
    assert file.read_bytes() == left


def test_a_file_that_is_in_use_is_not_repaired(filled: Records, url: str) -> None:
    if url.startswith("sqlite"):
        with pytest.raises(UserError, match="database is locked; nothing was changed"):
            repair(url, quiet)


@pytest.mark.slow
@settings(
    max_examples=size(10, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(several=st.lists(places(), min_size=1, max_size=4))
def test_damage_is_found_and_only_what_is_whole_is_kept(
    several: list[tuple[float, int, bytes]], study: Study, tmp_path: Path
) -> None:
    file, original = tmp_path / "t.db", contents(study.file)
    for left in tmp_path.glob("t.db*"):
        left.unlink()
    shutil.copy(study.file, file)
    damage(file, several)
    url = f"sqlite:///{file}"
    try:
        sound = all(finding.ok for finding in check_database(url, quiet))
        if sound:
            assert contents(file) == original
            return
        done = repair(url, quiet)
    except UserError as error:
        assert "\n" not in str(error)
        assert file.exists()
        return
    repaired = contents(file)
    for table in COMPARED:
        if table.name != "artifacts":
            assert repaired[table.name] <= original[table.name], table.name
    kept = {row[1] for row in repaired["trials"]}
    assert {row[1] for row in original["trials"]} - kept <= lost_of(done.found)
    assert len(kept) == done.found.trials
    pages = dict(original["artifacts"])
    for name, data in repaired["artifacts"]:
        assert data == pages[name] if data else name in done.found.damaged_pages
    after = check_database(url, quiet)
    assert [each.name for each in after if not each.ok] == ["runs"] * bool(done.found.lost_runs and kept)
    assert done.old is not None
    assert done.old.stat().st_size == study.file.stat().st_size
