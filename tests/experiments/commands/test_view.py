"""`souk view` as a command: a stored database, a run that goes on, a taken port, Ctrl-C."""

import csv
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from tests.experiments.command_line import forked_souk, start
from tests.experiments.running import HOTELS, run_here
from tests.experiments.stored_runs import stored_runs
from tests.support import size

pytestmark = pytest.mark.slow

DB = ("--db", "sqlite:///runs.db")
KEY = "sk-lighthouse-of-the-north"
MOST = size(20, 40)
"""So many pages of a run are opened."""


@contextmanager
def viewer(folder: Path, *arguments: str) -> Iterator[str]:
    """The address that the command says; at the end Ctrl-C must end it, with one line at most."""
    process = start(
        "view", *arguments, "--no-open", "--port", "0", *DB, cwd=folder, env={"OPENAI_API_KEY": KEY}
    )
    said = folder / "out.txt"
    while "\n" not in (text := said.read_text()):
        assert process.is_alive(), (folder / "err.txt").read_text()
        process.join(0.02)
    try:
        yield text.splitlines()[0]
    finally:
        os.kill(process.pid or 0, signal.SIGINT)
        process.join()
    assert (process.exitcode, (folder / "err.txt").read_text()) == (0, "")


def test_a_run_that_goes_on_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS)
    run_here("x.yaml", tmp_path, limit=8)
    (shown := tmp_path / "viewer").mkdir()
    (shown / "runs.db").symlink_to(tmp_path / "t.db")
    with viewer(shown, "few-hotels") as address:
        assert "8 trials" in httpx.get(address, trust_env=False).text
        run_here("x.yaml", tmp_path, limit=16)
        assert "16 trials" in httpx.get(address, trust_env=False).text


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    stored_runs(tmp_path / "runs.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = forked_souk("view", "--no-open", "--port", str(port), *DB, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(rf"error: --port {port}: cannot be used \(.*\); give another one, .*\n", ended.err)


@pytest.mark.thorough
def test_a_site_is_written_and_linked_from_the_report_and_the_table(tmp_path: Path) -> None:
    stored_runs(tmp_path / "runs.db")
    written = forked_souk(
        "view", "nudges", "--where", "condition=nudged", "--static", "site", *DB, cwd=tmp_path
    )
    assert written.status == 0
    assert written.out.startswith("site/index.html: ")
    assert forked_souk("report", "nudges", "--site", "site", "--out", "a/b", *DB, cwd=tmp_path).status == 0
    assert 'href="../../site/index.html"' in (tmp_path / "a/b/report.html").read_text()
    assert forked_souk("view", "nudges", "--static", "all", *DB, cwd=tmp_path).status == 0
    assert forked_souk("report", "nudges", "--site", "all", "--out", "a/b", *DB, cwd=tmp_path).status == 0
    named = re.findall(r'<td[^>]*><a href="([^"]*)">([^<]*)</a>', (tmp_path / "a/b/report.html").read_text())
    assert named, "cells lead to the trials that they name"
    for page, name in named:
        assert name in (tmp_path / "a/b" / page).resolve().read_text()
    assert forked_souk("export", "nudges", "--site", "site", "--out", "t.csv", *DB, cwd=tmp_path).status == 0
    with (tmp_path / "t.csv").open() as table:
        for row in csv.DictReader(table):
            assert bool(row["trial_url"]) is (row["condition"] == "nudged")
            assert (tmp_path / row["trial_url"]).exists()
    assert forked_souk("analyze", "t.csv", "--as", "choice", cwd=tmp_path).status == 0


def pages_of(address: str) -> dict[str, str]:
    """The pages that the first one leads to, by their addresses."""
    waiting, found = [address], dict[str, str]()
    with httpx.Client(trust_env=False, timeout=60) as client:
        while waiting and len(found) < MOST:
            url = waiting.pop(0)
            answer = client.get(url)
            assert answer.status_code == 200, url
            found[url] = answer.text
            links = (
                re.findall(r'href="([^"#]+)"', answer.text)
                if "html" in answer.headers["content-type"]
                else []
            )
            inside = (urljoin(url, link.replace("&amp;", "&")) for link in links)
            waiting += [each for each in inside if each not in found and each not in waiting]
    assert all(url.startswith("http://127.0.0.1:") for url in found)
    return found


@pytest.mark.thorough
def test_a_database_is_shown_whole_and_no_key(tmp_path: Path) -> None:
    stored_runs(tmp_path / "runs.db")
    with viewer(tmp_path) as address:
        found = pages_of(address)
    assert len(found) == MOST
    assert "nudges" in found[address] and "wtp" in found[address]
    assert not [url for url, text in found.items() if KEY in text]
