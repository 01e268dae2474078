"""Willingness to pay: the ratio, its two intervals, and where there is none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.wtp import wtp
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS


def fitted(price: float, seed: int = 0, sets: int = 400) -> CLogit:
    """Pairs with two qualities worth 2 and 0.5 units of utility, and a price in hundreds."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(sets), 2)
    x = pd.DataFrame(rng.normal(size=(2 * sets, 3)), columns=["stars", "bed", "price"])
    utility = x @ np.array([2.0, 0.5, price]) + rng.gumbel(size=2 * sets)
    chosen = (utility == utility.groupby(label).transform("max")).to_numpy(float)
    return fit_clogit(x, chosen, label)


def test_the_ratio_and_its_delta_error() -> None:
    fit = fitted(-1.5)
    frame = wtp(fit, "price", group="agent")
    assert frame["term"].tolist() == ["stars", "bed"]
    assert tuple(frame.columns) == (*FRAME_COLUMNS, "krinsky_robb_low", "krinsky_robb_high")
    assert frame["estimate"].to_numpy() == pytest.approx(-fit.estimate[:2] / fit.estimate[2])
    step = 1e-6
    for row in range(2):
        gradient = []
        for moved in (row, 2):
            ends = []
            for sign in (1, -1):
                beta = fit.estimate.copy()
                beta[moved] += sign * step
                ends.append(-beta[row] / beta[2])
            gradient.append((ends[0] - ends[1]) / (2 * step))
        variance = gradient @ fit.cov[np.ix_([row, 2], [row, 2])] @ gradient
        assert frame["std_error"][row] == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_with_a_sharp_price_both_intervals_agree() -> None:
    frame = wtp(fitted(-1.5, sets=20_000), "price")
    width = frame["conf_high"] - frame["conf_low"]
    for ours, other in (("conf_low", "krinsky_robb_low"), ("conf_high", "krinsky_robb_high")):
        assert (abs(frame[ours] - frame[other]) < 0.05 * width).all()


def test_draws_have_a_seed() -> None:
    fit = fitted(-1.5)
    pd.testing.assert_frame_equal(wtp(fit, "price", seed=1), wtp(fit, "price", seed=1))
    assert (
        wtp(fit, "price", seed=1)["krinsky_robb_low"] != wtp(fit, "price", seed=2)["krinsky_robb_low"]
    ).all()


@pytest.mark.thorough
@pytest.mark.slow
def test_both_intervals_cover_the_truth() -> None:
    covered = np.zeros((2, 2))
    for seed in range(100):
        frame = wtp(fitted(-1.5, seed, sets=250), "price", draws=2000)
        truth = np.array([2.0, 0.5]) / 1.5
        for row, (low, high) in enumerate(
            [("conf_low", "conf_high"), ("krinsky_robb_low", "krinsky_robb_high")]
        ):
            covered[row] += ((frame[low] <= truth) & (truth <= frame[high])).to_numpy()
    assert (covered >= 90).all() and (covered <= 99).all(), covered


@pytest.mark.parametrize(
    ("price", "reason"), [(0.0, "price is not clearly below 0"), (1.0, "price is positive")]
)
def test_no_price_no_willingness_to_pay(price: float, reason: str) -> None:
    frame = wtp(fitted(price), "price")
    assert frame["note"].str.endswith(reason).all() or frame["note"].str.contains(reason).all()
    assert frame[["estimate", "std_error", "conf_low", "krinsky_robb_high"]].isna().all(axis=None)


def test_a_price_that_may_have_no_effect_gives_none() -> None:
    """The coefficient is below 0, but its interval is not."""
    fits = (fitted(-0.05, seed, sets=100) for seed in range(20))
    unclear = next(fit for fit in fits if -1.9 < fit.of("price")[0] / fit.of("price")[1] < -0.5)
    frame = wtp(unclear, "price")
    assert frame["note"].str.endswith("the coefficient of price is not clearly below 0").all()
    assert frame[["estimate", "std_error", "conf_low", "krinsky_robb_high"]].isna().all(axis=None)


def test_a_logarithm_is_worth_its_price_times_as_much() -> None:
    fit = fitted(-1.5)
    plain, priced = wtp(fit, "price"), wtp(fit, "price", at=150.0)
    for name in ("estimate", "std_error", "conf_low", "conf_high", "krinsky_robb_low", "krinsky_robb_high"):
        assert priced[name].to_numpy() == pytest.approx(150 * plain[name].to_numpy())
    assert priced["p_value"].to_numpy() == pytest.approx(plain["p_value"].to_numpy())


def test_few_clusters_widen_the_interval() -> None:
    fit = replace(fitted(-1.5), df=6.0)
    frame = wtp(fit, "price")
    half = (frame["conf_high"] - frame["conf_low"]) / 2
    assert half.to_numpy() == pytest.approx(stats.t.ppf(0.975, 6) * frame["std_error"].to_numpy())


def test_a_term_without_an_estimate_stays_empty() -> None:
    fit = fitted(-1.5)
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(300), 2)
    x = pd.DataFrame(rng.normal(size=(600, 2)), columns=["stars", "price"]).assign(same=1.0)
    utility = x["stars"] - x["price"] + rng.gumbel(size=600)
    chosen = (utility == utility.groupby(label).transform("max")).to_numpy(float)
    frame = wtp(fit_clogit(x, chosen, label), "price").set_index("term")
    assert np.isnan(frame.loc["same", "estimate"]) and "never differs" in frame.loc["same", "note"]
    assert frame.loc["stars", "krinsky_robb_low"] < 1 < frame.loc["stars", "krinsky_robb_high"]
    with pytest.raises(AnalysisError, match="no term 'cost'; there are stars, bed, price"):
        wtp(fit, "cost")
