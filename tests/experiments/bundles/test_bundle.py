"""An archive of a real run: the same bytes twice, the same estimates again; what is altered is found."""

import hashlib
import io
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from experiments.bundles.bundle import archive, public_facts
from experiments.bundles.verify import differing, verify_bundle
from experiments.commands import bundle
from interventions.errors import UserError
from tests.experiments.command_line import forked_souk, souk
from tests.experiments.running import run_here

EXPERIMENT = """\
name: archived
goal: Buy the best product.
options: {sets: 2}
factors:
  nudge: {interventions: nudges, only: [wirecutter]}
"""
WTP = """\
name: prices
task: card
mode: text
cards: willingness-to-pay
design:
  factorial: {repeats: 3, conditions: [control, low]}
"""
Members = dict[str, bytes]
app = typer.Typer()
app.add_typer(bundle.app, name="bundle")
app.command("other")(lambda: None)


def souk_bundle(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bundle", *arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in `t.db`, in which one trial has failed at a file of this machine; and its archive, `a.zip`."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "x.yaml").write_text(EXPERIMENT)
    run_here("x.yaml", folder)
    with sqlite3.connect(folder / "t.db") as connection:
        connection.execute(
            "UPDATE trials SET outcome = 'agent_error', choice = NULL, reason = ? "
            "WHERE trial = (SELECT min(trial) FROM trials)",
            [f"no file {folder}/model.bin; name another"],
        )
        connection.execute("DELETE FROM links")  # as of the version before there were chains
    connection.close()
    with chdir(folder):
        ended = souk_bundle("archived", "--db", "sqlite:///t.db", "--out", "a.zip")
    assert ended.exit_code == 0, ended.output
    assert hashlib.sha256((folder / "a.zip").read_bytes()).hexdigest() in ended.stdout
    return folder


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def members(folder: Path) -> Members:
    return members_of(folder / "a.zip")


def forge(members: Members, name: str, content: bytes) -> None:
    """Change a member and what the manifest says of it."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    members |= {name: content, "manifest.json": json.dumps(manifest).encode()}


def complaint(members: Members, folder: Path) -> str:
    """What is said of an archive of these members; empty: it is what it was."""
    path = folder / "altered.zip"
    path.write_bytes(archive(members))
    try:
        found = verify_bundle(path, 1e-9)
    except UserError as error:
        assert "\n" not in str(error)
        assert str(error).startswith(f"{path}: ")
        return str(error).removeprefix(f"{path}: ")
    return "; ".join(found.differences)


@pytest.mark.browser
def test_it_holds_design_data_proof_and_estimates(members: Members) -> None:
    manifest = json.loads(members["manifest.json"])
    assert manifest["run"].startswith("archived-")
    assert {"python", "souk", "pandas"} <= manifest["made_with"].keys()
    assert manifest["members"].keys() == members.keys() - {"manifest.json"}
    design = json.loads(members["design.json"])
    assert design["inputs"]["prompt"]["digest"]
    assert "{{ goal }}" in design["inputs"]["prompt"]["templates"]["step.j2"]
    assert design["inputs"]["products"]
    choices = pd.read_parquet(io.BytesIO(members["data/choices.parquet"]))
    assert len(choices) == 24
    assert len(pd.read_csv(io.BytesIO(members["data/choices.csv"]))) == 24
    pages = pd.read_csv(io.BytesIO(members["records/pages.csv"]))
    assert pages["observation"].str.fullmatch("[0-9a-f]{32}").all()
    assert set(pages["trial"]) == set(choices["trial"])
    assert b"wirecutter" in members["records/receipts.csv"]
    assert json.loads(members["estimates.json"])["analysis"]["effects"]


@pytest.mark.browser
def test_it_says_nothing_of_where_it_was_made(folder: Path, members: Members) -> None:
    assert b"no file model.bin; name another" in members["records/trials.csv"]
    parquet = [name for name in members if name.endswith(".parquet")]
    texts = [pd.read_parquet(io.BytesIO(members[name])).to_csv().encode() for name in parquet]
    for content in [*members.values(), *texts]:
        assert str(folder).encode() not in content
        assert os.environ["HOME"].encode() + b"/" not in content


def test_paths_are_cut_and_selectors_are_not() -> None:
    facts: dict[str, Any] = {
        "experiment": {"site": "/home/me/study/shop.yaml", "environment": "https://shop.example/a/b/"},
        "agents": ["hf:/home/me/models/small", "openai:gpt-4.1"],
        "inputs": {
            "site_map": {"name": "shop", "extends": "C:\\maps\\base", "roles": {"x": "a[href='/b/c']"}}
        },
    }
    said = public_facts(facts)
    assert said["experiment"] == {"site": "shop.yaml", "environment": "https://shop.example/a/b/"}
    assert said["agents"] == ["hf:small", "openai:gpt-4.1"]
    assert said["inputs"]["site_map"] == {"name": "shop", "extends": "base", "roles": {"x": "a[href='/b/c']"}}
    assert facts["agents"][0] == "hf:/home/me/models/small"


@pytest.mark.browser
def test_the_estimates_come_out_again(folder: Path) -> None:
    ended = souk_bundle("verify", str(folder / "a.zip"))
    assert ended.exit_code == 0, ended.output
    assert "members are whole; the estimates come out again" in ended.stdout


@pytest.mark.browser
def test_an_altered_estimate_is_named(folder: Path, members: Members, tmp_path: Path) -> None:
    estimates = json.loads(members["estimates.json"])
    estimates["analysis"]["effects"][0]["estimate"] += 0.5
    forge(members, "estimates.json", json.dumps(estimates).encode())
    (tmp_path / "b.zip").write_bytes(archive(members))
    ended = souk_bundle("verify", str(tmp_path / "b.zip"), "--json")
    assert ended.exit_code == 1, ended.output
    (line,) = json.loads(ended.stdout)["differences"]
    assert line.startswith("analysis.effects[0].estimate: ")
    assert verify_bundle(tmp_path / "b.zip", 1.0).differences == []


@pytest.mark.browser
def test_altered_data_give_other_estimates(members: Members, tmp_path: Path) -> None:
    table = pd.read_csv(io.BytesIO(members["data/choices.csv"]))
    made = table["outcome"] == "choice"
    table.loc[made, "chosen"] = (table.loc[made, "position"] == 0).astype(int)
    forge(members, "data/choices.csv", table.to_csv(index=False).encode())
    assert "analysis.effects[" in complaint(members, tmp_path)


def tampered(members: Members) -> None:
    members["records/pages.csv"] = members["records/pages.csv"].replace(b"0", b"1", 1)


def without_manifest(members: Members) -> None:
    del members["manifest.json"]


def climbing(members: Members) -> None:
    forge(members, "../../records.csv", b"a\n")


def other_kind(members: Members) -> None:
    manifest = json.loads(members["manifest.json"])
    members["manifest.json"] = json.dumps({**manifest, "kind": "os.system"}).encode()


BROKEN: list[tuple[Callable[[Members], object], str]] = [
    (tampered, "records/pages.csv is not what the manifest says"),
    (lambda members: members.pop("records/receipts.csv"), "records/receipts.csv is missing"),
    (without_manifest, "manifest.json is missing"),
    (
        lambda members: members.update({"records/answers.csv": b"a\n"}),
        "records/answers.csv is not in the manifest",
    ),
    (lambda members: forge(members, "setup.py", b"x"), "'setup.py': not a member of such an archive"),
    (climbing, "'../../records.csv': leads out of the archive"),
    (
        lambda members: forge(members, "/etc/cron.d/souk", b"a\n"),
        "'/etc/cron.d/souk': leads out of the archive",
    ),
    (lambda members: forge(members, "estimates.json", b"[" * 200_000), "recursion"),
    (other_kind, "manifest.json: kind: "),
    (lambda members: forge(members, "design.json", b"null"), "design.json is no design"),
    (lambda members: members.update({"design.json": bytes((1 << 26) + 1)}), "larger than 64 MiB"),
]


@pytest.mark.browser
@pytest.mark.parametrize(("change", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_a_broken_archive_is_refused(
    change: Callable[[Members], object], reason: str, members: Members, tmp_path: Path
) -> None:
    change(members)
    assert reason in complaint(members, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["altered.zip"]


def entry(members: Members, path: Path, **changes: Any) -> None:
    """Write an archive whose `design.json` has other properties."""
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            for key, value in changes.items() if name == "design.json" else ():
                setattr(info, key, value)
            file.writestr(info, content)


@pytest.mark.browser
def test_links_and_odd_packings_are_refused(members: Members, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    entry(members, path, external_attr=0o120777 << 16)
    with pytest.raises(UserError, match="no plain file"):
        verify_bundle(path, 1e-9)
    entry(members, path, compress_type=zipfile.ZIP_LZMA)
    with pytest.raises(UserError, match="packed in another way"):
        verify_bundle(path, 1e-9)


@pytest.mark.browser
def test_a_member_that_stands_twice_is_refused(members: Members, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    path.write_bytes(archive(members))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as file:
        file.writestr("design.json", "{}")
    with pytest.raises(UserError, match="stands twice"):
        verify_bundle(path, 1e-9)


def test_no_archive_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        verify_bundle(tmp_path / "none.zip", 1e-9)


@pytest.mark.parametrize(
    ("then", "now", "lines"),
    [
        ({"a": [1.0, None]}, {"a": [1.0 + 1e-12, None]}, []),
        ({"a": 1e9}, {"a": 1e9 + 0.5}, []),
        ({"a": 1.0}, {"a": 1.001}, ["a: 1.0 in the archive, 1.001 here"]),
        ({"a": None}, {"a": 0.0}, ["a: null in the archive, 0.0 here"]),
        ({"a": True}, {"a": 1}, ["a: true in the archive, 1 here"]),
        ({"a": 1}, {"b": 1}, ["a: only in the archive"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a: 2 entries in the archive, 1 here"]),
    ],
)
def test_numbers_are_compared_and_all_else_is_the_same(then: Any, now: Any, lines: list[str]) -> None:
    assert list(differing(then, now, 1e-9)) == lines


@pytest.mark.browser
def test_an_archive_of_an_older_version_verifies_what_it_holds(members: Members, tmp_path: Path) -> None:
    """A table and a column that this version has and the archive has not are told, and no difference."""
    estimates = json.loads(members["estimates.json"])
    del estimates["analysis"]["steps"]
    for row in estimates["analysis"]["effects"]:
        del row["statistic"]
    forge(members, "estimates.json", json.dumps(estimates).encode())
    (tmp_path / "b.zip").write_bytes(archive(members))
    found = verify_bundle(tmp_path / "b.zip", 1e-9)
    assert found.differences == []
    new = "analysis.effects.statistic, analysis.steps"
    assert found.notes == [f"not in the archive, which another version of Souk made: {new}"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_bundle_is_analysed_and_viewed_as_its_run(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(WTP)
    run_here("x.yaml", tmp_path)
    away = tmp_path / "away"
    (away / "tmp").mkdir(parents=True)
    with chdir(tmp_path):
        assert souk_bundle("--db", "sqlite:///t.db", "--out", "away/w.zip").exit_code == 0
    of_run = forked_souk("analyze", "--db", "sqlite:///../t.db", "--all", cwd=away)
    of_zip = souk("analyze", "w.zip", "--all", cwd=away, env={"TMPDIR": str(away / "tmp")})
    assert (of_zip.status, of_zip.err) == (0, "")
    last = of_run.out.splitlines()[-1]
    assert last.startswith("report: ")
    assert of_zip.out == of_run.out.replace(last, "a report with --out DIR")
    shown = souk("view", "w.zip", "--static", "site", cwd=away, env={"TMPDIR": str(away / "tmp")})
    assert (shown.status, "36 trials" in shown.out) == (0, True), shown
    other = forked_souk("analyze", "w.zip", "--as", "choice", cwd=away)
    assert (other.status, "a run has its own kind of study" in other.err) == (2, True)
    members = members_of(away / "w.zip")
    answered, asked = (
        len(pd.read_csv(io.BytesIO(members[f"records/{name}.csv"]))) for name in ("answers", "questions")
    )
    assert answered >= asked == 36
    question = "What is the highest price, in US dollars, that you would pay"
    assert question in json.dumps(json.loads(members["design.json"])["inputs"]["cards"])
    members["data/responses.csv"] += b"\n"
    (away / "bad.zip").write_bytes(archive(members))
    for command in ("analyze", "view"):
        refused = forked_souk(command, "bad.zip", cwd=away)
        assert (refused.status, refused.err.count("\n")) == (2, 1), refused.err
        assert refused.err.startswith("error: bad.zip: ")
    ours = {"out.txt", "err.txt"}
    assert {path.name for path in away.iterdir()} - ours == {"w.zip", "bad.zip", "site", "tmp"}
    assert [*(away / "tmp").iterdir()] == []


@pytest.mark.browser
@given(st.data())
def test_a_damaged_file_is_refused_in_one_line(folder: Path, data: st.DataObject) -> None:
    content = bytearray((folder / "a.zip").read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        # Within the packed content of the first member: elsewhere a changed bit may mean nothing.
        place = data.draw(st.integers(60, 900))
        content[place] ^= data.draw(st.integers(1, 255))
    path = folder / "damaged.zip"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        verify_bundle(path, 1e-9)
    assert "\n" not in str(error.value)
