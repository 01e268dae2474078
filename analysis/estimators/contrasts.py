"""Build the columns of a model with interactions, and the weights of an average marginal contrast.

A column is a product of 0/1 regressors, in some rows only. The average marginal contrast of a regressor is
the prediction with it at 1 less that with it at 0, averaged over rows with all else as observed. (As usual
for average marginal effects, the observed values are taken as given.) It is linear in the coefficients: a
column that holds the regressor counts with the mean of its other factors, any other column with 0.
"""

from collections.abc import Iterable, Mapping, Sequence
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
class ContrastQuery:
    """The contrasts called `name`: of the regressor `focus`, over the rows of each group.

    Groups are integers from 0 below `count`.
    """

    name: str
    focus: str
    groups: Ints
    count: int


Column = tuple[frozenset[str], str, int]
"""A column of the model: its factors, a partition of the rows, and the part in which it counts."""


@dataclass(frozen=True)
class Specification:
    """A model's columns. x: regressors by name (N rows). parts: partitions of the rows, integers from 0.

    note: what was left out, and why.
    """

    x: pd.DataFrame
    parts: Mapping[str, Ints]
    columns: Sequence[Column]
    note: str = ""

    def values(self) -> Floats:
        """Return the columns of the model (N x K)."""
        values = np.zeros((len(self.x), len(self.columns)))
        for k, (factors, by, part) in enumerate(self.columns):
            rows = self._rows[by, part]
            values[rows, k] = self._product(factors, rows)
        return values

    def weights(self, query: ContrastQuery) -> Floats:
        """Return the weights of the average marginal contrasts (groups x K)."""
        sizes = np.maximum(np.bincount(query.groups, minlength=query.count), 1)
        weights = np.zeros((query.count, len(self.columns)))
        for k, (factors, by, part) in enumerate(self.columns):
            if query.focus in factors:
                rows = self._rows[by, part]
                others = self._product(factors - {query.focus}, rows)
                weights[:, k] = np.bincount(query.groups[rows], others, query.count) / sizes
        return weights

    @cached_property
    def _rows(self) -> dict[tuple[str, int], Ints]:
        """The rows of each part."""
        wanted = {(by, part) for _, by, part in self.columns}
        return {(by, part): np.flatnonzero(self.parts[by] == part) for by, part in wanted}

    @cached_property
    def _regressors(self) -> dict[str, Floats]:
        return {str(name): self.x[name].to_numpy(float) for name in self.x}

    def _product(self, factors: Iterable[str], rows: Ints) -> Floats:
        product = np.ones(len(rows))
        for name in factors:
            product *= self._regressors[name][rows]
        return product


def interactions(names: Sequence[str], order: int, by: str, parts: Ints) -> list[Column]:
    """Return all products of up to `order` regressors, in each part of a partition."""
    products = [frozenset(p) for size in range(1, order + 1) for p in combinations(names, size)]
    return [(product, by, int(part)) for part in np.unique(parts) for product in products]


class BestSpecification(NamedTuple):
    """A specification, its model, and the weights of each query's contrasts."""

    specification: Specification
    model: Model
    weights: list[Floats]


def best_specification(
    specifications: Sequence[Specification],
    trial: Ints,
    queries: Sequence[ContrastQuery],
    code: Ints | None = None,
) -> BestSpecification:
    """Return the first specification that identifies all contrasts, or else most of them.

    specifications: from the richest to the poorest. One with too many coefficients for the data is passed
    over, the last one never. code: clusters of rows; a contrast that is identified also without any one of
    them counts for more, because it has a jackknife error.
    """
    best: BestSpecification | None = None
    most = (-1, -1)
    for specification in specifications:
        model = Model(specification.values(), trial)
        if (
            specification is not specifications[-1]
            and model.comparisons < COMPARISONS_PER_COEFFICIENT * model.rank
        ):
            continue
        weights = [specification.weights(query) for query in queries]
        wanted = [row for rows in weights for row in rows]
        told = [row for row in wanted if model.identifies(row)]
        left_out = model.leave_out(code) if code is not None and told else None
        kept = sum(left_out.identifies(row) for row in told) if left_out else len(told)
        if (len(told), kept) > most:
            best, most = BestSpecification(specification, model, weights), (len(told), kept)
        if most == (len(wanted), len(wanted)):
            break
    assert best is not None  # noqa: S101 (the last specification is never passed over)
    return best
