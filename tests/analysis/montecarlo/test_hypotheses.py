"""Hypotheses on willingness to pay: against SciPy and statsmodels on the raw rows, labels, coverage."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from analysis.montecarlo.hypotheses import (
    ALL_AGENTS,
    ALL_ITEMS,
    agent_comparisons,
    anovas,
    condition_coefficients,
    generation_model,
    list_price_tests,
    version_key,
)
from analysis.montecarlo.valuation import measures, prompts
from analysis.tables.errors import AnalysisError
from analysis.tables.responses_table import check_responses
from analysis.tables.sizes import model_sizes
from tests.analysis.conftest import simulate_valuations


@pytest.fixture
def table() -> pd.DataFrame:
    """Three agents; every seventh response is missing."""
    raw = simulate_valuations(3, agents=("alpha", "beta", "gamma"))
    raw.loc[::7, "response"] = np.nan
    return measures(check_responses(raw))


@pytest.mark.thorough
@pytest.mark.parametrize("condition", ["control", "high", "all"])
def test_deviation_from_the_list_price(table: pd.DataFrame, condition: str) -> None:
    frame = list_price_tests(table, condition)
    assert set(frame["condition"]) == {condition} and set(frame["side"]) == {"two-sided"}
    used = table if condition == "all" else table[table["condition"] == condition]
    assert len(frame) == 4 * 4
    for row in frame.itertuples():
        own = used[(row.group == ALL_AGENTS) | (used["agent"] == row.group)]
        own = own[(row.item == ALL_ITEMS) | (own["item"] == row.item)]
        deviations = (own["response"] - own["reference"]).dropna()
        expected = stats.ttest_1samp(deviations, 0)
        assert (row.statistic, row.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        assert row.effect_size == pytest.approx(deviations.mean() / deviations.std())
        assert (row.n, row.n_missing) == (len(deviations), len(own) - len(deviations))


def test_an_absent_condition_is_refused(table: pd.DataFrame) -> None:
    with pytest.raises(
        AnalysisError, match="condition: 'placebo' is not in the table; use all or one of: con"
    ):
        list_price_tests(table, "placebo")


@pytest.mark.thorough
@pytest.mark.slow
def test_anovas_agree_with_statsmodels(table: pd.DataFrame) -> None:
    frame = anovas(table)
    formulas = {
        ("H2", "apd"): "apd ~ {agent}",
        ("H3", "wtp"): "response ~ {condition}",
        ("H4", "wtp"): "response ~ {condition} * {agent}",
        ("H4", "apd"): "apd ~ {condition} * {agent}",
    }
    for coding in ("treatment", "sum"):
        names = {n: f"C({n})" if coding == "treatment" else f"C({n}, Sum)" for n in ("agent", "condition")}
        for (hypothesis, outcome), formula in formulas.items():
            model = smf.ols(formula.format(**names), table.dropna(subset="response")).fit()
            expected = anova_lm(model, typ=3)
            own = frame[(frame["hypothesis"] == hypothesis) & (frame["outcome"] == outcome)]
            own = own[(own["coding"] == coding) & (own["group"] == ALL_AGENTS)]
            assert own["sum_sq"].tolist() == pytest.approx(expected["sum_sq"].tolist(), rel=1e-8)
            assert own["statistic"].tolist()[:-1] == pytest.approx(expected["F"].tolist()[:-1], rel=1e-8)
            assert own["p_value"].tolist()[:-1] == pytest.approx(expected["PR(>F)"].tolist()[:-1], rel=1e-6)
            assert set(own["df_residual"].dropna()) == {model.df_resid}
            assert set(own["n_missing"]) == {int(table["response"].isna().sum())}
    references = frame[frame["coding"] == "treatment"].groupby("hypothesis")["reference"].first()
    assert references.to_dict() == {"H2": "alpha", "H3": "control", "H4": "control, alpha"}


def test_one_agent_or_an_empty_cell_leaves_tests_undefined(table: pd.DataFrame) -> None:
    alone = anovas(table[table["agent"] == "alpha"]).set_index("hypothesis")
    assert alone.loc["H2", "note"].tolist() == ["undefined: needs two or more levels of agent"] * 2
    assert alone.loc["H3", "statistic"].notna().any()
    holed = anovas(table[(table["agent"] != "beta") | (table["condition"] != "low")])
    crossed = holed[(holed["hypothesis"] == "H4") & (holed["term"] == "condition:agent")]
    assert crossed["statistic"].isna().all()
    assert crossed["note"].str.endswith("empty cells: low x beta").all()


def test_coefficients_are_differences_from_the_control(table: pd.DataFrame) -> None:
    frame = condition_coefficients(table.replace({"condition": {"high": "a high one"}}))
    for group, own in frame.groupby("group"):
        rows = table if group == ALL_AGENTS else table[table["agent"] == group]
        means = rows.groupby("condition")["response"].mean()
        estimates = own.set_index("term")["estimate"]
        assert estimates["Intercept"] == pytest.approx(means["control"])
        assert estimates["condition[a high one]"] == pytest.approx(means["high"] - means["control"])
        assert estimates["condition[low]"] == pytest.approx(means["low"] - means["control"])
        fit = smf.ols("response ~ C(condition)", rows).fit()
        assert own["std_error"].tolist() == pytest.approx(fit.bse.tolist())
        assert own[["conf_low", "conf_high"]].to_numpy() == pytest.approx(fit.conf_int().to_numpy())
        assert set(own["df"]) == {fit.df_resid}


def test_without_a_control_there_are_no_differences(table: pd.DataFrame) -> None:
    frame = condition_coefficients(table[table["condition"] != "control"])
    assert frame["estimate"].isna().all() and frame["note"].str.startswith("undefined: needs control").all()


def test_comparisons_of_the_same_prompts_are_paired(table: pd.DataFrame) -> None:
    """A prompt that one of the two did not answer is in no pair."""
    cells = prompts(table)
    lost = cells[(cells["group"] == "beta") & (cells.index % 5 == 0)].index
    frame = agent_comparisons(table, cells.drop(lost))
    assert frame["method"].tolist()[-3:] == ["paired"] * 3
    row = frame[(frame["term"] == "beta - alpha") & (frame["method"] == "paired")].iloc[0]
    both = cells.drop(lost).merge(cells[cells["group"] == "alpha"], on=["item", "condition"])
    both = both[both["group_x"] == "beta"]
    expected = stats.ttest_rel(both["mean_apd_x"], both["mean_apd_y"])
    assert 3 < len(both) < len(cells) / 3
    assert (row["statistic"], row["p_value"], row["df"]) == pytest.approx(
        (expected.statistic, expected.pvalue, expected.df)
    )
    ends = expected.confidence_interval()
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((ends.low, ends.high))
    differences = both["mean_apd_x"] - both["mean_apd_y"]
    assert row["estimate"] == pytest.approx(differences.mean())
    assert row["effect_size"] == pytest.approx(differences.mean() / differences.std())


def test_comparisons_by_three_methods(table: pd.DataFrame) -> None:
    cells = prompts(table)
    frame = agent_comparisons(table, cells)
    assert frame["term"].unique().tolist() == ["beta - alpha", "gamma - alpha", "gamma - beta"]
    rows = frame[frame["term"] == "beta - alpha"].set_index(["method", "unit"])
    by_response = [table.loc[table["agent"] == agent, "apd"].dropna() for agent in ("alpha", "beta")]
    by_prompt = [cells.loc[cells["group"] == agent, "mean_apd"] for agent in ("alpha", "beta")]
    for (method, unit), (first, second) in {
        ("Welch", "prompt"): by_prompt,
        ("Welch", "response"): by_response,
        ("Student", "response"): by_response,
    }.items():
        expected = stats.ttest_ind(second, first, equal_var=method == "Student")
        row = rows.loc[(method, unit)]
        assert (row["statistic"], row["p_value"], row["df"]) == pytest.approx(
            (expected.statistic, expected.pvalue, expected.df)
        )
        pooled = np.sqrt((first.var() + second.var()) / 2)
        assert row["effect_size"] == pytest.approx((second.mean() - first.mean()) / pooled)
        assert row["percent_change"] == pytest.approx(100 * (second.mean() / first.mean() - 1))


def test_a_change_from_nothing_has_no_percentage(table: pd.DataFrame) -> None:
    exact = table.assign(apd=table["apd"].where(table["agent"] != "alpha", 0.0))
    frame = agent_comparisons(exact, prompts(exact))
    own = frame[frame["first"] == "alpha"]
    assert own["percent_change"].isna().all() and own["note"].str.contains("no percentage of 0").all()


def test_generations_are_compared_within_families(table: pd.DataFrame) -> None:
    table = table.assign(family=table["agent"].map({"alpha": "x", "beta": "x", "gamma": "y"}))
    frame = agent_comparisons(table, prompts(table), {"alpha": "10", "beta": "3.1", "gamma": "2"})
    assert frame["term"].unique().tolist() == ["alpha - beta"]


def test_generations_are_ordered_as_numbers() -> None:
    assert sorted(["10", "3.3", "4", "3.1", "3"], key=version_key) == ["3", "3.1", "3.3", "4", "10"]
    assert sorted(["v2", "beta", "1"], key=version_key) == ["1", "beta", "v2"]


def test_the_generation_model_of_a_crossed_design() -> None:
    agents = ("one-7b", "one-70b", "two-7b", "two-70b")
    table = measures(check_responses(simulate_valuations(4, agents=agents)))
    generations = {agent: agent.partition("-")[0] for agent in agents}
    tests, coefficients, cells, slopes = generation_model(table, generations, model_sizes(agents))
    raw = table.assign(
        generation=table["agent"].map(generations), size=table["agent"].map(model_sizes(agents))
    )
    model = smf.ols("apd ~ C(generation) * C(condition) * size", raw).fit()
    found = coefficients["estimate"].tolist()
    assert sorted(found) == pytest.approx(sorted(model.params.tolist()), rel=1e-7)
    expected = anova_lm(model, typ=3)
    assert sorted(tests["sum_sq"]) == pytest.approx(sorted(expected["sum_sq"]), rel=1e-6)
    assert len(cells) == 12 and cells["n"].sum() == len(table)
    for row in slopes.to_dict("records"):
        formula = (
            f"apd ~ C(generation, Treatment('{row['generation']}'))"
            f" * C(condition, Treatment('{row['condition']}')) * size"
        )
        other = smf.ols(formula, raw).fit()
        assert row["estimate"] == pytest.approx(other.params["size"], rel=1e-6, abs=1e-9)
        assert [row["conf_low"], row["conf_high"]] == pytest.approx(other.conf_int().loc["size"].tolist())
        for end in ("low", "high"):
            at = {name: row[name] for name in ("generation", "condition")} | {"size": row[f"size_{end}"]}
            assert row[f"expected_{end}"] == pytest.approx(model.predict(pd.DataFrame([at])).item())
        own = raw.loc[raw["generation"] == row["generation"], "size"]
        assert (row["size_low"], row["size_high"]) == (own.min(), own.max())
    assert len(slopes) == 6


def test_one_size_per_generation_is_refused() -> None:
    agents = ("one-7b", "two-70b", "unknown")
    table = measures(check_responses(simulate_valuations(4, agents=agents)))
    tests, coefficients, cells, slopes = generation_model(
        table, {agent: agent for agent in agents}, model_sizes(agents)
    )
    residual = tests.set_index("term").loc["Residual"]
    assert residual["df"] == residual["n"] - 6, "the true rank is the number of cells"
    refused = coefficients[coefficients["estimate"].isna()]
    assert len(refused) == 12 and refused["p_value"].isna().all()
    assert refused["note"].str.startswith("not estimable").all()
    assert set(cells["generation"]) == {"one-7b", "two-70b"}
    assert slopes["estimate"].isna().all() and slopes["note"].str.startswith("not estimable").all()
    assert set(tests["n_missing"]) == {int((table["agent"] == "unknown").sum())}


def test_without_sizes_the_generation_model_says_so(table: pd.DataFrame) -> None:
    tests, coefficients, _, _ = generation_model(table, {"alpha": "1", "beta": "2"}, {})
    assert "does not vary" in tests["note"].item() and "does not vary" in coefficients["note"].item()
