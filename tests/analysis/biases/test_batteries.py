"""Experiments, the index per bias and agent, and the regressions over experiments."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from analysis.biases.batteries import (
    BIASES,
    RARE,
    bias_index,
    experiments,
    known_bias,
)
from analysis.biases.regressions import regressions
from analysis.estimators.effect_size import cohens_d
from analysis.tables.responses_table import check_responses
from tests.analysis.conftest import simulate_answers
from tests.support import size

NUMBERS = ([48.0, 50.0, 52.0], [53.0, 57.0, 55.0])
MANY = (NUMBERS[0] * 5, NUMBERS[1] * 5)


def effects_of(table: pd.DataFrame, valid: int = 3, **options: object) -> pd.DataFrame:
    return experiments(check_responses(table), valid=valid, **options)  # type: ignore[arg-type]


def test_an_experiment_has_the_effect_of_its_groups() -> None:
    row = effects_of(simulate_answers({"anchoring": MANY})).iloc[0]
    expected = cohens_d(*MANY)
    assert (row["estimate"], row["conf_low"], row["p_value"]) == (
        expected.d,
        expected.conf_low,
        expected.p_value,
    )
    few = effects_of(simulate_answers({"anchoring": NUMBERS})).iloc[0]
    assert few["p_value"] == cohens_d(*NUMBERS).p_value and few["hedges_low"] < few["hedges_g"]
    assert np.isnan(few["conf_low"]) and "fewer than 15 answers" in few["note"]
    assert (row["term"], row["group"], row["direction"]) == ("anchoring", "alpha", "more")
    assert (row["control_mean"], row["treatment_mean"], row["n"], row["n_missing"]) == (50, 55, 30, 0)
    assert (row["bias_detected"], row["capped"]) == (row["estimate"], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "shares"), [(15, (0.03, 0.03)), (15, (0.05, 0.3)), (30, (0.03, 0.1)), (100, (0.03, 0.03))]
)
def test_rare_choices_have_an_interval_that_holds_or_none(answers: int, shares: tuple[float, float]) -> None:
    rng, studies, held = np.random.default_rng(answers), size(60, 600), list[bool]()
    d = (shares[1] - shares[0]) / np.sqrt(np.mean([share * (1 - share) for share in shares]))
    drawn = rng.random((studies, 2, answers)) < np.array(shares)[:, None]
    table = simulate_answers({"framing": ([0.0] * answers, [0.0] * answers)})
    for own in drawn.astype(float):
        row = effects_of(table.assign(response=own.ravel())).iloc[0]
        if not np.isnan(row["hedges_low"]):
            held.append(row["hedges_low"] <= d <= row["hedges_high"])
        elif own.any(axis=1).all():
            assert RARE in row["note"] and np.isnan(row["conf_low"])
    assert sum(held) >= binom.ppf(0.001, len(held), 0.935)


def test_a_difference_either_way_counts_where_configured() -> None:
    down = (NUMBERS[1], NUMBERS[0])
    biases = dict.fromkeys(("anchoring", "framing", "transaction-utility"), down)
    found = effects_of(simulate_answers(biases)).set_index("term")
    assert (found["estimate"] < 0).all() and set(found["direction"]) == {"less"}
    assert np.sign(found["bias_detected"]).to_dict() == {
        "anchoring": -1,
        "framing": 1,
        "transaction-utility": 1,
    }
    thesis = effects_of(simulate_answers(biases), absolute_biases=("framing",)).set_index("term")
    assert thesis.loc["transaction-utility", "bias_detected"] < 0
    assert thesis.loc["transaction-utility", "capped"] == 0


def test_incomplete_experiments_are_left_out_and_counted() -> None:
    missing = ([48.0, np.nan, 52.0], NUMBERS[1])
    table = pd.concat(
        [
            simulate_answers({"anchoring": NUMBERS}),
            simulate_answers({"anchoring": missing}, scenarios=("odd",)),
        ],
        ignore_index=True,
    )
    effects = effects_of(table)
    incomplete = effects[effects["scenario"] == "odd"].iloc[0]
    assert np.isnan(incomplete["estimate"]) and not incomplete["complete"]
    assert incomplete["note"] == "incomplete: 2 control and 3 treatment of 3 valid responses each"
    assert (incomplete["n"], incomplete["n_missing"]) == (5, 1)
    index = bias_index(effects).iloc[0]
    assert (index["used"], index["incomplete"], index["undefined"]) == (1, 1, 0)
    assert (index["n"], index["n_missing"]) == (6, 6)
    assert "1 experiment left out: incomplete" in index["note"]


def test_separation_is_flagged_and_never_zero() -> None:
    apart = ([0.0] * 3, [1.0] * 3)
    table = simulate_answers({"sunk-cost": apart}, temperatures=(0.2, 1.0))
    mixed = pd.concat(
        [table, simulate_answers({"sunk-cost": ([0.0, 1.0, 0.0], [1.0, 1.0, 0.0])}, scenarios=("odd",))]
    )
    effects = effects_of(mixed.reset_index(drop=True))
    assert effects["separated"].sum() == 2
    index = bias_index(effects).iloc[0]
    defined = effects["bias_detected"].dropna()
    assert len(defined) == 1 and index["mean"] == defined.item()
    assert (index["used"], index["undefined"], index["separated"]) == (1, 2, 2)
    assert "2 experiments completely separated (2 more in the treatment)" in index["note"]
    legacy = bias_index(effects_of(mixed.reset_index(drop=True), legacy_zero=True)).iloc[0]
    assert legacy["mean"] == pytest.approx(defined.item() / 3)
    assert (legacy["used"], legacy["separated"]) == (3, 2)


def test_the_index_has_its_interval_or_the_reason_that_there_is_none() -> None:
    numbers = simulate_answers({"anchoring": MANY, "framing": ([0.0, 1, 1, 0] * 5, [1.0, 1, 1, 0] * 5)})
    index = bias_index(effects_of(numbers)).set_index("term")
    assert (index["mean_low"] < index["mean"]).all() and (index["mean"] < index["mean_high"]).all()
    assert index.loc["framing", "mean_low"] == 0
    capped = index[["mean_low", "mean_high"]].clip(0, 1).to_numpy()
    assert (index[["conf_low", "conf_high"]].to_numpy() == capped).all()
    mixed = simulate_answers({"sunk-cost": ([0.0, 0, 0], [1.0, 1, 1])}, scenarios=("odd",))
    mixed = pd.concat([mixed, simulate_answers({"sunk-cost": ([0.0, 1, 0], [1.0, 1, 0])})], ignore_index=True)
    row = bias_index(effects_of(mixed)).iloc[0]
    assert row["mean"] > 0 and np.isnan(row["conf_low"]) and "without a finite value" in row["note"]
    same = bias_index(effects_of(simulate_answers({"sunk-cost": ([0.0, 0, 0], [0.0, 0, 0])}))).iloc[0]
    assert same["mean"] == 0 and np.isnan(same["mean_high"]) and "without variance" in same["note"]


def test_the_cap_comes_after_the_mean() -> None:
    biases = {"anchoring": NUMBERS}
    opposite = simulate_answers({"anchoring": (NUMBERS[1], NUMBERS[0])}, scenarios=("odd",))
    effects = effects_of(pd.concat([simulate_answers(biases), opposite], ignore_index=True))
    index = bias_index(effects).iloc[0]
    assert index["mean"] == pytest.approx(0) and index["estimate"] == pytest.approx(0, abs=1e-12)
    assert effects["capped"].mean() == 0.5
    assert index["label"] == "negligible" and index["homogeneous"] is not None


def test_nothing_defined_is_said() -> None:
    index = bias_index(effects_of(simulate_answers({"anchoring": NUMBERS}), valid=100)).iloc[0]
    assert np.isnan([index["estimate"], index["mean"], index["homogeneity"]]).all()
    assert index["note"].startswith("undefined: no experiment has an effect size") and index["label"] == ""


def battery() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    biases = {name: ([0.0] * 6, [0.0] * 6) for name in ("anchoring", "endowment", "framing")}
    agents = ("claude-3-haiku", "alpha", "beta-7b")
    table = simulate_answers(biases, agents=agents, scenarios=("base", "odd"), temperatures=(0.2, 1.0, 1.8))
    lift = (table["condition"] == "treatment") * (table["agent"].map({a: i for i, a in enumerate(agents)}))
    return table.assign(response=rng.normal(50, 10, len(table)) + 6 * lift)


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["d", "bias_detected", "capped"])
def test_regressions_agree_with_statsmodels(outcome: str) -> None:
    effects = effects_of(battery())
    found = regressions(effects)
    effects["d"] = effects["estimate"]
    own = found[(found["outcome"] == outcome) & (found["specification"] == "all")]
    assert set(own["reference"]) == {"anchoring, claude-3-haiku, base"}
    formula = (
        f"{outcome} ~ C(term) + C(group, Treatment('claude-3-haiku')) + C(scenario, Treatment('base'))"
        " + temperature"
    )
    fit = smf.ols(formula, effects).fit()
    assert own["estimate"].tolist() == pytest.approx(fit.params.tolist())
    if outcome == "d":
        assert own["std_error"].tolist() == pytest.approx(fit.bse.tolist())
        assert own["p_value"].tolist() == pytest.approx(fit.pvalues.tolist())
    else:
        assert own["p_value"].isna().all() and own["note"].str.startswith("no test: above 0").all()
    assert own["term"].tolist()[-1] == "temperature" and "bias[endowment]" in set(own["term"])


@pytest.mark.thorough
@pytest.mark.slow
def test_agents_without_a_bias_are_seldom_called_biased() -> None:
    """Sizes of framing stand beside signed effects of the others; only the signed ones are tested."""
    rng, told, studies = np.random.default_rng(5), list[bool](), size(40, 400)
    biases = {name: ([0.0] * 30, [0.0] * 30) for name in ("anchoring", "framing", "transaction-utility")}
    table = simulate_answers(biases, agents=("alpha", "beta", "gamma"), scenarios=("base", "odd"))
    for _ in range(studies):
        found = regressions(effects_of(table.assign(response=rng.normal(50, 10, len(table)))))
        told += (found["p_value"].dropna() < 0.05).tolist()
    assert len(told) == 6 * studies
    assert np.mean(told) <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_constant_regressors_are_left_out_with_the_reason() -> None:
    table = battery()
    table = table[(table["agent"] == "alpha") & (table["scenario"] == "odd")].assign(temperature=np.nan)
    table = table.drop_duplicates(["item", "condition", "repeat"])
    found = regressions(effects_of(table))
    notes = found[(found["outcome"] == "capped") & (found["specification"] == "all")].set_index("term")[
        "note"
    ]
    assert notes["agent"] == "left out: agent does not vary"
    assert notes["scenario"] == "left out: scenario does not vary"
    assert notes["temperature"] == "left out: temperature is missing for some experiments"
    assert found.loc[found["term"] == "Intercept", "estimate"].notna().all()
    assert (found.loc[found["specification"] == "all", "reference"].dropna() == "anchoring").all()


def test_undefined_experiments_are_counted_as_missing() -> None:
    found = regressions(effects_of(battery(), valid=7))
    assert found["estimate"].isna().all()
    assert set(found["n"]) == {0} and set(found["n_missing"]) == {54}


@pytest.mark.parametrize("bias", BIASES)
@given(data=st.data())
def test_a_bias_is_known_however_its_source_writes_it(bias: str, data: st.DataObject) -> None:
    gambler = data.draw(st.sampled_from(["gamblers", "gambler's", "Gambler\u2019s"]))
    words = bias.replace("gamblers", gambler).split("-")
    joint = data.draw(st.sampled_from([" ", "-", "_", "  ", " - "]))
    last = data.draw(st.sampled_from(["", "effect", "bias", "fallacy"]))
    if words[-1] == "fallacy":
        last = ""
    case = data.draw(st.sampled_from([str.lower, str.upper, str.title]))
    assert known_bias(case(joint.join([*words, *([last] if last else [])]))) == bias


def test_a_name_that_is_none_of_the_battery_s_stays() -> None:
    for name in ("my own bias", "framed", "", "effect", "007"):
        assert known_bias(name) == name
