"""Designs in log-probabilities: which prompts are scored, and who they are."""

from collections import Counter

import pytest

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.experiment_file import ScoreExperiment
from interventions.yaml.yaml_source import parse_yaml, validate

HEAD = "name: s\ntask: score\n"


def design(text: str = "") -> ScoreDesign:
    return ScoreDesign(parse_yaml(HEAD + text, "x.yaml"))


def experiment(text: str) -> ScoreExperiment:
    return validate(parse_yaml(HEAD + text, "x.yaml"), ScoreExperiment)


def test_the_shipped_experiment() -> None:
    made = ScoreDesign(experiment_source("anchoring"))
    trials = list(made.trials(["hf:a"]))
    assert len(trials) == 11 * 2 * 16
    assert (next(iter(made.targets)), len(made.targets), made.targets["100%"]) == ("0%", 101, 100.0)
    full = [trial for trial in trials if len(trial.fields) == 4]
    assert {(trial.set, trial.condition, trial.anchor) for trial in full} >= {
        ("V0", "low", 10.0), ("V0", "high", 65.0), ("V5-D", "low", 35.0), ("V5-D", "high", 90.0),
    }  # fmt: skip
    assert {trial.fields for trial in full} == {("scene", "comparative", "absolute", "anchor")}
    assert "352 prompts, 209 of them different, 101 targets each" in made.summary()


def test_prompts_that_several_trials_show() -> None:
    """Without the number both anchors have the same text, and so have the variations S and D."""
    made = design()
    counts = Counter(trial.prompt for trial in made.trials(["hf:a"]))
    assert made.repeated == {prompt for prompt, count in counts.items() if count > 1}
    absent = [trial for trial in made.trials(["hf:a"]) if "anchor" not in trial.fields]
    assert {trial.prompt for trial in absent} <= made.repeated


@pytest.mark.parametrize(("attribution", "prompts"), [("exact", 16), ("none", 1)])
def test_the_sets_of_fields(attribution: str, prompts: int) -> None:
    trials = list(design(f"attribution: {attribution}\n").trials(["hf:a"]))
    assert len(trials) == 11 * 2 * prompts
    assert any(len(trial.fields) == 4 for trial in trials)


def test_a_sample_of_orders_is_the_same_for_equal_seeds() -> None:
    def drawn(seed: int) -> list[str]:
        text = f"attribution: permutations\npermutations: 2\nseed: {seed}\n"
        return [trial.id for trial in design(text).trials(["hf:a"])]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) > 1


def test_what_a_trial_and_a_run_are_known_by() -> None:
    def ids(text: str, agent: str = "hf:a") -> set[str]:
        return {trial.id for trial in design(text).trials([agent])}

    plain = ids("")
    assert ids("agents: [hf:b]\n") == plain
    assert ids("attribution: none\n") < plain
    for other in (ids("legacy_scoring: true\n"), ids("targets: [1%, 2%]\n"), ids("", "hf:b")):
        assert not other & plain
    assert design("agents: [hf:b]\n").run_id == design().run_id != design("seed: 1\n").run_id


def test_targets() -> None:
    assert experiment("targets: [10%, 5.5 percent, -3]\n").answers == {
        "10%": 10,
        "5.5 percent": 5.5,
        "-3": -3,
    }
    assert experiment('targets: {from: 1, to: 2, format: "${}"}\n').answers == {"$1": 1.0, "$2": 2.0}
