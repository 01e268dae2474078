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
    for row, (value, price) in enumerate(zip(fit.estimate[:2], fit.estimate[[2, 2]], strict=True)):
        gradient = np.array([-1 / price, value / price**2])
        variance = gradient @ fit.cov[np.ix_([row, 2], [row, 2])] @ gradient
        assert frame["std_error"][row] == pytest.approx(np.sqrt(variance))


def test_with_a_sharp_price_both_intervals_agree() -> None:
    frame = wtp(fitted(-1.5, sets=20_000), "price")
    width = frame["conf_high"] - frame["conf_low"]
    for ours, other in (("conf_low", "krinsky_robb_low"), ("conf_high", "krinsky_robb_high")):
        assert (abs(frame[ours] - frame[other]) < 0.05 * width).all()


@pytest.mark.parametrize(
    ("price", "df", "reason"),
    [
        (0.0, np.inf, "price is not clearly below 0"),
        (-0.5, 1.0, "price is not clearly below 0"),  # the coefficient is, its interval is not
        (1.0, np.inf, "price is positive"),
    ],
)
def test_no_price_no_willingness_to_pay(price: float, df: float, reason: str) -> None:
    frame = wtp(replace(fitted(price), df=df), "price")
    assert frame["note"].str.contains(reason).all()
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
