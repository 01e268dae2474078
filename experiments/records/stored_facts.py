"""Check the form of what a database says of a run as a whole: it may come from a stranger."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictInt, StrictStr, ValidationError

# What is named nowhere here is used nowhere, or as text.


class _Experiment(BaseModel):
    seed: StrictInt | None = None
    permutations: StrictInt | None = None
    mode: StrictStr | None = None
    goal: StrictStr | None = None


class _Intervention(BaseModel):
    id: StrictStr
    kind: StrictStr


class _Named(BaseModel):
    name: StrictStr | None = None
    extends: StrictStr | None = None


class _Alternative(BaseModel):
    facts: list[tuple[StrictStr, StrictStr]] = []


class _Answer(BaseModel):
    unit: StrictStr = ""


class _Card(BaseModel):
    """A card, or what cards are made of, such as a hotel."""

    alternatives: list[_Alternative] = []
    answer: _Answer = _Answer()


class _Inputs(BaseModel):
    interventions: list[tuple[_Intervention, Any]] = []
    cards: list[_Card | list[_Card]] = []
    site_map: _Named = _Named()
    prompt: _Named = _Named()


class _Facts(BaseModel):
    experiment: _Experiment
    agents: list[StrictStr]
    versions: dict[StrictStr, StrictStr]
    inputs: _Inputs = _Inputs()
    sets: StrictInt | None = None
    site: StrictStr | None = None
    subject: StrictStr | None = None
    observe: StrictStr | None = None
    shoppers: dict[StrictStr, Any] | None = None
    plan: StrictStr | None = None
    fonts: list[StrictStr] | None = None
    wave: StrictStr | None = None
    analysis: Annotated[StrictStr, Field(pattern="^[a-z]+$")] | None = None
    """The kind of study; whether there is one of this name, `experiments.studies.kinds` knows."""


def strange_fact(facts: dict[str, Any]) -> str:
    """Describe the first of a run's facts that nobody of ours writes; empty: there is none."""
    try:
        _Facts.model_validate(facts)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


def whole_characters(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with a question mark for each half of a character, which no file could take."""
    whole: dict[str, Any] = json.loads(json.dumps(facts, ensure_ascii=False).encode(errors="replace"))
    return whole
