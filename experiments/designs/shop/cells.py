"""Make the trials of each cell of a study in a shop: one choice set with one nudge, in one repeat."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from urllib.parse import quote, urlsplit, urlunsplit

from agents.base import is_command
from agents.registry import looks_only
from environments.observation.views import VIEWS, Modality
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.identity import digest
from experiments.designs.shop.attributes import Display, shown, versions
from experiments.designs.shop.experiment_file import Experiment
from experiments.designs.shop.trial import SHOP, Ordering, ShopTrial, cell_name
from interventions.errors import UserError
from interventions.files.schema import Intervention

Arm = tuple[Intervention | None, Intervention | None]
"""A nudge, and the one that it stands head to head with; None: alone."""


class Cells:
    """The cells of a design."""

    def __init__(
        self,
        experiment: Experiment,
        sets: Mapping[str, ChoiceSet],
        arms: Sequence[Arm],
        profiles: Mapping[str, str],
        addresses: Mapping[str, str],
        badges: Sequence[Intervention],
    ) -> None:
        """Take the parts of a design. addresses: where pages of products, or of categories, are."""
        self._experiment, self._sets, self._arms = experiment, sets, arms
        self._badges = {badge.id: badge for badge in badges}
        self._profiles, self._addresses = profiles, addresses

    def trials(
        self, run: str, agent: str, name: str, arm: Arm, repeat: int, block: int
    ) -> Iterator[ShopTrial]:
        """Yield the trials of an agent with a choice set and an arm. block: its number in the repeat."""
        for number, display in self._versions(name, arm, repeat, block):
            yield from self._cell(run, agent, name, display, arm, number)

    def sizes(self, name: str, agent: str = "") -> list[int]:
        """Return the number of an agent's trials of a choice set with each arm, in one repeat."""
        experiment, display = self._experiment, Display(self._sets[name])
        shows = versions(experiment.attributes, len(display.products), square=experiment.in_square)
        shows = experiment.decoys.versions if experiment.decoys else shows
        of_kind = {
            rival is None: shows * sum(1 for _ in self._cell("", agent, name, display, (nudge, rival), 0))
            for nudge, rival in (self._arms[0], self._arms[-1])
        }
        return [of_kind[rival is None] for _, rival in self._arms]

    def _versions(self, name: str, arm: Arm, repeat: int, block: int) -> Iterator[tuple[int, Display]]:
        """The products as displayed, once or in every version of a draw, each with the repeat that it is."""
        experiment, products = self._experiment, self._sets[name]
        if experiment.attributes is None and not experiment.in_square:
            yield repeat, Display(products)
            return
        at = repeat * len(self._sets) * len(self._arms) + block
        cell, square = [name, cell_name(*arm), repeat], experiment.in_square
        if experiment.decoys:
            displayed = experiment.decoys.shown(products, [experiment.seed, name, repeat])
        else:
            displayed = shown(experiment.attributes, products, experiment.seed, at, cell, square=square)
        yield from ((repeat * len(displayed) + number, each) for number, each in enumerate(displayed))

    def _cell(
        self, run: str, agent: str, name: str, display: Display, arm: Arm, repeat: int
    ) -> Iterator[ShopTrial]:
        factors, products = self._experiment.factors, display.products
        carriers: list[tuple[str | None, Arm]] = []
        on = factors.nudge.on if factors.nudge else ()
        if arm[1] is not None:
            carriers += [(products[0].key, arm), (products[0].key, arm[::-1])]
        elif arm[0] is None or "none" in on:
            carriers.append((None, arm))
        if arm[0] is not None and arm[1] is None and "shop" in on:
            carriers.append((SHOP, arm))
        if arm[0] is not None and arm[1] is None and "each" in on:
            carriers.extend((each.key, arm) for each in products)
        elif arm[0] is not None and arm[1] is None and "random" in on:
            carriers.append((self._drawn(name, products, arm[0].id, repeat), arm))
        orders: list[Ordering] = ["latin-square" if factors.order == "latin-square" else "forward"]
        if factors.order == "both":
            orders.append("reversed")
        modalities = modalities_of(agent, self._experiment.observation.modality)
        for profile, modality, ordering in product(self._profiles, modalities, orders):
            shown = products[::-1] if ordering == "reversed" else products
            keys = [each.key for each in shown]
            for carrier, (nudge, rival) in carriers:
                cell = [agent, name, keys, cell_name(nudge, rival), carrier, profile, repeat]
                identity = digest([run, *cell, *([modality] if modality else [])])
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
                    modality=modality,
                    rival=rival,
                    badges=tuple((self._badges[name], key) for name, key in display.badges),
                    roles=display.roles,
                    decoy=display.condition,
                    whole=self._experiment.shows_whole_lists,
                )

    def _drawn(self, name: str, products: ChoiceSet, nudge: str, repeat: int) -> str:
        """The carrier of a nudge in a repeat: each product of a set once, before any of them comes again."""
        deal, place = divmod(repeat, len(products))
        seed = digest([self._experiment.seed, "carrier", name, nudge, deal])
        keys = sorted(each.key for each in products)
        return random.Random(seed).sample(keys, len(keys))[place]  # noqa: S311 - a design, not a secret

    def _goal(self, category: str, profile: str) -> str:
        goal = self._experiment.goal.replace("${category}", category)
        sentence = self._profiles[profile]
        return f"{goal.rstrip()}\n\n{sentence}" if sentence else goal

    def _start(self, products: ChoiceSet) -> tuple[str, ...]:
        match self._experiment.task:
            case "listing":
                return (self._addresses[products[0].category],)
            case "search" | "home":
                return ("",)
        return tuple(self._page(each.key) for each in products)

    def _page(self, key: str) -> str:
        """Where a product's page is: below the shop's address or, after a slash, on its host."""
        if address := self._addresses.get(key):
            return on_host(address)
        return self._experiment.start_page.replace("${key}", quote(key))


def on_host(address: str) -> str:
    """Return the part of an address that follows the host."""
    parts = urlsplit(address)
    return urlunsplit(("", "", f"/{parts.path.lstrip('/')}", parts.query, ""))


def modalities_of(agent: str, modalities: tuple[Modality, ...]) -> tuple[Modality | None, ...]:
    """Return in which of an experiment's modalities an agent's trials are run; None: in none that is named.

    A program has a browser of its own, so that Souk shows it nothing: its trials are run once. An agent that
    looks only has the modalities with pictures.

    Raises:
        UserError: there is none that the agent has.
    """
    if not modalities or is_command(agent):
        return (None,)
    if not looks_only(agent):
        return modalities
    if found := tuple(name for name in modalities if VIEWS[name].pointer):
        return found
    with_pictures = ", ".join(name for name in VIEWS if VIEWS[name].pointer)
    raise UserError(
        f"agents: {agent} looks at pictures, and observation has none; add one of {with_pictures}"
    )
