"""Attribute a score to the fields of a prompt, by Shapley's (1953) and Banzhaf's (1965) values.

The fields are the players; a payoff is the score of the prompt that has only a coalition's fields.
"""

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np

from analysis.tables.frame import Floats


def shapley(payoffs: Floats) -> Floats:
    """Compute exact Shapley values, shape (n, ...), of payoffs of shape (2^n, ...).

    The values add up to v(all) - v(empty). Row k of `payoffs` is the coalition of the fields i whose bit is
    set in k, as `coalitions` lists them. Further axes are games of their own (targets, prompts); one that is
    undefined leaves the others alone.
    """
    n = len(payoffs).bit_length() - 1
    return _weighted(payoffs, np.array([1 / (n * comb(n - 1, size)) for size in range(n)]))


def banzhaf(payoffs: Floats) -> Floats:
    """Compute exact Banzhaf values: shape (n, ...), of payoffs of shape (2^n, ...).

    A value is the mean contribution over all coalitions without the field. The values need not add up to
    v(all) - v(empty).
    """
    n = len(payoffs).bit_length() - 1
    return _weighted(payoffs, np.full(n, 0.5 ** (n - 1)))


def _weighted(payoffs: Floats, by_size: Floats) -> Floats:
    """The sum of a field's contributions, weighted by the size of the coalition that it joins."""
    n = len(by_size)
    grid = payoffs.reshape((2,) * n + payoffs.shape[1:])
    weights = by_size[np.indices((2,) * (n - 1)).sum(axis=0).astype(int)]
    axes = range(n - 1, -1, -1)  # of the highest bit first
    joined = [np.take(grid, 1, axis) - np.take(grid, 0, axis) for axis in axes]
    return np.stack([np.tensordot(weights, each, n - 1) for each in joined])


def sampled_shapley(
    payoffs: Mapping[frozenset[str], Floats], fields: Sequence[str], orders: Sequence[Sequence[str]]
) -> tuple[Floats, Floats]:
    """Estimate Shapley values and their standard errors by sampling orders of the fields.

    This is permutation sampling (Castro, Gomez and Tejada 2009). payoffs: of every beginning of every order,
    all of one shape. Returns two arrays of shape (n, ...).
    """
    shape = np.shape(payoffs[frozenset(fields)])
    added = np.empty((len(orders), len(fields), *shape))
    for row, order in enumerate(orders):
        present: frozenset[str] = frozenset()
        for field in order:
            joined = present | {field}
            added[row, fields.index(field)] = payoffs[joined] - payoffs[present]
            present = joined
    return added.mean(axis=0), added.std(axis=0, ddof=1) / np.sqrt(len(orders))
