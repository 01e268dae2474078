"""Set-up where something is missing: it is installed, or one line says how before anything is downloaded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = "apt-get update && apt-get install libatomic1"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other libraries")


@pytest.fixture
def lacking(tmp_path: Path) -> dict[str, str]:
    """An environment with a damaged libatomic.so.1, without apt-get and without a browser."""
    for folder in ("libraries", "programs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "libraries" / "libatomic.so.1").touch()
    environment = {name: value for name, value in os.environ.items() if name != "SOUK_BROWSER"}
    return {
        **environment,
        "LD_LIBRARY_PATH": str(tmp_path / "libraries"),
        "PATH": str(tmp_path / "programs"),
    }


def run(environment: dict[str, str], *command: str) -> tuple[int, str]:
    """Status and everything printed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def program(environment: dict[str, str], name: str, script: str) -> None:
    path = Path(environment["PATH"], name)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_apt_it_names_what_is_missing(lacking: dict[str, str]) -> None:
    status, printed = run(lacking, sys.executable, "-m", "environments.browser.system_packages")
    assert status == 1
    assert printed == (
        "missing: libatomic.so.1 (needed by Playwright); "
        "install libatomic.so.1 with your system's package manager\n"
    )


def test_where_apt_fails_it_says_the_command(lacking: dict[str, str]) -> None:
    program(lacking, "apt-get", "exit 100")
    program(lacking, "sudo", 'exec "$@"')
    status, printed = run(lacking, sys.executable, "-m", "environments.browser.system_packages")
    assert (status, "Traceback" in printed) == (1, False)
    assert printed.splitlines()[-1] == (
        f"missing: libatomic.so.1 (needed by Playwright); run as root: {COMMAND}"
    )


def test_apt_installs_what_is_missing(lacking: dict[str, str], tmp_path: Path) -> None:
    program(lacking, "apt-get", f'echo "$@" >> {tmp_path}/asked')
    program(lacking, "sudo", 'exec "$@"')
    assert run(lacking, sys.executable, "-m", "environments.browser.system_packages")[0] == 0
    assert (tmp_path / "asked").read_text().splitlines() == [
        line for name in ("libatomic1", "bubblewrap") for line in ("update -qq", f"install -y -qq {name}")
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_set_up_stops_before_it_downloads(lacking: dict[str, str], tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    status, printed = run(
        lacking, str(shutil.which("make")), f"PYTHON={sys.executable}", f"VENV={venv}", "setup"
    )
    assert status != 0
    assert "missing: libatomic.so.1" in printed
    assert not venv.exists()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_a_half_made_environment_is_made_anew(tmp_path: Path) -> None:
    """As Debian's Python leaves one when its package for virtual environments is missing."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    offline = {**os.environ, "PIP_NO_INDEX": "1"}
    status, _ = run(offline, "make", f"PYTHON={sys.executable}", f"VENV={venv}", "setup")
    assert status != 0  # nothing can be installed
    assert run(offline, str(venv / "bin" / "python"), "-m", "pip", "--version")[0] == 0
