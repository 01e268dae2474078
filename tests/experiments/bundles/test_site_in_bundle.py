"""An archive with the viewer's pages: hashed like all else, safe to unpack and to open; no others pass."""

import hashlib
import json
import zipfile
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from experiments.bundles import bundle as bundles
from experiments.bundles import verify as checks
from experiments.bundles.bundle import SITE, make_bundle
from experiments.bundles.verify import verify_bundle
from experiments.cli import app
from experiments.records.reading.trial_search import Selection
from experiments.records.store import Records
from experiments.viewer.site import site_files, write_site
from interventions.errors import UserError
from tests.experiments.bundles.test_bundle import Members, complaint, forge, members_of
from tests.experiments.running import HOTELS, run_here
from tests.experiments.viewer.test_site import linked, quiet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in `t.db`, and its archive with a site, `a.zip`."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "x.yaml").write_text(HOTELS)
    run_here("x.yaml", folder)
    with chdir(folder):
        said = CliRunner().invoke(
            app, ["bundle", "--with-site", "--db", "sqlite:///t.db", "--out", "a.zip"], catch_exceptions=False
        )
    assert said.exit_code == 0, said.output
    return folder


@pytest.fixture
def members(folder: Path) -> Members:
    return members_of(folder / "a.zip")


def pages(members: Members) -> Members:
    return {name.removeprefix("site/"): page for name, page in members.items() if name.startswith("site/")}


@pytest.mark.thorough
def test_the_site_is_that_of_the_viewer_and_is_walked_where_it_is_unpacked(
    folder: Path, members: Members, tmp_path: Path
) -> None:
    with zipfile.ZipFile(folder / "a.zip") as file:
        file.extractall(tmp_path)
    found = linked(tmp_path / "site")
    assert found.keys() | {"trials.csv"} == pages(members).keys()
    records = Records(f"sqlite:///{folder}/t.db")
    run = records.latest_run()["run"]
    trials, files, _ = write_site(records, Selection(run), tmp_path / "other", quiet)
    assert (trials, files) == (16, len(pages(members)))
    assert {name: (tmp_path / "other" / name).read_bytes() for name in pages(members)} == pages(members)


@pytest.mark.thorough
def test_the_same_run_gives_the_same_bytes_and_all_else_is_as_without_a_site(
    folder: Path, members: Members
) -> None:
    records = Records(f"sqlite:///{folder}/t.db")
    found = records.latest_run()
    site = site_files(records, found["run"], quiet)
    assert make_bundle(records, found, site) == (folder / "a.zip").read_bytes()
    (folder / "plain.zip").write_bytes(make_bundle(records, found))
    plain = members_of(folder / "plain.zip")
    assert plain.keys() == {name for name in members if not name.startswith("site/")}
    assert all(plain[name] == members[name] for name in plain if name != "manifest.json")


def test_its_pages_are_checked_like_all_else(folder: Path, members: Members, tmp_path: Path) -> None:
    whole = verify_bundle(folder / "a.zip", 1e-9)
    assert whole.differences == []
    assert [note for note in whole.notes if note.startswith(f"site/: {len(pages(members))} files")]
    other = {**members, "site/index.html": members["site/index.html"] + b" "}
    assert "site/index.html is not what the manifest says" in complaint(other, tmp_path)
    less = {name: page for name, page in members.items() if name != "site/trials.csv"}
    assert "site/trials.csv is missing" in complaint(less, tmp_path)
    assert "site/more.html is not in the manifest" in complaint({**members, "site/more.html": b""}, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "site/run.js", "site/.htaccess", "site/Index.html", "site/trials/a/b.html", "site/other/a.html",
        "site/../index.html", "site/trials/../../a.html", "site//a.html", "/site/index.html",
        "site\\index.html", "c:/site/index.html", "site/index.html\n", "site/",
    ],
)  # fmt: skip
def test_what_is_no_page_of_a_site_is_refused(name: str, members: Members, tmp_path: Path) -> None:
    forge(members, name, b"")
    assert complaint(members, tmp_path)


@given(st.from_regex(SITE, fullmatch=True))
def test_no_name_of_a_page_leads_out_of_the_folder(name: str) -> None:
    assert (Path("/here") / name).resolve() == Path("/here", *name.split("/"))
    assert name == name.lower() and name.isascii() and name.isprintable() and "\\" not in name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<!doctype html>", b"<!doctype html><script>alert(1)</script>"),
        (b'lang="en"', b'lang="en" onclick="alert(1)"'),
        (b'charset="utf-8"', b'charset="utf-8" http-equiv="refresh" content="0;url=//evil.example"'),
        (b"default-src", b"script-src 'unsafe-inline'; default-src"),
        (b"default-src &#39;none&#39;; ", b""),
        (b"style-src ", b"style-src https://evil.example "),
        (b'<meta http-equiv="Content', b'<!--<meta http-equiv="Content'),
    ],
)
def test_a_page_that_could_run_or_load_something_is_refused(
    old: bytes, new: bytes, members: Members, tmp_path: Path
) -> None:
    name = next(name for name in members if name.startswith("site/trials/"))
    assert old in members[name]
    forge(members, name, members[name].replace(old, new, 1))
    assert f"{name}: not a page of souk view" in complaint(members, tmp_path)


def test_a_site_that_is_too_large_is_neither_written_nor_read(
    folder: Path, members: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "LARGEST_SITE", 1 << 20)
    records = Records(f"sqlite:///{folder}/t.db")
    page = ("index.html", b" " * (1 << 19))
    with pytest.raises(UserError, match="more than 1 MiB"):
        make_bundle(records, records.latest_run(), [page, page, ("trials.html", b" ")])
    monkeypatch.setattr(checks, "LARGEST_SITE", 1 << 10)
    with pytest.raises(UserError, match="site/: larger than"):
        verify_bundle(folder / "a.zip", 1e-9)


def test_what_verify_says_of_a_site(folder: Path, members: Members) -> None:
    said = CliRunner().invoke(app, ["bundle", "verify", str(folder / "a.zip"), "--json"])
    told = json.loads(said.stdout)
    assert told["members"] == len(members) - 1
    assert any("cannot be made again" in note for note in told["notes"])
    assert hashlib.sha256(members["site/index.html"]).hexdigest() in members["manifest.json"].decode()
