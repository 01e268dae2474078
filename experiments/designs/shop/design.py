"""Make the trials of a study in a shop: choice sets x nudge x profile x carrier x order x agent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import mean
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from agents.base import is_simulated
from agents.language_model.prompt import DEFAULT, PromptTemplates, default_prompt, load_prompt
from agents.simulated.nudges import DeclaredNudges, Nudge, as_searched
from environments.episode import View
from environments.launchable import launchable
from experiments.designs.choice_sets.forming import form_choice_sets
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.design import CONTROL, Comparison, Design, StoredTrials
from experiments.designs.inputs.identity import digest
from experiments.designs.shop.attributes import list_facts, shown, value
from experiments.designs.shop.experiment_file import EMBEDDED, Experiment
from experiments.designs.shop.listing import category_address, listed_sets, show_only
from experiments.designs.shop.profiles import sentences
from experiments.designs.shop.stopping import Stopping, blocks
from experiments.records.record import RunFacts, Trace
from interventions.apply.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import SiteMap, load_site_map
from interventions.yaml.yaml_source import Source, validate

NUDGED: Final = "nudged"
PLACEBO: Final = "placebo"
_FIGURES: Final = {"price", "rating", "reviews"}
"""The figures of a product that simulated shoppers read besides texts."""
_REQUESTS: Final = {"listing": 3, "search": 5}


@dataclass(frozen=True, slots=True)
class ShopTrial:
    """One episode to run.

    `products` are in order of presentation, with their facts as displayed, drawn ones included. Where
    attributes are drawn, each version of a draw is a repeat of its own. A control trial belongs to the
    cell of its nudge (`nudge` is set) but no product carries it (`carrier` is None). `start` are the pages
    that are opened, each in a tab, below the shop's address.
    """

    id: str
    agent: str
    set: str
    products: ChoiceSet
    nudge: Intervention | None
    carrier: str | None
    profile: str
    ordering: Literal["forward", "reversed"]
    repeat: int
    seed: int
    goal: str
    start: tuple[str, ...]

    @property
    def condition(self) -> str:
        """`nudged` or `placebo` when one of the products carries such an intervention, else `control`."""
        if self.nudge is None or self.carrier is None:
            return CONTROL
        return PLACEBO if self.nudge.kind == "placebo" else NUDGED


class ShopDesign(Design[ShopTrial]):
    """A study in a shop: products, interventions, profiles, prompt, site map."""

    kind = "shop"
    analysis = "choice"
    mode = "page"
    experiment: Experiment

    def __init__(self, source: Source, *, subject: str = "") -> None:
        """Check the experiment and form its choice sets.

        `subject` names a subject that Souk does not run: its trials, ids included, are those of any agent, in
        a run that has the subject in its name.

        Raises:
            UserError: a mistake in the experiment or in a file that it names.
        """
        self._subject = subject
        self.source = source
        self.experiment = experiment = validate(source, Experiment)
        self.base_url = _address(experiment.environment)
        site = load_site_map(source.shipped_or_file(("site",), experiment.site))
        self._site_identity = site.identity()
        self.site: SiteMap = site.model_copy(update={"query": (*site.query, *experiment.query)})
        if not self.site.knows_choices:
            cause = f"the site map {self.site.name} does not say what puts a product into the cart"
            raise source.error(("site",), f"{cause}; give it the key choice (docs/site-maps.md)")
        self.profiles = sentences(experiment.profiles, source)
        self.prompt = _prompt(experiment.prompt, source)
        self.nudges = self._nudges(source)
        self._matching = load_interventions("matching", self.site)
        self._drawing = load_interventions("attributes", self.site)
        display = load_interventions("display", self.site).interventions
        # A shop whose map has no place for them can be studied without.
        self._display = tuple(item for item in display if not item.lacks(self.site))
        self._left_out = tuple(item for item in display if item.lacks(self.site))
        self._everywhere = tuple(compile_treatment(item, None) for item in self._display)
        self._addresses: Mapping[str, str] = {}
        self.led: dict[str, str] = {}
        """The key of an address to which a start page leads -> its product, found before the first trial."""
        formed, self._notes = self._form(source)
        self._products = {product.key: product for products in formed for product in products}
        self.sets: dict[str, ChoiceSet] = {
            set_id(products): tuple(self._displayed(products)) for products in formed
        }
        self._check_stopping(source)
        self._check_levels()
        self._treatments: dict[tuple[str, ProductFacts], Treatment] = {}
        for product in (product for products in self.sets.values() for product in products):
            for nudge in filter(None, self.nudges):
                self._treatment(nudge, product)  # a variable that does not fit is found before any trial

    def _check_stopping(self, source: Source) -> None:
        stopping = self.stopping
        if stopping is None or stopping.rule == "fixed":
            return
        largest = max(map(len, self.sets.values()))
        if largest != 2 or min(map(len, self.sets.values())) != 2:
            message = f"it needs choice sets of two products, and there are some of {largest}; write fixed"
            raise source.error(("stopping", "rule"), message)
        if stopping.effect == "nudge" and not any(nudge.kind != "placebo" for nudge in self.nudges if nudge):
            message = "the interventions are placebos only; write effect: order, or choose others"
            raise source.error(("stopping", "effect"), message)

    @property
    def stopping(self) -> Stopping | None:
        """When an agent's trials are enough; None: after all of them."""
        return self.experiment.stopping

    @property
    def most(self) -> int | None:
        """The most trials of an agent that the experiment asks for; None: all."""
        return self.stopping.most if self.stopping else None

    def _form(self, source: Source) -> tuple[list[ChoiceSet], list[str]]:
        experiment = self.experiment
        options = experiment.options
        if experiment.task == "compare-tabs":
            formed = form_choice_sets(source, options, experiment.seed, self.site.query)
            self._addresses = {} if experiment.says_page else formed.addresses
            return formed.sets, formed.notes
        sets = listed_sets(experiment.task, options, experiment.seed)
        if not sets:
            raise source.error(
                ("options",),
                f"no {options.set_size} products on one page are that close; raise max_price_gap",
            )
        if len(sets) == options.sets:
            return sets, []
        page = "page of a category" if experiment.task == "listing" else "page of results"
        return sets, [f"there are only {len(sets)} of the {options.sets} choice sets asked for on one {page}"]

    def _nudges(self, source: Source) -> tuple[Intervention | None, ...]:
        factor = self.experiment.factors.nudge
        if factor is None:
            return (None,)
        place = ("factors", "nudge", "interventions")
        file = load_interventions(source.shipped_or_file(place, factor.interventions), self.site)
        known = {item.id: item for item in file.interventions}
        for index, name in enumerate(factor.only):
            if name not in known:
                raise source.error(
                    ("factors", "nudge", "only", index),
                    f"{factor.interventions} has no intervention {name!r}; it has {', '.join(known)}",
                )
        return tuple(known[name] for name in factor.only or known)

    def _displayed(self, products: ChoiceSet) -> Iterator[ProductFacts]:
        """The products with the matched attributes set to the mean of the set."""
        match = self.experiment.match
        price = round(mean(product.price or 0.0 for product in products), 2)
        reviews = round(mean(product.reviews or 0 for product in products))
        for product in products:
            shown = replace(product, price=price) if "price" in match else product
            yield replace(shown, reviews=reviews) if "reviews" in match else shown

    @property
    def drawn(self) -> tuple[str, ...]:
        """The attributes that are drawn independently of the product."""
        return self.experiment.attributes.names if self.experiment.attributes else ()

    def _check_levels(self) -> None:
        """Raises UserError where a product has no price to change, or two levels are one price of it."""
        attributes = self.experiment.attributes
        if attributes is None or not any(isinstance(level, str) for level in attributes.price):
            return
        for product in (product for products in self.sets.values() for product in products):
            if product.price is None:
                message = f"{product.key} has no price that could be changed; write amounts, or leave it out"
                raise self.source.error(("attributes", "price"), message)
            prices = [value(level, product) for level in attributes.price]
            if len(set(prices)) < len(prices):
                message = (
                    f"two levels are one price of {product.key}, which costs {product.price:.2f} (prices keep"
                    " their last cent); put the levels further apart"
                )
                raise self.source.error(("attributes", "price"), message)

    def list_facts(self, product: ProductFacts) -> dict[str, float | None]:
        """Return the own values of what is drawn for a product as displayed; empty where nothing is."""
        attributes = self.experiment.attributes
        return list_facts(attributes, self._products[product.key], product) if attributes else {}

    @property
    def view(self) -> View:
        """The part of the browser that the agent is shown."""
        return View(**self.experiment.observation.model_dump())

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """All that its trials follow from: texts, products, choice sets, site map, prompt."""
        interventions = [
            *(nudge for nudge in self.nudges if nudge),
            *self._matching.interventions,
            *self._display,
            *(self._drawing.interventions if self.drawn else ()),
        ]
        # A key that came later is no part of the identity of runs without it.
        later = {name for name in ("page", "attributes") if getattr(self.experiment, name) is None}
        experiment = self.experiment.model_dump(mode="json", exclude={"agents", "plan", "stopping", *later})
        # What is declared beforehand makes it another run. More trials do not, nor does a number of them.
        if declared := self.stopping and self.stopping.declared:
            experiment["stopping"] = declared
        return {
            "experiment": experiment,
            "profiles": self.profiles,
            "site_map": self._site_identity,
            "interventions": [[item.model_dump(mode="json"), item.tables] for item in interventions],
            "products": {key: asdict(product) for key, product in self._products.items()},
            "sets": {name: [product.key for product in products] for name, products in self.sets.items()},
            "prompt": {
                "name": self.prompt.name,
                "digest": self.prompt.digest,
                "templates": dict(self.prompt.sources),
            },
            **({"listed": self._listed()} if declared else {}),
        }

    def _listed(self) -> dict[str, list[str]]:
        """What the order of the trials follows from."""
        nudges = [nudge.id if nudge else "" for nudge in self.nudges]
        return {"sets": list(self.sets), "nudges": nudges, "profiles": list(self.profiles)}

    @property
    def name(self) -> str:
        """The name of the run: the experiment's name, and that of its subject."""
        own = re.sub(r"[^a-z0-9]+", "-", self._subject.lower()).strip("-")
        return f"{self.experiment.name}-{own}" if own else self.experiment.name

    @property
    def run_id(self) -> str:
        """The id of the run: the same experiment, from the same texts, products and site map, resumes it."""
        return f"{self.name}-{self._digest}"

    @cached_property
    def _digest(self) -> str:
        return digest(self.inputs)[:8]

    def summary(self) -> str:
        """Describe in words what will be done."""
        parts = f"{len(self.sets)} choice sets x {len(self.nudges)} interventions"
        if len(self.profiles) > 1:
            parts += f" x {len(self.profiles)} profiles"
        conditions = self.block_size() // len(self.profiles)
        if not self.drawn:
            return f"{parts}, {conditions} conditions and orders each"
        return f"{parts}, {conditions} conditions, orders and drawn {' and '.join(self.drawn)} each"

    def notes(self, agents: Sequence[str]) -> list[str]:
        """Return notes on what to know before the run, a line each.

        There may be fewer choice sets than asked for, roles that the site map lacks, or interventions that
        simulated shoppers do not see.
        """
        rule = self.stopping.sentence() if self.stopping else ""
        slow = [f"the site map {self.site.name}: {key}: {why}" for key, why in self.site.slow_expressions()]
        notes = [*([rule] if rule else []), *self._notes, *slow, *self._lacks()]
        if not any(is_simulated(name) for name in agents):
            return notes
        if unseen := self.unreadable():
            none = "" if set(unseen) < {nudge.id for nudge in self._meant()} else ", which are all there are"
            notes.append(
                f"simulated shoppers see nothing of {', '.join(unseen)}{none}: they read texts, prices, "
                "ratings, numbers of reviews and the order; what else moves an agent only a real one can show"
            )
        return notes

    def _shown_by_intervention(self) -> Iterator[Intervention]:
        """The interventions that show matched and drawn attributes; the kind of each is its attribute."""
        yield from (self._matching[f"match-{name}"] for name in self.experiment.match)
        yield from (self._drawing[f"drawn-{name}"] for name in self.drawn)

    def _lacks(self) -> Iterator[str]:
        """What the site map lacks for this experiment, a line for each role."""
        wanted = [
            *(nudge for nudge in self.nudges if nudge),
            *self._shown_by_intervention(),
        ]
        found: dict[str, dict[str, None]] = {}
        for intervention in wanted:
            for role in intervention.lacks(self.site):
                found.setdefault(role, {})[intervention.id] = None
        for role, names in found.items():
            yield (
                f"the site map {self.site.name} has no role {role}, which {', '.join(names)} needs on a "
                "product's page: no such page can be treated; add it to the map"
            )
        missing = [role for item in self._left_out for role in item.lacks(self.site)]
        if missing:
            yield (
                f"ratings are not added as text: the site map {self.site.name} has no role "
                f"{' and no role '.join(missing)}"
            )

    @property
    def most_steps(self) -> int:
        """The largest number of actions in an episode."""
        return self.experiment.limits.steps

    @property
    def most_seconds(self) -> float:
        """The largest wall-clock time of an episode, in seconds."""
        return self.experiment.limits.seconds

    def facts(self, agents: Sequence[str], trace: Trace | None = None) -> RunFacts:
        """Return the facts of the run as a whole, for the records."""
        facts = super().facts(agents, trace)
        return replace(facts, sets=len(self.sets), site=self.site.name, subject=self._subject or None)

    @property
    def match(self) -> str:
        """The matched attributes, e.g. `price+reviews`, or `none`."""
        return "+".join(self.experiment.match) or "none"

    def trials(self, agents: Sequence[str]) -> Iterator[ShopTrial]:
        """Yield all trials of these agents.

        They come in blocks: one choice set with one nudge, with all profiles, in all conditions and orders.
        The blocks run through the sets and the nudges, so that any number of whole blocks is balanced.
        """
        names, nudges = list(self.sets), self.nudges
        for block, (of_set, of_nudge, repeat) in enumerate(
            blocks(len(names), len(nudges), self.experiment.repeats)
        ):
            name, nudge, block_of_repeat = names[of_set], nudges[of_nudge], block % (len(names) * len(nudges))
            for agent in agents:
                for number, products in self._versions(name, nudge, repeat, block_of_repeat):
                    yield from self._cell(agent, name, products, nudge, number)

    def _versions(
        self, name: str, nudge: Intervention | None, repeat: int, block: int
    ) -> Iterator[tuple[int, ChoiceSet]]:
        """The products as displayed, once or in every version of a draw, each with the repeat that it is."""
        attributes, products = self.experiment.attributes, self.sets[name]
        if attributes is None:
            yield repeat, products
            return
        blocks, versions = len(self.sets) * len(self.nudges), attributes.versions(len(products))
        cell = [name, nudge.id if nudge else "", repeat]
        displayed = shown(attributes, products, self.experiment.seed, repeat * blocks + block, cell)
        yield from ((repeat * versions + number, each) for number, each in enumerate(displayed))

    def _cell(
        self, agent: str, name: str, products: ChoiceSet, nudge: Intervention | None, repeat: int
    ) -> Iterator[ShopTrial]:
        factors = self.experiment.factors
        carriers: list[str | None] = []
        if nudge is None or (factors.nudge and "none" in factors.nudge.on):
            carriers.append(None)
        if nudge is not None and factors.nudge and "each" in factors.nudge.on:
            carriers.extend(product.key for product in products)
        orders: list[Literal["forward", "reversed"]] = ["forward"]
        if factors.order == "both":
            orders.append("reversed")
        for profile in self.profiles:
            for ordering in orders:
                shown = products if ordering == "forward" else products[::-1]
                keys = [product.key for product in shown]
                for carrier in carriers:
                    cell = [agent, name, keys, nudge.id if nudge else "", carrier, profile, repeat]
                    identity = digest([f"{self.experiment.name}-{self._digest}", *cell])
                    yield ShopTrial(
                        id=identity,
                        agent=agent,
                        set=name,
                        products=shown,
                        nudge=nudge,
                        carrier=carrier,
                        profile=profile,
                        ordering=ordering,
                        repeat=repeat,
                        seed=int(identity[:12], 16),
                        goal=self._goal(products[0].category, profile),
                        start=self._start(shown),
                    )

    @property
    def size(self) -> int:
        """The number of trials of an agent, where all choice sets are as large as the largest."""
        largest = max(self.sets, key=lambda name: len(self.sets[name]))
        return len(self.sets) * len(self.nudges) * self._trials_of(largest) * self.experiment.repeats

    def block_size(self) -> int:
        """Return the number of trials per block and agent."""
        return self._trials_of(next(iter(self.sets)))

    def _trials_of(self, name: str) -> int:
        """The number of trials of a choice set with one nudge, in one repeat."""
        attributes, products = self.experiment.attributes, self.sets[name]
        shows = attributes.versions(len(products)) if attributes else 1
        return shows * sum(1 for _ in self._cell("", name, products, self.nudges[0], 0))

    def _goal(self, category: str, profile: str) -> str:
        goal = self.experiment.goal.replace("${category}", category)
        sentence = self.profiles[profile]
        return f"{goal.rstrip()}\n\n{sentence}" if sentence else goal

    def _start(self, products: ChoiceSet) -> tuple[str, ...]:
        match self.experiment.task:
            case "listing":
                return (category_address(products[0].category),)
            case "search":
                return ("",)
        return tuple(self._page(product.key) for product in products)

    def _page(self, key: str) -> str:
        """Where a product's page is: below the shop's address or, after a slash, on its host."""
        if address := self._addresses.get(key):
            parts = urlsplit(address)
            return urlunsplit(("", "", f"/{parts.path.lstrip('/')}", parts.query, ""))
        return self.experiment.start_page.replace("${key}", quote(key))

    def plan(self, trial: ShopTrial) -> Plan:
        """Return the edits of a trial.

        These are the edits for matching, for what is drawn, for listing and display, and the nudge on its
        carrier.
        """
        treatments: list[Treatment] = []
        for product in trial.products:
            for intervention in self._shown_by_intervention():
                shown_value = getattr(product, intervention.kind)
                treatments.append(self._treatment(intervention, product, value=shown_value))
            if trial.nudge is not None and product.key == trial.carrier:
                treatments.append(self._treatment(trial.nudge, product))
        listing = () if self.experiment.task == "compare-tabs" else (show_only(trial.products),)
        return Plan((*treatments, *listing, *self._everywhere))

    def planned(self, trial: ShopTrial) -> frozenset[str]:
        """Return the ids of the interventions in the trial's plan."""
        return frozenset(treatment.intervention for treatment in self.plan(trial).treatments)

    def matching(
        self, stored: StoredTrials, carriers: Mapping[str, str], agents: Sequence[str]
    ) -> Iterator[tuple[str, ShopTrial]]:
        """Match stored trials by their cells.

        Their ids cannot be used: an id contains the run's, which changes with the experiment.
        """
        cells = {
            (row.agent, row.set, row.nudge, row.ordering, row.profile, row.repeat, carriers.get(name)): name
            for name, row in stored.items()
        }
        for trial in self.trials(agents):
            nudge = trial.nudge.id if trial.nudge else ""
            cell = (trial.agent, trial.set, nudge, trial.ordering, trial.profile, trial.repeat)
            if name := cells.pop((*cell, trial.carrier), None):
                yield name, trial

    def example(self, trial: ShopTrial) -> dict[str, Any]:
        """Describe the goal, the products and the texts of one trial."""
        carried = self.plan(trial).by_product.get(trial.carrier, ()) if trial.carrier else ()
        return {
            "goal": trial.goal,
            "options": [
                {"name": p.name, "price": p.price, "rating": p.rating, "reviews": p.reviews}
                | {"intervention": trial.nudge.id if trial.nudge and p.key == trial.carrier else ""}
                for p in trial.products
            ],
            "texts": [edit.words() for treatment in carried for edit in treatment.edits if edit.words()],
        }

    def comparison(self, trials: Sequence[ShopTrial]) -> Comparison:
        """Compare the carrier of an intervention with the others; without one, who is seen first."""
        carried = [trial for trial in trials if trial.carrier is not None]
        sizes = [len(trial.products) for trial in carried or trials]
        of = "carrying an intervention" if carried else "being seen first"
        return Comparison(of, len(sizes), round(sum(sizes) / len(sizes)))

    def requests(self, trial: ShopTrial) -> int:
        """Count the actions of a shopper who looks at every product and buys one."""
        return _REQUESTS.get(self.experiment.task, len(trial.products) + 1)

    def interventions(self, trial: ShopTrial) -> Iterator[Intervention]:
        """Yield the interventions of a trial's cell: the nudge too where no product carries it."""
        yield from self._shown_by_intervention()
        if trial.nudge is not None:
            yield trial.nudge
        yield from self._display

    def declared_nudges(self, trial: ShopTrial) -> tuple[Nudge, ...]:
        """Return the texts that the experiment's nudges have on the products of a trial.

        A placebo has no meaning, so it is left out. The result is the same in every condition: whether a text
        is on a page is for the agent to see.
        """
        return tuple(dict.fromkeys(text for p in trial.products for text in self._texts(p)))

    def _texts(self, product: ProductFacts) -> Iterator[Nudge]:
        for nudge in self._meant():
            for edit in self._treatment(nudge, product).edits:
                if words := edit.words():
                    yield Nudge(words, nudge.direction, nudge.family)

    def _meant(self) -> Iterator[Intervention]:
        return (nudge for nudge in self.nudges if nudge is not None and nudge.kind != "placebo")

    def unreadable(self) -> list[str]:
        """Return the interventions that a simulated shopper cannot see.

        These change no figure and have no text, or one that another intervention uses in the other direction.
        """
        product = next(iter(self.sets.values()))[0]
        known = DeclaredNudges(self._texts(product))
        return [
            nudge.id
            for nudge in self._meant()
            if nudge.kind != "order"
            and not any(
                known.direction(as_searched(edit.words())) or _FIGURES & edit.values().keys()
                for edit in self._treatment(nudge, product).edits
            )
        ]

    def _treatment(self, intervention: Intervention, product: ProductFacts, **values: object) -> Treatment:
        """Compiled once for a product as displayed, from which `values` follow."""
        known = self._treatments.get((intervention.id, product))
        if known is None:
            known = compile_treatment(intervention, product, **values)
            self._treatments[intervention.id, product] = known
        return known


def _address(environment: str) -> str | None:
    if environment == EMBEDDED:
        return None
    if environment.startswith("compose:"):
        target = launchable(environment.removeprefix("compose:"))
        return target.url.format(port=target.port)
    return environment.rstrip("/") + "/"


def _prompt(name: str, source: Source) -> PromptTemplates:
    """The prompt of an experiment, known by the name that the experiment gives it. Raises UserError."""
    if name == DEFAULT:
        return default_prompt()
    return replace(load_prompt(str(source.file_at(("prompt",), name))), name=name)


def set_id(products: ChoiceSet) -> str:
    """Return a readable, stable name: the category and eight characters from the hash of the products."""
    category = re.sub(r"[^a-z0-9]+", "-", products[0].category.lower()).strip("-")
    return f"{category}-{digest(sorted(product.key for product in products))[:8]}"
