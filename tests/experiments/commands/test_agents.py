"""`souk agents`: who can be asked, and whether they answer."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agents.providers.settings import SERVICES
from experiments.cli import app
from experiments.commands.agents import ask
from interventions.errors import UserError
from tests.agents.conftest import Provider, provider, server  # noqa: F401 (fixtures)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def souk_agents(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["agents", *arguments], env={"COLUMNS": "250"})


def test_what_is_missing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in SERVICES.values():
        monkeypatch.delenv(service.key_variable, raising=False)
        monkeypatch.delenv(service.url_variable, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hidden")
    ended = souk_agents("--json")
    known = {agent["name"]: agent for agent in json.loads(ended.stdout)}
    assert (ended.exit_code, known["simulated:balanced"]["ready"]) == (0, True)
    assert (known["anthropic:MODEL"]["ready"], known["ollama:MODEL"]["ready"]) == (True, True)
    assert known["openai:MODEL"]["ready"] is False
    assert known["compatible:MODEL"]["problem"].startswith("COMPATIBLE_BASE_URL is not set; set it")
    table = souk_agents().stdout
    assert "openai:MODEL" in table
    assert "OPENAI_API_KEY is not set" in table
    assert "sk-hidden" not in table + ended.stdout


def test_a_simulated_agent_is_not_asked() -> None:
    ended = souk_agents("simulated:balanced")
    assert (ended.exit_code, ended.stdout) == (0, "simulated:balanced is there; it is not asked\n")


@pytest.mark.slow
async def test_a_model_is_asked_once(provider: Provider) -> None:  # noqa: F811
    provider.say("ready", usage=(1_000_000, 1))
    said = await ask("openai:gpt-4.1-mini")
    assert said.startswith("openai:gpt-4.1-mini answers: model gpt-4.1-mini, ")
    assert said.endswith(" s, 1,000,000 tokens in, 1 out, 0.400002 USD")
    assert len(provider.requests) == 1


def test_a_failure_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden")
    monkeypatch.setenv("OPENAI_BASE_URL", "127.0.0.1:9")
    ended = souk_agents("openai:gpt-4.1-mini")
    assert isinstance(ended.exception, UserError)
    assert "OPENAI_BASE_URL is no http(s) URL; write for example" in str(ended.exception)


async def test_an_error_of_the_provider_says_what_to_do(provider: Provider) -> None:  # noqa: F811
    provider.fail(400, "no such parameter")
    with pytest.raises(UserError, match=r"^agents: openai:gpt-4\.1-mini: the provider refused .*; check the"):
        await ask("openai:gpt-4.1-mini")
    provider.fail(401)
    with pytest.raises(UserError, match=r"refused OPENAI_API_KEY .*; check the key"):
        await ask("openai:gpt-4.1-mini")
