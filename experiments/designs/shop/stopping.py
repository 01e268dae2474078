"""The key `stopping` of an experiment in a shop: when an agent's trials are enough."""

from collections.abc import Iterator
from math import lcm
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from experiments.designs.inputs.experiment_file import StrictModel
from interventions.yaml.yaml_source import problem_at


class Stopping(StrictModel):
    """When an agent's trials are enough."""

    rule: Literal["fixed", "anytime-valid"] = "fixed"
    """`fixed`: after a number of trials; `anytime-valid`: also when the effect is known well enough."""
    effect: Literal["nudge", "order"] = "nudge"
    """What the run is about: the carrier of a nudge, or which product is seen first."""
    alpha: float = Field(default=0.05, ge=1e-6, le=0.5)
    """The largest chance of stopping with an effect that there is not."""
    margin: float | None = Field(default=None, gt=0, lt=100)
    """In percentage points: the run also stops when the effect is known to be smaller than this."""
    most: int | None = Field(default=None, ge=1)
    """The most trials of an agent; all of the design's by default."""

    @model_validator(mode="after")
    def _fits_the_rule(self) -> Self:
        if self.rule == "fixed":
            for name in ("effect", "alpha", "margin"):
                if name in self.model_fields_set:
                    message = f"only rule: anytime-valid has the key {name}; write that rule, or remove it"
                    raise problem_at(name, message=message)
        return self

    def sentence(self) -> str:
        """Say in a line when an agent's trials are enough."""
        most = "" if self.most is None else f"after {self.most:,} trials of an agent"
        if self.rule == "fixed":
            return f"stops {most}" if most else ""
        less = "" if self.margin is None else f", or is less than {self.margin:g} points"
        known = f"once the effect of the {self.effect} is known (alpha {self.alpha:g}){less}"
        return f"stops {known}{f'; at the latest {most}' if most else ''}"

    @property
    def declared(self) -> dict[str, Any] | None:
        """What is declared before the run and makes it another run; None for a fixed number of trials."""
        if self.rule == "fixed":
            return None
        return self.model_dump(mode="json", exclude={"most"})


def blocks(sets: int, nudges: int, repeats: int) -> Iterator[tuple[int, int, int]]:
    """Yield set, nudge and repeat (numbers from 0) of each block, in the order in which blocks are run.

    Going through both lists at once comes back to the first pair after some blocks; going on one nudge
    further then, as often as needed, meets every pair exactly once. Both halves of a stratum are in one
    block, so that strata are complete early.
    """
    cycle = lcm(sets, nudges)
    for repeat in range(repeats):
        for block in range(sets * nudges):
            yield block % sets, (block + block // cycle) % nudges, repeat
