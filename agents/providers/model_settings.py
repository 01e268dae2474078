"""The settings of a model, as part of its agent's name: `openai:gpt-6-luna@effort=low,seed=7`.

In an experiment file the same is written `{model: openai:gpt-6-luna, effort: low, seed: 7}`.
"""

import re
from functools import cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.providers.settings import COMPUTERS, SERVICES
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean, problem_at

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ModelSettings(BaseModel):
    """What an agent's name says of how its model answers; None: as Souk or the provider has it by default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    effort: Effort | None = None
    """How much the model thinks, in its provider's words."""
    thinking: int | None = Field(default=None, ge=0, le=1_000_000)
    """The most tokens that it may think with; 0: it does not think."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=1, le=1_000_000)
    seed: int | None = Field(default=None, ge=0, lt=2**31)
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    """The longest answer, in tokens, in place of the experiment's; what it thinks with comes on top."""

    load_in: Literal["8bit", "4bit"] | None = None
    """To how many bits the weights of a model in this process are quantised."""
    tools: Literal["text"] | None = None
    """Calls of tools are written as text, for a server that refuses to be sent tools."""

    @property
    def thinks(self) -> bool:
        """Whether the model is asked to think."""
        return bool(self.thinking) or self.effort not in (None, "none")

    def sent(self, **names: str) -> dict[str, Any]:
        """Return those that are set, by the names that a provider has for them: `top_p="topP"`."""
        return {name: value for key, name in names.items() if (value := getattr(self, key)) is not None}


NO_SETTINGS: Final = ModelSettings()
_KEYS: Final = "|".join(ModelSettings.model_fields)
_WRITTEN: Final = re.compile(rf"(?P<agent>[^:]+:.+?)@(?P<settings>(?:\s*\w+\s*=.*|{_KEYS})?)")


@cache
def split_agent(agent: str) -> tuple[str, ModelSettings]:
    """Return an agent's name without its settings, and these. Raises UserError for what is no setting."""
    written = _WRITTEN.fullmatch(agent)
    if not written or agent.partition(":")[0] not in (*SERVICES, *COMPUTERS, "hf"):
        return agent, NO_SETTINGS
    pairs = [[part.strip() for part in each.partition("=")] for each in written["settings"].split(",")]
    keys = [key for key, _, _ in pairs]
    if twice := next((key for key in keys if keys.count(key) > 1), ""):
        raise UserError(f"agents: {agent}: {twice} is given twice; keep one")
    try:
        return written["agent"], ModelSettings.model_validate({key: value for key, _, value in pairs})
    except ValidationError as error:
        key, message = _mistake(error)
    raise UserError(f"agents: {agent}: {key}: {message}")


def with_settings(agent: str) -> str:
    """Return an agent's name with its settings in their usual order, so that equal agents have one name."""
    model, settings = split_agent(agent)
    return named(model, settings)


def named_agent(entry: object) -> object:
    """Return the name of an agent that an experiment file has as a mapping; other entries as they are.

    Raises an error at the key that is wrong.
    """
    if not isinstance(entry, dict):
        return entry
    model, given = entry.get("model"), {key: value for key, value in entry.items() if key != "model"}
    if not isinstance(model, str):
        raise problem_at("model", message="the model is missing; write for example model: openai:gpt-6-luna")
    try:
        settings = ModelSettings.model_validate(given)
    except ValidationError as error:
        key, message = _mistake(error)
        raise problem_at(key, message=message) from None
    return named(model, settings)


def named(model: str, settings: ModelSettings) -> str:
    """Return the name of an agent: `PROVIDER:MODEL` with its settings, in their usual order."""
    said = [f"{key}={value}" for key, value in settings.model_dump(exclude_none=True).items()]
    return f"{model}@{','.join(said)}" if said else model


def _mistake(error: ValidationError) -> tuple[str, str]:
    """The key of the first mistake, and what is wrong with it."""
    first = error.errors()[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return key, f"no setting of a model; {did_you_mean(key, ModelSettings.model_fields, noun='settings')}"
    return key, first["msg"][0].lower() + first["msg"][1:]
