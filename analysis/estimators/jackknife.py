"""Leave out each cluster in turn, for standard errors that stay honest with few and unequal clusters.

The variance is CV3 (MacKinnon, Nielsen and Webb 2023), which is never too small on average (Hansen 2025). The
degrees of freedom of its t are Satterthwaite's, as Bell and McCaffrey (2002) propose: those of the chi-square
that has the mean and the variance which this variance estimate would have if the trials' errors were
independent and alike. With equal clusters that is one less than there are of them; if a few clusters decide
an estimate, it is less.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.tables.frame import Floats, Ints

TOLERANCE = 1e-9
"""The size below which an eigenvalue of the correlations, a residual or an estimate is rounding noise."""

ESTIMABLE = 1e-6
"""The share of a combination that may lie outside of what the data identify.

With more, the combination counts as not identified.
"""


def pseudo_inverse(grams: Floats) -> tuple[Floats, Floats]:
    """Return the pseudo-inverse of a matrix of products, and the projector onto its range.

    Of a stack of matrices too. What the data do not tell has eigenvalues below `TOLERANCE`.
    """
    values, vectors = np.linalg.eigh(grams)
    kept = np.broadcast_to((values > TOLERANCE)[..., None, :], vectors.shape)
    transposed = np.swapaxes(vectors, -1, -2)
    divided = np.divide(vectors, values[..., None, :], out=np.zeros_like(vectors), where=kept)
    return divided @ transposed, np.where(kept, vectors, 0.0) @ transposed


def inside(weights: Floats, projector: Floats) -> bool:
    """Return whether a combination of (scaled) coefficients lies in a range, or in all of a stack of them."""
    outside = np.linalg.norm(weights - projector @ weights, axis=-1)
    return bool((outside <= ESTIMABLE * np.linalg.norm(weights)).all())


def squares(columns: Floats, code: Ints) -> Floats:
    """Return the products of the columns, summed by cluster (G x K x K). code: 0 to G - 1."""
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code))
    parts = np.split(columns[order], ends[:-1])
    return np.array([part.T @ part for part in parts])


def sums(rows: Floats, code: Ints, weight: Floats) -> Floats:
    """Return the weighted rows summed by code."""
    member = sparse.csr_matrix((weight, (code, np.arange(len(code)))))
    total: Floats = member @ rows
    return total


def satterthwaite(products: Floats) -> float:
    """Return the degrees of freedom of a sum of squares. products: the covariances of what is squared."""
    return float(np.trace(products) ** 2 / (products**2).sum())


def spread(sizes: Floats, shifts: Floats, inverse: Floats) -> Floats:
    """Return the covariances of sums over clusters of weighted residuals (G x G).

    The errors are independent and of variance 1. sizes (G): the sums of squared weights. shifts (G x K): the
    columns times the weights, summed. Residuals are what least squares leaves of errors: of these they have
    the covariances I - X (X'X)^- X'.
    """
    covariances: Floats = np.diag(sizes) - shifts @ inverse @ shifts.T
    return covariances


@dataclass(frozen=True)
class Jackknife:
    """How an estimate moves without each of the G clusters on which it depends.

    codes (G): the clusters. moves (G, or G x studies): estimate without the cluster less that with it.
    products (G x G): the covariances of the moves for errors that are independent and of variance 1.
    """

    codes: Ints
    moves: Floats
    products: Floats

    @property
    def variance(self) -> Floats:
        """The variance of the estimate."""
        count = len(self.codes)
        variance: Floats = (count - 1) / count * (self.moves**2).sum(axis=0)
        return variance

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom of the variance."""
        return satterthwaite(self.products)

    def less(self, other: "Jackknife") -> "Jackknife":
        """Return that of the difference to an estimate of other trials in the same clusters."""
        codes = np.union1d(self.codes, other.codes)
        moves = np.zeros((len(codes), *self.moves.shape[1:]))
        products = np.zeros((len(codes), len(codes)))
        for each, sign in ((self, 1), (other, -1)):
            at = np.searchsorted(codes, each.codes)
            moves[at] += sign * each.moves
            products[np.ix_(at, at)] += each.products
        return Jackknife(codes, moves, products)


@dataclass(frozen=True)
class LeaveOut:
    """A model without each of its clusters in turn.

    columns (N x K): less their trial means, divided by `scale` (K). gram: their products; inverse: its
    pseudo-inverse. code (N): the cluster of each row.
    """

    columns: Floats
    scale: Floats
    gram: Floats
    inverse: Floats
    code: Ints

    def identifies(self, weights: Floats) -> bool:
        """Return whether the data identify the combination also without any one of the clusters."""
        return inside(weights / self.scale, self._without[1])

    def jackknife(self, weights: Floats, residuals: Floats) -> Jackknife:
        """Return how the combination moves. residuals: N, or N x studies."""
        return self.moved(weights, self.scores(residuals))

    def scores(self, residuals: Floats) -> Floats:
        """Return the columns times the residuals, summed by cluster (G x K, or G x K x studies)."""
        if residuals.ndim == 1:
            return sums(self.columns, self._place, residuals)
        order = np.argsort(self._place, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(self._place))[:-1])
        return np.array([self.columns[part].T @ residuals[part] for part in parts])

    def moved(self, weights: Floats, scores: Floats) -> Jackknife:
        """Return how the combination moves. scores: see `scores`."""
        scaled = weights / self.scale
        direction = self.inverse @ scaled
        shares = (self._squares @ direction) @ direction
        own = shares > TOLERANCE * shares.sum()
        influence = self._without[0][own] @ scaled
        shifts = np.einsum("gij,gj->gi", self._squares[own], influence)
        products = spread((shifts * influence).sum(axis=1), shifts, self.inverse)
        return Jackknife(self._codes[own], -np.einsum("gi,gi...->g...", influence, scores[own]), products)

    def linearised(self, weights: Floats, scores: Floats) -> tuple[Ints, Floats]:
        """Return the clusters on which the combination depends, and how it moves, to the first order."""
        direction = self.inverse @ (weights / self.scale)
        own = (self._squares @ direction) @ direction
        there = own > TOLERANCE * own.sum()
        return self._codes[there], -scores[there] @ direction

    @cached_property
    def _codes(self) -> Ints:
        return np.unique(self.code)

    @cached_property
    def _place(self) -> Ints:
        return np.searchsorted(self._codes, self.code)

    @cached_property
    def _squares(self) -> Floats:
        return squares(self.columns, self._place)

    @cached_property
    def _without(self) -> tuple[Floats, Floats]:
        """The pseudo-inverse and the projector of what is left without each cluster."""
        return pseudo_inverse(self.gram - self._squares)
