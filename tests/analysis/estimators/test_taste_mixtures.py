"""Mixed logit and latent classes: against likelihoods written out, xlogit, known truth."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from xlogit import MixedLogit

from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.deciders import Choices, read_choices
from analysis.estimators.taste_mixtures import fit_classes, fit_mixed
from analysis.tables.errors import AnalysisError
from tests.support import size

TERMS = ("price", "stars")
MEAN, SD = np.array([-1.5, 1.0]), np.array([0.8, 0.5])
KINDS, SHARE = np.array([[-2.0, 0.5], [-0.3, 1.5]]), 0.7
"""Tastes of two classes, and the share of the first."""

Simulated = tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]
"""Regressors, choices, labels of choices and of deciders, by option."""


def simulated(tastes: np.ndarray, choices: int, options: int = 2, seed: int = 0) -> Simulated:
    """Every decider, with its row of tastes, chooses so often among so many options."""
    rng = np.random.default_rng(seed)
    count = len(tastes) * choices
    x = rng.normal(size=(count, options, 2))
    utility = np.einsum("njk,nk->nj", x, np.repeat(tastes, choices, axis=0))
    utility += rng.gumbel(size=utility.shape)
    chosen = utility == utility.max(axis=1, keepdims=True)
    trial = np.repeat(np.arange(count), options)
    return pd.DataFrame(x.reshape(-1, 2), columns=list(TERMS)), chosen.ravel() * 1.0, trial, trial // choices


def of_two_kinds(deciders: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Tastes, and the class of each decider."""
    kind = (np.random.default_rng([9, seed]).random(deciders) > SHARE).astype(int)
    return KINDS[kind], kind


def normal(deciders: int, seed: int = 0) -> np.ndarray:
    return MEAN + SD * np.random.default_rng([8, seed]).normal(size=(deciders, 2))


def read(data: Simulated) -> tuple[Choices, CLogit]:
    x, chosen, trial, who = data
    return read_choices(x, chosen, trial, who, who), fit_clogit(
        x, chosen, trial, cov="clustered", cluster=who
    )


def logliks(data: Simulated, taste: np.ndarray) -> np.ndarray:
    """The log-likelihood of each decider, if this is its taste, written out."""
    x, chosen, trial, who = data
    utility = pd.Series(x.to_numpy() @ taste)
    share = np.exp(utility) / np.exp(utility).groupby(trial).transform("sum")
    return pd.Series(np.log(share[chosen == 1]).to_numpy()).groupby(who[chosen == 1]).sum().to_numpy()


def test_one_class_is_the_clustered_conditional_logit() -> None:
    choices, alike = read(simulated(normal(40), 6))
    found = fit_classes(choices, 1, alike.estimate).fit
    assert found.estimate == pytest.approx(alike.estimate, abs=1e-4)
    assert found.cov == pytest.approx(alike.cov, rel=1e-3, abs=1e-6)
    assert (found.loglik, found.df, found.n) == pytest.approx((alike.loglik, alike.df, 240))


def test_classes_are_at_the_highest_point_of_the_likelihood_written_out() -> None:
    tastes, kind = of_two_kinds(150)
    data = simulated(tastes, 12)
    choices, alike = read(data)
    found = fit_classes(choices, 2, alike.estimate)

    def written_out(parameters: np.ndarray) -> float:
        odds = np.exp(parameters[-1])
        parts = [logliks(data, parameters[:2]), logliks(data, parameters[2:4]) + parameters[-1]]
        return float((np.logaddexp(*parts) - np.log(1 + odds)).sum())

    best = found.fit.estimate
    assert found.fit.loglik == pytest.approx(written_out(best), rel=1e-9)
    for step in 0.05 * np.vstack([np.eye(5), -np.eye(5)]):
        assert written_out(best + step) < found.fit.loglik
    assert found.share.sum() == pytest.approx(1) and found.share[0] > found.share[1]
    likeliest = found.member.to_numpy().argmax(axis=1)
    assert (likeliest == kind).mean() > 0.9
    low, high = found.share_low[0], found.share_high[0]
    assert low < SHARE < high and high - low < 0.3
    assert found.clusters == pytest.approx(150 * found.share, rel=0.05)


@pytest.mark.slow
def test_mixed_logit_has_the_likelihood_of_an_integral() -> None:
    """With one taste that varies, the likelihood of a decider is an integral over one number."""
    tastes = normal(60) * [1, 0] + [0, 1.0]
    data = simulated(tastes, 4)
    choices, alike = read(data)
    found = fit_mixed(choices, ("price",), alike.estimate, draws=2_000).fit
    mean, stars, sd = found.estimate

    def density(price: float) -> np.ndarray:
        return np.exp(logliks(data, np.array([price, stars]))) * stats.norm.pdf(price, mean, sd)

    exact, _ = integrate.quad_vec(density, mean - 8 * sd, mean + 8 * sd)
    assert found.loglik == pytest.approx(float(np.log(exact).sum()), abs=0.05)


@pytest.mark.thorough
@pytest.mark.slow
def test_mixed_logit_is_that_of_xlogit() -> None:
    data = simulated(normal(300), 10)
    choices, alike = read(data)
    found = fit_mixed(choices, TERMS, alike.estimate).fit
    x, chosen, trial, who = data
    other = MixedLogit()
    other.fit(
        x, chosen, varnames=list(TERMS), ids=trial, alts=np.tile([0, 1], len(trial) // 2), panels=who,
        randvars=dict.fromkeys(TERMS, "n"), n_draws=500, verbose=0, skip_std_errs=True,
    )  # fmt: skip
    expected = np.r_[other.coeff_[:2], abs(other.coeff_[2:])]
    assert found.estimate == pytest.approx(expected, abs=0.03)
    assert found.loglik == pytest.approx(float(other.loglikelihood), abs=1)


@pytest.mark.thorough
@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    """Means, standard deviations, part-worths of classes and shares, in 95 % of studies."""
    truth = {"mean": MEAN, "sd": SD, "no sd": 0.0, "classes": np.r_[KINDS.ravel(), np.log(1 / SHARE - 1)]}
    held: dict[str, list[np.ndarray]] = {name: [] for name in truth}
    for seed in range(size(8, 100)):
        alone = normal(150, seed) * [1, 0] + [0, MEAN[1]]
        for name, tastes in (
            ("sd", normal(150, seed)),
            ("no sd", alone),
            ("classes", of_two_kinds(150, seed)[0]),
        ):
            choices, alike = read(simulated(tastes, 10, seed=seed))
            if name == "classes":
                found = fit_classes(choices, 2, alike.estimate, starts=3).fit
            else:
                mixed = fit_mixed(choices, TERMS, alike.estimate, draws=200)
                found = replace(mixed.fit, estimate=mixed.fit.estimate[:2], cov=mixed.fit.cov[:2, :2])
                low, high = (ends[1:] if name == "no sd" else ends for ends in (mixed.sd_low, mixed.sd_high))
                held[name].append(np.isnan(low) | ((low <= truth[name]) & (truth[name] <= high)))
            width = stats.t.ppf(0.975, found.df) * found.std_error
            own = "classes" if name == "classes" else "mean"
            held[own].append(abs(found.estimate - truth[own]) < width)
    for name, hits in held.items():
        assert np.mean(hits) > size(0.8, 0.91), name


def test_what_cannot_be_told_has_no_error() -> None:
    x, chosen, trial, who = simulated(normal(8), 20)
    few = fit_mixed(read_choices(x, chosen, trial, who, who), TERMS, MEAN, draws=50).fit
    assert few.note == "no interval: fewer than 12 clusters" and np.isnan(few.cov).all()
    x, chosen, trial, who = simulated(np.tile([0.0, 60.0], (30, 1)), 4)
    apart = fit_classes(read_choices(x, chosen, trial, who, who), 2, np.array([0.0, 5.0]), starts=2)
    assert (
        apart.fit.note
        and np.isnan([apart.share, apart.share_low]).all()
        and np.isnan(apart.fit.estimate).all()
    )
    with pytest.raises(AnalysisError, match="a decider is in two of them"):
        read_choices(x, chosen, trial, who, trial)


def test_choices_that_are_missing_are_left_out_and_order_means_nothing() -> None:
    x, chosen, trial, who = simulated(normal(20), 3)
    chosen[trial == 4] = np.nan
    choices = read_choices(x, chosen, trial, who, who)
    assert (choices.n, choices.n_missing) == (59, 1)
    shuffled = np.random.default_rng(1).permutation(len(x))
    other = read_choices(x.iloc[shuffled], chosen[shuffled], trial[shuffled], who[shuffled], who[shuffled])
    start = np.array([-1.0, 1.0])
    one, two = (fit_classes(each, 2, start, starts=2).fit for each in (choices, other))
    assert one.loglik == pytest.approx(two.loglik)
