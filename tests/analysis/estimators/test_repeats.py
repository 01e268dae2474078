"""An agent that always gives the same answer: asking it again tells nothing more."""

import numpy as np
import pandas as pd
import pytest

from analysis.biases.study import analyze_biases
from analysis.estimators.repeats import ALIKE, agents_without_variation
from analysis.montecarlo.study import MonteCarloAnalysis, analyze_montecarlo
from analysis.tables.responses_table import check_responses
from tests.analysis.conftest import simulate_answers, simulate_valuations


def deterministic(seed: int, agents: tuple[str, ...], items: int, repeats: int) -> pd.DataFrame:
    """Answers that differ by chance from product to product and condition, and never from repeat to repeat.

    Neither condition nor agent has an effect over products, and the mean deviation is 0.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (agent, f"product {item}", condition, repeat, response)
        for agent in agents
        for item in range(items)
        for condition in ("control", "high", "low")
        for response in [rng.normal(100, 10)]
        for repeat in range(repeats)
    ]
    table = pd.DataFrame(rows, columns=["agent", "item", "condition", "repeat", "response"])
    trial = table[["item", "condition", "repeat"]].astype(str).agg("/".join, axis=1)
    return table.assign(trial=trial, reference=100.0, low=95.0, high=105.0)


def frames_with_p(analysis: MonteCarloAnalysis) -> dict[str, pd.DataFrame]:
    return {
        name: frame
        for name, frame in vars(analysis).items()
        if isinstance(frame, pd.DataFrame) and "p_value" in frame
    }


@pytest.mark.thorough
@pytest.mark.slow
def test_repeats_that_never_vary_change_no_error() -> None:
    """p values and intervals of 30 repeats are those of one answer to each question."""
    once = frames_with_p(analyze_montecarlo(deterministic(1, ("a", "b"), 6, 1)))
    often = analyze_montecarlo(deterministic(1, ("a", "b"), 6, 30))
    for name, frame in frames_with_p(often).items():
        if name == "variation":  # of one answer the spread is unknown, of equal ones it is 0
            assert (frame["estimate"] == 0).all() and once[name]["estimate"].isna().all()
            continue
        pd.testing.assert_frame_equal(frame.drop(columns="note"), once[name].drop(columns="note"))
    assert often.list_price["note"].str.contains(ALIKE)[often.list_price["group"] == "a"].all()
    assert f"2 agents (a, b): {ALIKE}." in often.notes
    assert not once["list_price"]["note"].str.contains(ALIKE).any()


def test_an_agent_that_varies_in_one_question_keeps_its_repeats() -> None:
    table = simulate_valuations(agents=("alpha",))
    one = (table["item"] == "coffee pods") & (table["condition"] == "low")
    table.loc[~one, "response"] = 50.0
    analysis = analyze_montecarlo(table)
    assert (analysis.prompts["n"] == 20).all()
    assert not any(ALIKE in note for note in analysis.notes)


def test_missing_responses_of_such_an_agent_are_still_counted() -> None:
    table = deterministic(0, ("a",), 2, 5).assign(reason="")
    table.loc[[0, 7], ["response", "reason"]] = [np.nan, "two numbers"]
    analysis = analyze_montecarlo(table)
    assert analysis.prompts["n_missing"].sum() == 2 and (analysis.prompts["n"] == 1).all()
    assert analysis.missing["count"].sum() == 2 and (analysis.missing["asked"] == 5).all()


@pytest.mark.parametrize("repeats", [5, 50])
def test_an_experiment_of_one_answer_each_counts_two_responses(repeats: int) -> None:
    """The repeats show that nothing varies: the experiment is complete, and d is 0 or separated."""
    biases = {"framing": ([1.0] * repeats, [1.0] * repeats), "sunk-cost": ([0.0] * repeats, [1.0] * repeats)}
    found = analyze_biases(simulate_answers(biases, scenarios=("base", "odd")), valid=5)
    effects = found.experiments.set_index("term")
    assert effects["complete"].all() and (effects["n"] == 2).all()
    assert (effects.loc["framing", "estimate"] == 0).all() and effects.loc["sunk-cost", "separated"].all()
    assert effects["note"].str.endswith(ALIKE).all()
    # Two answers have no sampling variance that the spread over experiments could be compared with.
    assert found.index["homogeneity"].isna().all()
    assert f"1 agent (alpha): {ALIKE}." in found.notes


def test_equal_answers_in_both_conditions_are_an_effect_of_exactly_0() -> None:
    """The same numbers in another order have means that differ by a rounding error."""
    numbers = [*np.random.default_rng(3).normal(0.1, 1e-3, 50), 0.1, 0.2, 0.3]
    biases = dict.fromkeys(("anchoring", "endowment"), (numbers, numbers[::-1]))
    found = analyze_biases(simulate_answers(biases, agents=("a", "b"), scenarios=("base", "odd")), valid=5)
    assert (found.experiments["estimate"] == 0).all() and (found.experiments["bias_detected"] == 0).all()
    assert (found.index[["estimate", "mean"]] == 0).all(axis=None)
    assert (found.regressions["estimate"].dropna() == 0).all()


OTHER = {"item": "lamp", "condition": "low", "scenario": "gift", "temperature": 0.7, "anchor": 20.0}


@pytest.mark.parametrize("column", ["none", *OTHER])
def test_what_differs_in_one_column_is_no_repeat(column: str) -> None:
    asked = dict(zip(OTHER, ["desk", "high", "base", 0.0, 10.0], strict=True))
    asked |= {"agent": "a", "trial": "1", "repeat": 0, "response": 50.0}
    again = asked | {"trial": "2"} | ({column: OTHER[column]} if column in OTHER else {})
    table = check_responses(pd.DataFrame([asked, again]))
    assert agents_without_variation(table) == (["a"] if column == "none" else [])
