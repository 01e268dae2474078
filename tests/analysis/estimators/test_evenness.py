"""Missing answers over the levels of every factor, in each kind of study that is not in a shop."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.biases import analyze_biases
from analysis.biases.report import report as biases_report
from analysis.conjoint import analyze_conjoint
from analysis.conjoint.report import report as conjoint_report
from analysis.estimators.evenness import by_factor
from analysis.montecarlo import analyze_montecarlo
from analysis.montecarlo.report import report as montecarlo_report
from tests.analysis.conftest import lose, simulate_answers, simulate_valuations
from tests.analysis.conjoint.conftest import simulate_cards


def check(found: pd.DataFrame, asked: pd.DataFrame, missing: "pd.Series[bool]", lost: str) -> None:
    """Each factor once, with SciPy's test; the one over which answers were lost is found."""
    rows = found.set_index("factor")
    for factor, row in rows.iterrows():
        counts = pd.crosstab(asked[factor], missing)
        if row["note"].endswith("df") and row["note"].startswith("chi-square"):
            expected = stats.chi2_contingency(counts, correction=False)
            assert (row["statistic"], row["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
        assert (row["n"], row["n_missing"]) == ((~missing).sum(), missing.sum())
    assert rows.loc[lost, "p_adjusted"] < 0.001
    assert (rows["p_adjusted"].drop(lost) > 0.01).all()


@pytest.mark.slow
def test_valuations() -> None:
    table = simulate_valuations(agents=("alpha",), repeats=30)
    assert analyze_montecarlo(table).attrition_by_factor.empty
    lost = (table["condition"] == "high") & (np.arange(len(table)) % 3 == 0)
    table.loc[lost, "response"] = np.nan
    found = analyze_montecarlo(table)
    assert found.attrition_by_factor["factor"].tolist() == ["condition", "item"]
    check(found.attrition_by_factor, table, table["response"].isna(), "condition")
    assert any(
        "responses go missing unevenly over condition" in line for line in montecarlo_report(found).problems
    )


def test_biases() -> None:
    groups = {bias: ([0.0, 1] * 20, [0.0, 1] * 20) for bias in ("sunk-cost", "framing")}
    table = simulate_answers(groups, scenarios=("base", "odd"), temperatures=(0.2, 1.0))
    lost = (table["scenario"] == "odd") & (np.arange(len(table)) % 5 == 0)
    table.loc[lost, "response"] = np.nan
    found = analyze_biases(table, valid=5)
    factors = found.attrition_by_factor["factor"].tolist()
    assert factors == ["condition", "item", "scenario", "temperature"]
    check(found.attrition_by_factor, table, table["response"].isna(), "scenario")
    assert any("unevenly over scenario" in line for line in biases_report(found).problems)


@pytest.mark.thorough
@pytest.mark.slow
def test_cards() -> None:
    table = simulate_cards(sets=80)
    trials = table.drop_duplicates("trial")
    lost = trials.loc[(trials["ordering"] == "reversed") & (np.arange(len(trials)) % 4 == 0), "trial"]
    gone = table["trial"].isin(lost)
    table = lose(table, gone)
    found = analyze_conjoint(table)
    asked = table.assign(options=table.groupby("trial")["option"].transform("size")).drop_duplicates("trial")
    check(found.attrition_by_factor, asked, asked["outcome"] != "choice", "ordering")
    assert any(
        "choices go missing unevenly over ordering" in line for line in conjoint_report(found).problems
    )


def frame(levels: "list[int]", sets: "list[int]") -> pd.DataFrame:
    return pd.DataFrame({"agent": "a", "factor": levels, "set": sets})


def test_within_choice_sets_it_is_the_generalised_mantel_haenszel_test() -> None:
    """By hand from the hypergeometric means and covariances of each set."""
    rng = np.random.default_rng(3)
    asked = frame(rng.integers(3, size=240).tolist(), np.repeat(range(6), 40).tolist())
    missing = pd.Series(rng.random(240) < 0.1 + 0.15 * asked["set"]) | asked["set"].eq(5)
    apart, spread = np.zeros(3), np.zeros((3, 3))
    for _, own in asked.groupby("set"):
        lost, n = missing[own.index], len(own)
        sizes = np.bincount(own["factor"], minlength=3)
        found = stats.multivariate_hypergeom(sizes, int(lost.sum()))
        apart += np.bincount(own["factor"][lost], minlength=3) - found.mean()
        spread += found.cov() if 0 < lost.sum() < n else 0
    statistic = apart[:2] @ np.linalg.solve(spread[:2, :2], apart[:2])
    row = by_factor(asked, missing, ["factor"], "set").iloc[0]
    assert row["note"] == "Mantel-Haenszel within choice sets, 2 df"
    assert (row["statistic"], row["p_value"]) == pytest.approx((statistic, stats.chi2.sf(statistic, 2)))


def test_what_differs_between_choice_sets_is_tested_over_whole_sets() -> None:
    """Of eight sets three are lost, all at one of two levels: 8 of 56 exchanges are as uneven."""
    sets = np.repeat(range(8), 30)
    asked = frame((sets >= 4).astype(int).tolist(), sets.tolist())
    row = by_factor(asked, pd.Series(np.isin(sets, [4, 5, 6])), ["factor"], "set").iloc[0]
    assert row["p_value"] == pytest.approx(8 / 56, abs=0.03)
    even = by_factor(asked, pd.Series(np.tile([True, False, False], 80)), ["factor"], "set")
    assert even["p_value"].item() == 1
