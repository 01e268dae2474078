"""Test and bound a mean of differences of -1, 0 and 1 while they come in: however often one looks.

A gambler who bets on the differences cannot expect to win if their mean is what is claimed. Who has
multiplied the stake by 1 / alpha has seen something that happens with a chance of alpha at most, at any
time (Ville 1939, Etude critique de la notion de collectif). Such a wealth is called an e-process (Ramdas,
Grünwald, Vovk and Shafer 2023, Statistical Science 38), and the means at which it is below 1 / alpha a
confidence sequence (Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical Society B 86).
"""

from math import log
from typing import Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp

from analysis.tables.frame import Floats

_EDGE: Final = 1e-9
"""How near to -1 and 1 the end of an interval is looked for."""


def log_evidence(wins: Floats | int, losses: Floats | int) -> Floats:
    """Return the logarithm of the e-process against a mean of 0: that wins and losses are as likely.

    wins, losses: how many differences were 1 and -1, numbers or arrays; differences of 0 say nothing. It is
    2^(wins + losses) B(wins + 1/2, losses + 1/2) / B(1/2, 1/2): the likelihood ratio to a chance of a win
    that is drawn from the Beta(1/2, 1/2) distribution (Robbins 1970, Annals of Mathematical Statistics 41;
    Lai 1976, Annals of Statistics 4). It is that of `log_wealth` at the mean 0.
    """
    a, b = np.asarray(wins, float), np.asarray(losses, float)
    found: Floats = (a + b) * log(2) + betaln(a + 0.5, b + 0.5) - betaln(0.5, 0.5)
    return found


def log_wealth(means: Floats | float, wins: Floats | int, losses: Floats | int, ties: Floats | int) -> Floats:
    """Return the logarithm of the e-process against each mean, between -1 and 1.

    wins, losses, ties: how many differences were 1, -1 and 0; in the shape of `means`, or numbers. With the
    bet b on a difference d the stake is multiplied by 1 + b (d - mean). Bets reach from where a win, to where
    a loss, takes all; they are mixed by the Beta(1/2, 1/2) distribution of u on this range. With
    p = (1 + mean) / 2 the factors are u/p for a win, (1 - u)/(1 - p) for a loss, and their mean for a tie:

        K(mean) = E_u [(u/p)^wins ((1-u)/(1-p))^losses (u/2p + (1-u)/2(1-p))^ties]

    It is a polynomial in u, so that Gauss-Chebyshev quadrature with half as many nodes is exact.
    """
    p, a, b, t = np.broadcast_arrays((1 + np.asarray(means, float)) / 2, wins, losses, ties)
    nodes = int(np.max(a + b + t, initial=0)) // 2 + 1
    u = (1 + np.cos((2 * np.arange(nodes) + 1) * np.pi / (2 * nodes))) / 2
    won, lost = np.log(u / p[..., None]), np.log((1 - u) / (1 - p[..., None]))
    exponents = a[..., None] * won + b[..., None] * lost
    exponents += t[..., None] * (np.logaddexp(won, lost) - log(2))
    found: Floats = logsumexp(exponents, axis=-1) - log(nodes)
    return found


def confidence_sequence(wins: int, losses: int, ties: int, alpha: float) -> tuple[float, float]:
    """Return the interval of the means that have not been rejected: the chance that one of all the intervals
    of a sequence misses the mean is alpha at most.

    It is an interval, for `log_wealth` is convex in the mean; it holds the observed mean, where nobody can
    have won. It leaves out 0 exactly when `log_evidence` reaches 1 / alpha.
    """
    n = wins + losses + ties
    if not n:
        return -1.0, 1.0
    observed, limit = (wins - losses) / n, -log(alpha)

    def beyond(mean: float) -> float:
        return float(log_wealth(mean, wins, losses, ties)) - limit

    ends, near = [], float(np.clip(observed, -1 + _EDGE, 1 - _EDGE))
    for end in (-1.0, 1.0):
        edge = end * (1 - _EDGE)
        reached = observed != end and beyond(edge) > 0
        ends.append(float(brentq(beyond, edge, near, xtol=1e-10)) if reached else end)
    return ends[0], ends[1]


def is_within(margin: float, wins: int, losses: int, ties: int, alpha: float) -> bool:
    """Return whether the confidence sequence lies between -margin and margin, neither of them in it."""
    if abs(wins - losses) >= margin * (wins + losses + ties):
        return False
    return bool((log_wealth(np.array([-margin, margin]), wins, losses, ties) >= -log(alpha)).all())
