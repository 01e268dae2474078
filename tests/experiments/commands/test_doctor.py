"""`souk doctor`: what is there, what is missing, and how to mend it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.programs.bubblewrap import left_open
from agents.registry import KEYS
from experiments.records.store import Records
from tests.experiments.command_line import Ended, forked_souk, souk


def by_name(ended: Ended) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(ended.out)}


@pytest.mark.browser
def test_this_machine_is_fit(tmp_path: Path) -> None:
    ended = forked_souk("doctor", "--json", cwd=tmp_path, env={name: None for name in KEYS.values()})
    assert (ended.status, ended.err) == (0, "")
    checks = by_name(ended)
    for name in ("browser", "proxy", "ports", "folder"):
        assert (checks[name]["ok"], checks[name]["fix"]) == (True, "")
    assert checks["browser"]["found"].startswith("chromium ")
    programs = checks["programs"]
    assert (programs["ok"], programs["fix"] == "") == ((None, False) if left_open() else (True, True))
    for provider, variable in KEYS.items():
        key = checks[f"key {provider}"]
        assert (key["ok"], key["found"]) == (None, f"{variable} is not set")
        assert f"export {variable}=" in key["fix"]


@pytest.mark.slow
def test_programs_that_are_not_to_be_confined(tmp_path: Path) -> None:
    ended = forked_souk("doctor", "--json", cwd=tmp_path, env={"SOUK_PROGRAM_CONFINED": "no"})
    programs = by_name(ended)["programs"]
    assert (programs["ok"], programs["found"]) == (None, "SOUK_PROGRAM_CONFINED=no")
    assert "SOUK_PROGRAM_CONFINED" in programs["fix"]


@pytest.mark.slow
def test_a_key_that_is_set_is_not_shown(tmp_path: Path) -> None:
    Records(f"sqlite:///{tmp_path}/t.db").close()
    asked = ("doctor", "--db", "sqlite:///t.db", "--json")
    ended = forked_souk(*asked, cwd=tmp_path, env={"OPENAI_API_KEY": "sk-hidden"})
    assert by_name(ended)["key openai"]["ok"] is True
    assert by_name(ended)["database trials"]["found"] == "0 as stored"
    assert "sk-hidden" not in ended.out + ended.err


@pytest.mark.slow
def test_a_browser_that_is_missing(tmp_path: Path) -> None:
    ended = forked_souk("doctor", "--json", cwd=tmp_path, env={"SOUK_BROWSER": "/nonexistent"})
    assert (ended.status, ended.err) == (1, "")
    browser = by_name(ended)["browser"]
    assert browser["ok"] is False
    assert "/nonexistent" in browser["found"]
    assert "Chromium" in browser["fix"]


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other libraries")
def test_a_library_that_playwright_lacks(tmp_path: Path) -> None:
    (tmp_path / "libatomic.so.1").touch()  # found first, and damaged
    ended = souk("doctor", "--json", cwd=tmp_path, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert (ended.status, "Traceback" in ended.err) == (1, False)
    browser = by_name(ended)["browser"]
    assert (browser["ok"], browser["found"]) == (False, "missing: libatomic.so.1 (needed by Playwright)")
    assert "libatomic" in browser["fix"]
