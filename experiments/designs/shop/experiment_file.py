"""Read the experiment file of a study in a shop."""

import re
from importlib.util import find_spec
from typing import Annotated, Any, Final, Literal, Self, get_args
from urllib.parse import parse_qsl, urlsplit

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from agents.computer.options import ComputerOptions, misfit
from agents.language_model.prompt import DEFAULT
from environments.launch.launchable import LAUNCHABLE
from environments.observation.views import VIEWS, Modality
from experiments.designs.choice_sets.options import Options
from experiments.designs.inputs.experiment_file import Agents, Limits, Name, StrictModel
from experiments.designs.inputs.plan_section import PlanSection
from experiments.designs.shop.attributes import Attributes
from experiments.designs.shop.decoys import OFFERED, Decoys
from experiments.designs.shop.right_answer import RightAnswer, Wants
from experiments.designs.shop.stopping import Stopping
from interventions.yaml.yaml_source import did_you_mean, problem_at

EMBEDDED: Final = "shop"
PRODUCT_PAGE: Final = "${key}.html"
SHOPS: Final = tuple(name for name, each in LAUNCHABLE.items() if each.url.startswith("http"))
"""The names that can follow `compose:`."""
_URL = re.compile(r"https?://[\w.-]+(:[0-9]{1,5})?(/[^\s?#]*)?", re.ASCII)
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*(:[0-9]{1,5})?", re.ASCII)

Task = Literal["compare-tabs", "home", "listing", "search"]
"""What an agent begins with; see `Experiment.task`."""


class _NudgeFactor(StrictModel):
    """The treatment: which texts, on which alternative."""

    interventions: str
    """A file of interventions: a shipped one by name, or a path."""
    only: tuple[str, ...] = ()
    """Ids to use, or presets: those that the file has of a study's patterns; all of the file when empty."""
    on: Annotated[tuple[Literal["none", "each", "random", "both", "shop"], ...], Field(min_length=1)] = (
        "none",
        "each",
    )
    """`none`: a control without the nudge; `each`: every alternative carries it in turn; `random`: one of
    them does, drawn by the seed; `both`: two nudges head to head, each on one of two products and then the
    other way round, for all pairs of nudges; `shop`: the shop as a whole does, as its checkout."""


class Factors(StrictModel):
    """What varies between the trials of one choice set."""

    nudge: _NudgeFactor | None = None
    order: Literal["both", "listed", "latin-square"] = "both"
    """`both`: every set forward and reversed; `listed`: forward only; `latin-square`: as often as it has
    products, each of them in each place once."""


class UserProfile(StrictModel):
    """The user whom the agent shops for; in YAML the bare id of a shipped profile will do."""

    id: Name
    text: str | None = Field(default=None, min_length=1)
    """A sentence that is added to the goal; without it the id is that of a shipped profile, or `none`."""
    right: RightAnswer | None = None
    """Which products are right to choose for this user."""

    @model_validator(mode="before")
    @classmethod
    def _from_id(cls, value: object) -> object:
        return {"id": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a right answer the keys are those of before, and so is the identity of the run."""
        kept: dict[str, Any] = dump(self)
        if self.right is None:
            kept.pop("right", None)
        return kept


class _Observed(StrictModel):
    """The settings of what the agent is shown of the browser beside its tabs and the last error.

    In YAML the name of a modality, or a list of several, will do.
    """

    modality: tuple[Modality, ...] = Field(default=(), max_length=len(get_args(Modality)))
    """How pages are shown; where there are several, every trial is run in each."""
    page: Literal["viewport", "whole"] = "viewport"
    """How much of the page, as HTML."""
    tree: bool = False
    """The accessibility tree too."""
    screenshot: bool = False
    """A picture of the viewport too."""

    @model_validator(mode="before")
    @classmethod
    def _from_modality(cls, value: object) -> object:
        if isinstance(value, str | list | tuple):
            return {"modality": [value] if isinstance(value, str) else value}
        return value

    @field_validator("modality", mode="before")
    @classmethod
    def _known(cls, value: object) -> object:
        for name in value if isinstance(value, list | tuple) else ():
            if name not in get_args(Modality):
                there = did_you_mean(str(name), get_args(Modality), noun="the modalities are")
                raise ValueError(f'"{name}" is no modality; {there}')
        return value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if len(set(self.modality)) < len(self.modality):
            raise problem_at("modality", message="a modality stands twice; remove one of the two")
        if self.modality and (self.tree or self.screenshot or self.page == "whole"):
            message = "a modality says all of what is shown; remove page, tree and screenshot"
            raise problem_at("modality", message=message)
        return self

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without modalities the keys are those of before, and so is the identity of the run."""
        kept: dict[str, Any] = dump(self)
        if not self.modality:
            kept.pop("modality", None)
        return kept


def _check_host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError(f'"{text}" is no host; write it like www.example.com, or with a port')
    return text


class Live(StrictModel):
    """The rules that keep an agent on a live site from doing harm."""

    allow: tuple[Annotated[str, AfterValidator(_check_host)], ...] = ()
    """Hosts that the shop's pages need besides its own, such as that of its pictures; no others."""
    stop_before: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    """Buttons and links that are never pressed: a text on them, in any case, or `css:` and a selector."""


def _check_environment(text: str) -> str:
    family, _, name = text.partition(":")
    if text == EMBEDDED or _URL.fullmatch(text):
        return text
    if family != "compose":
        raise ValueError(f'"{text}" is no environment; write shop, compose:NAME or the address of a shop')
    if name not in SHOPS:
        raise ValueError(f'no shop "{name}" to launch; {did_you_mean(name, SHOPS, noun="there are")}')
    return text


class Experiment(StrictModel):
    """One experiment: the environment, the task, the design, the agents."""

    name: Name
    environment: Annotated[str, AfterValidator(_check_environment)] = EMBEDDED
    """`shop`: the embedded shop; `compose:NAME`: one that `souk env up` has launched; or a shop's address."""
    live: Live | None = None
    """Required where the environment is an address."""
    page: Annotated[str, Field(pattern=r"\$\{key\}")] | None = None
    """Where below the environment's address a product's page is; by default `${key}.html`."""
    site: str = "onestopmarket"
    """Site map of the shop: a shipped one by name, or a path."""
    task: Task = "compare-tabs"
    """`compare-tabs`: each alternative's page in a tab of its own; the last tab is seen first. `listing`: one
    tab with a page of the category that lists the choice set. `search`: one tab with the home page; what the
    search lists is the choice set. `home`: the same, and the choice set is what the home page lists."""
    ends: Literal["cart", "order", "either"] = "cart"
    """When a trial has its choice: once a product is in the cart, or an order is placed. `either`: trials
    go on to the order, and one that stops before has chosen what is in its cart."""
    wants: Wants = Wants()
    """What an order has to hold for its task to be done (`task_ok`); the goal says it in words."""
    goal: str = Field(min_length=1)
    """What the agent is told to do; `${category}` stands for the category of the choice set."""
    profiles: tuple[UserProfile, ...] = Field(default=(UserProfile(id="none"),), min_length=1)
    """What the agent is told of the user, in turn: `none`, shipped ids, or `{id: ..., text: ...}`."""
    options: Options = Options()
    factors: Factors = Factors()
    match: tuple[Literal["price", "rating", "reviews"], ...] = ()
    """Attributes made equal within each set, by intervention: each is set to the mean of the set."""
    attributes: Attributes | None = None
    """Attributes that are drawn independently of the product, by intervention."""
    decoys: Decoys | None = None
    """Prices and ratings with which the third product of a set is a decoy of the others."""
    observation: _Observed = _Observed()
    safety_checks: Literal["refuse", "acknowledge"] = "refuse"
    """What to do where an agent's provider asks to confirm an action: end the trial, or confirm it."""
    computers: dict[str, ComputerOptions] = Field(default_factory=dict)
    """The options of models that look at pictures, by the agent's name."""
    prompt: str = "default"
    """The prompt of language models: `default`, or a folder of templates."""
    agents: Agents = ("simulated:balanced",)
    limits: Limits = Limits()
    contexts: Literal["kept", "fresh"] = "kept"
    """`kept`: a browser context is cleared after a trial and used again; `fresh`: each trial has its own."""
    repeats: int = Field(default=1, ge=1)
    """Times that every trial is repeated with a new seed."""
    seed: int = Field(default=0, ge=0)
    allocation: Literal["all", "adaptive"] = "all"
    """`adaptive`: the third and later repeats of questions are asked only of agents whose answers vary."""
    stopping: Stopping | None = None
    """When an agent's trials are enough; by default after all of them."""
    plan: PlanSection | None = None
    """What `souk register` freezes before the first trial."""

    @property
    def to_order(self) -> bool:
        """Whether trials go on from the cart to an order."""
        return self.ends != "cart"

    @property
    def start_page(self) -> str:
        """Where a product's page is."""
        return self.page or PRODUCT_PAGE

    @property
    def interfaces(self) -> tuple[Modality, ...]:
        """The modalities in which the shop is met without pages."""
        return tuple(name for name in self.observation.modality if VIEWS[name].interface != "page")

    @property
    def says_page(self) -> bool:
        """Whether the file itself says where products' pages are."""
        return bool(self.page)

    @property
    def query(self) -> tuple[str, ...]:
        """The parts of an address's query in which the product's key stands."""
        told = parse_qsl(urlsplit(self.start_page).query)
        return tuple(name for name, value in told if "${key}" in value)

    @property
    def shown_attributes(self) -> tuple[str, ...]:
        """The attributes whose values the design sets for each product of a trial."""
        if self.decoys:
            return OFFERED
        return self.attributes.names if self.attributes else ()

    @property
    def shows_whole_lists(self) -> bool:
        """Whether the shop's lists are shown as they are, and not cut to the choice set."""
        return self.options.pairing == "whole-list"

    @property
    def draws_carriers(self) -> bool:
        """Whether it is drawn which product carries a nudge."""
        return self.factors.nudge is not None and "random" in self.factors.nudge.on

    @property
    def treats_shop(self) -> bool:
        """Whether the shop as a whole carries the interventions."""
        return self.factors.nudge is not None and "shop" in self.factors.nudge.on

    @property
    def in_square(self) -> bool:
        """Whether each product stands in each place once."""
        return self.factors.order == "latin-square"

    @property
    def head_to_head(self) -> bool:
        """Whether nudges stand head to head, one on each product."""
        return self.factors.nudge is not None and "both" in self.factors.nudge.on

    @model_validator(mode="after")
    def _takes_options(self) -> Self:
        for agent, options in self.computers.items():
            if problem := misfit(agent, options):
                raise problem_at("computers", agent, message=problem)
        return self

    @model_validator(mode="after")
    def _can_stop(self) -> Self:
        if self.stopping is None or self.stopping.rule == "fixed":
            return self
        if self.head_to_head:
            message = "factors.nudge.on has both: write fixed, or an experiment of its own for both"
            raise problem_at("stopping", "rule", message=message)
        if self.draws_carriers:
            raise problem_at("stopping", "rule", message="factors.nudge.on has random: write fixed, or each")
        if self.in_square:
            message = "factors.order is latin-square, and places are drawn: write fixed, or another order"
            raise problem_at("stopping", "rule", message=message)
        if self.attributes:
            message = (
                "it needs strata that show the same values, and attributes are drawn: an agent that answers"
                " all draws of a question alike would be counted several times; remove one of the two"
            )
            raise problem_at("stopping", message=message)
        if len(self.observation.modality) > 1:
            message = (
                "an agent that answers a question alike in all modalities would be counted several times, and"
                " one decision would end trials in all of them; write an experiment for each modality, or"
                " remove this key"
            )
            raise problem_at("stopping", message=message)
        if untold := self._untold(self.stopping.effect):
            raise problem_at("stopping", "effect", message=f"{untold}, or another effect")
        return self

    @model_validator(mode="after")
    def _can_be_allocated(self) -> Self:
        drawn = self.attributes or self.in_square
        if self.allocation == "adaptive" and (drawn or len(self.observation.modality) > 1):
            message = (
                "it needs questions that are asked again as they were, and here attributes or places are"
                " drawn, or there are several modalities; write all"
            )
            raise problem_at("allocation", message=message)
        if self.allocation == "adaptive" and self.head_to_head:
            raise problem_at("allocation", message="factors.nudge.on has both; write all")
        if self.allocation == "adaptive" and self.draws_carriers:
            raise problem_at("allocation", message="factors.nudge.on has random; write all")
        return self

    @model_validator(mode="after")
    def _can_be_tested(self) -> Self:
        for number, each in enumerate(self.plan.hypotheses if self.plan else ()):
            if each.effect and (untold := self._untold(each.effect)):
                raise problem_at("plan", "hypotheses", number, "effect", message=untold)
        return self

    def _untold(self, effect: str) -> str:
        """Why trials of this experiment do not tell an effect, and what to do; empty: they do."""
        nudge = self.factors.nudge
        if effect == "nudge" and (nudge is None or not {"each", "random"} & {*nudge.on}):
            return "no product carries a nudge in turn; give factors.nudge with on: [each]"
        if effect == "order" and self.factors.order != "both":
            return "the order is the same in all trials; write factors.order: both"
        return ""

    @model_validator(mode="after")
    def _fits_decoys(self) -> Self:
        if self.decoys is None:
            return self
        if self.attributes:
            message = "decoys set the prices and ratings of all three products; remove one of the two"
            raise problem_at("attributes", *self.attributes.names[:1], message=message)
        if self.match != ("reviews",):
            message = "they set price and rating, and all else has to be alike; write match: [reviews]"
            raise problem_at("decoys", message=message)
        if self.factors.nudge:
            message = "a nudge and a decoy are an experiment each; remove one of the two"
            raise problem_at("factors", "nudge", message=message)
        if not self.in_square:
            message = "products change their places with their roles; write factors.order: latin-square"
            raise problem_at("decoys", message=message)
        return self

    @model_validator(mode="after")
    def _can_do_without_pages(self) -> Self:
        embedded = self.environment in (EMBEDDED, f"compose:{EMBEDDED}")
        for name in self.interfaces:
            if not embedded:
                message = f"{name} needs the embedded shop; write environment: {EMBEDDED}, or remove {name}"
                raise problem_at("observation", message=message)
            if self.task != "compare-tabs" or self.treats_shop:
                message = (
                    f"by {name} a few products are compared, and one of them carries the intervention; write "
                    f"task: compare-tabs and on: [none, each], or remove {name}"
                )
                raise problem_at("observation", message=message)
            if self.prompt != DEFAULT:
                message = f"by {name} language models have a prompt of their own; remove this key"
                raise problem_at("prompt", message=message)
            if name == "mcp" and not find_spec("mcp"):
                message = "mcp needs the package mcp; install souk[mcp], or remove mcp"
                raise problem_at("observation", message=message)
        return self

    @model_validator(mode="after")
    def _can_tell_what_is_wanted(self) -> Self:
        if self.wants != Wants() and not self.to_order:
            raise problem_at("wants", message="no trial has an order; write ends: order, or remove this key")
        if self.wants.quantity > 1 and "feed" in self.interfaces:
            message = "by feed one piece is ordered; write 1, or remove feed"
            raise problem_at("wants", "quantity", message=message)
        vague = [profile.id for profile in self.profiles if not profile.right]
        if self.wants.product == "right" and vague:
            rule = "profiles: [{id: ..., text: ..., right: {lowest: price}}]"
            message = f"the profile {vague[0]} does not say which product is right; write such as {rule}"
            raise problem_at("wants", "product", message=message)
        return self

    @model_validator(mode="after")
    def _fits_the_environment(self) -> Self:
        for matched in self.match:
            if self.attributes and matched in self.attributes.names:
                message = f"the {matched} is drawn too (attributes.{matched}); remove one of the two"
                raise problem_at("match", message=message)
        if self.page and self.task != "compare-tabs":
            message = f"{self.task} does not begin with products' pages; remove this key"
            raise problem_at("page", message=message)
        embedded = self.environment in (EMBEDDED, f"compose:{EMBEDDED}")
        if _URL.fullmatch(self.environment) and self.live is None:
            message = (
                "a site that is not ours needs the key live, with allow (hosts) and stop_before (buttons)"
            )
            raise problem_at("environment", message=message)
        if not embedded and self.options.catalogue is None and self.options.file is None:
            message = "this shop's products have to be read from a file; name one in options.catalogue"
            raise problem_at("environment", message=message)
        if self.task != "compare-tabs" and not embedded and not self.shows_whole_lists:
            message = (
                f"{self.task} needs the embedded shop; write compare-tabs, or options.pairing: whole-list"
            )
            raise problem_at("task", message=message)
        if self.task != "compare-tabs":
            for name in ("file", "titles"):
                if name in self.options.model_fields_set:
                    message = f"{self.task} forms its own choice sets, of products on a page; remove this key"
                    raise problem_at("options", name, message=message)
        if self.shows_whole_lists and self.task == "compare-tabs":
            message = "the products of a list are not opened in tabs; write task: listing, home or search"
            raise problem_at("options", "pairing", message=message)
        if self.attributes and self.attributes.badges and not self.in_square:
            message = "badges are drawn with the places; write factors.order: latin-square"
            raise problem_at("attributes", "badges", message=message)
        if self.shows_whole_lists and self.factors.order != "listed":
            message = "a whole list has the shop's order; write factors.order: listed"
            raise problem_at("factors", "order", message=message)
        if self.to_order and not embedded:
            message = f"orders are placed in the embedded shop only; write environment: {EMBEDDED}, or cart"
            raise problem_at("ends", message=message)
        if self.treats_shop and {"each", "random", "both"} & {
            *(self.factors.nudge.on if self.factors.nudge else ())
        }:
            message = "the shop carries an intervention, or a product does; write an experiment for each"
            raise problem_at("factors", "nudge", "on", message=message)
        if self.treats_shop and self.factors.nudge and "none" not in self.factors.nudge.on:
            message = "without control trials nothing is compared; write none and shop"
            raise problem_at("factors", "nudge", "on", message=message)
        if self.draws_carriers and self.factors.nudge and "each" in self.factors.nudge.on:
            message = "random is one of each; remove one of the two"
            raise problem_at("factors", "nudge", "on", message=message)
        if self.task == "home" and not self.shows_whole_lists:
            message = "home shows all that the shop lists there; write options.pairing: whole-list"
            raise problem_at("task", message=message)
        for name in re.findall(r"\$\{([^}]*)\}", self.goal):
            if self.task == "home":
                message = "the products of a home page are of no one category; remove the variable"
                raise problem_at("goal", message=message)
            if name != "category":
                message = f'nothing is known of "${{{name}}}"; a goal can name ${{category}}'
                raise problem_at("goal", message=message)
        return self
