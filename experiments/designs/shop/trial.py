"""One episode in a shop: a choice set, its order, the nudge and who carries it, the agent."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from environments.observation.views import Modality
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.identity import digest
from experiments.records.record import CONTROL
from interventions.files.schema import Intervention

NUDGED: Final = "nudged"
PLACEBO: Final = "placebo"


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
    modality: Modality | None = None
    """How pages are shown; None: as the keys of `observation` say."""

    @property
    def condition(self) -> str:
        """`nudged` or `placebo` when one of the products carries such an intervention, else `control`."""
        if self.nudge is None or self.carrier is None:
            return CONTROL
        return PLACEBO if self.nudge.kind == "placebo" else NUDGED


def set_id(products: ChoiceSet) -> str:
    """Return a readable, stable name: the category and eight characters from the hash of the products."""
    category = re.sub(r"[^a-z0-9]+", "-", products[0].category.lower()).strip("-")
    return f"{category}-{digest(sorted(product.key for product in products))[:8]}"
