"""From an experiment to its trials: choice sets x nudge x carrier x order x agent, in balanced blocks."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from math import lcm
from statistics import mean
from typing import Final, Literal

from experiments.choice_sets import ChoiceSet, price_adjacent
from experiments.records import canonical_json
from experiments.schema import Experiment
from interventions.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.schema import Intervention, load_interventions
from interventions.sitemap import SiteMap, load_site_map
from interventions.yaml_source import Source, validate

VERSIONED: Final = ("souk", "mitmproxy", "playwright", "selectolax", "pyfixest")
CONTROL: Final = "control"
NUDGED: Final = "nudged"


@dataclass(frozen=True, slots=True)
class Trial:
    """One episode to run.

    `products` are in order of presentation, with their facts as displayed. A control trial belongs to the
    cell of its nudge (`nudge` is set) but no product carries it (`carrier` is None).
    """

    id: str
    agent: str
    set: str
    products: ChoiceSet
    nudge: Intervention | None
    carrier: str | None
    ordering: Literal["forward", "reversed"]
    repeat: int
    seed: int

    @property
    def condition(self) -> str:
        """`nudged` when one of the products carries the nudge, else `control`."""
        return CONTROL if self.carrier is None else NUDGED


class Design:
    """An experiment with everything it refers to: products, interventions, site map."""

    def __init__(self, source: Source, products: Sequence[ProductFacts]) -> None:
        """Check the experiment and form its choice sets.

        Raises:
            UserError: a mistake in the experiment or in a file that it names.
        """
        self.experiment = experiment = validate(source, Experiment)
        self.site: SiteMap = load_site_map(experiment.site)
        self.nudges = self._nudges(source)
        self._matching = load_interventions("matching", self.site)
        display = load_interventions("display", self.site)
        self._display = tuple(compile_treatment(item, None) for item in display.interventions)
        sets = price_adjacent(products, experiment.options, experiment.seed)
        if not sets:
            raise source.error(
                ("options",),
                f"no {experiment.options.set_size} products of a category are that close; "
                "raise max_price_gap or max_rating_gap",
            )
        self.sets: dict[str, ChoiceSet] = {
            set_id(products): tuple(self._displayed(products)) for products in sets
        }

    def _nudges(self, source: Source) -> tuple[Intervention | None, ...]:
        factor = self.experiment.factors.nudge
        if factor is None:
            return (None,)
        file = load_interventions(factor.interventions, self.site)
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

    @cached_property
    def run(self) -> str:
        """The id of the run: the same experiment, with the same texts and site map, resumes the same run."""
        content = [
            self.experiment.model_dump(mode="json", exclude={"agents"}),
            self.site.model_dump(mode="json"),
            *([nudge.model_dump(mode="json"), nudge.tables] for nudge in self.nudges if nudge),
        ]
        return f"{self.experiment.name}-{digest(content)[:8]}"

    def summary(self) -> str:
        """What will be done, for people."""
        parts = f"{len(self.sets)} choice sets x {len(self.nudges)} interventions"
        return f"{parts}, {self.block_size()} conditions and orders each"

    def shortage(self) -> list[str]:
        """A line where there is less than was asked for."""
        wanted = self.experiment.options.sets
        if len(self.sets) >= wanted:
            return []
        return [f"the catalogue holds only {len(self.sets)} of the {wanted} choice sets asked for"]

    def facts(self, agents: Sequence[str]) -> dict[str, object]:
        """What the records keep of the run as a whole."""
        return {
            "experiment": self.experiment.model_dump(mode="json"),
            "agents": list(agents),
            "sets": len(self.sets),
            "site": self.site.name,
            "versions": {name: version(name) for name in VERSIONED},
        }

    @property
    def match(self) -> str:
        """The matched attributes, e.g. `price+reviews`, or `none`."""
        return "+".join(self.experiment.match) or "none"

    def trials(self, agents: Sequence[str]) -> Iterator[Trial]:
        """All trials of these agents.

        They come in blocks: one choice set with one nudge, in all its conditions and orders. The blocks run
        through the sets and through the nudges, so that any number of whole blocks is balanced in both.
        """
        names, nudges = list(self.sets), self.nudges
        # Going through both lists at once comes back to the first pair after this many blocks; going on one
        # nudge further then, as often as needed, meets every pair exactly once.
        cycle = lcm(len(names), len(nudges))
        for repeat in range(self.experiment.repeats):
            for block in range(len(names) * len(nudges)):
                name = names[block % len(names)]
                nudge = nudges[(block + block // cycle) % len(nudges)]
                for agent in agents:
                    yield from self._block(agent, name, nudge, repeat)

    def _block(self, agent: str, name: str, nudge: Intervention | None, repeat: int) -> Iterator[Trial]:
        products = self.sets[name]
        factors = self.experiment.factors
        carriers: list[str | None] = []
        if nudge is None or (factors.nudge and "none" in factors.nudge.on):
            carriers.append(None)
        if nudge is not None and factors.nudge and "each" in factors.nudge.on:
            carriers.extend(product.key for product in products)
        orders: list[Literal["forward", "reversed"]] = ["forward"]
        if factors.order == "both":
            orders.append("reversed")
        for ordering in orders:
            shown = products if ordering == "forward" else products[::-1]
            for carrier in carriers:
                trial = Trial("", agent, name, shown, nudge, carrier, ordering, repeat, 0)
                identity = digest(self._content(trial))
                yield replace(trial, id=identity, seed=int(identity[:12], 16))

    def block_size(self) -> int:
        """Trials per block and agent."""
        return sum(1 for _ in self._block("", next(iter(self.sets)), self.nudges[0], 0))

    def _content(self, trial: Trial) -> dict[str, object]:
        """All that makes this trial the one it is, so that its hash is the same on any machine."""
        return {
            "run": self.run,
            "agent": trial.agent,
            "set": trial.set,
            "products": [product.key for product in trial.products],
            "nudge": trial.nudge.id if trial.nudge else "",
            "carrier": trial.carrier,
            "plan": self.plan(trial).digest,
            "repeat": trial.repeat,
        }

    def plan(self, trial: Trial) -> Plan:
        """The edits of a trial: what matching and display ask for, and the nudge on its carrier."""
        treatments: list[Treatment] = []
        for product in trial.products:
            for name in self.experiment.match:
                value = getattr(product, name)
                treatments.append(compile_treatment(self._matching[f"match-{name}"], product, value=value))
            if trial.nudge is not None and product.key == trial.carrier:
                treatments.append(compile_treatment(trial.nudge, product))
        return Plan((*treatments, *self._display))


def set_id(products: ChoiceSet) -> str:
    """A readable, stable name: the category and four characters from the hash of the products."""
    category = re.sub(r"[^a-z0-9]+", "-", products[0].category.lower()).strip("-")
    return f"{category}-{digest(sorted(product.key for product in products))[:4]}"


def digest(value: object) -> str:
    """BLAKE2b-128 of the value's canonical JSON, in hex."""
    return hashlib.blake2b(canonical_json(value).encode(), digest_size=16).hexdigest()
