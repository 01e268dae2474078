"""The Monte-Carlo analysis as a whole: frames, JSON, sections and figures."""

import numpy as np
import pytest

from analysis.montecarlo.report import report
from analysis.montecarlo.study import MonteCarloAnalysis, analyze_montecarlo
from analysis.reporting.human_values import HUMAN_CORRELATION
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import check_figures, simulate_valuations

AGENTS = ("llama-2-7b", "llama-3-8b", r"$\frac{$ <b>& a name that is much too long for any margin")


@pytest.fixture(scope="module")
def analysis() -> MonteCarloAnalysis:
    table = simulate_valuations(1, agents=AGENTS)
    table.loc[:4, ["response", "reason"]] = [np.nan, "two numbers"]
    return analyze_montecarlo(table, generations={AGENTS[0]: "2", AGENTS[1]: "3"})


def test_families_of_adjusted_p_values(analysis: MonteCarloAnalysis) -> None:
    """The anchors of an agent; the products of an agent, and the row over all of them by itself."""
    own = analysis.coefficients[analysis.coefficients["group"] == AGENTS[0]]
    assert own.loc[own["term"] == "Intercept", "p_adjusted"].isna().all()
    anchors = own[own["term"] != "Intercept"].sort_values("p_value")
    first, second = anchors["p_value"]
    assert anchors["p_adjusted"].tolist() == pytest.approx([min(2 * first, second), second])
    prices = analysis.list_price[analysis.list_price["group"] == AGENTS[0]].set_index("item")
    overall = prices.loc["all products"]
    assert overall["p_adjusted"] == overall["p_value"]
    products = prices.drop(index="all products").sort_values("p_value")
    steps = products["p_value"] * len(products) / np.arange(1, len(products) + 1)
    assert products["p_adjusted"].tolist() == pytest.approx(steps[::-1].cummin()[::-1].tolist())


def test_answers_in_another_unit_are_told() -> None:
    """Two in a hundred, ten times too high, leave the interval of the mean half of its coverage."""
    table = simulate_valuations(3, agents=("alpha",), sd=1.0)
    assert not [line for line in report(analyze_montecarlo(table)).problems if "median" in line]
    table.loc[::50, "response"] *= 10
    told = [line for line in report(analyze_montecarlo(table)).problems if "median" in line]
    assert told and told[0].startswith(f"alpha: {len(table.loc[::50])} responses more than 5 times above")


def test_the_figure_of_correlations_shows_the_human_value(analysis: MonteCarloAnalysis) -> None:
    (section,) = [section for section in report(analysis).sections if "anchor" in section.title]
    axes = section.figures[0].figure.axes[0]
    lines = {tuple(np.asarray(line.get_xdata()).tolist()) for line in axes.lines}
    assert (HUMAN_CORRELATION, HUMAN_CORRELATION) in lines
    drawn = {x for xs in lines for x in xs}
    assert set(analysis.correlations["estimate"].dropna()) <= drawn


@pytest.mark.slow
def test_one_agent_and_one_product_work() -> None:
    table = simulate_valuations(agents=("alpha",))
    analysis = analyze_montecarlo(table[table["item"] == "coffee pods"])
    assert analysis.comparisons.empty and analysis.generation_tests.empty
    assert "With one agent, tests between agents are empty." in analysis.notes
    h2 = analysis.anova[analysis.anova["hypothesis"] == "H2"]
    assert h2["statistic"].isna().all() and (h2["note"] != "").all()
    check_figures(report(analysis))


@pytest.mark.slow
def test_without_any_response_everything_is_empty_with_a_reason() -> None:
    table = simulate_valuations(repeats=2).assign(response=np.nan, reason="refused")
    analysis = analyze_montecarlo(table)
    for frame in (analysis.prompts, analysis.variation, analysis.csvr, analysis.mapd, analysis.list_price):
        assert frame["estimate"].isna().all() and (frame["note"] != "").all() and frame["n"].eq(0).all()
    assert analysis.missing["count"].sum() == len(table)
    check_figures(report(analysis))


@pytest.mark.thorough
@pytest.mark.slow
def test_huge_values_stay() -> None:
    table = simulate_valuations(2)
    table.loc[0, "response"] = 1e9
    analysis = analyze_montecarlo(table)
    assert analysis.prompts["estimate"].max() > 1e7
    check_figures(report(analysis))


@pytest.mark.slow
def test_the_condition_of_the_first_hypothesis_is_printed() -> None:
    analysis = analyze_montecarlo(simulate_valuations(), condition="all")
    assert set(analysis.list_price["condition"]) == {"all"}
    with pytest.raises(AnalysisError, match="'placebo' is not in the table"):
        analyze_montecarlo(simulate_valuations(), condition="placebo")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"condition": "placebo"}, "condition: 'placebo' is unknown; use control or low or high"),
        ({"reference": -5.0}, "row 8: reference: '-5.0' is below 0; correct it"),
        ({"reference": 5.0}, "reference differs between rows of the same item; use one"),
        ({"high": 900.0}, "high differs between rows of the same item; use one"),
        ({"response": -1.0}, "response is below 0"),
    ],
)
def test_impossible_tables_are_refused(change: dict[str, object], message: str) -> None:
    table = simulate_valuations(repeats=3)
    for name, value in change.items():
        table.loc[7, name] = value
    with pytest.raises(AnalysisError, match=message) as caught:
        analyze_montecarlo(table)
    assert str(caught.value).startswith("table: row 8: ")
