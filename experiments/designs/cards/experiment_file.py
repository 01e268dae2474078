"""Read the experiment file of a study with choice cards."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from experiments.designs.design import Mode
from experiments.designs.inputs.experiment_file import Agents, Limits, Name, StrictModel, check_name
from experiments.designs.inputs.plan_section import PlanSection
from interventions.yaml.yaml_source import problem_at

Positive = Annotated[int, Field(ge=1)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Condition = Literal["control", "low", "high"]
Scenario = Literal["base", "no-persona", "odd", "large"]
BASE: Final = "base"
"""The condition of trials with the card as it is, where a conjoint has variants."""


def distinct(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return the values. Raises ValueError when one stands twice."""
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"{value} stands twice; remove one of them")
    return values


class Block(StrictModel):
    """Choice sets of one size."""

    set_size: int = Field(ge=2, le=8)
    """Alternatives in a choice set."""
    sets: Annotated[int, Field(ge=1, le=100_000)]
    """How many choice sets to form."""
    repeats: Positive = 1
    """How often each set is shown, with attributes drawn anew."""


class Variant(StrictModel):
    """What a variant of the prompt changes; all else is as the card's file says."""

    form: Literal["lines", "json"] = "lines"
    """`json`: each alternative is a JSON record."""
    fields: tuple[str, ...] = ()
    """The labels of the card's fields that follow the name; the others come after them."""
    persona: str = ""
    """A paragraph before all others."""
    reasoning: bool = False
    """Whether reasons are asked for before the answer."""
    temperature: Temperature | Annotated[tuple[Temperature, ...], Field(min_length=1)] | None = None
    """The sampling temperature instead of the experiment's; of several each is a variant of its own."""

    @property
    def needs(self) -> tuple[str, tuple[Mode, ...]]:
        """The key that not all modes can do, and the modes that can; an empty key: all can."""
        if self.reasoning:
            return "reasoning", ("text",)
        if self.temperature is not None:
            return "temperature", ("text",)
        return ("form", ("text", "logprobs")) if self.form == "json" else ("", ())


class Conjoint(StrictModel):
    """Choices between alternatives whose attributes vary."""

    pool: str = "hotels"
    """`hotels`, the shipped profiles; or the path of a CSV of profiles or of ready cards."""
    blocks: tuple[Block, ...] = ()
    """The choice sets to form of profiles; ready cards have their own sets."""
    order: Literal["both", "listed"] = "both"
    """`both`: everything that is shown is shown again in reversed order; `listed`: once."""

    city: str = ""
    """What the card says for `${city}`; empty: what its file says."""
    currency: str = ""
    """What the card says for `${currency}`, such as `€`; empty: what its file says."""
    variants: dict[Annotated[str, AfterValidator(check_name)], Variant] = Field(default_factory=dict)
    """Name -> what it changes; everything is shown in each variant, too, and as it is (`base`)."""

    @model_validator(mode="after")
    def _base_is_taken(self) -> "Conjoint":
        if BASE in self.variants:
            raise problem_at("variants", BASE, message="this is the card as it is; give another name")
        return self

    @model_validator(mode="after")
    def _sizes_differ(self) -> "Conjoint":
        distinct(tuple(block.set_size for block in self.blocks))
        return self


class Factorial(StrictModel):
    """Willingness to pay, for all products in all conditions."""

    products: str = "wtp"
    """`wtp`, the six shipped products; or the path of a YAML or CSV file."""
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1)] = ("control", "low", "high")
    """`control`: no anchor; `low`, `high`: an anchor of 15 or 95 dollars."""
    repeats: Positive = 100
    """Responses per product and condition."""

    _each_once = field_validator("conditions")(distinct)


class BatteryQuestions(StrictModel):
    """Pairs of questions, control and treatment, that measure cognitive biases."""

    biases: tuple[str, ...] = ()
    """The biases to ask about; all when empty."""
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)] = ("base",)
    temperatures: Annotated[tuple[Temperature | None, ...], Field(min_length=1)] = (0.7,)
    """Sampling temperatures; null: the provider's own."""
    valid: Positive = 100
    """Valid answers wanted from every question."""
    attempts: Positive = 200
    """How often a question is asked at most."""
    persona: Literal["system", "user"] = "system"
    """The message that holds the persona."""

    _each_once = field_validator("biases", "scenarios", "temperatures")(distinct)

    @model_validator(mode="after")
    def _attempts_suffice(self) -> "BatteryQuestions":
        if self.attempts < self.valid:
            message = f"{self.attempts} attempts cannot give {self.valid} valid answers; raise attempts"
            raise problem_at("attempts", message=message)
        return self


class Parts(StrictModel):
    """The one design of the experiment: conjoint, factorial or battery."""

    conjoint: Conjoint | None = None
    factorial: Factorial | None = None
    battery: BatteryQuestions | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "Parts":
        given = [part for part in (self.conjoint, self.factorial, self.battery) if part]
        if len(given) != 1:
            raise ValueError(f"{len(given) or 'no'} designs; give one of conjoint, factorial, battery")
        return self

    @property
    def one(self) -> Conjoint | Factorial | BatteryQuestions:
        """The design that the file gives."""
        return next(part for part in (self.conjoint, self.factorial, self.battery) if part)


class CardExperiment(StrictModel):
    """One experiment with choice cards: the cards, how they are shown, the design, the agents."""

    name: Name
    task: Literal["card"]
    mode: Mode = "page"
    """`page`: in a browser, through the proxy; `text`: as a prompt, without a browser; `logprobs`: as a
    prompt, of which the letters are scored and the likeliest is the answer."""
    cards: str
    """A file of interventions with cards: a shipped one by name, or a path."""
    design: Parts
    agents: Agents = ("simulated:balanced",)
    temperature: Temperature | None = None
    """Sampling temperature; null: the provider's own. A battery has its own list."""
    rationale: bool = False
    """Whether a reason is asked for beside each answer, both in one JSON object."""
    limits: Limits = Limits()
    seed: int = Field(default=0, ge=0)
    plan: PlanSection | None = None
    """What `souk register` freezes before the first trial."""

    @model_validator(mode="after")
    def _mode_can_do_variants(self) -> "CardExperiment":
        for name, variant in self.design.conjoint.variants.items() if self.design.conjoint else ():
            key, modes = variant.needs
            if key and self.mode not in modes:
                message = f"not with mode: {self.mode}; set mode: {modes[0]}, or remove this key"
                raise problem_at("design", "conjoint", "variants", name, key, message=message)
        return self

    @model_validator(mode="after")
    def _can_have_reasons(self) -> "CardExperiment":
        if self.rationale and self.mode != "text":
            message = f"not with mode: {self.mode}; set mode: text, or remove this key"
            raise problem_at("rationale", message=message)
        variants = self.design.conjoint.variants if self.design.conjoint else {}
        for name in (name for name, each in variants.items() if self.rationale and each.reasoning):
            message = "not with rationale, which asks for reasons in every variant; keep one of the two"
            raise problem_at("design", "conjoint", "variants", name, "reasoning", message=message)
        return self

    @model_validator(mode="after")
    def _has_one_temperature(self) -> "CardExperiment":
        if self.design.battery and self.temperature is not None:
            message = "a battery has a list of its own; remove this key, set design.battery.temperatures"
            raise problem_at("temperature", message=message)
        return self
