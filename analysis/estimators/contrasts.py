"""Build the columns of a model with interactions, and the weights of an average marginal contrast.

A column is a product of 0/1 regressors. The average marginal contrast of a regressor is
the prediction with it at 1 less that with it at 0, averaged over rows with all else as observed. (As usual
for average marginal effects, the observed values are taken as given.) It is linear in the coefficients: a
column that holds the regressor counts with the mean of its other factors, any other column with 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.estimators.lpm import Model
from analysis.tables.frame import Floats, Ints

COMPARISONS_PER_COEFFICIENT = 5
"""The least comparisons (options less trials) per coefficient.

With fewer, 95 % intervals of the full model cover less than 90 %.
"""


@dataclass(frozen=True)
class Specification:
    """A model of products of 0/1 regressors. x: these by name (N rows). columns: the factors of each product.

    note: what was left out, and why. rows: the weight of each row; None: 1.
    """

    x: pd.DataFrame
    columns: Sequence[frozenset[str]]
    note: str = ""
    rows: Floats | None = None

    def values(self) -> Floats:
        """Return the columns of the model (N x K)."""
        return np.column_stack([self._product(factors) for factors in self.columns])

    def weights(self, focus: str) -> Floats:
        """Return the weights of the average marginal contrast of a regressor (K)."""
        means = [
            np.average(self._product(factors - {focus}), weights=self.rows) if focus in factors else 0.0
            for factors in self.columns
        ]
        return np.array(means)

    @cached_property
    def _products(self) -> dict[frozenset[str], Floats]:
        """Those that were made, and what all are made of."""
        own = {frozenset({str(name)}): self.x[name].to_numpy(float) for name in self.x}
        return {frozenset(): np.ones(len(self.x))} | own

    def _product(self, factors: frozenset[str]) -> Floats:
        if factors not in self._products:
            last = frozenset({max(factors)})
            self._products[factors] = self._product(factors - last) * self._products[last]
        return self._products[factors]


def interactions(names: Sequence[str], order: int) -> list[frozenset[str]]:
    """Return all products of up to `order` regressors."""
    return [frozenset(p) for size in range(1, order + 1) for p in combinations(names, size)]


class _BestSpecification(NamedTuple):
    """A specification, its model, and the weights of each regressor's contrast."""

    specification: Specification
    model: Model
    weights: list[Floats]


def best_specification(
    specifications: Sequence[Specification],
    trial: Ints,
    focuses: Sequence[str],
    code: Ints | None = None,
) -> _BestSpecification:
    """Return the first specification that identifies the contrasts of all these regressors, or else most.

    specifications: from the richest to the poorest. One with too many coefficients for the data is passed
    over, the last one never. code: clusters of rows; a contrast that is identified also without any one of
    them counts for more, because it has a jackknife error.
    """
    best: _BestSpecification | None = None
    most = (-1, -1)
    for specification in specifications:
        model = Model(specification.values(), trial, specification.rows)
        if (
            specification is not specifications[-1]
            and model.comparisons < COMPARISONS_PER_COEFFICIENT * model.rank
        ):
            continue
        weights = [specification.weights(focus) for focus in focuses]
        told = [row for row in weights if model.identifies(row)]
        left_out = model.leave_out(code) if code is not None and told else None
        kept = sum(left_out.identifies(row) for row in told) if left_out else len(told)
        if (len(told), kept) > most:
            best, most = _BestSpecification(specification, model, weights), (len(told), kept)
        if most == (len(weights), len(weights)):
            break
    assert best is not None  # noqa: S101 (the last specification is never passed over)
    return best
