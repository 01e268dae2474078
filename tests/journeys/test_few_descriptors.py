"""A command that may open few files and connections does its work, or says in one line why not."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.command_line import environment
from tests.experiments.running import HOTELS
from tests.support import size

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("most", range(6, 30, size(6, 1)))
def test_few_descriptors(most: int, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "few.yaml").write_text(HOTELS)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    ended = subprocess.run(
        [sys.executable, "-m", "experiments.cli", "run", "few.yaml", "--db", "sqlite:///t.db"],
        cwd=tmp_path,
        env=environment({"TMPDIR": str(temporary)}),
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 2), ended.stderr
    if ended.returncode:
        assert "error: " in ended.stderr.splitlines()[-1]
    assert list(temporary.iterdir()) == []
