"""Make the trials of a study in a shop: choice sets x nudge x profile x carrier x order x agent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from babel.numbers import get_currency_precision

from agents.base import is_command, is_simulated
from agents.language_model.prompt import DEFAULT, PromptTemplates, data_prompt, picture_prompt
from agents.registry import looks_only
from agents.simulated.nudges import Nudge
from environments.observation.views import VIEWS, Modality, View
from experiments.designs.catalogue.own_shop import content
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.design import Comparison, Design, StoredTrials
from experiments.designs.inputs.identity import digest
from experiments.designs.shop.allocation import ALWAYS, LEAST_QUESTIONS, Allocation
from experiments.designs.shop.attributes import list_facts
from experiments.designs.shop.cells import Cells, modalities_of
from experiments.designs.shop.decoys import check_decoys
from experiments.designs.shop.experiment_file import Experiment
from experiments.designs.shop.ingredients import (
    arms_of,
    badges_of,
    check_levels,
    check_orders,
    check_stopping,
    displayed,
    file_notes,
    formed_sets,
    nudges_of,
    prompt_of,
    shop_map,
    shop_of,
)
from experiments.designs.shop.profiles import check_right_answers, sentences
from experiments.designs.shop.right_answer import Wants
from experiments.designs.shop.stopping import blocks
from experiments.designs.shop.treatments import Treatments
from experiments.designs.shop.trial import ShopTrial, set_id
from experiments.records.record import BOTH, RunFacts
from interventions.apply.plan import Plan, ProductFacts
from interventions.errors import UserError
from interventions.files.schema import Intervention
from interventions.yaml.sitemap import SiteMap, load_site_map
from interventions.yaml.yaml_source import Source, validate

DATA_SITE: Final = "ucp"
"""The site map of answers by UCP, over REST and MCP."""
_cell_of = attrgetter("agent", "set", "ordering", "profile", "modality", "repeat")
_REQUESTS: Final = {"home": 3, "listing": 3, "search": 5}
_IN_VIEW: Final = 4
"""About how many products of a list come into view with each scroll."""


class ShopDesign(Design[ShopTrial]):
    """A study in a shop: products, interventions, profiles, prompt, site map."""

    kind = "shop"
    mode = "page"
    chooses = True
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
        self.analysis = "orders" if experiment.to_order else "choice"
        self.shop = replace(shop_of(experiment, source), interfaces=bool(experiment.interfaces))
        site = shop_map(experiment.site, source)
        self._site_identity = site.identity()
        self.site: SiteMap = site.model_copy(update={"query": (*site.query, *experiment.query)})
        self.profiles = sentences(experiment.profiles, source)
        self.prompt = prompt_of(experiment.prompt, source)
        check_orders(experiment, self.site, source, subject)
        self.nudges = nudges_of(experiment, self.site, source)
        names = [each.id for each in self.nudges if each]
        check_right_answers(experiment.profiles, names, source)
        badges = badges_of(experiment, self.site, names, source)
        self._treatments = Treatments(experiment, self.site, self.nudges, badges)
        self.led: dict[str, str] = {}
        """The key of an address to which a start page leads -> its product, found before the first trial."""
        made = formed_sets(experiment, self.site, source, self.shop)
        formed, self._notes = made.sets, [*made.notes, *file_notes(experiment)]
        self.products = {product.key: product for products in formed for product in products}
        self.led |= {self.site.key(url): key for key, url in made.products.items() if key in self.products}
        self.sets: dict[str, ChoiceSet] = {
            set_id(products): tuple(displayed(products, experiment.match)) for products in formed
        }
        shown = [product for products in self.sets.values() for product in products]
        check_stopping(experiment.stopping, self.sets, self.nudges, source)
        check_levels(experiment, shown, source)
        check_decoys(experiment.decoys, self.sets, source)
        self._treatments.check(self.sets.values())
        self._check_interfaces(shown[0])
        self._arms = arms_of(experiment, self.nudges, self.sets.values(), source)
        self._cells = Cells(experiment, self.sets, self._arms, self.profiles, made.addresses, badges)
        largest = max(self.sets, key=lambda name: len(self.sets[name]))
        self.size = len(self.sets) * sum(self._cells.sizes(largest)) * experiment.repeats
        self.most_steps, self.most_seconds = experiment.limits.steps, experiment.limits.seconds
        self.match = "+".join(experiment.match) or "none"
        """The matched attributes, e.g. `price+reviews`, or `none`."""
        self.drawn = experiment.attributes.drawn if experiment.attributes else ()
        """The attributes and badges that are drawn independently of the product."""
        self.asked_again = "repeats", 1 if self.drawn or experiment.in_square else experiment.repeats
        self._allocation = self._checked_allocation()
        self.stopping = experiment.stopping
        """When an agent's trials are enough; None: after all of them."""
        if self.stopping:
            self.most = self.stopping.most
            self.watched = self.stopping.effect if self.stopping.rule != "fixed" else ""

    def _check_interfaces(self, product: ProductFacts) -> None:
        """Raises UserError where a modality does not have what an intervention changes."""
        modalities, ways = {*(self.experiment.observation.modality or ("html",))}, self.experiment.interfaces
        currency, message = self.shop.catalogue.currency, ""
        said = self._treatments.said_by_tools
        if said and (others := sorted(modalities - {"mcp"})):
            what = f"{', '.join(said)}, which a tool says"
            message = f"{' and '.join(others)} cannot carry {what}; write observation: [mcp]"
        elif ways and (lost := self._treatments.not_carried(self.data_site, product)):
            them = " and ".join(ways)
            message = f"{them} cannot carry {', '.join(lost)}; remove {them}, or name other interventions"
        elif ways and get_currency_precision(currency) != 2:
            them = " and ".join(ways)
            message = f"{them} needs amounts in hundredths, and {currency} has none; remove {them}"
        if message:
            raise self.source.error(("observation",), message)

    def _checked_allocation(self) -> Allocation | None:
        """How repeats are allocated; None: all are run. Raises UserError where too few questions have any."""
        if self.experiment.allocation == "all":
            return None
        inputs = {"sets": self.sets, "listed": self._listed()}
        made = Allocation(self.experiment.model_dump(mode="json"), inputs)
        if made.questions < LEAST_QUESTIONS:
            message = (
                f"{made.questions} questions are asked more than {ALWAYS} times, and fewer than"
                f" {LEAST_QUESTIONS} do not tell whether an agent's answers vary; write all"
            )
            raise self.source.error(("allocation",), message)
        return made

    def is_further(self, trial: ShopTrial) -> bool:
        """Return whether the trial is run only for agents whose answers vary."""
        if self._allocation is None:
            return False
        nudge, control = trial.nudge.id if trial.nudge else "", trial.carrier is None
        return self._allocation.rounds.before(trial.set, nudge, trial.repeat, control=control) >= ALWAYS

    def list_facts(self, product: ProductFacts) -> dict[str, float | None]:
        """Return the own values of what is drawn for a product as displayed; empty where nothing is."""
        attributes = self.experiment.attributes
        return list_facts(attributes, self.products[product.key], product) if attributes else {}

    def view(self, trial: ShopTrial) -> View:
        """Return the part of the browser that the agent of a trial is shown."""
        return self._view(trial.agent, trial.modality)

    def _view(self, agent: str, modality: Modality | None) -> View:
        if modality:
            return VIEWS[modality]
        if looks_only(agent):
            return VIEWS["screenshot"]
        own = self.experiment.observation
        return View(page=own.page, tree=own.tree, screenshot=own.screenshot)

    def prompt_for(self, trial: ShopTrial) -> PromptTemplates:
        """Return the prompt of a trial: the shipped one follows the way in which pages are shown."""
        if trial.interface != "page":
            return data_prompt()
        follows = self.experiment.prompt == DEFAULT and trial.modality not in (None, "html")
        return picture_prompt() if follows else self.prompt

    @property
    def _shows_pictures(self) -> bool:
        pages = {*self.experiment.observation.modality} - {"html", *self.experiment.interfaces}
        return self.experiment.prompt == DEFAULT and bool(pages)

    @cached_property
    def data_site(self) -> SiteMap:
        """The site map of the shop's answers without pages."""
        return load_site_map(DATA_SITE)

    def site_of(self, trial: ShopTrial) -> SiteMap:
        """Return the site map by which a trial's edits are made."""
        return self.site if trial.interface == "page" else self.data_site

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """All that its trials follow from: texts, products, choice sets, site map, prompt."""
        # A key that came later is no part of the identity of runs without it.
        later = {name for name in ("page", "attributes", "decoys") if getattr(self.experiment, name) is None}
        later |= set() if self.experiment.computers else {"computers"}
        later |= set() if self.experiment.to_order else {"ends"}
        later |= {"wants"} if self.experiment.wants == Wants() else set()
        later |= {"allocation"} if self._allocation is None else set()
        later |= {"safety_checks"} if self.experiment.safety_checks == "refuse" else set()
        experiment = self.experiment.model_dump(
            mode="json", exclude={"agents", "contexts", "plan", "stopping", *later}
        )
        # What is declared beforehand makes it another run. More trials do not, nor does a number of them.
        if declared := self.stopping and self.stopping.declared:
            experiment["stopping"] = declared
        return {
            "experiment": experiment,
            "profiles": self.profiles,
            "site_map": self._site_identity,
            "interventions": [
                [item.model_dump(mode="json"), item.tables] for item in self._treatments.inputs
            ],
            "products": {key: asdict(product) for key, product in self.products.items()},
            "sets": {name: [product.key for product in products] for name, products in self.sets.items()},
            "prompt": {
                "name": self.prompt.name,
                "digest": self.prompt.digest,
                "templates": dict(self.prompt.sources),
            },
            **({"own_shop": content(self.shop.own)} if self.shop.own else {}),
            **({"prompt_of_pictures": picture_prompt().digest} if self._shows_pictures else {}),
            **(
                {"prompt_of_data": data_prompt().digest, "site_map_of_data": self.data_site.identity()}
                if self.experiment.interfaces
                else {}
            ),
            **({"listed": self._listed()} if declared or self._allocation else {}),
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
        pairs = sum(rival is not None for _, rival in self._arms)
        alone = len(self._arms) - pairs
        crossed = [f"{alone} interventions"] * bool(alone) + [f"{pairs} pairs of interventions"] * bool(pairs)
        parts = f"{len(self.sets)} choice sets x {' and '.join(crossed)}"
        modalities = max(len(self.experiment.observation.modality), 1)
        if len(self.profiles) > 1:
            parts += f" x {len(self.profiles)} profiles"
        if modalities > 1:
            parts += f" x {modalities} modalities"
        conditions = self.block_size() // len(self.profiles) // modalities
        if not self.drawn:
            return f"{parts}, {conditions} conditions and orders {'a set' if len(crossed) > 1 else 'each'}"
        return f"{parts}, {conditions} conditions, orders and drawn {', '.join(self.drawn)} each"

    def notes(self, agents: Sequence[str]) -> list[str]:
        """Return notes on what to know before the run, a line each.

        There may be fewer choice sets than asked for, roles that the site map lacks, or interventions that
        simulated shoppers do not see.
        """
        rule = self.stopping.sentence() if self.stopping else ""
        slow = [f"the site map {self.site.name}: {key}: {why}" for key, why in self.site.slow_expressions()]
        lacks = [*self._treatments.lacks(), *self.repeats_notes(agents)]
        ways = [*self._modality_notes(agents), *self._hidden_notes(agents)]
        if self._allocation:
            more = f"{self._allocation.left_out:,} further repeats of an agent follow if its answers vary"
            lacks.append(f"each question is asked {ALWAYS} times; {more}")
        notes = [*([rule] if rule else []), *self._notes, *slow, *lacks, *ways]
        if not any(is_simulated(name) for name in agents):
            return notes
        every = self.experiment.observation.modality
        if self.experiment.to_order and any(VIEWS[m].pointer and not VIEWS[m].html for m in every):
            notes.append("simulated shoppers order by what they read: of pictures they order nothing")
        if unseen := self.unreadable():
            meant = {nudge.id for nudge in self._treatments.meant}
            none = "" if set(unseen) < meant else ", which are all there are"
            notes.append(
                f"simulated shoppers see nothing of {', '.join(unseen)}{none}: they read texts, prices, "
                "ratings, numbers of reviews and the order; what else moves an agent only a real one can show"
            )
        return notes

    def _modality_notes(self, agents: Sequence[str]) -> Iterator[str]:
        """Yield a line for each agent that has not all modalities."""
        every = self.experiment.observation.modality
        for agent in agents:
            own = modalities_of(agent, every)
            if own == (None,) and every:
                yield f"{agent} has a browser of its own: its trials are run once, and in no modality"
            elif len(own) < len(every):
                left_out = " or ".join(name for name in every if name not in own)
                yield f"{agent} looks at pictures: it has no trials in {left_out}"

    def _hidden_notes(self, agents: Sequence[str]) -> Iterator[str]:
        """Yield which interventions agents are given nothing of, a line for each modality."""
        told: dict[tuple[str, Modality | None], list[str]] = {}
        for agent in agents:
            has_view = not (self._subject or is_command(agent))
            for modality in modalities_of(agent, self.experiment.observation.modality) if has_view else ():
                hidden = ", ".join(self._treatments.not_given(self._view(agent, modality)))
                if hidden:
                    told.setdefault((hidden, modality), []).append(agent)
        for (names, modality), those in told.items():
            where = f" in {modality}" if modality else ""
            yield f"{', '.join(those)} is given nothing of {names}{where}: its observation does not hold it"

    def facts(self, agents: Sequence[str]) -> RunFacts:
        """Return the facts of the run as a whole, for the records."""
        facts = super().facts(agents)
        return replace(facts, sets=len(self.sets), site=self.site.name, subject=self._subject or None)

    def trials(self, agents: Sequence[str]) -> Iterator[ShopTrial]:
        """Yield all trials of these agents; where repeats are allocated, the further ones come last.

        They come in blocks: one choice set with one nudge, or one pair of nudges head to head, with all
        profiles, in all conditions and orders.
        The blocks run through the sets and the nudges, so that any number of whole blocks is balanced.
        """
        if self.experiment.to_order and (program := next(filter(is_command, agents), "")):
            raise UserError(
                f"agents: the trials of a program ({program}) end at the cart; remove the key ends"
            )
        for further in (False, True) if self._allocation else (False,):
            for trial in self._in_blocks(agents):
                if self.is_further(trial) == further:
                    yield trial

    def _in_blocks(self, agents: Sequence[str]) -> Iterator[ShopTrial]:
        names, arms, run = list(self.sets), self._arms, f"{self.experiment.name}-{self._digest}"
        for block, (of_set, of_arm, repeat) in enumerate(
            blocks(len(names), len(arms), self.experiment.repeats)
        ):
            name, arm, block_of_repeat = names[of_set], arms[of_arm], block % (len(names) * len(arms))
            for agent in agents:
                yield from self._cells.trials(run, agent, name, arm, repeat, block_of_repeat)

    def block_size(self, agent: str = "") -> int:
        """Return the number of trials of a block of an agent, or of one that has all modalities.

        Where blocks of nudges and of pairs of them differ in size, that of one block of each nudge and pair.
        """
        sizes = self._cells.sizes(next(iter(self.sets)), agent)
        return sizes[0] if len(set(sizes)) == 1 else sum(sizes)

    def plan(self, trial: ShopTrial) -> Plan:
        """Return the edits of a trial."""
        return self._treatments.plan(trial)

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
            (*_cell_of(row), row.nudge, None if row.condition == BOTH else carriers.get(name)): name
            for name, row in stored.items()
        }
        for trial in self.trials(agents):
            cell = *_cell_of(trial), trial.cell, None if trial.rival else trial.carrier
            if name := cells.pop(cell, None):
                yield name, trial

    def example(self, trial: ShopTrial) -> dict[str, Any]:
        """Describe the goal, the products and the texts of one trial."""
        carried, planned = trial.carried, self.plan(trial).by_product
        treatments = [treatment for key in planned if key in carried for treatment in planned[key]]
        return {
            "goal": trial.goal,
            "options": [
                {"name": p.name, "price": p.price, "rating": p.rating, "reviews": p.reviews}
                | {"intervention": carried[p.key].id if p.key in carried else ""}
                for p in trial.products
            ],
            "texts": [edit.words() for treatment in treatments for edit in treatment.edits if edit.words()],
        }

    def intervention(self, trial: ShopTrial) -> str:
        """Return the id of the trial's nudge, which its control has too, or of its two nudges."""
        return trial.cell

    def comparison(self, trials: Sequence[ShopTrial]) -> Comparison:
        """Compare the carrier of an intervention with the others; without one, who is seen first."""
        carried = [trial for trial in trials if trial.carrier is not None]
        sizes = [len(trial.products) for trial in carried or trials]
        of = "carrying an intervention" if carried else "being seen first"
        return Comparison(of, len(sizes), round(sum(sizes) / len(sizes)))

    def requests(self, trial: ShopTrial) -> int:
        """Count the actions of a shopper who looks at every product and buys one."""
        if trial.interface == "feed":
            return 1
        if trial.whole:
            return _REQUESTS[self.experiment.task] + len(trial.products) // _IN_VIEW
        return _REQUESTS.get(self.experiment.task, len(trial.products) + 1)

    def interventions(self, trial: ShopTrial) -> Iterator[Intervention]:
        """Yield the interventions of a trial's cell: the nudge too where no product carries it."""
        return self._treatments.interventions(trial)

    def declared_nudges(self, trial: ShopTrial) -> tuple[Nudge, ...]:
        """Return the texts that the experiment's nudges have on the products of a trial.

        A placebo has no meaning, so it is left out. The result is the same in every condition: whether a text
        is on a page is for the agent to see.
        """
        return self._treatments.declared(trial.products)

    def unreadable(self) -> list[str]:
        """Return the interventions that a simulated shopper cannot see.

        These change no figure and have no text, or one that another intervention uses in the other direction.
        """
        return self._treatments.unreadable(next(iter(self.sets.values()))[0])
