"""Contrasts of willingness to pay: simulated truth, and statsmodels' regression with dummies of products."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from analysis.montecarlo import analyze_montecarlo
from analysis.montecarlo.contrasts import contrasts
from analysis.montecarlo.report import report
from analysis.montecarlo.valuation import measures
from analysis.tables.errors import AnalysisError
from analysis.tables.responses_table import check_responses
from tests.analysis.conftest import check_figures, simulate_valuations
from tests.support import size


def asked(
    rng: np.random.Generator, products: int, repeats: int, effect: float, differ: float = 4.0
) -> pd.DataFrame:
    """The high anchor adds `effect` on average, with the standard deviation `differ` over products."""
    rows = [
        (f"p{item}", condition, repeat, price + (own if condition == "high" else 0.0) + rng.normal(0, 8))
        for item, (price, own) in enumerate(
            zip(rng.uniform(100, 400, products), rng.normal(effect, differ, products), strict=True)
        )
        for condition in ("control", "low", "high")
        for repeat in range(repeats)
    ]
    table = pd.DataFrame(rows, columns=["item", "condition", "repeat", "response"])
    return table.assign(agent="a", trial=[f"t{at}" for at in range(len(table))])


def checked(table: pd.DataFrame) -> pd.DataFrame:
    return measures(check_responses(table))


def test_a_contrast_is_that_of_a_regression_of_means_with_dummies_of_products() -> None:
    table = checked(asked(np.random.default_rng(1), 9, 6, 10.0))
    row = contrasts(table, ["high:low"]).iloc[0]
    means = table.groupby(["item", "condition"], as_index=False)["response"].mean()
    own = means[means["condition"] != "control"]
    fit = smf.ols("response ~ C(condition, Treatment('low')) + C(item)", own).fit()
    term = "C(condition, Treatment('low'))[T.high]"
    low, high = fit.conf_int().loc[term]
    assert row["estimate"] == pytest.approx(fit.params[term])
    assert (row["std_error"], row["p_value"]) == pytest.approx((fit.bse[term], fit.pvalues[term]))
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((low, high))
    # About these questions: each has a variance of its own (HC2 of a saturated regression of the answers).
    answers = table[table["condition"] != "control"].assign(
        cell=lambda each: each["item"] + each["condition"]
    )
    whole = smf.ols("response ~ 0 + cell", answers).fit(cov_type="HC2")
    weights = [(1 if name.endswith("high]") else -1) / 9 for name in whole.params.index]
    error = whole.t_test(np.array(weights)).sd.item()
    half = row["answers_high"] - row["estimate"]
    assert stats.norm.ppf(0.975) * error < half < stats.t.ppf(0.975, 30) * error
    assert contrasts(table, ["low:high"])["estimate"].iloc[0] == -row["estimate"]


@pytest.mark.slow
def test_intervals_hold_the_true_effect_of_products_like_these() -> None:
    rng, studies = np.random.default_rng(2), size(150, 2_000)
    held, rejected = [], []
    for _ in range(studies):
        row = contrasts(checked(asked(rng, 8, 5, 10.0)), ["high:control", "low:control"])
        held.append(row["conf_low"][0] <= 10.0 <= row["conf_high"][0])
        rejected.append(row["p_value"][1] < 0.05)
    assert abs(np.mean(held) - 0.95) <= 3 * (0.95 * 0.05 / studies) ** 0.5
    assert abs(np.mean(rejected) - 0.05) <= 3 * (0.95 * 0.05 / studies) ** 0.5


def test_scenarios_are_contrasted_within_conditions_and_a_report_says_it() -> None:
    base = asked(np.random.default_rng(3), 6, 6, 10.0)
    polite = base.assign(scenario="polite", response=base["response"] + 25, trial="p" + base["trial"])
    table = pd.concat([base.assign(scenario="base"), polite[polite["condition"] != "low"]], ignore_index=True)
    row = contrasts(checked(table), ["polite:base"]).iloc[0]
    assert row["estimate"] == pytest.approx(25) and row["part"] == "scenario"
    assert row["n"] == 2 * 6 * 2 * 6, "the low anchor was not asked about with both"
    assert np.isnan(row["conf_low"]) and row["answers_low"] < 25 < row["answers_high"]
    found = analyze_montecarlo(simulate_valuations(1, repeats=12), contrasts=["high:low", "low:control"])
    assert found.contrasts is not None
    by_block = found.coefficients.set_index(["group", "term"])["blocked"]
    own = found.contrasts.set_index(["group", "less"])["estimate"]
    assert own["beta", "control"] == pytest.approx(by_block["beta", "condition[low]"])
    made = report(found)
    assert len(found.contrasts) == 4
    assert made.answer[0].startswith("alpha: high against low; pays ")
    assert "contrasts" in found.to_json() and made.sections[0].tables[0].name == "contrasts"
    check_figures(report(found))
    assert "contrasts" not in analyze_montecarlo(simulate_valuations(1)).to_json()


def test_what_cannot_be_contrasted_has_its_reason() -> None:
    table = checked(simulate_valuations(1, agents=("alpha",), repeats=3))
    lone = table[(table["item"] == "coffee pods")]
    row = contrasts(lone, ["high:low"]).iloc[0]
    assert np.isnan(row["conf_low"]) and np.isnan(row["answers_low"])
    assert row["note"].startswith("no interval: one product")
    apart = lone[lone["condition"] != "low"]
    other = table[(table["item"] != "coffee pods") & (table["condition"] == "low")]
    nothing = contrasts(pd.concat([apart, other]), ["high:low"]).iloc[0]
    assert np.isnan(nothing["estimate"]) and nothing["note"] == "no product was asked about with both"
    with pytest.raises(
        AnalysisError, match=r"--contrast hihg:low: no trial has .* 'hihg'; did you mean 'high'"
    ):
        contrasts(table, ["hihg:low"])
