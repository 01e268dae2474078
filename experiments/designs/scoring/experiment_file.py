"""Read the experiment file of a study that scores targets."""

import re
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator, model_validator

from experiments.designs.inputs.experiment_file import Agents, Name, StrictModel
from experiments.designs.inputs.plan_section import PlanSection
from interventions.yaml.yaml_source import problem_at

MOST_TARGETS: Final = 10_000

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


class _TargetRange(StrictModel):
    """A range of whole numbers, each written by a format."""

    first: int = Field(default=0, alias="from")
    """The lowest number."""
    last: int = Field(default=100, alias="to")
    """The highest number."""
    format: str = "{}%"
    """How a number is written: `{}` stands for it."""

    @model_validator(mode="after")
    def _is_a_range(self) -> "_TargetRange":
        if self.format.count("{}") != 1:
            message = f'"{self.format}" has no place for the number, or several; write "{{}}" once'
            raise problem_at("format", message=message)
        if not self.first < self.last <= self.first + MOST_TARGETS:
            message = f"{self.first} to {self.last} is no range of 2 to {MOST_TARGETS:,} numbers; raise to"
            raise problem_at("to", message=message)
        return self


def number_in(text: str) -> float:
    """Return the one number in a text. Raises ValueError when there is none, or several."""
    found = _NUMBER.findall(text)
    if len(found) != 1:
        raise ValueError(f'"{text}" holds {len(found) or "no"} numbers; write one, such as "10%"')
    return float(found[0])


class ScoreExperiment(StrictModel):
    """One experiment in log-probabilities: the stimuli, the targets, what is attributed, the models."""

    name: Name
    task: Literal["score"]
    stimuli: str = "anchoring"
    """`anchoring`, the shipped stimuli; or the path of a YAML file."""
    targets: _TargetRange | Annotated[tuple[str | int | float, ...], Field(min_length=2)] = _TargetRange()
    """The answers to score: `{from: 0, to: 100, format: "{}%"}`, or a list, one number in each."""
    attribution: Literal["exact", "permutations", "none"] = "exact"
    """Which sets of fields are scored, to attribute a score to fields. `exact`: every set.

    `permutations`: those that random orders of the fields pass through; `none`: only whole prompts.
    """
    permutations: int = Field(default=200, ge=2, le=10_000)
    """How many orders `permutations` draws."""
    legacy_scoring: bool = False
    """Score as the published data were: the tokens of the bare target in the place of those in the text."""
    agents: Agents = ("hf:tiny-anchor",)
    seed: int = Field(default=0, ge=0)
    plan: PlanSection | None = None
    """What `souk register` freezes before the first trial."""

    @field_validator("targets")
    @classmethod
    def _differ(cls, targets: _TargetRange | tuple[str | int | float, ...]) -> object:
        if isinstance(targets, tuple):
            numbers = [number_in(str(target)) for target in targets]
            if len(set(numbers)) < len(numbers):
                raise ValueError("a number stands in two targets; write each once")
        return targets

    @property
    def answers(self) -> dict[str, float]:
        """The targets as they are scored, with their numbers."""
        if isinstance(self.targets, _TargetRange):
            numbers = range(self.targets.first, self.targets.last + 1)
            return {self.targets.format.replace("{}", str(number)): float(number) for number in numbers}
        return {str(target): number_in(str(target)) for target in self.targets}
