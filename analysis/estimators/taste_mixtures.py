"""Fit choices of deciders whose tastes differ: the mixed logit, and latent classes.

A decider has tastes b, with which all its choices follow the conditional logit, and b is drawn anew for each
decider: from a normal distribution (mixed logit; McFadden and Train 2000), or as one of a few classes
(Kamakura and Russell 1989). The likelihood of a decider is the mean over b of the product of its choices'
probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy import optimize, stats
from scipy.special import expit, log_softmax, logsumexp, softmax

from analysis.estimators.choice_sets import ChoiceSets
from analysis.estimators.deciders import Choices
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.tables.frame import Floats

DRAWS: Final = 500
STARTS: Final = 10
STEP: Final = 1e-4
FAR: Final = 20.0
"""An estimate beyond this, of a term with standard deviation 1, has run away: choices are separated."""

SEPARATED: Final = "no finite estimate: the choices are separated (fit fewer classes, or ask more)"

Loss = Callable[[Floats], tuple[Floats, Floats]]
"""Of parameters P: the log-likelihood of each decider (U), and its gradient (U x P)."""


@dataclass(frozen=True)
class Mixture:
    """A fitted model with P parameters.

    estimate (P), cov (P x P): NaN where there is no finite estimate, or no errors, with the reason in `note`.
    df: of the t distribution. n: choices; n_missing: choices left out.
    """

    estimate: Floats
    cov: Floats
    df: float
    loglik: float
    n: int
    n_missing: int
    note: str

    @property
    def std_error(self) -> Floats:
        return np.sqrt(np.diag(self.cov))


@dataclass(frozen=True)
class MixedLogit:
    """A mixed logit: a `fit` with K means, then S standard deviations, which are not below 0.

    sd, sd_low, sd_high (S): the standard deviations, and their 95 % intervals; NaN where 0 is in one.
    """

    fit: Mixture
    sd: Floats
    sd_low: Floats
    sd_high: Floats


@dataclass(frozen=True)
class Classes:
    """C latent classes, the largest first, of a `fit` with K tastes of each class, then C - 1 log odds.

    The log odds are of each further class against the first. share (C), share_low, share_high: 95 %
    intervals. member (U x C): the probability of each decider to be of each class, given its choices.
    clusters (C): about so many clusters tell the tastes of the class.
    """

    terms: tuple[str, ...]
    fit: Mixture
    share: Floats
    share_low: Floats
    share_high: Floats
    member: pd.DataFrame
    clusters: Floats


def fit_mixed(choices: Choices, varying: tuple[str, ...], start: Floats, *, draws: int = DRAWS) -> MixedLogit:
    """Fit a mixed logit by maximum simulated likelihood (Train 2009, chapter 10).

    The tastes of the terms in `varying` are normal and independent of each other; the others are alike in all
    deciders. start: K coefficients of the conditional logit. The draws are scrambled Halton sequences, others
    for each decider, and the same each time.

    Near 0 the likelihood is even in a standard deviation, so only its square, with the error 2 sd times that
    of sd, is near normal. Where the interval of the square holds 0, sd has none: in simulations those of
    small spreads, whose estimate is often 0, held the truth in .73 only.
    """
    at = [choices.terms.index(term) for term in varying]
    sampler = stats.qmc.Halton(len(at), rng=np.random.default_rng(0))
    normal = stats.norm.ppf(sampler.random(len(choices.labels) * draws))
    normal = np.ascontiguousarray(normal.reshape(len(choices.labels), draws, len(at)).transpose(2, 0, 1))
    parts = list(choices.chunks(draws * len(at)))

    def loss(parameters: Floats) -> tuple[Floats, Floats]:
        found = [_mixed(part, parameters, at, normal[:, inside]) for inside, part in parts]
        return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    best, loglik = _maximised(loss, np.r_[start * choices.scale, np.full(len(at), 0.5)])
    best[len(start) :] = abs(best[len(start) :])  # the sign of a standard deviation means nothing
    fit = _with_errors(choices, loss, best, loglik, np.r_[choices.scale, choices.scale[at]])
    sd, width = (
        values[len(start) :] for values in (fit.estimate, stats.t.ppf(0.975, fit.df) * fit.std_error)
    )
    told = sd > 2 * width
    low, high = np.sqrt(np.maximum(0, sd**2 - 2 * sd * width)), sd + width
    return MixedLogit(fit, sd, np.where(told, low, np.nan), np.where(told, high, np.nan))


def fit_classes(choices: Choices, count: int, start: Floats, *, starts: int = STARTS) -> Classes:
    """Fit `count` latent classes by maximum likelihood, the best of several seeded starts.

    start: K coefficients of the conditional logit, round which the starts lie.
    """
    terms = len(choices.terms)

    def loss(parameters: Floats) -> tuple[Floats, Floats]:
        return _classes(choices, parameters, count)[:2]

    rng = np.random.default_rng(0)
    found = []
    for _ in range(starts if count > 1 else 1):
        tastes = start * choices.scale + (count > 1) * rng.normal(size=(count, terms))
        found.append(_maximised(loss, np.r_[tastes.ravel(), np.zeros(count - 1)]))
    best, loglik = max(found, key=lambda each: each[1])
    odds = np.r_[0.0, best[count * terms :]]
    order = np.argsort(-odds, kind="stable")
    tastes = best[: count * terms].reshape(count, terms)[order]
    best = np.r_[tastes.ravel(), (odds[order] - odds[order][0])[1:]]
    scale = np.r_[np.tile(choices.scale, count), np.ones(count - 1)]
    fit = _with_errors(choices, loss, best, loglik, scale)
    share = softmax(np.r_[0.0, fit.estimate[count * terms :]])  # undefined if the estimate is
    member = pd.DataFrame(_classes(choices, best, count)[2], index=choices.labels)
    clusters = member.groupby(choices.cluster).mean().sum().to_numpy()
    return Classes(choices.terms, fit, share, *_share_interval(fit, share), member, clusters)


def _mixed(part: Choices, parameters: Floats, at: list[int], normal: Floats) -> tuple[Floats, Floats]:
    """The log-likelihood and the gradient of each decider, by simulation; normal: S x U x R."""
    x = part.sets.differences
    mean, sd = parameters[: x.shape[1]], parameters[x.shape[1] :]
    of = part.decider[part.sets.set]
    own = normal if len(of) == normal.shape[1] else normal[:, of]  # S x N x R
    utility = np.repeat(-(x @ mean)[:, None], normal.shape[2], axis=1)
    for term, weight, draws in zip(at, sd, own, strict=True):
        utility -= (weight * x[:, term])[:, None] * draws
    loglik, share = _choices(part.sets, utility)
    each = part.by_decider(loglik)
    total = logsumexp(each, axis=1)
    share *= np.exp(each - total[:, None])[of]  # the weight of each draw, given the choices
    for_mean = share.sum(axis=1)[:, None] * x
    for_sd = [np.einsum("nr,nr->n", share, draws) * x[:, term] for term, draws in zip(at, own, strict=True)]
    gradient = part.by_decider(part.sets.sums(np.column_stack([for_mean, *for_sd])))
    return total - np.log(normal.shape[2]), gradient


def _classes(part: Choices, parameters: Floats, count: int) -> tuple[Floats, Floats, Floats]:
    """The log-likelihood and the gradient of each decider, and its probability of each class (U x C)."""
    x = part.sets.differences
    tastes = parameters[: count * x.shape[1]].reshape(count, -1)
    log_share = log_softmax(np.r_[0.0, parameters[tastes.size :]])
    loglik, odds = _choices(part.sets, -(x @ tastes.T))
    each = part.by_decider(loglik) + log_share
    total = logsumexp(each, axis=1)
    member = np.exp(each - total[:, None])
    odds *= member[part.decider][part.sets.set]
    gradient = [part.by_decider(part.sets.sums(column[:, None] * x)) for column in odds.T]
    return total, np.column_stack([*gradient, (member - np.exp(log_share))[:, 1:]]), member


def _choices(sets: ChoiceSets, utility: Floats) -> tuple[Floats, Floats]:
    """The log-probability of each choice, and the probability of each rejected option, by columns.

    utility: of the rejected options; that of the chosen one is 0.
    """
    top = np.maximum(sets.highest(utility), 0)
    odds = np.exp(utility - top[sets.set])
    total = sets.sums(odds) + np.exp(-top)
    odds /= total[sets.set]
    return -(top + np.log(total)), odds


def _maximised(loss: Loss, start: Floats) -> tuple[Floats, float]:
    """The parameters with the highest log-likelihood, and this."""

    def mean(parameters: Floats) -> tuple[float, Floats]:
        loglik, gradient = loss(parameters)
        return -float(loglik.mean()), -gradient.mean(axis=0)

    # The products of the scores are near the information (Berndt, Hall, Hall and Hausman 1974).
    scores = loss(start)[1]
    products = scores.T @ scores / len(scores)
    first = np.linalg.inv(products + 0.01 * np.diag(products).max() * np.eye(len(start)))
    options = {"maxiter": 500, "gtol": 1e-6, "hess_inv0": (first + first.T) / 2}
    found = optimize.minimize(mean, start, jac=True, method="BFGS", options=options)
    return np.asarray(found.x, float), float(loss(found.x)[0].sum())


def _with_errors(choices: Choices, loss: Loss, best: Floats, loglik: float, scale: Floats) -> Mixture:
    """The fit in the terms' own units, with the sandwich of scores that are summed by cluster."""
    count = int(choices.cluster.max()) + 1
    cov, note = np.full((len(best),) * 2, np.nan), ""
    if (abs(best) > FAR).any():
        best, note = np.full(len(best), np.nan), SEPARATED
    elif count < LEAST_CLUSTERS[1]:
        note = f"no interval: fewer than {LEAST_CLUSTERS[1]} clusters"
    else:
        steps = STEP * np.eye(len(best))
        slopes = [loss(best + step)[1].sum(axis=0) - loss(best - step)[1].sum(axis=0) for step in steps]
        information = -np.array(slopes) / (2 * STEP)
        information = (information + information.T) / 2
        sums = pd.DataFrame(loss(best)[1]).groupby(choices.cluster).sum().to_numpy()
        if np.linalg.eigvalsh(information).min() > 1e-6 * np.diag(information).max():
            bread = np.linalg.inv(information)
            cov = count / (count - 1) * bread @ (sums.T @ sums) @ bread
        else:
            note = "no interval: the choices do not tell the tastes apart"
    return Mixture(
        best / scale,
        cov / np.outer(scale, scale),
        count - 1.0,
        loglik,
        choices.n,
        choices.n_missing,
        note,
    )


def _share_interval(fit: Mixture, share: Floats) -> tuple[Floats, Floats]:
    """The 95 % interval of each share, made on the scale of its log odds (delta method)."""
    count = len(share)
    if count == 1:
        return np.ones(1), np.ones(1)
    cov = np.pad(fit.cov[-(count - 1) :, -(count - 1) :], (1, 0))
    # Of the log odds of a share against all others: share (1 - share) goes out of numerator and denominator.
    jacobian = (np.eye(count) - share) / (1 - share)[:, None]
    error = np.sqrt(np.diag(jacobian @ cov @ jacobian.T))
    middle, width = np.log(share / (1 - share)), stats.t.ppf(0.975, fit.df) * error
    return expit(middle - width), expit(middle + width)
