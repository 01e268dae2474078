"""One episode in a shop: a choice set, its order, the nudge and who carries it, the agent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from environments.observation.views import VIEWS, Modality
from environments.protocol.actions import Interface
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.identity import digest
from experiments.records.record import BOTH, CONTROL
from interventions.files.schema import Intervention

Ordering = Literal["forward", "reversed", "latin-square"]
"""The order of a trial: as listed, the other way round, or one of a Latin square."""
NUDGED: Final = "nudged"
_BADGE: Final = "badge_"
SHOP: Final = "*"
"""The carrier of an intervention that the shop as a whole carries, and no product."""
PLACEBO: Final = "placebo"
ROLE: Final = "role"
"""The attribute of a product that says what it is beside a decoy."""


@dataclass(frozen=True, slots=True)
class ShopTrial:
    """One episode to run.

    `products` are in order of presentation, with their facts as displayed, drawn ones included. Where
    attributes are drawn, each version of a draw is a repeat of its own. A control trial belongs to the
    cell of its nudge (`nudge` is set) but no product carries it (`carrier` is None). Head to head the carrier
    is the set's first product as listed, and the other one carries the `rival`. The carrier SHOP is the shop
    as a whole. `start` are the pages that
    are opened, each in a tab, below the shop's address.
    """

    id: str
    agent: str
    set: str
    products: ChoiceSet
    nudge: Intervention | None
    carrier: str | None
    profile: str
    ordering: Ordering
    repeat: int
    seed: int
    goal: str
    start: tuple[str, ...]
    modality: Modality | None = None
    """How pages are shown; None: as the keys of `observation` say."""
    rival: Intervention | None = None
    """The nudge of the other product."""
    badges: tuple[tuple[Intervention, str], ...] = ()
    """The drawn badges, each with the key of the product that has it."""
    roles: tuple[tuple[str, str], ...] = ()
    """The role of each product, by its key: `cheap`, `good` or `third`; empty without decoys."""
    decoy: str = ""
    """What the third product is, as the experiment's file calls it."""
    whole: bool = False
    """Whether lists are shown as the shop has them: then the agent may choose whatever it is shown."""

    @property
    def interface(self) -> Interface:
        """What the agent meets the shop by."""
        return VIEWS[self.modality].interface if self.modality else "page"

    @property
    def nudges(self) -> tuple[Intervention, ...]:
        """The nudges of the trial's cell, none to two."""
        return tuple(each for each in (self.nudge, self.rival) if each)

    @property
    def cell(self) -> str:
        """The ids of the cell's nudges with a colon between them; empty: there is none."""
        return cell_name(*self.nudges)

    @property
    def carried(self) -> Mapping[str, Intervention]:
        """The nudge of each product that carries one, by the product's key."""
        if self.nudge is None or self.carrier in (None, SHOP):
            return {}
        others = {each.key: self.rival for each in self.products if self.rival}
        return {**others, self.carrier: self.nudge}

    def facts(self, key: str) -> dict[str, float | str]:
        """Return which of the drawn badges a product has, 1 or 0 each, and its role beside a decoy."""
        badges = {badge_column(badge.id): float(carrier == key) for badge, carrier in self.badges}
        return badges | ({ROLE: dict(self.roles)[key]} if self.roles else {})

    @property
    def condition(self) -> str:
        """`nudged` or `placebo` when one of the products carries such an intervention, else `control`.

        With decoys it is what the third product is.
        """
        if self.decoy:
            return self.decoy
        if self.nudge is None or self.carrier is None:
            return CONTROL
        if self.rival is not None:
            return BOTH
        return PLACEBO if self.nudge.kind == "placebo" else NUDGED


def cell_name(*nudges: Intervention | None) -> str:
    """Return the ids of nudges with a colon between them."""
    return ":".join(each.id for each in nudges if each)


def badge_column(badge: str) -> str:
    """Return the name of the attribute that says which product has a badge: 1 or 0."""
    return f"{_BADGE}{badge}"


def set_id(products: ChoiceSet) -> str:
    """Return a readable, stable name: the category and eight characters from the hash of the products."""
    category = re.sub(r"[^a-z0-9]+", "-", products[0].category.lower()).strip("-")
    return f"{category}-{digest(sorted(product.key for product in products))[:8]}"
