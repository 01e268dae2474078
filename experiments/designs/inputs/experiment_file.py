"""Find experiment files of every kind, and define the keys that all of them have."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from agents.providers.model_settings import named_agent
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source, did_you_mean, load_yaml

LIBRARY = Path(__file__).parents[2] / "library"


_NAME = r"[a-z0-9][a-z0-9-]*"


def check_name(text: str) -> str:
    """Return the name of an experiment. Raises ValueError for what is none."""
    if not re.fullmatch(_NAME, text):
        raise ValueError(f'"{text}" is no name; use lower-case letters, digits and dashes, such as my-study')
    return text


Name = Annotated[str, Field(max_length=60), AfterValidator(check_name)]
Agents = Annotated[tuple[Annotated[str, BeforeValidator(named_agent)], ...], Field(min_length=1)]
"""The names of the agents that an experiment is run with, where the command names none."""


class StrictModel(BaseModel):
    """A strict and immutable model: an unknown key is a mistake, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(StrictModel):
    """The limits of an episode, at which it is cut off."""

    steps: int = Field(default=10, ge=1)
    """The most actions."""
    seconds: float = Field(default=300, gt=0)
    """The longest wall-clock time in seconds, model latency included."""


def experiment_source(name_or_path: str) -> Source:
    """Return the YAML of a shipped experiment, or of a file.

    Raises:
        UserError: there is no such experiment or file.
    """
    shipped = {path.stem: path for path in sorted(LIBRARY.glob("*.yaml"))}
    if name_or_path in shipped:
        return load_yaml(shipped[name_or_path])
    if name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path:
        return load_yaml(name_or_path)
    hint = did_you_mean(name_or_path, shipped, noun="shipped experiments")
    raise UserError(f"unknown experiment {name_or_path!r}; {hint} (a file's name ends in .yaml)")
