"""Read settings from environment variables, else from a file `.env` in the working directory."""

import os
import re
import urllib.parse
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dotenv import dotenv_values

from interventions.errors import UserError

DOTENV: Final = Path(".env")
PER_MINUTE: Final = re.compile(r"[1-9][0-9]{0,11}")
"""Matches a limit."""
_OWN_SERVER: Final = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A provider: the variables for its key and its server, and one of its models as an example.

    `url` is used where the variable is not set; empty: it has to be set.
    """

    key_variable: str
    url_variable: str
    example: str
    url: str = ""
    needs_key: bool = True
    needs_scheme: bool = True
    package: str = ""
    """The package that the provider needs besides those that Souk is installed with."""
    made_by: tuple[str, str]
    """The module in `agents/providers/`, and the class, that speaks with it."""

    @property
    def base_url(self) -> str:
        """The address to which requests go."""
        return setting(self.url_variable) or self.url

    @property
    def key(self) -> str:
        """The key; empty where there is none."""
        return setting(self.key_variable)

    @property
    def limits(self) -> dict[str, float]:
        """The user's own limits for the key: `requests` and `tokens` per minute, where they are set."""
        set_here = {what: setting(self.limit_variable(what)) for what in ("requests", "tokens")}
        return {what: float(value) for what, value in set_here.items() if value}

    def limit_variable(self, what: str) -> str:
        """Return the variable of a limit, such as `OPENAI_TOKENS_PER_MINUTE`."""
        return self.key_variable.replace("API_KEY", f"{what.upper()}_PER_MINUTE")

    @property
    def needs(self) -> str:
        """The variables that the provider needs, in words."""
        key = self.key_variable if self.needs_key else f"{self.key_variable} if the server has keys"
        return f"{key}; a server at {self.url or self.url_variable}"

    def problem(self) -> str:
        """Return what is missing or cannot be right, as `cause; fix`; empty when nothing is."""
        if self.package and not _is_there(self.package):
            name = self.package.replace(".", "-")
            return f"{name} is not installed; install it: pip install '{name}<2'"
        if self.needs_key and not self.key:
            return (
                f"{self.key_variable} is not set; set it to your key (any word, for a server without keys), "
                f"in the environment or in {DOTENV}"
            )
        if self.key and not re.fullmatch(r"[!-~]+", self.key):
            return f"{self.key_variable} holds a blank, a line break or a letter outside ASCII; set it anew"
        if not self.base_url:
            return f"{self.url_variable} is not set; set it to your server, e.g. {_OWN_SERVER}"
        scheme = "" if self.needs_scheme or "://" in self.base_url else "http://"
        if not _is_url(scheme + self.base_url):
            return f"{self.url_variable} is no http(s) URL; write for example {self.url or _OWN_SERVER}"
        for what in ("requests", "tokens"):
            name = self.limit_variable(what)
            if (value := setting(name)) and not PER_MINUTE.fullmatch(value):
                return f"{name} is no whole number from 1; write for example 500"
        return ""


_OPENAI: Final = Service(
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
    example="gpt-6-luna",
    url="https://api.openai.com/v1",
    made_by=("openai_chat", "OpenAIChat"),
)
SERVICES: Final = {
    "openai": _OPENAI,
    "openai-responses": replace(
        _OPENAI, example="gpt-6-sol", made_by=("openai_responses", "OpenAIResponses")
    ),
    "anthropic": Service(
        key_variable="ANTHROPIC_API_KEY",
        url_variable="ANTHROPIC_BASE_URL",
        example="claude-haiku-5-5",
        url="https://api.anthropic.com",
        made_by=("anthropic_messages", "AnthropicMessages"),
    ),
    "ollama": Service(
        key_variable="OLLAMA_API_KEY",
        url_variable="OLLAMA_HOST",
        example="llama3.2",
        url="http://127.0.0.1:11434",
        needs_key=False,
        needs_scheme=False,
        made_by=("ollama_chat", "OllamaChat"),
    ),
    "gemini": Service(
        key_variable="GEMINI_API_KEY",
        url_variable="GEMINI_BASE_URL",
        example="gemini-3.6-flash",
        url="https://generativelanguage.googleapis.com",
        package="google.genai",
        made_by=("gemini", "Gemini"),
    ),
    "compatible": Service(
        key_variable="COMPATIBLE_API_KEY",
        url_variable="COMPATIBLE_BASE_URL",
        example="my-model",
        needs_key=False,
        made_by=("openai_chat", "CompatibleChat"),
    ),
}
"""The providers that are reached by network."""

COMPUTERS: Final = {
    "openai-computer": SERVICES["openai"],
    "anthropic-computer": SERVICES["anthropic"],
    "anthropic-browser": SERVICES["anthropic"],
    "gemini-computer": SERVICES["gemini"],
    "ui-tars-computer": SERVICES["compatible"],
    "qwen-computer": SERVICES["compatible"],
    "fara-computer": SERVICES["compatible"],
}
"""Those whose models look at pictures and act at points of them, by their providers' tools or in text."""


def setting(variable: str) -> str:
    """Return the value of a variable; empty where neither the environment nor the file has it.

    Raises:
        UserError: the file cannot be read.
    """
    return os.environ.get(variable) or _dotenv().get(variable) or ""


def missing_packages(*more: str) -> str:
    """Return what local models lack here, as `cause; fix`; empty when nothing is missing.

    more: packages that these models need besides, which `make local` does not install.
    """
    missing = [package for package in ("torch", "transformers", *more) if find_spec(package) is None]
    verb = "is" if len(missing) == 1 else "are"
    how = f"pip install {' '.join(missing)}" if set(missing) <= set(more) else "make local"
    fix = f"{verb} not installed; install what local models need: {how}"
    return f"{' and '.join(missing)} {fix}" if missing else ""


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # what it is part of is missing too
        return False


def _dotenv() -> dict[str, str | None]:
    try:
        return dotenv_values(DOTENV, interpolate=False)
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{DOTENV}: cannot be read as UTF-8 text; mend or remove the file") from None


def _is_url(text: str) -> bool:
    try:
        url = urllib.parse.urlsplit(text)
        _ = url.port  # raises ValueError
    except ValueError:
        return False
    return url.scheme in ("http", "https") and bool(url.hostname)
