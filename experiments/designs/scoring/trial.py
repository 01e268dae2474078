"""A trial: a prompt after which targets are scored."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ScoreTrial:
    """A stimulus with one of its anchors, of which some fields are present in the prompt."""

    id: str
    agent: str
    set: str
    """The name of the stimulus."""
    condition: Literal["low", "high"]
    anchor: float
    fields: tuple[str, ...]
    """The fields that are present in the prompt."""
    prompt: str
    seed: int = 0
    ordering: Literal["forward"] = "forward"
    repeat: int = 0
