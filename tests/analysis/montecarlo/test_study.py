"""The Monte-Carlo analysis as a whole: frames, JSON, sections and figures."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from analysis.montecarlo.report import report
from analysis.montecarlo.study import MonteCarloAnalysis, analyze_montecarlo
from analysis.reporting.human_values import HUMAN_CORRELATION
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS

Valuations = Callable[..., pd.DataFrame]
Check = Callable[[Figure], None]
AGENTS = ("llama-2-7b", "llama-3-8b", r"$\frac{$ <b>& a name that is much too long for any margin")


@pytest.fixture(scope="module")
def analysis(valuations: Valuations) -> MonteCarloAnalysis:
    table = valuations(1, agents=AGENTS)
    table.loc[:4, ["response", "reason"]] = [np.nan, "two numbers"]
    return analyze_montecarlo(table, generations={AGENTS[0]: "2", AGENTS[1]: "3"})


@pytest.mark.thorough
@pytest.mark.slow
def test_estimates_have_the_columns_of_every_estimator(analysis: MonteCarloAnalysis) -> None:
    plain = {"missing", "readings", "generation_cells"}
    for name, value in vars(analysis).items():
        if isinstance(value, pd.DataFrame) and name not in plain:
            assert tuple(value.columns[: len(FRAME_COLUMNS)]) == FRAME_COLUMNS, name
            adjusted = value["p_adjusted"].notna().any()
            assert adjusted == (name in ("coefficients", "list_price", "attrition_by_factor")), name
            unexplained = value["estimate"].isna() & value["statistic"].isna() & (value["note"] == "")
            assert set(value.loc[unexplained, "term"]) <= {"Residual"}, name
            if "p_value" in value and value["p_value"].notna().any():
                if name == "attrition_by_factor":
                    continue
                assert value.loc[value["p_value"].notna(), "side"].isin(["two-sided", "upper tail"]).all()
                assert value.loc[value["p_value"].notna(), "unit"].isin(["response", "prompt"]).all()


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


def test_json_has_null_for_what_is_undefined(analysis: MonteCarloAnalysis) -> None:
    text = analysis.to_json()
    assert "NaN" not in text and "Infinity" not in text
    document = json.loads(text)
    assert document["missing"] == [
        {"agent": AGENTS[0], "item": "docking station", "condition": "control", "reason": "two numbers"}
        | {"count": 5, "asked": 20}
    ]
    assert [row["n_missing"] for row in document["mapd"] if row["group"] == AGENTS[0]] == [5]
    assert document["variation"][0]["statistic"] is None


@pytest.mark.thorough
@pytest.mark.slow
def test_sections_cover_the_frames_and_cut_nothing(analysis: MonteCarloAnalysis, check_uncut: Check) -> None:
    sections = report(analysis).sections
    tables = {table.name for section in sections for table in section.tables}
    frames = {name for name, value in vars(analysis).items() if isinstance(value, pd.DataFrame)}
    assert tables == frames - {"readings"}, "of these tables it is not known how answers were read"
    figures = {figure.name: figure.figure for section in sections for figure in section.figures}
    expected = {"wtp", "variation", "csvr", "mapd", "generations", "correlations", "power"}
    assert set(figures) == expected
    for figure in figures.values():
        check_uncut(figure)


def test_the_figure_of_correlations_shows_the_human_value(analysis: MonteCarloAnalysis) -> None:
    (section,) = [section for section in report(analysis).sections if "anchor" in section.title]
    axes = section.figures[0].figure.axes[0]
    lines = {tuple(np.asarray(line.get_xdata()).tolist()) for line in axes.lines}
    assert (HUMAN_CORRELATION, HUMAN_CORRELATION) in lines
    drawn = {x for xs in lines for x in xs}
    assert set(analysis.correlations["estimate"].dropna()) <= drawn


@pytest.mark.slow
def test_one_agent_and_one_product_work(valuations: Valuations, check_uncut: Check) -> None:
    table = valuations(agents=("alpha",))
    analysis = analyze_montecarlo(table[table["item"] == "coffee pods"])
    assert analysis.comparisons.empty and analysis.generation_tests.empty
    assert "With one agent, tests between agents are empty." in analysis.notes
    h2 = analysis.anova[analysis.anova["hypothesis"] == "H2"]
    assert h2["statistic"].isna().all() and (h2["note"] != "").all()
    for section in report(analysis).sections:
        for figure in section.figures:
            check_uncut(figure.figure)


@pytest.mark.slow
def test_without_any_response_everything_is_empty_with_a_reason(
    valuations: Valuations, check_uncut: Check
) -> None:
    table = valuations(repeats=2).assign(response=np.nan, reason="refused")
    analysis = analyze_montecarlo(table)
    for frame in (analysis.prompts, analysis.variation, analysis.csvr, analysis.mapd, analysis.list_price):
        assert frame["estimate"].isna().all() and (frame["note"] != "").all() and frame["n"].eq(0).all()
    assert analysis.missing["count"].sum() == len(table)
    for section in report(analysis).sections:
        for figure in section.figures:
            check_uncut(figure.figure)


@pytest.mark.thorough
@pytest.mark.slow
def test_huge_values_stay(valuations: Valuations, check_uncut: Check) -> None:
    table = valuations(2)
    table.loc[0, "response"] = 1e9
    analysis = analyze_montecarlo(table)
    assert analysis.prompts["estimate"].max() > 1e7
    for section in report(analysis).sections:
        for figure in section.figures:
            check_uncut(figure.figure)


@pytest.mark.slow
def test_the_condition_of_the_first_hypothesis_is_printed(valuations: Valuations) -> None:
    analysis = analyze_montecarlo(valuations(), condition="all")
    assert set(analysis.list_price["condition"]) == {"all"}
    with pytest.raises(AnalysisError, match="'placebo' is not in the table"):
        analyze_montecarlo(valuations(), condition="placebo")


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
def test_impossible_tables_are_refused(
    valuations: Valuations, change: dict[str, object], message: str
) -> None:
    table = valuations(repeats=3)
    for name, value in change.items():
        table.loc[7, name] = value
    with pytest.raises(AnalysisError, match=message) as caught:
        analyze_montecarlo(table)
    assert str(caught.value).startswith("table: row 8: ")


@pytest.mark.slow
def test_the_design_of_the_published_study(
    checks: Callable[[str], dict[str, list[dict[str, object]]]],
) -> None:
    (check,) = [c for c in checks("montecarlo")["checks"] if c["group"] == "meta_counts"]
    inputs, expected = check["inputs"], check["expected"]
    assert isinstance(inputs, dict) and isinstance(expected, dict)
    names = [f"model {i}" for i in range(inputs["models"])]
    shape = [names, range(inputs["products"]), ("control", "high", "low"), range(inputs["samples"])]
    index = pd.MultiIndex.from_product(shape, names=["agent", "item", "condition", "repeat"])
    table = index.to_frame(index=False)
    table = table.assign(trial=table.index.astype(str), response=1.0 + table["repeat"] % 2)
    assert len(table) == expected["full"]
    half = table[(table["agent"] != names[0]) | (table["repeat"] < inputs["samples"] // 2)].copy()
    assert len(half) == expected["with_sonnet_half"]
    half.loc[half.index[: expected["missing"]], "response"] = np.nan
    analysis = analyze_montecarlo(half.assign(reference=2.0))
    assert analysis.prompts["n"].sum() == expected["published_N"]
    assert analysis.missing["count"].sum() == expected["missing"]
