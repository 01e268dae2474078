"""Agents of cards, prices, biases and anchors compared: known truth, and computations by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.anchoring.comparing import compare_scores
from analysis.anchoring.study import analyze_anchoring
from analysis.biases.batteries import experiments
from analysis.biases.comparing import compare_biases
from analysis.biases.study import check_answers
from analysis.conjoint.comparing import compare_cards
from analysis.estimators.comparing import asked
from analysis.estimators.moved import HANGS
from analysis.montecarlo.comparing import compare_valuations
from analysis.reporting.comparing import difference_report
from analysis.tables.errors import AnalysisError
from tests.analysis.anchoring.conftest import simulate_scores
from tests.analysis.conftest import check_figures, simulate_answers, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size


def test_an_agent_is_compared_with_itself_first_and_with_others_in_the_same_run() -> None:
    runs = {"a (may)": {"may"}, "a (june)": {"june"}, "b (may)": {"may"}, "b (june)": {"june"}}
    assert asked(runs) == [
        ("a (june)", "a (may)"), ("b (june)", "b (may)"), ("a (june)", "b (june)"), ("a (may)", "b (may)"),
    ]  # fmt: skip
    assert asked({"a": {"may"}, "b": {"june"}}) == [("a", "b")]


@pytest.mark.slow
def test_agents_alike_differ_in_few_part_worths_and_different_ones_in_those_that_do() -> None:
    """Both are shown the same 120 sets of cards in both orders."""
    p_values, studies = [], size(15, 200)
    for seed in range(studies):
        table = simulate_cards(seed, agents=("one", "two"), sizes=(2,)).assign(run="r")
        p_values += compare_cards(table)["p_value"].tolist()
    rejected = np.mean(np.array(p_values) < 0.05)
    assert len(p_values) == 7 * studies and rejected < 0.12
    table = simulate_cards(3, agents=("one", "two"), random=("two",)).assign(run="r")
    frame = compare_cards(table).set_index("term")
    assert frame.loc[["price_sensitivity", "stars", "review_score"], "p_adjusted"].max() < 0.01
    row = frame.loc["price_sensitivity"]
    assert row["conf_low"] < 4.0 < row["conf_high"]
    assert row["estimate"] == pytest.approx(row["of_group"] - row["of_less"])
    made = difference_report(compare_cards(table), "")
    assert "Price sensitivity is higher by " in made.answer[0]
    check_figures(made)
    panels = made.sections[0].figures[0].figure.axes
    assert len(panels) == 7, "part-worths have units of their own"


def test_the_error_of_a_difference_is_not_that_of_one_agent_alone() -> None:
    """The second always takes breakfast: its part-worths are limits, so no error of them is known."""
    table = simulate_cards(3, agents=("one", "two"), sizes=(2,)).assign(run="r")
    differs = table.groupby("trial")["attr_breakfast"].transform("nunique") == 2
    table["chosen"] = table["chosen"].mask((table["agent"] == "two") & differs, table["attr_breakfast"])
    frame = compare_cards(table).set_index("term")
    assert frame["std_error"].isna().all() and frame["p_value"].isna().all()
    assert frame["estimate"].notna().sum() == 6 and set(frame["note"].drop("breakfast")) == {HANGS}
    assert frame.loc["breakfast", "note"] == "no finite estimate: breakfast separates the choices"


def test_cards_of_locked_agents_and_of_equal_answers_have_their_reason() -> None:
    table = simulate_cards(1, agents=("one", "two"), locked=("two",), sizes=(2,), sets=40).assign(run="r")
    frame = compare_cards(table)
    assert frame["estimate"].isna().all()
    assert set(frame["note"]) == {"no model: locked-primacy"}
    alone = table[table["agent"] == "one"]
    twice = compare_cards(pd.concat([alone, alone.assign(run="again")], ignore_index=True))
    assert set(twice["note"]) == {"no interval: the two never differ"} and (twice["estimate"] == 0).all()
    assert twice[["group", "less"]].iloc[0].tolist() == ["one (again)", "one (r)"]
    with pytest.raises(AnalysisError, match="2 to 30 agents can be compared, and there are answers of 1"):
        compare_cards(alone)


def test_variants_of_the_prompt_are_not_pooled_with_the_card_as_it_is() -> None:
    table = simulate_cards(2, agents=("one", "two"), sizes=(2,), sets=60).assign(run="r")
    other = simulate_cards(3, agents=("one", "two"), sizes=(2,), sets=60)["chosen"]
    variant = table.assign(condition="json", trial=table["trial"] + "j", chosen=other)
    whole = pd.concat([table.assign(condition="base"), variant], ignore_index=True)
    pd.testing.assert_frame_equal(compare_cards(whole), compare_cards(table))


def test_willingness_to_pay_is_compared_as_stratified_welch_tests() -> None:
    table = simulate_valuations(2, repeats=12).assign(run="r")
    frame = compare_valuations(table).set_index("term")
    share = table.assign(value=100 * table["response"] / table["reference"])
    cells = share.groupby(["agent", "item", "condition"])["value"].agg(["mean", "var", "count"])
    items = sorted(set(share["item"]))
    for term, signs in (("wtp_percent", {"control": 1}), ("high_less_low_percent", {"high": 1, "low": -1})):
        estimate, parts = 0.0, []
        for side, agent in ((1, "alpha"), (-1, "beta")):
            for item, (condition, sign) in product(items, signs.items()):
                mean, var, count = cells.loc[(agent, item, condition)]
                estimate += side * sign * mean / len(items)
                parts.append((var / count / len(items) ** 2, count))
        variance = sum(part for part, _ in parts)
        df = variance**2 / sum(part**2 / (count - 1) for part, count in parts)
        row = frame.loc[term]
        assert row["estimate"] == pytest.approx(estimate)
        assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(estimate) / np.sqrt(variance), df))
    few = compare_valuations(simulate_valuations(2, repeats=4).assign(run="r"))
    assert few["p_value"].isna().all() and few["note"].str.contains("fewer than 5 answers").all()


def test_biases_are_compared_by_their_d_in_the_experiments_that_both_have() -> None:
    rng = np.random.default_rng(0)

    def answers(shift: float, agent: str) -> pd.DataFrame:
        groups = {"anchoring": (list(rng.normal(50, 10, 30)), list(rng.normal(50 + shift, 10, 30)))}
        return simulate_answers(groups, agents=(agent,), scenarios=("base", "work"))

    table = pd.concat([answers(20, "one"), answers(0, "two")], ignore_index=True).assign(run="r")
    row = compare_biases(table).iloc[0]
    effects = experiments(check_answers(table), valid=2)
    means = effects.groupby("group")["estimate"].mean()
    assert row["estimate"] == pytest.approx(means["one"] - means["two"])
    assert row["std_error"] == pytest.approx(np.sqrt((effects["std_error"] ** 2).sum()) / 2)
    assert row["p_value"] < 0.001 and row["conf_low"] < row["estimate"] < row["conf_high"]
    only = table[(table["agent"] == "one") | (table["scenario"] == "work")]
    assert compare_biases(only).iloc[0]["n"] == 120


def test_anchoring_is_compared_by_flipped_signs_over_the_variations() -> None:
    stimuli = {f"v{at}": (10, 60) for at in range(8)}
    one = simulate_scores(1, agents=("one",), stimuli=stimuli, step=20, pull=3.0)
    other = simulate_scores(2, agents=("other",), stimuli=stimuli, step=20, pull=0.5)
    table = pd.concat([one, other], ignore_index=True).assign(run="r")
    row = compare_scores(table).set_index("term").loc["delta_ev"]
    found = analyze_anchoring(table).results
    wide = found[found["variation"] != "MODEL"].pivot_table(
        index="variation", columns="model", values="delta_ev"
    )
    apart = (wide["one"] - wide["other"]).to_numpy(float)
    flips = np.array([np.dot(signs, apart) for signs in product((1, -1), repeat=8)])
    assert row["estimate"] == pytest.approx(apart.mean())
    assert row["p_value"] == pytest.approx((abs(flips) >= abs(apart.sum()) - 1e-12).mean())
    assert np.isnan(row["conf_low"]) and row["n"] == 8
