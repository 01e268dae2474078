"""souk proxy serve --detach: it answers when the command returns, and is gone when it is stopped."""

import os
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.experiments.command_line import Ended, forked_souk, left_after, processes_with

MARK = "SOUK_TEST_OF_THE_BACKGROUND"

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for others' processes")


def serve(folder: Path, port: int, *options: str) -> Ended:
    where = ("--port", str(port), "--detach")
    return forked_souk(*options, *where, cwd=folder, env={MARK: str(folder)})


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found: int = free.getsockname()[1]
        return found


@pytest.mark.slow
def test_it_answers_at_once_and_is_stopped_with_all_that_it_started(tmp_path: Path, port: int) -> None:
    started = serve(
        tmp_path, port, "proxy", "serve", "-i", "nudges", "--only", "best-seller", "--reverse", "shop"
    )
    assert started.status == 0, started.err
    assert "This product is a best seller!" in httpx.get(f"http://127.0.0.1:{port}/").text
    assert "souk proxy stop ends it" in started.err
    assert len(processes_with(MARK, str(tmp_path))) >= 2, "the proxy, and the shop"
    other = forked_souk("proxy", "stop", "--port", "1", cwd=tmp_path)
    assert (other.status, other.out) == (2, "")
    taken = serve(tmp_path, port, "proxy", "serve", "-i", "nudges")
    assert taken.status == 2
    assert re.fullmatch(rf"error: port {port}: cannot listen on it .*\n", taken.err)
    stopped = forked_souk("proxy", "stop", "--port", str(port), cwd=tmp_path)
    assert re.fullmatch(rf"ended: process \d+ at http://127.0.0.1:{port}\n", stopped.out)
    assert not left_after(MARK, str(tmp_path), 60)
    again = forked_souk("proxy", "stop", cwd=tmp_path)
    assert again.status == 2
    assert again.err.startswith("error: no proxy runs in the background of this folder")


@pytest.mark.slow
def test_one_that_was_killed_is_not_taken_for_another_process(tmp_path: Path, port: int) -> None:
    assert serve(tmp_path, port, "proxy", "serve", "-i", "nudges").status == 0
    for process in processes_with(MARK, str(tmp_path)):
        os.kill(process, signal.SIGKILL)
    assert not left_after(MARK, str(tmp_path), 60)
    (lock,) = (tmp_path / "runs" / "background").glob("*.lock")
    lock.write_text(f'{{"pid": {os.getpid()}, "url": "http://127.0.0.1:{port}"}}')
    stopped = forked_souk("proxy", "stop", cwd=tmp_path)
    assert stopped.status == 2, "and we are alive"
    assert not lock.exists()


@pytest.mark.slow
def test_a_mistake_is_said_as_without_it(tmp_path: Path, port: int) -> None:
    ended = serve(tmp_path, port, "proxy", "serve", "-i", "none.yaml")
    assert (ended.status, ended.out, ended.err) == (2, "", "error: none.yaml: no such file; check the path\n")


@pytest.mark.thorough
@pytest.mark.slow
def test_trials_for_guests_in_the_background(tmp_path: Path, port: int) -> None:
    started = serve(tmp_path, port, "trials", "serve", "nudges", "--as", "Some Body", "--reverse", "shop")
    assert "trials to give as Some Body" in started.err
    assert httpx.get(f"http://127.0.0.1:{port}/.souk/").status_code == 200
    assert httpx.post(f"http://127.0.0.1:{port}/.souk/next").status_code == 303, "a trial begins"
    assert forked_souk("proxy", "stop", cwd=tmp_path).status == 0
    assert "nudges-some-body" in forked_souk("status", "nudges-some-body", cwd=tmp_path).out
    assert not left_after(MARK, str(tmp_path), 60)
