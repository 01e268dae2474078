"""What is recorded, as values: complete, frozen, and stored under the names that it always had."""

from dataclasses import fields

import pytest

from experiments.designs.loading import load_design
from experiments.records.record import TrialRow
from experiments.records.tables import trials
from tests.experiments.records.test_store import some_facts

OF_ALL = {"experiment", "agents", "versions", "inputs", "analysis"}


def test_a_row_has_a_field_for_each_column_of_the_table_of_trials() -> None:
    assert {each.name for each in fields(TrialRow)} | {"seal"} == set(trials.columns.keys())


@pytest.mark.parametrize(
    ("experiment", "more"),
    [("nudges-mr", {"sets", "site"}), ("hotels", {"sets"}), ("biases", {"sets"}), ("anchoring", set())],
)
def test_the_facts_of_a_run_have_the_keys_that_databases_have(experiment: str, more: set[str]) -> None:
    facts = load_design(experiment).facts(["simulated:balanced"]).to_dict()
    assert facts.keys() == OF_ALL | more
    assert facts["agents"] == ["simulated:balanced"]


def test_a_fact_that_is_not_known_is_not_stored() -> None:
    assert some_facts().to_dict().keys() == {"experiment", "agents", "versions", "inputs"}
