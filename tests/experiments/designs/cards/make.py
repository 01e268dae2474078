"""Designs of the shipped experiments, with other values under some keys."""

from copy import deepcopy
from functools import cache
from typing import Any

import yaml

from experiments.designs.cards.design import CardDesign, make_card_design
from experiments.designs.cards.trial import CardTrial
from experiments.designs.inputs.experiment_file import experiment_source
from interventions.yaml.yaml_source import parse_yaml

AGENT = "simulated:balanced"


def made(name: str, **changes: Any) -> CardDesign:
    """The shipped experiment; keys of the one design are changed where they are named without a dash."""
    data = deepcopy(experiment_source(name).data)
    (part,) = data["design"].values()
    for key, value in changes.items():
        (data if key in data or key not in _PART_KEYS else part)[key] = value
    return make_card_design(parse_yaml(yaml.safe_dump(data, sort_keys=False), "test.yaml"))


_PART_KEYS = {
    "pool", "blocks", "order", "city", "currency", "products", "conditions", "repeats",
    "biases", "scenarios", "temperatures", "valid", "attempts", "persona",
}  # fmt: skip


@cache
def shipped(name: str) -> tuple[CardTrial, ...]:
    """The trials of one agent in the shipped experiment."""
    return tuple(made(name).trials([AGENT]))


def trials(name: str, **changes: Any) -> list[CardTrial]:
    """The trials of one agent."""
    return list(made(name, **changes).trials([AGENT]))
