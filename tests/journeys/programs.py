"""Programs in Python that do to `souk` what its users cannot."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.experiments.command_line import Ended, environment


def run_program(
    code: str, *arguments: str, cwd: Path | None = None, env: Mapping[str, str | None] | None = None
) -> Ended:
    """Run a program in an interpreter of its own; `env` is laid over ours."""
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=environment(env or {}),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)
