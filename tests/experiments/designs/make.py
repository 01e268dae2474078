"""Designs of the shipped experiments, with other values under some keys."""

from copy import deepcopy
from functools import cache
from typing import Any

import yaml

from experiments.designs.cards.design import CardDesign, make_card_design
from experiments.designs.cards.trial import CardTrial
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from interventions.yaml.yaml_source import Source, parse_yaml

AGENT = "simulated:balanced"
_PART_KEYS = {
    "pool", "blocks", "order", "city", "currency", "products", "conditions", "repeats",
    "biases", "scenarios", "temperatures", "valid", "attempts", "persona",
}  # fmt: skip


def source(name: str, /, **changes: Any) -> Source:
    """The file of a shipped experiment with other values under some keys."""
    data = {**experiment_source(name).data, **changes}
    return parse_yaml(yaml.safe_dump(data, sort_keys=False), "test.yaml")


def shop(name: str = "nudges", /, **changes: Any) -> ShopDesign:
    """The design of a shipped experiment in a shop."""
    return ShopDesign(source(name, **changes))


def made(name: str, /, **changes: Any) -> CardDesign:
    """That of one with cards; keys of its one design are changed where they are named without a dash."""
    data = deepcopy(experiment_source(name).data)
    (part,) = data["design"].values()
    for key, value in changes.items():
        (data if key in data or key not in _PART_KEYS else part)[key] = value
    return make_card_design(source(name, **data))


@cache
def shipped(name: str) -> tuple[CardTrial, ...]:
    """The trials of one agent in the shipped experiment with cards."""
    return tuple(made(name).trials([AGENT]))


def trials(name: str, /, **changes: Any) -> list[CardTrial]:
    """The trials of one agent."""
    return list(made(name, **changes).trials([AGENT]))
