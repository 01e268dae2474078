"""Splits of a budget cost what the price table says, hold in the file, and the first is the best one."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agents.providers.tokens import estimate_tokens
from agents.simulated.own_profiles import profile_of
from experiments.designs.loading import load_design
from experiments.executors.expected_use import PAGE_ANSWER_TOKENS, TEXT_ANSWER_TOKENS
from experiments.power.budget import (
    Split,
    best_first,
    largest_error,
    least_power,
    prices_of,
    simulated,
    splits,
)
from experiments.power.rehearsal import Studies
from experiments.power.rehearsals import rehearsal, widest
from experiments.power.results import ContrastPower, TestedEffect
from experiments.power.splits import TrialSplit, with_keys
from interventions.errors import UserError
from tests.experiments.designs.test_mistakes import FILES
from tests.support import size

MINI, NANO = "openai:gpt-4.1-mini", "openai:gpt-5.4-nano"
PRICES = yaml.safe_load((Path(__file__).parents[3] / "agents/providers/prices.yaml").read_text())["models"]
design_of = cache(load_design)


@pytest.mark.parametrize(("name", "usd"), [("nudges", 5), ("trios", 2), ("wtp", 1), ("biases", 1)])
def test_a_trial_costs_what_the_table_says(name: str, usd: float) -> None:
    design = design_of(name)
    price = PRICES["gpt-4.1-mini"]
    trials = list(design.trials([MINI]))[:240]
    if design.mode == "page":
        each = design.requests(trials[0])
        tokens = each * 2_500, each * PAGE_ANSWER_TOKENS
    else:
        # Each request sends what was asked before too.
        prompts = [[estimate_tokens(card.system + card.prompt) for card in trial.cards] for trial in trials]
        asked = sum(sum(own[: at + 1]) for own in prompts for at in range(len(own))) / len(trials)
        tokens = asked, TEXT_ANSWER_TOKENS * sum(map(len, prompts)) / len(trials)  # type: ignore[assignment]
    per_trial = (tokens[0] * price["input"] + tokens[1] * price["output"]) / 1e6
    prices = prices_of(design, [MINI])
    assert prices == {MINI: pytest.approx(per_trial)}
    for split in splits(design, prices, usd)[0]:
        assert split.cost == pytest.approx(split.trials * per_trial)


@pytest.mark.slow
@settings(max_examples=size(6, 100), deadline=None)
@given(
    name=st.sampled_from(["nudges", "trios", "wtp", "biases", "prices"]),
    usd=st.floats(0.3, size(8, 200)),
    several=st.booleans(),
)
@example(name="hotels", usd=1.0, several=True)
def test_splits_stay_within_the_budget_and_are_what_the_file_says(
    name: str, usd: float, several: bool
) -> None:
    design = design_of(name)
    prices = prices_of(design, [MINI, NANO] if several else [MINI])
    try:
        found, affordable = splits(design, prices, usd)
    except UserError as error:
        assert "the smallest experiment has" in str(error)
        return
    assert affordable * sum(prices.values()) <= usd
    assert {split.agents for split in found} == ({(MINI, NANO), (MINI,)} if several else {(MINI,)})
    for split in found:
        assert split.cost <= usd
        assert split.cost == pytest.approx(split.trials * sum(prices[agent] for agent in split.agents))
        keys = {key: value for key, value in split.keys.items() if key != "agents"}
        written = with_keys(design, keys)
        trials = [trial for trial in written.trials([MINI])]
        assert len(trials) == split.trials
        if "sets" in split.way.parts:
            assert len({trial.set for trial in trials}) == split.way.parts["sets"]
        if "texts" in split.way.parts:
            assert len({each.nudge.id for each in trials if each.nudge}) == split.way.parts["texts"]


def test_too_little_money_is_refused_with_what_would_do() -> None:
    design = design_of("nudges")
    prices = prices_of(design, [MINI])
    with pytest.raises(UserError, match=r"--budget 0.01: the smallest experiment has 24 trials") as told:
        splits(design, prices, 0.01)
    assert f"cost about {24 * prices[MINI]:.2f} USD" in str(told.value)
    assert splits(design, prices, 24.5 * prices[MINI])[0]


def test_what_has_no_price_is_refused(tmp_path: Path) -> None:
    design = design_of("nudges")
    with pytest.raises(UserError, match="no price is listed for openai:none-such; write it into a file"):
        prices_of(design, ["openai:none-such"])
    with pytest.raises(UserError, match="ollama:any costs nothing; use --trials"):
        prices_of(design, ["ollama:any"])


@st.composite
def simulated_splits(draw: st.DrawFn) -> list[Split]:
    found = []
    for number in range(draw(st.integers(1, 6))):
        power, error = draw(st.floats(0, 1)), draw(st.floats(0.1, 30))
        contrast = ContrastPower(
            "nudge", 1, 10.0, (TestedEffect("these sets", power, power, 1.0, None),), error=error
        )
        agents = draw(st.sampled_from([("a",), ("a", "b")]))
        found.append(Split(TrialSplit({"sets": number}, {}, 1), agents, 1.0, (contrast,)))
    return found


@given(found=simulated_splits(), studies=st.integers(20, 2_000))
def test_no_split_beats_the_first_one(found: list[Split], studies: int) -> None:
    first, *others = best_first(found, ["nudge"], studies)
    assert len(first.agents) == max(len(split.agents) for split in found)
    for other in others:
        if len(other.agents) < len(first.agents):
            continue
        ahead = least_power(other, ["nudge"]) - least_power(first, ["nudge"])
        by_chance = 2 * (0.25 / studies) ** 0.5
        assert ahead <= by_chance
        if ahead > 0:  # both are the best one but for chance, and the first is less far off
            assert largest_error(first, ["nudge"]) <= largest_error(other, ["nudge"])


def test_ready_cards_have_no_other_split(tmp_path: Path) -> None:
    for name in ("wide.csv", "cards.yaml"):
        (tmp_path / name).write_text(FILES[name])
    text = "name: own\ntask: card\nmode: text\ncards: cards.yaml\n"
    (tmp_path / "own.yaml").write_text(text + "design: {conjoint: {pool: wide.csv, blocks: []}}\n")
    with pytest.raises(UserError, match="the cards of own are ready-made"):
        splits(load_design(str(tmp_path / "own.yaml")), {MINI: 0.001}, 1.0)


SMALL = """
name: small
task: compare-tabs
goal: Buy the best product.
options: {sets: 8}
factors: {nudge: {interventions: nudges, only: [best-seller, wirecutter, free-shipping]}}
stopping: {rule: anytime-valid, effect: nudge, margin: 5, most: 120}
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_no_split_beats_the_first_one_in_other_studies(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    design, studies = load_design(str(tmp_path / "small.yaml")), size(30, 600)
    rehearsed = rehearsal(widest(design), profile_of("simulated:balanced"), {"nudge": 20.0}, 0.5)
    bought, _ = splits(design, prices_of(design, [MINI]), 1.5)
    assert len(bought) > 3
    found = [simulated(design, split, rehearsed, Studies(split.trials, studies)) for split in bought]
    first, *others = (
        simulated(design, replace(split, contrasts=()), rehearsed, Studies(split.trials, studies, seed=1))
        for split in best_first(found, ["nudge"], studies)
    )
    error = 3.5 * (2 * 0.25 / studies) ** 0.5
    for other in others:
        assert least_power(other, ["nudge"]) - least_power(first, ["nudge"]) <= error
