"""Facts of models beside what a study found: other computations give the same, and errors name the cell."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.reporting.by_model import _slopes, by_model, correlations, read_models
from analysis.tables.errors import AnalysisError

TABLE = """\
agent,release,parameters,licence
a,2025-01,7,open
 b ,2025-07-02,70,open
c,2026-01,,closed
d,2026-07,400,open
e,2024-01,1,open
"""


@pytest.fixture
def models(tmp_path: Path) -> pd.DataFrame:
    (tmp_path / "models.csv").write_text(TABLE)
    return read_models(tmp_path / "models.csv")


def measured(*estimates: float) -> pd.DataFrame:
    found = pd.DataFrame({"term": "nudged", "group": list("abcdef")[: len(estimates)], "estimate": estimates})
    return found.assign(conf_low=found["estimate"] - 1, conf_high=found["estimate"] + 1)


def test_numbers_and_dates_are_covariates_and_words_are_not(models: pd.DataFrame) -> None:
    assert list(models) == ["release", "parameters"]
    assert models["release"].to_list() == pytest.approx([2025, 2025.5, 2026, 2026.5, 2024], abs=0.005)
    assert np.isnan(models.loc["c", "parameters"])


def test_the_correlation_is_that_of_all_orders_of_the_agents(models: pd.DataFrame) -> None:
    values = measured(3.0, 9.0, 4.0, 12.0, -1.0)
    found = correlations(values, models).set_index("covariate")
    y, x = values["estimate"].to_numpy(), models["release"].to_numpy()
    rho = stats.spearmanr(y, x).statistic
    every = [stats.spearmanr(each, x).statistic for each in permutations(y)]
    tails = np.mean(np.array(every) >= rho - 1e-9), np.mean(np.array(every) <= rho + 1e-9)
    p = min(1.0, 2 * min(tails))
    assert found.loc["release", "estimate"] == pytest.approx(rho)
    assert found.loc["release", "p_value"] == pytest.approx(p)
    slopes = [(y[i] - y[j]) / (x[i] - x[j]) for i in range(5) for j in range(i)]
    assert found.loc["release", "slope"] == pytest.approx(np.median(slopes))
    assert found.loc["parameters", ["n", "n_missing"]].tolist() == [4, 1]


@pytest.mark.parametrize("agents", [4, 5, 6, 12])
@pytest.mark.parametrize("rounded", [False, True])
def test_the_interval_of_a_slope_holds_it_with_few_agents_and_equal_values(
    agents: int, rounded: bool
) -> None:
    rng, held = np.random.default_rng(7), []
    for _ in range(400):
        x = rng.normal(size=agents)
        x = np.round(x) if rounded else x
        if np.ptp(x) == 0:
            continue
        slopes, (low, high) = _slopes(x + rng.normal(size=agents), x)
        held.append(np.isnan(low) or low <= 1 <= high)
        assert np.isnan(low) or low <= np.median(slopes) <= high
        assert agents > 4 or np.isnan(low)  # with four no interval holds 95 %
    assert np.mean(held) > 0.93


def test_without_equal_values_the_interval_is_that_of_sen() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    expected, (slopes, ends) = stats.theilslopes(y, x), _slopes(y, x)
    assert np.median(slopes) == pytest.approx(expected.slope)
    assert ends == pytest.approx((expected.low_slope, expected.high_slope), abs=0.03)


def test_few_agents_and_equal_values_have_no_correlation(models: pd.DataFrame) -> None:
    few = correlations(measured(1.0, 2.0, 3.0), models)
    assert few["estimate"].isna().all() and few["note"].str.contains("needs 4").all()
    equal = correlations(measured(1.0, 1.0, 1.0, 1.0, 1.0), models)
    assert equal["p_value"].isna().all() and equal["note"].str.contains("same value").all()


def test_an_agent_without_a_row_is_told(models: pd.DataFrame) -> None:
    section = by_model({"effects": measured(1, 2, 3, 4, 5, 6)}, {"effects": "estimate"}, models)
    assert "left out: f." in section.text
    assert "Columns without a number or date, and so left out: licence." in section.text
    assert len(section.figures) == 2
    assert section.figures[0].svg.count("<svg") == 1
    with pytest.raises(AnalysisError, match=r"models\.csv: none of its agents is in the study"):
        by_model({"effects": measured(1.0)}, {"effects": "estimate"}, models.drop(index="a"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent,x\na,1\nb,much\n", r"models\.csv:3: x: 'much' is no number and no date"),
        ("agent,x\na,1\na,2\n", r"models\.csv:3: agent: empty, or named before"),
        ("agent,x\na,open\n", "no column of numbers or dates"),
        ("model,x\na,1\n", "no column 'agent'"),
        ("agent,x\na,2025-13\nb,1\n", r"models\.csv:2: x: '2025-13' is no number"),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "models.csv").write_text(text)
    with pytest.raises(AnalysisError, match=message) as caught:
        read_models(tmp_path / "models.csv")
    assert "\n" not in str(caught.value)
