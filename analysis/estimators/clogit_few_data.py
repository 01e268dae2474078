"""The conditional logit where choices are separated: a penalised fit."""

import numpy as np
from scipy import optimize

from analysis.tables.frame import Floats, Ints


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
    size = np.diff([*starts, len(x)])
    scale = np.sqrt(((x - _means(x, np.repeat(1 / size, size), starts, size)) ** 2).mean(axis=0))
    scaled = x / scale

    def loss(beta: Floats) -> tuple[float, Floats]:
        p = shares(scaled @ beta, starts)
        apart = scaled - _means(scaled, p, starts, size)
        information = (apart * p[:, None]).T @ apart
        sign, determinant = np.linalg.slogdet(information)
        if sign <= 0:
            return np.inf, np.zeros_like(beta)
        loglik = float(np.log(np.maximum(p[chosen == 1], np.finfo(float).tiny)).sum())
        leverage = np.einsum("nk,kl,nl->n", apart, np.linalg.inv(information), apart) * p
        gradient = (chosen - p) @ scaled + leverage @ apart / 2
        return -(loglik + float(determinant) / 2), -gradient

    found = optimize.minimize(loss, np.zeros(x.shape[1]), jac=True, method="BFGS")
    return np.asarray(found.x / scale, dtype=np.float64)


def _means(x: Floats, p: Floats, starts: Ints, size: Ints) -> Floats:
    """The mean of each column in the set of each row, weighted by p."""
    return np.asarray(np.repeat(np.add.reduceat(x * p[:, None], starts), size, axis=0), dtype=np.float64)
