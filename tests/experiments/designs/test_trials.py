"""The trials of all kinds of designs: their number, ids that stay, balanced blocks, alike for all agents."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.designs.loading import AnyDesign, load_design
from tests.experiments.designs.make import AGENT, made

IDS = {
    "anchoring": ("anchoring-16f83527", "aa14e181f382"),
    "attributes": ("attributes-91631336", "8f3092d730c2"),
    "badges-grid": ("badges-grid-6f8dc8b3", "c84639ef9c1d"),
    "biases": ("biases-5f7fd646", "892de64b6091"),
    "category": ("category-4c5f0403", "88db04dfa42d"),
    "checkout-defaults": ("checkout-defaults-48a12073", "491786048b7e"),
    "dark-patterns": ("dark-patterns-2204365e", "e41e613bd347"),
    "decoys": ("decoys-08036345", "bea2135e4af3"),
    "drip": ("drip-d9dbb7cb", "7afcceeb4370"),
    "head-to-head": ("head-to-head-eea772cb", "8c9976c3cf09"),
    "hotels": ("hotels-dda79ce8", "345489a87621"),
    "injection-channels": ("injection-channels-56cb42de", "3d8e3565d8a9"),
    "instructions": ("instructions-f858b50e", "150df7fdc3d3"),
    "interfaces": ("interfaces-0b9d92aa", "1e3dad64a6d6"),
    "listing": ("listing-0da69ec7", "3ef01ee15310"),
    "modality": ("modality-a2b1bc84", "a2850f2d3dc4"),
    "nudges-mr": ("nudges-mr-077c4115", "b254c9e4baf8"),
    "nudges-mrap": ("nudges-mrap-4a727fa1", "98e5ccb33718"),
    "nudges": ("nudges-593302b1", "560134ec79f9"),
    "offers": ("offers-b4afdd34", "856d8039c45f"),
    "prices": ("prices-e49b87dd", "1600d8b57496"),
    "profiles": ("profiles-5e8f90c9", "4b8335111cae"),
    "rationality": ("rationality-55c3fdf0", "e575510d61b9"),
    "search": ("search-3df9bd2e", "1519ebc0021f"),
    "sensitivity-rating": ("sensitivity-rating-507044a2", "51fdcbf54732"),
    "sensitivity": ("sensitivity-f42166c0", "5c7373b71251"),
    "trios": ("trios-ec7f4b73", "6ccc0e8ef898"),
    "visual": ("visual-f30d79d8", "f7c3d81644a9"),
    "wtp": ("wtp-fbc74458", "5354443750b0"),
}
"""Of each shipped experiment the run's id, and a digest of the ids of its first forty trials."""

SMALL: dict[str, dict[str, Any]] = {
    "hotels": {
        "blocks": [{"set_size": 2, "sets": 6, "repeats": 2}, {"set_size": 4, "sets": 3, "repeats": 4}]
    },
    "wtp": {"repeats": 4},
    "biases": {"valid": 4},
}


def test_every_shipped_experiment_is_here() -> None:
    assert IDS.keys() == {path.stem for path in LIBRARY.glob("*.yaml")}


@pytest.mark.parametrize("name", IDS)
def test_ids_stay(name: str) -> None:
    """From version to version, and in each process, so that what was begun can go on."""
    design = load_design(name)
    trials = "".join(trial.id for trial in islice(design.trials(list(design.experiment.agents)), 40))
    assert (design.run_id, hashlib.sha256(trials.encode()).hexdigest()[:12]) == IDS[name]
    other = load_design(name, settings=["agents=[openai:gpt-4.1-mini]"])
    assert other.run_id == design.run_id, "agents make no run"
    assert next(other.trials([AGENT])) == next(design.trials([AGENT]))
    assert load_design(name, settings=["seed=43"]).run_id != design.run_id


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_a_shipped_design(name: str) -> None:
    design = load_design(name)
    assert_balanced(design)
    assert not design.notes([])


@pytest.mark.parametrize("name", SMALL)
def test_a_small_design_with_cards(name: str) -> None:
    design = made(name, **SMALL[name])
    assert_balanced(design)
    for changes in ({"mode": "page"}, {"mode": "text"}, {"limits": {"seconds": 9}}):
        other = made(name, **SMALL[name], **changes)
        assert list(other.trials([AGENT])) == list(design.trials([AGENT])), "the same questions"
        assert (other.run_id == design.run_id) == (other.mode == design.mode and "limits" not in changes)
    assert next(made(name, **SMALL[name], seed=43).trials([AGENT])) != next(design.trials([AGENT]))


def assert_balanced(design: AnyDesign) -> None:
    """Each trial once; the same for all agents; every block has all arms, and cells their share of blocks."""
    trials, size, other = list(design.trials([AGENT])), design.block_size(), "simulated:random"
    assert len(trials) == design.at_first <= design.size
    assert len({trial.id for trial in trials}) == len(trials)
    assert len({trial.seed for trial in trials}) == len(trials)
    both = list(islice(design.trials([AGENT, other]), 6 * size))
    assert [trial.agent for trial in both] == ([AGENT] * size + [other] * size) * (len(both) // size // 2)
    assert len({trial.id for trial in both}) == len(both)
    for agent in (AGENT, other):
        assert unnamed(each for each in both if each.agent == agent) == unnamed(trials[: len(both) // 2])
    blocks = [trials[start : start + size] for start in range(0, len(trials), size)]
    arms = [
        Counter((each.condition, each.ordering, *more(each, "profile", "modality")) for each in block)
        for block in blocks
    ]
    assert all(each == arms[0] for each in arms), "any number of whole blocks is balanced"
    assert_spread([(block[0].set, *more(block[0], "scenario", "temperature")) for block in blocks])
    assert_spread([design.intervention(block[0]) for block in blocks])


def unnamed(trials: Iterable[Any]) -> list[Any]:
    """The trials without what an agent's name makes of them."""
    return [replace(trial, id="", agent="", seed=0) for trial in trials]


def more(trial: object, *names: str) -> list[object]:
    """The factors that trials of some kinds have."""
    return [getattr(trial, name, None) for name in names]


def assert_spread(levels: Sequence[object]) -> None:
    """After each block every level has had its share of the blocks so far, up to one."""
    total, seen = Counter(levels), Counter[object]()
    for done, level in enumerate(levels, 1):
        seen[level] += 1
        assert all(abs(seen[each] - count * done / len(levels)) <= 1 for each, count in total.items())
