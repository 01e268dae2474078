"""Measures of willingness to pay: by hand, published correlations, undefined cases, coverage."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.shares import FEW_EXCEPTIONS
from analysis.montecarlo.hypotheses import agent_comparisons
from analysis.montecarlo.valuation import (
    anchor_correlation,
    anchor_correlations,
    measures,
    price_deviation,
    prompts,
    valid_share,
    variation,
)
from analysis.tables.frame import Floats
from analysis.tables.responses_table import check_responses
from tests.analysis.conftest import published
from tests.support import size


def rows(
    cells: dict[tuple[str, str], list[float]], *, agent: str = "alpha", price: float = 10.0
) -> pd.DataFrame:
    """Checked responses by (item, condition), with a market range of 5 to 15."""
    answers = [(*cell, repeat, value) for cell, own in cells.items() for repeat, value in enumerate(own)]
    table = pd.DataFrame(answers, columns=["item", "condition", "repeat", "response"])
    trial = table[["item", "condition", "repeat"]].astype(str).agg("/".join, axis=1)
    table = table.assign(trial=trial, agent=agent, reference=price, low=5.0, high=15.0)
    return measures(check_responses(table))


def codes(low: list[float], high: list[float], anchors: tuple[float, float] | None = None) -> Any:
    one, two = anchors or (np.nan, np.nan)
    return anchor_correlation(
        pd.DataFrame({"response": low, "anchor": one}, dtype=float),
        pd.DataFrame({"response": high, "anchor": two}, dtype=float),
    )


def test_measures_by_hand() -> None:
    table = rows({("mug", "control"): [5, 15, 15.01, 4.99, np.nan, 400]})
    assert table["valid"].tolist()[:4] == [1, 1, 0, 0]
    assert np.isnan(table["valid"][4]) and table["valid"][5] == 0
    assert table["deviation"].dropna().tolist() == pytest.approx([-5, 5, 5.01, -5.01, 390])
    assert table["apd"].dropna().tolist() == pytest.approx([5, 5, 5.01, 5.01, 390])


def test_missing_responses_are_counted_and_left_out() -> None:
    cell = prompts(rows({("mug", "control"): [8, np.nan, 12]})).iloc[0]
    assert (cell["estimate"], cell["n"], cell["n_missing"]) == (10, 2, 1)
    assert (cell["mean_deviation"], cell["mean_apd"], cell["valid_share"]) == (0, 2, 1)
    low, high = stats.t.interval(0.95, 1, 10, np.sqrt(8 / 2))
    assert (cell["conf_low"], cell["conf_high"]) == pytest.approx((low, high))


def test_prompts_without_or_with_one_or_equal_responses() -> None:
    cells = prompts(
        rows({("a", "control"): [np.nan], ("b", "control"): [9.0], ("c", "control"): [9.0, 9.0]})
    ).set_index("item")
    assert cells["estimate"].tolist()[1:] == [9, 9]
    assert np.isnan(cells.loc["a", "estimate"]) and cells.loc["a", "note"] == "no responses"
    assert cells[["conf_low", "conf_high"]].isna().all(axis=None)
    assert cells["std_dev"].isna().tolist() == [True, True, False]
    assert (cells["note"] != "").all()


def test_coefficient_of_variation() -> None:
    table = rows(
        {
            ("a", "control"): [8, 12],
            ("a", "low"): [1, 100],
            ("b", "control"): [0, 0],
            ("c", "control"): [9, np.nan],
            ("d", "high"): [9, 10],
        }
    )
    frame = variation(table).set_index("item")
    assert frame.loc["a", "estimate"] == pytest.approx(np.sqrt(8) / 10)
    assert frame["estimate"].isna().tolist() == [False, True, True, True]
    # At the rounded-up number, the error of the mean is 2 % of it at most; one answer less is too few.
    for name, wide in (("answers_error", 1.0), ("answers_interval", 1.959964)):
        k = frame.loc["a", name]
        assert wide * np.sqrt(8 / k) <= 0.02 * 10 < wide * np.sqrt(8 / (k - 1))
    assert frame.loc["b", "note"] == "undefined: the mean is 0"
    assert frame.loc["c", "note"] == "undefined: 1 response in the control condition"
    assert frame.loc["c", "n_missing"] == 1
    assert frame.loc["d", "note"] == "undefined: 0 responses in the control condition"


def test_share_of_valid_responses_weighs_prompts_equally() -> None:
    table = rows({("a", "control"): [10] * 4, ("a", "low"): [99, np.nan], ("a", "high"): [np.nan]})
    frame = valid_share(prompts(table)).set_index("interval")
    assert frame["estimate"].tolist() == [0.5] * 3
    assert frame["pooled"].tolist() == [0.8] * 3
    assert frame["prompts"].tolist() == [2] * 3
    assert (frame["n"].tolist(), frame["n_missing"].tolist()) == ([5] * 3, [2] * 3)
    assert "the interval is that of 0.800" in frame.loc["wilson", "note"]
    assert "1 prompt left out" in frame.loc["wald", "note"] and "clipped" in frame.loc["wald", "note"]
    assert (frame.loc["wald", "conf_low"], frame.loc["wald", "conf_high"]) == (0, 1)


def test_the_stratified_interval_is_about_these_prompts() -> None:
    """Each prompt counts alike, and only what its own answers differ in is chance."""
    valid = {("a", "control"): [1, 0] * 30, ("a", "low"): [1] * 20, ("a", "high"): [0, 0, 1] * 8}
    table = rows({prompt: [10.0 if each else 500.0 for each in own] for prompt, own in valid.items()})
    frame = valid_share(prompts(table)).set_index("interval")
    each = [(np.mean(own), np.var(own, ddof=1) / len(own)) for own in valid.values()]
    share, variance = np.mean([mean for mean, _ in each]), sum(own for _, own in each) / 9
    n, z = share * (1 - share) / variance, stats.t.ppf(0.975, 59 + 19 + 23)
    wilson = proportion_confint(share * n, n, 2 * stats.norm.sf(z), method="wilson")
    assert frame.loc["stratified", ["conf_low", "conf_high"]].tolist() == pytest.approx(wilson)
    assert frame.loc["stratified", "note"] == ""
    few = rows({("a", "control"): [10.0] * 30, ("a", "low"): [500.0] * 29 + [10.0]})
    assert valid_share(prompts(few))["note"].tolist()[-1] == FEW_EXCEPTIONS


def test_without_market_ranges_or_prices_the_shares_are_undefined() -> None:
    table = rows({("a", "control"): [10, 11]}).drop(columns=["low", "high", "reference"])
    cells = prompts(measures(check_responses(table.drop(columns=["deviation", "apd", "valid"]))))
    shares, deviations = valid_share(cells), price_deviation(cells)
    assert shares[["estimate", "conf_low", "conf_high"]].isna().all(axis=None)
    assert shares["note"].str.startswith("undefined: no response with a market range").all()
    assert np.isnan(deviations.loc[0, "estimate"])
    assert deviations.loc[0, "note"].startswith("undefined: no response with a list price")


def test_mean_absolute_deviation_over_prompts() -> None:
    table = rows({("a", "control"): [8, 12, 10], ("a", "low"): [4], ("b", "control"): [np.nan]})
    row = price_deviation(prompts(table)).iloc[0]
    mean, sd = np.mean([4 / 3, 6]), np.std([4 / 3, 6], ddof=1)
    assert (row["estimate"], row["std_dev"]) == pytest.approx((mean, sd))
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(
        stats.t.interval(0.95, 1, mean, sd / np.sqrt(2))
    )
    assert (row["prompts"], row["n"], row["n_missing"]) == (2, 4, 1)
    assert "1 prompt left out" in row["note"]
    alone = rows({("a", "control"): [8, 12]})
    single = price_deviation(prompts(alone)).iloc[0]
    assert single["estimate"] == 2 and single["note"] == "one prompt: no interval"
    assert np.isnan(single["conf_low"])


def test_published_correlations() -> None:
    for check in published("wtp_ssn_correlation"):
        i = check["inputs"]
        r, *_ = codes(i["wtp_low"], i["wtp_high"], (i["low_anchor"], i["high_anchor"]))
        assert r == pytest.approx(check["expected"]["r"], abs=check["tol"]["abs"])
        assert codes(i["wtp_low"], i["wtp_high"])[0] == pytest.approx(r, abs=check["tol"]["abs"])


def responses_with(r: float) -> tuple[list[float], list[float]]:
    """Two responses below and above the two conditions' means such that their correlation is r."""
    spread = np.sqrt(1 / r**2 - 1)
    sign = np.sign(r)
    return [20 - sign - spread, 20 - sign + spread], [20 + sign - spread, 20 + sign + spread]


@pytest.mark.slow
def test_published_means_of_correlations() -> None:
    found = published("corr_average")
    overall = next(check for check in found if "model_means" in check["inputs"])
    for check in found:
        if check is overall:
            continue
        i = check["inputs"]
        cells = {}
        for item, r in zip(i["products"], i["r"], strict=True):
            low, high = responses_with(r)
            cells |= {(item, "low"): [100 + v for v in low], (item, "high"): [100 + v for v in high]}
        frame = anchor_correlations(rows(cells)).set_index("unit")
        assert frame.loc["response", "estimate"].tolist() == pytest.approx(
            [r for _, r in sorted(zip(i["products"], i["r"], strict=True))], abs=1e-10
        )
        assert frame.loc["product", "estimate"] == pytest.approx(
            check["expected"]["mean"], abs=check["tol"]["abs"]
        )
    tables = []
    for number, mean in enumerate(overall["inputs"]["model_means"]):
        low, high = responses_with(mean)
        cells = {("a", "low"): [100 + v for v in low], ("a", "high"): [100 + v for v in high]}
        tables.append(rows(cells, agent=f"model {number}"))
    frame = anchor_correlations(pd.concat(tables, ignore_index=True)).set_index("group")
    expected, tol = overall["expected"]["mean_of_model_means"], overall["tol"]["abs"]
    assert frame.loc["all agents", "estimate"] == pytest.approx(expected, abs=tol)


def test_undefined_correlations_are_left_out_and_counted() -> None:
    table = rows(
        {
            ("a", "low"): [1, 1],
            ("a", "high"): [2, 2],
            ("b", "low"): [3, 3],
            ("b", "high"): [3, 3],
            ("c", "low"): [3, 4],
            ("c", "high"): [np.nan],
        }
    )
    frame = anchor_correlations(table).set_index("item")
    assert frame.loc["a", "estimate"] == 1.0 and "degenerate" in frame.loc["a", "note"]
    assert np.isnan(frame.loc["b", "estimate"]) and "all responses are equal" in frame.loc["b", "note"]
    assert "no response in the high condition" in frame.loc["c", "note"]
    assert frame.loc["c", "n_missing"] == 1
    mean = frame.loc["all products"]
    assert (mean["estimate"], mean["note"]) == (1.0, "mean over 1 product; 2 left out: undefined")


def test_no_correlation_at_all_is_said() -> None:
    frame = anchor_correlations(rows({("a", "control"): [1, 2]}))
    assert frame["estimate"].isna().all() and frame["note"].str.startswith("undefined").all()


Responses = st.lists(st.integers(0, 500).map(float), min_size=1, max_size=12)


@given(Responses, Responses, st.floats(-1e3, 1e3), st.floats(0.1, 1e3))
def test_any_two_codes_give_the_same_correlation(
    low: list[float], high: list[float], anchor: float, gap: float
) -> None:
    first, _, reason = codes(low, high)
    second, _, other = codes(low, high, (anchor, anchor + gap))
    assert reason == other
    assert second == pytest.approx(first, abs=1e-7, nan_ok=True)
    assert codes(low, high, (anchor + gap, anchor))[0] == pytest.approx(-first, abs=1e-7, nan_ok=True)
    if not np.isnan(first):
        assert -1 <= first <= 1
        both = np.array(low + high)
        expected = np.corrcoef(np.repeat([0, 1], [len(low), len(high)]), both)[0, 1]
        assert first == pytest.approx(expected, abs=1e-7)


def answered(rng: np.random.Generator, worth: Mapping[str, Floats]) -> pd.DataFrame:
    """Twelve answers to each product, whose mean is its worth; a list price of 0 makes them deviations."""
    given = [
        pd.DataFrame(
            {
                "agent": agent,
                "item": np.repeat([f"p{number}" for number in range(len(means))], 12),
                "condition": "control",
                "response": np.repeat(means, 12) + rng.normal(0, 6, 12 * len(means)),
                "reference": 0.0,
            }
        )
        for agent, means in worth.items()
    ]
    table = pd.concat(given, ignore_index=True)
    return measures(check_responses(table.assign(trial=[f"t{number}" for number in range(len(table))])))


@pytest.mark.thorough
@pytest.mark.slow
def test_intervals_of_deviations_are_about_new_products() -> None:
    """18 products are drawn for each study, and each has a mean of its own; two agents are shown them."""
    count, rng = size(40, 2000), np.random.default_rng(1)
    found = []
    for _ in range(count):
        means = rng.normal(60, 5, 18)
        table = answered(rng, {"alpha": means, "beta": means + rng.normal(3, 2, 18)})
        cells = prompts(table)
        row = price_deviation(cells).iloc[0]
        compared = agent_comparisons(table, cells).set_index("method").loc["paired"]
        ends = ["conf_low", "conf_high"]
        found.append(
            (*(row[ends] - 60), *(compared[ends] - 3), row["estimate"] - 60, compared["estimate"] - 3)
        )
    numbers = np.transpose(np.array(found, float))
    for at in range(2):
        low, high, error = numbers[2 * at], numbers[2 * at + 1], numbers[4 + at]
        held = ((low <= 0) & (high >= 0)).sum()
        assert stats.binom.ppf(0.0005, count, 0.95) <= held <= stats.binom.ppf(0.9995, count, 0.95)
        needed = 2 * stats.norm.ppf(0.975) * np.sqrt((error**2).mean())
        assert 0.85 < (high - low).mean() / needed < 1.3
