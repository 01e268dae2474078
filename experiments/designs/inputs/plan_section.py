"""Read the section `plan` of an experiment file: what is asked, and when it counts as answered."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from analysis.tables.outcomes import Outcome
from experiments.designs.inputs.experiment_file import Name, StrictModel
from interventions.yaml.yaml_source import problem_at

Cell = str | int | float


def _without_choice(outcome: Outcome) -> Outcome:
    if outcome == "choice":
        raise ValueError("a trial that ended in a choice is what is analysed; name another outcome")
    return outcome


Ended = Annotated[Outcome, AfterValidator(_without_choice)]


class Hypothesis(StrictModel):
    """A statement about one row of a table of the analysis; it is tested for each agent."""

    name: Name
    effect: Literal["nudge", "order", "price", "rating"] | None = None
    """A feature of options in a shop: the row of the exact tests (nudge, order), or of the effects."""
    table: str | None = None
    """The table of the analysis, by the name that it has in `--json`."""
    row: Mapping[str, Cell] = Field(default_factory=dict)
    """The values of the columns that tell its row; the agent's column is filled in."""
    expect: Literal["above", "below", "different", "equal"] = "different"
    """`above`, `below`, `different`: than 0; `equal`: within the margin around 0."""
    margin: Annotated[float, Field(gt=0)] | None = None
    """How far from 0 still counts as equal, in the unit of the table."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """The largest adjusted p value that supports it."""
    family: Name = "main"
    """Hypotheses of one family share the correction."""

    @model_validator(mode="after")
    def _is_whole(self) -> "Hypothesis":
        if self.effect and self.table and self.table not in ("exact", "effects"):
            raise problem_at("table", message="an effect stands in exact or effects; write one of these")
        if not self.effect and not (self.table and self.row):
            raise ValueError("what is estimated is missing; give effect, or table and row")
        if (self.expect == "equal") != (self.margin is not None):
            raise problem_at("margin", message="a margin belongs to expect: equal, and only to it")
        return self


class Exclusions(StrictModel):
    """What the registered results leave out."""

    outcomes: tuple[Ended, ...] = ()
    """Trials that ended so."""
    agents: tuple[str, ...] = ()
    """All trials of these agents."""


class PlanSection(StrictModel):
    """What `souk register` freezes besides the design."""

    hypotheses: tuple[Hypothesis, ...] = ()
    correction: Literal["holm", "bonferroni", "benjamini-hochberg", "none"] = "holm"
    """How p values are adjusted within a family."""
    trials: Annotated[int, Field(ge=1)] | None = None
    """How many trials are planned in all; by default all of the design, for all agents."""
    exclude: Exclusions = Exclusions()

    @model_validator(mode="after")
    def _agrees(self) -> "PlanSection":
        names = [each.name for each in self.hypotheses]
        for index, each in enumerate(self.hypotheses):
            if each.name in names[:index]:
                message = f"{each.name} stands twice; give each hypothesis a name of its own"
                raise problem_at("hypotheses", index, "name", message=message)
            first = next(other for other in self.hypotheses if other.family == each.family)
            if each.alpha != first.alpha:
                message = f"the family {each.family} has alpha {first.alpha:g} already; write the same"
                raise problem_at("hypotheses", index, "alpha", message=message)
        return self
