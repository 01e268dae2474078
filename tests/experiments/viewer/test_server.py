"""The browser that `souk view` opens is one with a window, and never one in the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SHOW = "from experiments.viewer.server import show; show('http://127.0.0.1:1/')"


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a window")
@pytest.mark.parametrize(
    ("name", "display", "opened"), [("xdg-open", ":9", True), ("w3m", ":9", False), ("w3m", "", False)]
)
def test_only_a_browser_with_a_window_is_opened(
    tmp_path: Path, name: str, display: str, opened: bool
) -> None:
    (browser := tmp_path / name).write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/told\n')
    browser.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}", "DISPLAY": display}
    env.pop("BROWSER", None)
    env.pop("WAYLAND_DISPLAY", None)
    subprocess.run([sys.executable, "-c", SHOW], env=env, check=True)
    told = tmp_path / "told"
    assert (told.read_text() if told.exists() else "") == ("http://127.0.0.1:1/\n" if opened else "")
