"""The ids of runs and trials stay the same from version to version, so that what was begun can go on."""

import hashlib
from itertools import islice

import pytest

from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.designs.loading import load_design

IDS = {
    "anchoring": ("anchoring-16f83527", "aa14e181f382"),
    "attributes": ("attributes-91631336", "8f3092d730c2"),
    "biases": ("biases-5f7fd646", "892de64b6091"),
    "hotels": ("hotels-dda79ce8", "345489a87621"),
    "listing": ("listing-0da69ec7", "3ef01ee15310"),
    "modality": ("modality-a2b1bc84", "a2850f2d3dc4"),
    "nudges-mr": ("nudges-mr-077c4115", "b254c9e4baf8"),
    "nudges-mrap": ("nudges-mrap-4a727fa1", "98e5ccb33718"),
    "nudges": ("nudges-593302b1", "560134ec79f9"),
    "prices": ("prices-e49b87dd", "1600d8b57496"),
    "profiles": ("profiles-5e8f90c9", "4b8335111cae"),
    "search": ("search-3df9bd2e", "1519ebc0021f"),
    "sensitivity-rating": ("sensitivity-rating-507044a2", "51fdcbf54732"),
    "sensitivity": ("sensitivity-f42166c0", "5c7373b71251"),
    "trios": ("trios-ec7f4b73", "6ccc0e8ef898"),
    "visual": ("visual-f30d79d8", "f7c3d81644a9"),
    "wtp": ("wtp-fbc74458", "5354443750b0"),
}
"""Of each shipped experiment the run's id, and a digest of the ids of its first forty trials."""


def test_every_shipped_experiment_is_here() -> None:
    assert IDS.keys() == {path.stem for path in LIBRARY.glob("*.yaml")}


@pytest.mark.parametrize("name", IDS)
def test_ids_stay(name: str) -> None:
    design = load_design(name)
    trials = "".join(trial.id for trial in islice(design.trials(list(design.experiment.agents)), 40))
    assert (design.run_id, hashlib.sha256(trials.encode()).hexdigest()[:12]) == IDS[name]
