"""The bias analysis as a whole: frames, options, JSON, sections and figures."""

import numpy as np
import pandas as pd
import pytest

from analysis.biases.batteries import BIASES, CHOICES
from analysis.biases.report import report
from analysis.biases.study import BiasAnalysis, analyze_biases
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import check_figures, simulate_answers

AGENTS = ("one-7b", r"$\frac{$ <b>& a name that is much too long for any margin")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """All biases; sunk cost is completely separated, and one agent gives no answer on endowment."""
    rng = np.random.default_rng(0)
    flat = ([0.0] * 5, [0.0] * 5)
    found = simulate_answers(
        dict.fromkeys(BIASES, flat), agents=AGENTS, scenarios=("base", "odd"), temperatures=(0.2, 1.0)
    )
    treated = found["condition"] == "treatment"
    noisy = rng.normal(50, 10, len(found)) + 5 * treated
    chosen = (rng.random(len(found)) < 0.4 + 0.2 * treated).astype(float)
    found["response"] = np.where(found["item"].isin(CHOICES), chosen, noisy)
    found["response"] = found["response"].mask(found["item"] == "sunk-cost", treated.astype(float))
    silent = (found["item"] == "endowment") & (found["agent"] == AGENTS[0])
    return found.assign(
        response=found["response"].mask(silent), reason=np.where(silent, "letter for a number", "")
    )


@pytest.fixture(scope="module")
def analysis(table: pd.DataFrame) -> BiasAnalysis:
    return analyze_biases(table, valid=5)


def test_p_values_are_adjusted_over_the_experiments_of_all_agents(analysis: BiasAnalysis) -> None:
    every = analysis.experiments
    tested = every[every["p_value"].notna()].sort_values("p_value")
    steps = tested["p_value"] * len(tested) / np.arange(1, len(tested) + 1)
    expected = steps[::-1].cummin()[::-1]
    assert tested["group"].nunique() > 1
    assert tested["p_adjusted"].to_numpy() == pytest.approx(expected.to_numpy())
    assert every.loc[every["p_value"].isna(), "p_adjusted"].isna().all()
    for frame in (analysis.index, analysis.regressions, analysis.importances):
        assert frame["p_adjusted"].isna().all()


def test_what_is_left_out_is_counted(analysis: BiasAnalysis) -> None:
    index = analysis.index.set_index(["term", "group"])
    assert index.loc[("endowment", AGENTS[0]), "incomplete"] == 4
    assert (index.loc["sunk-cost", "separated"] == 4).all()
    assert index.loc["sunk-cost", "estimate"].isna().all()
    assert analysis.missing["count"].sum() == 40
    notes = " ".join(analysis.notes)
    assert "40 of 640 responses are missing." in notes
    assert "4 of 64 experiments are incomplete (fewer than 5 valid responses to a question)." in notes
    assert "8 experiments completely separated, undefined and left out of the means." in notes
    assert "framing, transaction-utility" in notes


@pytest.mark.slow
def test_options_reach_the_numbers(table: pd.DataFrame, analysis: BiasAnalysis) -> None:
    other = analyze_biases(table, valid=5, population=True, legacy_zero=True, absolute_biases=())
    ratio = other.experiments["estimate"] / analysis.experiments["estimate"]
    assert ratio.dropna().to_numpy() == pytest.approx(np.sqrt(5 / 4))
    sunk = other.experiments[other.experiments["term"] == "sunk-cost"]
    assert (sunk["estimate"] == 0).all() and sunk["separated"].all()
    assert "divisor n (population)" in " ".join(other.notes) and "counts for: no bias" in other.notes[-1]
    assert analyze_biases(table).experiments["estimate"].isna().all(), "100 valid answers are the default"


def test_the_heatmap_says_what_is_undefined(analysis: BiasAnalysis) -> None:
    axes = report(analysis).sections[0].figures[0].figure.axes[0]
    cells = len(AGENTS) * len(BIASES)
    assert len(axes.texts) == cells - 3 and len(axes.patches) == 3
    assert "hatched: undefined" in axes.get_title(loc="left")


def test_a_small_table_without_scenarios_works() -> None:
    table = simulate_answers({"anchoring": ([1.0, 2.0], [2.0, 4.0])}).drop(
        columns=["scenario", "temperature", "family"]
    )
    analysis = analyze_biases(table, valid=2)
    assert analysis.experiments["scenario"].tolist() == ["base"]
    check_figures(report(analysis))


def test_impossible_tables_are_refused() -> None:
    table = simulate_answers({"anchoring": ([1.0], [2.0])})
    with pytest.raises(AnalysisError, match="'low' is unknown; use control or treatment"):
        analyze_biases(table.assign(condition="low"))
    with pytest.raises(AnalysisError, match="valid: 0 is not a count"):
        analyze_biases(table, valid=0)
    chosen = simulate_answers({"framing": ([1.0, 0.0], [1.0, 2.0])})
    with pytest.raises(AnalysisError, match=r"row 4: trial .*: response to a choice is neither 1 .* nor 0"):
        analyze_biases(chosen)
    assert len(analyze_biases(chosen.assign(kind="number"), valid=2).experiments) == 1
    with pytest.raises(AnalysisError, match=r"row 2: trial .*: response to a choice"):
        analyze_biases(simulate_answers({"mine": ([1.0, 3.0], [1.0, 0.0])}).assign(kind="choice"))
    with pytest.raises(AnalysisError, match="kind: 'letter' is unknown; use number or choice"):
        analyze_biases(chosen.assign(kind="letter"))


def test_the_names_of_the_source_give_the_same_analysis() -> None:
    groups = {"framing": ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]), "sunk-cost": ([0.0, 0.0, 1.0], [1.0, 1.0, 0.0])}
    table = simulate_answers(groups)
    named = table.assign(item=table["item"].map({"framing": "Framing Effect", "sunk-cost": "sunk cost"}))
    one, other = (analyze_biases(each, valid=3) for each in (table, named))
    assert one.to_json() == other.to_json()
    with pytest.raises(AnalysisError, match=r"is neither 1 .* nor 0"):
        analyze_biases(named.assign(response=2.0), valid=3)
    both = pd.concat([table, named], ignore_index=True)
    with pytest.raises(AnalysisError, match="the same question appears twice"):
        analyze_biases(both, valid=3)
