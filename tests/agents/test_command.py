"""Programs as agents: what a name says, what a program is given, and what it may tell."""

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.command import (
    ProgramTask,
    check_command,
    command_of,
    environment,
    files,
    is_confined,
    reach,
    usage_in,
)
from agents.registry import make_agent
from interventions.errors import UserError

TOLD = ProgramTask(
    trial="t1", seed=1, goal="", urls=[], proxy="http://127.0.0.1:1", ca="/ca.pem", spki="k",
    task="http://souk.test/.souk/", browser=None, limits={},
)  # fmt: skip


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_a_name_holds_a_command_as_a_shell_quotes_it(command: list[str]) -> None:
    assert command_of(f"command:{shlex.join(command)}") == command


def test_nothing_is_made_of_what_is_a_shells() -> None:
    assert command_of("command:agent $HOME `id` ; ls > x") == ["agent", "$HOME", "`id`", ";", "ls", ">", "x"]


@pytest.mark.parametrize(
    "name", ["command", "command:", "command: ", "command:'a", "command:no-such-program-1", "kept:"]
)
def test_mistakes(name: str) -> None:
    with pytest.raises(UserError):
        check_command(name)


def test_what_programs_may_do_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (reach(), files(), is_confined()) == ([], [], True)
    monkeypatch.setenv("SOUK_PROGRAM_REACH", "127.0.0.1:11434,[::1]:8080")
    assert reach() == [("127.0.0.1", 11434), ("::1", 8080)]
    monkeypatch.setenv("SOUK_PROGRAM_REACH", "any")
    assert reach() is None
    monkeypatch.setenv("SOUK_PROGRAM_FILES", f"{tmp_path}{os.pathsep}.")
    assert files() == [tmp_path, Path()]
    monkeypatch.setenv("SOUK_PROGRAM_CONFINED", "no")
    assert not is_confined()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("SOUK_PROGRAM_REACH", each) for each in ("http", "0", "65536", "443", "127.0.0.1:80", "any,443")),
        *(("SOUK_PROGRAM_REACH", each) for each in ("api.example:443", "10.0.0.1:8080")),
        ("SOUK_PROGRAM_FILES", "no-such-folder-1"),
        ("SOUK_PROGRAM_CONFINED", "maybe"),
    ],
)
def test_what_cannot_be_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=name):
        check_command("command:python x.py")


def test_a_program_is_no_object() -> None:
    with pytest.raises(UserError, match="visits shops"):
        make_agent("command:python x.py", seed=1)


def test_a_program_gets_no_secret_that_is_not_named() -> None:
    secrets = {
        "OPENAI_API_KEY": "1", "HF_TOKEN": "2", "PGPASSWORD": "3", "aws_secret_access_key": "4",
        "DATABASE_URL": "5", "SSH_AUTH_SOCK": "6", "SOUK_PRICES": "7", "MY_CREDENTIALS": "8",
    }  # fmt: skip
    own = {"PATH": "/bin", "GIT_AUTHOR_NAME": "me", "SOUK_COMMAND": "mark", **secrets}
    given = environment(own, TOLD, "SOUK_COMMAND")
    trial = {"SOUK_TRIAL", "SOUK_PROXY", "SOUK_CA", "SOUK_SPKI", "SOUK_TASK"}
    assert set(given) == {"PATH", "GIT_AUTHOR_NAME", "SOUK_COMMAND"} | trial
    named = environment({**own, "SOUK_PROGRAM_ENV": "HF_TOKEN, PATH"}, TOLD, "SOUK_COMMAND")
    assert set(named) - set(given) == {"HF_TOKEN"}
    assert set(environment(own, None, "SOUK_COMMAND")) == set(given) - trial


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
PARTS = st.sampled_from(["model", "tokens_in", "tokens_out", "cost", "more"])


@given(JSON | st.fixed_dictionaries({"usage": JSON | st.dictionaries(PARTS, JSON)}))
def test_whatever_a_program_tells_is_a_request_or_none(said: object) -> None:
    call = usage_in(said)
    assert call is None or (0 <= call.tokens_in < 10**9 and (call.cost is None or call.cost >= 0))
    call = usage_in({"usage": {"model": "m", "tokens_in": 9, "tokens_out": 4, "cost": 0.5}})
    assert call and (call.model, call.tokens_in, call.tokens_out, call.cost) == ("m", 9, 4, 0.5)
    assert usage_in({"usage": {"model": "m", "tokens_in": -1, "tokens_out": 4}}) is None
