"""Batteries: every bias in every scenario at every temperature, in both conditions."""

from collections import Counter

from interventions.files.battery import load_battery
from tests.experiments.designs.make import AGENT, made, shipped, trials

FULL = {
    "scenarios": ["base", "no-persona", "odd", "large"],
    "temperatures": [0.2, 0.7, 1.0, 1.3, 1.8],
}


def test_every_cell_of_the_full_battery() -> None:
    design = made("biases", **FULL, valid=2, attempts=5)
    assert (design.quota, design.attempts, design.sets) == (2, 5, 8)
    asked = list(design.trials([AGENT]))
    cells = Counter((t.item, t.scenario, t.temperature, t.condition) for t in asked)
    assert len(cells) == 8 * 4 * 5 * 2
    assert set(cells.values()) == {2}
    assert len({trial.cell for trial in asked}) == len(cells)
    assert "320 questions" in design.summary()


def test_a_trial_asks_the_batterys_question() -> None:
    battery = load_battery("biases")
    for trial in trials("biases", **FULL, valid=1):
        assert trial.cards == (battery.card(trial.item, trial.condition, trial.scenario),)
        assert trial.biased == battery.biased_letter(trial.item)
        assert trial.set == trial.item
    letters = {trial.item: trial.biased for trial in shipped("biases") if trial.biased}
    assert letters == {"framing": "B", "loss-aversion": "B", "sunk-cost": "A", "transaction-utility": "B"}


def test_the_persona_moves() -> None:
    system, user = (trials("biases", persona=persona, valid=1)[0].cards[0] for persona in ("system", "user"))
    assert "median income" in system.system
    assert "median income" not in system.prompt
    assert "median income" in user.prompt
    assert "median income" not in user.system


def test_some_biases() -> None:
    asked = trials("biases", biases=["framing", "sunk-cost"], valid=3, scenarios=["base"])
    assert Counter(trial.item for trial in asked) == {"framing": 6, "sunk-cost": 6}


def test_a_temperature_may_be_the_providers_own() -> None:
    assert {trial.temperature for trial in trials("biases", temperatures=[None, 0], valid=1)} == {None, 0.0}
