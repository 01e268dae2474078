from pathlib import Path

import pytest

from agents.providers import make_model, settings
from agents.providers.settings import SERVICES, setting
from interventions.errors import UserError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for service in SERVICES.values():
        monkeypatch.delenv(service.key_variable, raising=False)
        monkeypatch.delenv(service.url_variable, raising=False)
    return tmp_path


def test_the_environment_wins_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert setting("OPENAI_API_KEY") == ""
    (folder / ".env").write_text("# mine\nexport OPENAI_API_KEY='sk-file'\nOTHER=${HOME}\n", encoding="utf-8")
    assert setting("OPENAI_API_KEY") == "sk-file"
    assert setting("OTHER") == "${HOME}"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    assert setting("OPENAI_API_KEY") == "sk-environment"


async def test_a_key_in_the_file_is_sent(folder: Path, provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    (folder / ".env").write_text("OPENAI_API_KEY=sk-file\n", encoding="utf-8")
    provider.say("Good day")
    reply = await make_model("openai:gpt-4.1-mini").ask([{"role": "user", "content": "Hello"}])
    assert reply.text == "Good day"
    assert provider.keys == ["sk-file"]


def test_a_file_that_cannot_be_read_is_one_line(folder: Path) -> None:
    (folder / ".env").write_bytes(b"OPENAI_API_KEY=\xff\xfe")
    with pytest.raises(UserError, match=r"^\.env: cannot be read as UTF-8 text; mend or remove the file$"):
        setting("OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("name", "variable", "value", "message"),
    [
        ("openai", "OPENAI_API_KEY", "", "OPENAI_API_KEY is not set"),
        ("openai-responses", "OPENAI_API_KEY", "", "OPENAI_API_KEY is not set"),
        ("anthropic", "ANTHROPIC_API_KEY", "", "ANTHROPIC_API_KEY is not set"),
        ("compatible", "COMPATIBLE_BASE_URL", "", "COMPATIBLE_BASE_URL is not set"),
        ("openai", "OPENAI_API_KEY", "sk-abc\n", "OPENAI_API_KEY holds a blank"),
        ("ollama", "OLLAMA_API_KEY", "schlüssel", "OLLAMA_API_KEY holds a blank"),
        ("openai", "OPENAI_BASE_URL", "127.0.0.1:8000/v1", r"OPENAI_BASE_URL is no http\(s\) URL"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://host:port/", r"ANTHROPIC_BASE_URL is no http\(s\) URL"),
        ("compatible", "COMPATIBLE_BASE_URL", "file:///etc/passwd", r"COMPATIBLE_BASE_URL is no http\(s\)"),
        ("ollama", "OLLAMA_HOST", "ftp://host", r"OLLAMA_HOST is no http\(s\) URL"),
    ],
)
def test_wrong_settings_are_found_without_a_request(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str, value: str, message: str
) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(key, "sk-abc")
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=message) as caught:
        make_model(f"{name}:m")
    assert "sk-abc" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["", "127.0.0.1:11434", "ollama.test", "http://127.0.0.1:11434"])
def test_a_server_of_ollama_may_be_named_as_ollama_does(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert make_model("ollama:llama3.2").name == "llama3.2"


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"^agents: hf: torch and transformers are not installed; install"):
        make_model("hf:folder")


@pytest.mark.parametrize("name", ["", "hugging:m", "simulated:balanced"])
def test_a_provider_that_is_unknown(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown provider .*; known providers: openai, openai-responses"):
        make_model(name)
