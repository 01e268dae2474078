"""`python -m tests.lab.bench.few_clusters`: t with the jackknife error against the wild cluster bootstrap.

How often does each reject the truth, with 5 to 12 clusters? The restricted wild cluster bootstrap-t
(Cameron, Gelbach and Miller 2008) draws a sign, or one of Webb's (2023) six weights, for each cluster. Its
interval holds what it does not reject, so the share of truths it rejects is what its 95 % intervals miss.

Pairs of products: what the fixed effects leave is a regression of D on x without a constant, where D is 1 for
a choice of the one product and -1 for the other.
"""

import argparse
import sys
from itertools import product

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.lpm import Model
from analysis.tables.frame import Floats, Ints

COUNTS = (5, 6, 8, 10, 12)
LEVEL = 0.05
ROUNDING = 1e-9
DRAWS = 999

KINDS = {
    "equal": (False, False),
    "equal, answers alike": (False, True),
    "unequal": (True, False),
    "unequal, answers alike": (True, True),
}
"""Whether clusters have 2 to 20 pairs and differences of 1 to 3 (else 6 and 1), and one answer each."""

SHARES = (0.5, 0.8)
"""How often the better product is chosen; at one half nothing moves the choice."""


def signs(count: int) -> Floats:
    """All combinations of signs (clusters x 2^clusters)."""
    return np.array(list(product((-1.0, 1.0), repeat=count))).T


def webb(rng: np.random.Generator, count: int, draws: int) -> Floats:
    """Webb's weights by chance (clusters x draws)."""
    values = np.concatenate([-np.sqrt([1.5, 1, 0.5]), np.sqrt([0.5, 1, 1.5])])
    return rng.choice(a=values, replace=True, size=count * draws).reshape(count, draws)


def bootstrapped(x: Floats, residuals: Floats, code: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """The size of t (studies), and of the t that the weights give (studies x draws).

    t has the error CRV1. residuals: D less x times the slope that is tested (pairs x studies); the samples
    of the bootstrap have them, times the weights of their clusters.
    """
    count, own = code.max() + 1, np.bincount(code, x * x)
    member = (code[:, None] == np.arange(count)).T.astype(float)
    scores = (member @ (x[:, None] * residuals)).T

    def size(signed: Floats, squares: Floats, crossed: Floats) -> Floats:
        moved = signed / own.sum()
        variance = squares - 2 * moved * crossed + moved**2 * (own @ own)
        t: Floats = abs(signed) / np.sqrt(np.maximum(variance, ROUNDING**2) * count / (count - 1))
        return t

    plain = size(scores.sum(axis=1), (scores**2).sum(axis=1), scores @ own)
    drawn = size(scores @ weights, scores**2 @ weights**2, scores @ (weights * own[:, None]))
    return plain, drawn


def rejected(kind: str, share: float, count: int, studies: int, seed: int = 0) -> dict[str, float]:
    """The share of studies in which each test rejects the truth.

    told: the share of studies in which the jackknife gives an error, as it does unless all answers are the
    same; only these count. df: its degrees of freedom.
    """
    unequal, alike = KINDS[kind]
    rng = np.random.default_rng([seed, count, round(100 * share)])
    sizes = np.geomspace(2, 20, count).astype(int) if unequal else np.full(count, 6)
    code = np.repeat(np.arange(count), sizes)
    x = rng.permutation(np.geomspace(1, 3, count))[code] if unequal else np.ones(len(code))
    drawn = rng.random((count, studies))[code] if alike else rng.random((len(code), studies))
    better = np.where(drawn < share, 1.0, -1.0)
    slope = (2 * share - 1) * x.sum() / (x * x).sum()  # what least squares finds on average
    found: dict[str, float] = {}
    trial, rows = np.repeat(np.arange(len(code)), 2), np.arange(2 * len(code)) % 2 == 0
    model = Model(np.where(rows, x[trial], 0)[:, None], trial)
    outcomes = np.where(rows[:, None], better[trial], -better[trial]) / 2
    estimates = (x @ better) / (x @ x)
    residuals = outcomes - model.within * estimates
    jackknife = model.leave_out(code[trial]).jackknife(np.ones(1), residuals)
    error = np.sqrt(jackknife.variance)
    told = error > ROUNDING
    found |= {"told": float(told.mean()), "df": jackknife.df}
    for name, df in (("G - 1", count - 1), ("Satterthwaite", jackknife.df)):
        missed = abs(estimates - slope) > stats.t.ppf(1 - LEVEL / 2, df) * error + ROUNDING
        found[name] = float(missed[told].mean())
    for name, weights in (("signs", signs(count)), ("Webb", webb(rng, count, DRAWS))):
        plain, drawn_t = bootstrapped(x, better - slope * x[:, None], code, weights)
        # A sample that is the study itself is as large: rounding must not make it smaller.
        p = (drawn_t >= plain[:, None] * (1 - ROUNDING)).mean(axis=1)
        found[name] = float((p < LEVEL)[told].mean())
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench.few_clusters", description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    given = parser.parse_args()
    rows = [
        {"design": kind, "chosen": share, "clusters": count} | rejected(kind, share, count, given.studies)
        for kind, share, count in product(KINDS, SHARES, COUNTS)
    ]
    sys.stdout.write(f"{pd.DataFrame(rows).to_string(index=False, float_format='{:.3f}'.format)}\n")


if __name__ == "__main__":
    main()
