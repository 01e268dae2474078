"""A study has one server: a second one is refused, and one that was killed can be started again."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.experiments.people.study_files import study_file

pytestmark = pytest.mark.slow


def command(folder: Path) -> list[str]:
    serve = [sys.executable, "-m", "experiments.cli", "study", "serve", str(folder / "study.yaml")]
    return [*serve, "--port", "0", "--db", f"sqlite:///{folder}/t.db"]


@contextmanager
def served(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command(folder), cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        for line in process.stderr:
            if "Ctrl-C ends it" in line:
                break
        else:
            pytest.fail(f"it ended with {process.wait()}")
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_server_is_refused_and_a_killed_one_starts_again(tmp_path: Path) -> None:
    study_file(tmp_path)
    with served(tmp_path) as first:
        second = subprocess.run(command(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        (line,) = second.stderr.strip().splitlines()
        assert f"process {first.pid} on " in line
        assert line.endswith("serves it already; stop that one first")
        assert first.poll() is None
        first.kill()
        first.wait()
        with served(tmp_path):
            pass
