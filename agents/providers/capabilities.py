"""Which settings a model takes, by its provider's documentation of November 2026; no SDK is needed to know.

Sources: developers.openai.com/api/docs/guides/reasoning and the SDK's `ReasoningEffort`;
platform.claude.com/docs/en/build-with-claude/effort and .../extended-thinking;
ai.google.dev/gemini-api/docs/thinking and .../whats-new-gemini-3.6; docs.ollama.com/capabilities/thinking.
"""

import re
from collections.abc import Sequence
from typing import Final, get_args

from agents.providers.model_settings import Effort, split_agent
from interventions.errors import UserError

_TAKEN: Final = {
    "openai": ("effort", "top_p", "seed", "max_tokens", "tools"),
    "openai-responses": ("effort", "top_p", "max_tokens", "tools"),
    "anthropic": ("effort", "thinking", "top_p", "top_k", "max_tokens", "tools"),
    "gemini": ("effort", "thinking", "top_p", "top_k", "seed", "max_tokens", "tools"),
    "ollama": ("effort", "top_p", "top_k", "seed", "max_tokens", "tools"),
    "compatible": ("effort", "top_p", "top_k", "seed", "max_tokens", "tools"),
    "hf": ("top_p", "top_k", "seed", "max_tokens", "load_in"),
}
"""The settings that each provider has."""

_LOW_TO_HIGH: Final = ("low", "medium", "high")
_EFFORTS: Final[dict[str, Sequence[tuple[str, Sequence[str]]]]] = {
    "openai": (
        (r"o\d", _LOW_TO_HIGH),
        (r"gpt-5(-mini|-nano)?(-20.*)?$", ("minimal", *_LOW_TO_HIGH)),
        (r"gpt-5\.1(-20.*)?$", ("none", *_LOW_TO_HIGH)),
        (r"gpt-[5-9]", get_args(Effort)),  # of newer ones the provider says which
    ),
    "anthropic": (
        (r"claude-opus-4-5", _LOW_TO_HIGH),
        (r"claude-(opus|sonnet)-4-6", (*_LOW_TO_HIGH, "max")),
        (r"claude-opus-4-[78]", (*_LOW_TO_HIGH, "xhigh", "max")),
        (r"claude-([23]|instant|(opus|sonnet|haiku)-4)", ()),
        (r"claude-", (*_LOW_TO_HIGH, "xhigh", "max")),
    ),
    "gemini": (
        (r"gemini-[12]", ()),
        (r"gemini-3(\.\d+)?-pro", _LOW_TO_HIGH),
        (r"gemini-", ("minimal", *_LOW_TO_HIGH)),
    ),
    "ollama": ((r"gpt-oss", _LOW_TO_HIGH),),
    "compatible": ((r"", get_args(Effort)),),
}
"""The efforts of models by the beginnings of their names; the first that fits counts."""

_BUDGET: Final = re.compile(r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d)|-\d{8}|$))|gemini-2\.5")
"""The models that are told how many tokens they may think with."""
_LEAST_BUDGET: Final = 1_024  # of Anthropic's models
_CLAUDE_SAMPLES: Final = re.compile(
    r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d)|-\d{8}|$))"
)
_GEMINI_SAMPLES_NOT: Final = re.compile(r"gemini-(?:3\.5-flash-lite|3\.[6-9]|[4-9]|\d\d)")


_NO_TOOLS_IN_CHAT: Final = re.compile(r"gpt-(?:5\.[2-9]|[6-9]|\d\d)")
"""Models to which OpenAI's chat completions refuse tools unless their effort is `none`."""


def reasons(model: str) -> bool:
    """Return whether a model of OpenAI thinks before it answers, and takes no temperature."""
    return re.match(r"o\d|gpt-[5-9]", _last(model)) is not None


def takes_temperature(name: str) -> bool:
    """Return whether the model `PROVIDER:MODEL` is sent a temperature; others have their own."""
    plain, settings = split_agent(name)
    # Claude takes one of temperature and top_p, and neither where it thinks within a budget.
    alone = plain.startswith("anthropic:") and (settings.top_p is not None or settings.thinking)
    return _samples(*plain.split(":", 1)) and not alone


def takes_tools(name: str) -> bool:
    """Return whether the model `PROVIDER:MODEL` is sent tools to call; others write their calls as text."""
    plain, settings = split_agent(name)
    provider, _, model = plain.partition(":")
    refused = provider == "openai" and _NO_TOOLS_IN_CHAT.match(_last(model)) and settings.effort != "none"
    return "tools" in _TAKEN.get(provider, ()) and settings.tools is None and not refused


def temperature_of(agent: str, wanted: float | None) -> float | None:
    """Return the temperature of an agent that is asked at `wanted`; None: a model's own, as it takes none."""
    provider = agent.partition(":")[0]
    return wanted if provider not in _TAKEN or takes_temperature(agent) else None


def temperature_notes(agents: Sequence[str], wanted: Sequence[float | None]) -> list[str]:
    """Return a line for each agent that ignores a temperature of `wanted`, or a setting because of it."""
    asked, notes = [each for each in wanted if each is not None], []
    for agent in agents if asked else ():
        sampling = [key for key in ("top_p", "top_k") if getattr(split_agent(agent)[1], key) is not None]
        if temperature_of(agent, asked[0]) is None:
            again = f"; all {len(asked)} ask it the same, so name one" if len(asked) > 1 else ""
            notes.append(f"{agent}: takes no temperature, so that none is sent, and none is a factor{again}")
        elif sampling and 0 in asked:
            notes.append(f"{agent}: draws nothing at temperature 0, where {sampling[0]} has no effect")
    return notes


def check_settings(name: str) -> None:
    """Find a setting that the provider or the model `PROVIDER:MODEL` does not have. Raises UserError."""
    plain, settings = split_agent(name)
    given = [key for key, value in settings if value is not None]
    if not given:
        return
    provider, _, model = plain.partition(":")
    taken = _TAKEN.get(provider, ())
    if wrong := next((key for key in given if key not in taken), ""):
        those = f"it takes {', '.join(taken)}" if taken else "leave it out"
        raise UserError(f"agents: {name}: {provider} has no {wrong}; {those}")
    if sampling := next((key for key in given if key in ("top_p", "top_k")), ""):
        if not _samples(provider, model):
            raise UserError(f"agents: {name}: {model} takes no {sampling}; leave it out")
        if settings.thinking and provider == "anthropic":
            raise UserError(f"agents: {name}: a model that thinks takes no {sampling}; leave it out")
    efforts = _efforts(provider, model)
    if settings.effort is not None and settings.effort not in efforts:
        those = f"it takes {', '.join(efforts)}" if efforts else "leave it out"
        raise UserError(f"agents: {name}: {model} takes no effort {settings.effort}; {those}")
    if settings.thinking is None:
        return
    if not _BUDGET.match(model):
        instead = "set its effort" if efforts else "leave it out"
        raise UserError(f"agents: {name}: {model} takes no budget of thinking; {instead}")
    if settings.effort is not None:
        raise UserError(f"agents: {name}: effort and thinking are given; keep one")
    if provider == "anthropic" and 0 < settings.thinking < _LEAST_BUDGET:
        raise UserError(f"agents: {name}: {model} thinks with {_LEAST_BUDGET} tokens or more; raise thinking")


def _samples(provider: str, model: str) -> bool:
    """Whether a model takes temperature and the like."""
    match provider:
        case "openai" | "openai-responses" | "compatible":
            return not reasons(model)
        case "anthropic":
            return _CLAUDE_SAMPLES.match(model) is not None
        case "gemini":
            return _GEMINI_SAMPLES_NOT.match(model) is None
    return True


def _efforts(provider: str, model: str) -> Sequence[str]:
    rules = _EFFORTS.get(provider.removesuffix("-responses"), ())
    return next((efforts for begins, efforts in rules if re.match(begins, _last(model))), ())


def _last(model: str) -> str:
    """The name of a model without its maker, as in `openai/gpt-5`."""
    return model.rpartition("/")[2]
