"""The experiment file: what a researcher writes to ask a question."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from interventions.errors import UserError
from interventions.yaml_source import Source, did_you_mean, load_yaml, validate

LIBRARY = Path(__file__).parent / "library"

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Share = Annotated[float, Field(ge=0)]


class Model(BaseModel):
    """Strict and immutable: an unknown key is a mistake, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Options(Model):
    """Which products stand against each other."""

    pairing: Literal["price-adjacent"] = "price-adjacent"
    """`price-adjacent`: neighbours by price within a category."""
    set_size: int = Field(default=2, ge=2, le=8)
    """Alternatives in a choice set."""
    sets: int = Field(default=50, ge=1)
    """How many choice sets to sample."""
    max_price_gap: Share = 0.5
    """Largest |price difference| / lower price between two alternatives of a set."""
    max_rating_gap: Share = 0.1
    """Largest rating difference, as a share of the scale (0.1: ten points of a hundred)."""


class NudgeFactor(Model):
    """The treatment: which texts, on which alternative."""

    interventions: str
    """A file of interventions: a shipped one by name, or a path."""
    only: tuple[str, ...] = ()
    """Ids to use; all of the file when empty."""
    on: tuple[Literal["none", "each"], ...] = ("none", "each")
    """`none`: a control without the nudge; `each`: every alternative carries it in turn."""


class Factors(Model):
    """What varies between the trials of one choice set."""

    nudge: NudgeFactor | None = None
    order: Literal["both", "listed"] = "both"
    """`both`: every set forward and reversed; `listed`: forward only."""


class Limits(Model):
    """When an episode is cut off."""

    steps: int = Field(default=10, ge=1)
    """Actions."""
    seconds: float = Field(default=300, gt=0)
    """Wall-clock time, model latency included."""


class Experiment(Model):
    """One experiment: the environment, the task, the design, the agents."""

    name: Name
    environment: Literal["shop"] = "shop"
    """`shop`: the embedded shop."""
    site: str = "onestopmarket"
    """Site map of the shop: a shipped one by name, or a path."""
    task: Literal["compare-tabs"] = "compare-tabs"
    """`compare-tabs`: each alternative's page in a tab of its own; the last tab is seen first."""
    goal: str = Field(min_length=1)
    """What the agent is told to do."""
    options: Options = Options()
    factors: Factors = Factors()
    match: tuple[Literal["price", "reviews"], ...] = ()
    """Attributes made equal within each set, by intervention: each is set to the mean of the set."""
    agents: tuple[str, ...] = ("simulated:balanced",)
    limits: Limits = Limits()
    repeats: int = Field(default=1, ge=1)
    """Times that every trial is repeated with a new seed."""
    seed: int = Field(default=0, ge=0)


def experiment_source(name_or_path: str) -> Source:
    """The YAML of a shipped experiment, or of a file.

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


def load_experiment(name_or_path: str) -> Experiment:
    """Read and check an experiment. Raises UserError with file, line and key."""
    return validate(experiment_source(name_or_path), Experiment)
