"""An archive of a registered run: what is altered is found, also where all hashes were made anew."""

import csv
import io
import json
import shutil
import sqlite3
from contextlib import chdir, closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.bundles.bundle import make_bundle
from experiments.bundles.verify import verify_bundle
from experiments.records.reading.plans import plan_digest
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.bundles.test_bundle import Members, complaint, forge, members_of
from tests.experiments.command_line import forked_souk
from tests.experiments.running import HOTELS, run_here
from tests.support import size

PLAN = """\
plan:
  hypotheses:
    - {name: first-place, table: triage, row: {}, expect: different}
"""
STUDY = HOTELS + PLAN.replace("row: {}", "row: {note: ''}")


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registered run in `t.db`, and its archive `a.zip`."""
    folder = tmp_path_factory.mktemp("registered")
    (folder / "x.yaml").write_text(STUDY)
    ended = forked_souk("register", "x.yaml", "--db", "sqlite:///t.db", cwd=folder)
    assert ended.status == 0, ended.err
    run_here("x.yaml", folder)
    with chdir(folder):
        records = Records("sqlite:///t.db")
        (folder / "a.zip").write_bytes(make_bundle(records, records.latest_run()))
        records.close()
    return folder


@pytest.fixture
def members(registered: Path) -> Members:
    return members_of(registered / "a.zip")


@pytest.mark.slow
def test_it_is_whole_and_says_so(registered: Path, members: Members) -> None:
    found = verify_bundle(registered / "a.zip", 1e-9)
    assert found.differences == []
    plan, chain = found.proof
    assert plan.startswith("plan ")
    assert chain.startswith("chain of 16 links is whole")
    estimates = json.loads(members["estimates.json"])
    assert estimates["registered"]["deviations"] == []
    assert [row["hypothesis"] for row in estimates["registered"]["results"]] == ["first-place"]


@pytest.mark.slow
@given(data=st.data())
@settings(
    max_examples=size(3, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_cell_that_is_altered_is_named(data: st.DataObject, registered: Path) -> None:
    members = members_of(registered / "a.zip")
    tables = sorted(name for name in members if name.endswith(".csv") and name != "records/pages.csv")
    name = data.draw(st.sampled_from(tables))
    rows = list(csv.reader(io.StringIO(members[name].decode(), newline="")))
    place = data.draw(st.integers(1, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    rows[place][column] += "7"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    forge(members, name, text.getvalue().encode())
    assert complaint(members, registered)


@pytest.mark.slow
@given(data=st.data())
@settings(
    max_examples=size(4, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_link_that_is_altered_is_named(data: st.DataObject, registered: Path) -> None:
    members = members_of(registered / "a.zip")
    lines = members["records/chain.jsonl"].splitlines()
    place = data.draw(st.integers(0, len(lines) - 2))
    how = data.draw(st.sampled_from(["drop", "swap", "twice", "field", "row", "no rows"]))
    each = json.loads(lines[place])
    if how == "drop":
        del lines[place]
    elif how == "swap":
        lines[place : place + 2] = [lines[place + 1], lines[place]]
        numbered = [{**json.loads(line), "number": number} for number, line in enumerate(lines)]
        lines = [json.dumps(line).encode() for line in numbered]
    elif how == "twice":
        lines.insert(place, lines[place])
    elif how == "field":
        key = data.draw(st.sampled_from(["what", "trial", "outcome", "seal", "content", "link"]))
        each[key] = each[key][::-1] if each[key][::-1] != each[key] else "x"
        lines[place] = json.dumps(each).encode()
    elif how == "row":
        table = data.draw(st.sampled_from(sorted(each["rows"])))
        row = each["rows"][table][0]
        key = data.draw(st.sampled_from(sorted(row)))
        row[key] = "other" if isinstance(row[key], str) else 77
        lines[place] = json.dumps(each).encode()
    else:
        del each["rows"]
        lines[place] = json.dumps(each).encode()
    forge(members, "records/chain.jsonl", b"\n".join(lines) + b"\n")
    assert "link" in complaint(members, registered) or how == "no rows"
    assert complaint(members, registered)


def test_an_altered_plan_is_named(members: Members, tmp_path: Path) -> None:
    told = json.loads(members["plan.json"])
    told["content"]["hypotheses"][0]["alpha"] = 0.4
    forge(members, "plan.json", json.dumps(told).encode())
    assert "plan.json is not the plan" in complaint(members, tmp_path)
    told["hash"] = plan_digest(told["content"])
    forge(members, "plan.json", json.dumps(told).encode())
    assert "plan.json is not the plan" in complaint(members, tmp_path)
    design = json.loads(members["design.json"])
    forge(members, "design.json", json.dumps({**design, "plan": told["hash"]}).encode())
    assert "link 0" in complaint(members, tmp_path)


@pytest.mark.parametrize("name", ["plan.json", "records/chain.jsonl"])
def test_a_proof_that_is_left_out_is_missed(name: str, members: Members, tmp_path: Path) -> None:
    manifest = json.loads(members["manifest.json"])
    del manifest["members"][name], members[name]
    members["manifest.json"] = json.dumps(manifest).encode()
    assert f"{name} is missing" in complaint(members, tmp_path)


@pytest.mark.slow
def test_an_altered_verdict_is_named(members: Members, tmp_path: Path) -> None:
    estimates = json.loads(members["estimates.json"])
    estimates["registered"]["results"][0]["verdict"] = "supported, really"
    forge(members, "estimates.json", json.dumps(estimates).encode())
    assert "registered.results[0].verdict" in complaint(members, tmp_path)


def test_altered_parquet_is_named(members: Members, tmp_path: Path) -> None:
    forge(members, "data/choices.parquet", members["data/choices.parquet"][:-1] + b"x")
    assert "choices.parquet is not what" in complaint(members, tmp_path)


def test_no_archive_is_made_of_what_was_tampered_with(registered: Path, tmp_path: Path) -> None:
    shutil.copy(registered / "t.db", tmp_path / "t.db")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection, connection:
        connection.execute("UPDATE trials SET seconds = 99 WHERE trial = (SELECT min(trial) FROM trials)")
    records = Records(f"sqlite:///{tmp_path}/t.db")
    with pytest.raises(UserError, match=r"link \d+ \(trial .*no archive of it would be whole"):
        make_bundle(records, records.latest_run())
    records.close()
