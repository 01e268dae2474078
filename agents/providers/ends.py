"""Tell when models end at their providers: by a dated table, and by OpenAI's own list of models."""

import functools
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from agents.providers.model_settings import split_agent
from agents.providers.pricing import undated
from interventions.yaml.yaml_source import load_model

SOON: Final = timedelta(days=183)
"""A model that ends within this time is warned of."""
_PROVIDERS: Final = ("openai", "anthropic", "gemini")


class _EndTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str = Field(pattern=r"^\d{4}-\d{2}$")
    models: dict[str, date]


def end_of(agent: str) -> date | None:
    """Return the day on which the model of an agent ends, by the table of Souk; None: it has none."""
    provider, _, model = split_agent(agent)[0].partition(":")
    return _ends().get(undated(model)) if provider.partition("-")[0] in _PROVIDERS else None


def end_notes(agents: Iterable[str], today: date) -> list[str]:
    """Return a line for each agent whose model has ended or ends within six months, by the table."""
    return [note for agent in agents if (end := end_of(agent)) and (note := _note(agent, end, today))]


async def announced_ends(agents: Iterable[str], today: date) -> list[str]:
    """Return such a line for each of OpenAI's models that the table does not have, by OpenAI's own list."""
    from agents.providers import make_model  # noqa: PLC0415 (the SDK takes seconds to load)
    from agents.providers.openai_chat import OpenAIChat  # noqa: PLC0415

    notes = []
    for agent in agents:
        if agent.partition(":")[0] in ("openai", "openai-responses") and end_of(agent) is None:
            model = make_model(agent)
            end = await model.end() if isinstance(model, OpenAIChat) else None
            notes += [_note(agent, end, today)] if end else []
    return list(filter(None, notes))


def _note(agent: str, end: date, today: date) -> str:
    if end > today + SOON:
        return ""
    when = f"has ended on {end}" if end <= today else f"ends on {end}"
    return f"{agent}: the model {when}, after which nobody can repeat the run; name another for a new study"


@functools.cache
def _ends() -> dict[str, date]:
    return load_model(Path(__file__).with_name("ends.yaml"), _EndTable).models
