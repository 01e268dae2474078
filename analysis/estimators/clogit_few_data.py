"""The conditional logit where choices are separated: a penalised fit."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import optimize, stats

from analysis.estimators.choice_sets import read_sets
from analysis.estimators.clogit import CLogit
from analysis.estimators.identification import dependent_columns
from analysis.estimators.moved import FEW_SETS, LEAST
from analysis.tables.frame import Floats, Ints, join_notes

PENALISED: Final = "penalised (Firth 1993), each choice set counts once"
_FLAT: Final = 1e-8
"""The slope at which a minimum is found: far out profiles are nearly flat, and fall a good deal further."""
Loss = Callable[[Floats], tuple[float, Floats]]


def shares(utility: Floats, starts: Ints) -> Floats:
    """Return the probability of each option (N), exp(utility) over its sum in the set.

    starts: the row at which each set begins, from 0.
    """
    size = np.diff([*starts, len(utility)])
    odds = np.exp(utility - np.repeat(np.maximum.reduceat(utility, starts), size))
    return np.asarray(odds / np.repeat(np.add.reduceat(odds, starts), size), dtype=np.float64)


def fit_firth(x: Floats, chosen: Floats, starts: Ints) -> Floats:
    """Return the K coefficients that maximise log L + log det(I) / 2, where I is Fisher's information.

    x: N x K, sorted by set, with linearly independent differences within sets. chosen: 1 for the chosen
    option of each set, else 0. The penalty is Jeffreys' prior (Firth 1993): where a combination of terms
    predicts every choice, I vanishes along it, and so the maximum is finite (Heinze and Schemper 2002;
    Kosmidis and Firth 2021).
    """
    scaled, scale = _scaled(x, starts)
    found, _ = _minimum(_penalised_loss(scaled, chosen, starts, np.ones(len(starts))), np.zeros(x.shape[1]))
    return found / scale


def penalised(
    fit: CLogit, x: pd.DataFrame, chosen: Floats, groups: Ints, clusters: Ints
) -> dict[str, dict[str, Any]]:
    """Return penalised estimates of the terms that a separated fit does not tell, as parts of a row.

    x, chosen, groups: of `fit_clogit`. clusters: N labels; each counts as one choice, because answers of
    one may all be the same. Intervals are those of the profile of the penalised likelihood (Heinze and
    Schemper 2002, Statistics in Medicine 21), and p values of its ratio; with fewer than twelve clusters
    there are none, and terms with an estimate keep it. Empty where no choices are separated.
    """
    if not fit.notes:
        return {}
    sets, _ = read_sets(x, chosen, groups, None, clusters, "clustered")
    told = [k for k in range(len(fit.terms)) if k not in dependent_columns(sets.differences)]
    first = np.flatnonzero(np.diff(sets.set, prepend=-1))
    starts, label = first + np.arange(len(first)), sets.cluster
    # Each option less the chosen one, which comes first.
    scaled, scale = _scaled(np.insert(-sets.differences[:, told], first, 0.0, axis=0), starts)
    flags = np.insert(np.zeros(len(sets.set)), first, 1.0)
    weight = 1 / np.bincount(label)[label]
    loss = _penalised_loss(scaled, flags, starts, weight)
    best, least = _minimum(loss, np.zeros(len(told)))
    few, found = len(np.unique(label)) < LEAST, {}
    for at, k in enumerate(told):
        if not np.isnan(fit.estimate[k] if few else fit.std_error[k]):
            continue
        why = fit.term_notes[k].partition("no finite estimate: ")[2] or "the choices are separated"
        row: dict[str, Any] = {"estimate": best[at] / scale[at], "note": f"{PENALISED}: {why}"}
        if few:
            row["note"] = join_notes(row["note"], FEW_SETS)
        else:
            low, high = (_limit(loss, best, least, at, side) / scale[at] for side in (-1, 1))
            excess = _profile(loss, best, at, 0.0) - least
            row |= {"conf_low": low, "conf_high": high, "p_value": float(stats.chi2.sf(2 * excess, 1))}
        found[fit.terms[k]] = row
    return found


def _scaled(x: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """The columns over their spread within sets, and the spread."""
    size = np.diff([*starts, len(x)])
    scale = np.sqrt(((x - _means(x, np.repeat(1 / size, size), starts, size)) ** 2).mean(axis=0))
    return x / scale, scale


def _penalised_loss(x: Floats, chosen: Floats, starts: Ints, weight: Floats) -> Loss:
    """What is minimised, with its gradient. weight: of each set."""
    size = np.diff([*starts, len(x)])
    own = np.repeat(weight, size)

    def loss(beta: Floats) -> tuple[float, Floats]:
        p = shares(x @ beta, starts)
        apart = x - _means(x, p, starts, size)
        information = (apart * (own * p)[:, None]).T @ apart
        sign, determinant = np.linalg.slogdet(information)
        if sign <= 0:
            return np.inf, np.zeros_like(beta)
        made = chosen == 1
        loglik = float(own[made] @ np.log(np.maximum(p[made], np.finfo(float).tiny)))
        leverage = np.einsum("nk,kl,nl->n", apart, np.linalg.inv(information), apart) * own * p
        gradient = (own * (chosen - p)) @ x + leverage @ apart / 2
        return -(loglik + float(determinant) / 2), -gradient

    return loss


def _minimum(loss: Loss, start: Floats) -> tuple[Floats, float]:
    found = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": _FLAT})
    return np.asarray(found.x, dtype=np.float64), float(found.fun)


def _profile(loss: Loss, best: Floats, at: int, value: float) -> float:
    """The least loss with one coefficient held."""

    def held(rest: Floats) -> tuple[float, Floats]:
        lost, gradient = loss(np.insert(rest, at, value))
        return lost, np.delete(gradient, at)

    if len(best) == 1:
        return loss(np.array([value]))[0]
    return _minimum(held, np.delete(best, at))[1]


def _limit(loss: Loss, best: Floats, least: float, at: int, side: int) -> float:
    """Where the profile has fallen by as much as the 95 % interval allows."""
    most = least + stats.chi2.ppf(0.95, 1) / 2

    def beyond(value: float) -> float:
        return float(min(_profile(loss, best, at, value), most + 1e6) - most)

    step = 1.0
    while beyond(best[at] + side * step) < 0:
        step *= 2
    return float(optimize.brentq(beyond, best[at], best[at] + side * step, xtol=1e-6))


def _means(x: Floats, p: Floats, starts: Ints, size: Ints) -> Floats:
    """The mean of each column in the set of each row, weighted by p."""
    return np.asarray(np.repeat(np.add.reduceat(x * p[:, None], starts), size, axis=0), dtype=np.float64)
