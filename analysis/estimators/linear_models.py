"""Fit linear models to cells: designs with factors, coefficients, type III tests, and what is estimable.

A cell is a combination of the regressors with its count, mean and sum of squares within; least squares needs
nothing else, so raw data (cells of one), grouped data and published tables are the same thing here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.t_tests import student, summarize
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats

Coding = Literal["treatment", "sum"]

INTERCEPT = "Intercept"
RANK_TOLERANCE = 1e-10
NOISE = 1e-22
"""The share of the total sum of squares below which a sum of squares is rounding.

This is about 1e-11 in each value.
"""
ROUNDING = 1e-13
"""The share of the largest column's part in a fit below which that of another column is rounding."""

INESTIMABLE = "not estimable: the design has empty cells or collinear columns"
NO_RESIDUAL = "no residual degrees of freedom"


@dataclass(frozen=True)
class DesignMatrix:
    """A matrix with one row per cell; `terms` maps each term of the model to its columns."""

    matrix: Floats
    columns: tuple[str, ...]
    terms: dict[str, list[int]]


def group_cells(table: pd.DataFrame, factors: Sequence[str], outcome: str) -> pd.DataFrame:
    """Group a table into cells: factors, n, mean and ss (sum of squares within).

    NaN outcomes are left out.
    """
    used = table[table[outcome].notna()]
    rows = []
    for key, values in used.groupby(list(factors), sort=True)[outcome]:
        n, mean, sd = summarize(values)
        rows.append((*key, n, mean, (n - 1) * sd**2 if n > 1 else 0.0))
    return pd.DataFrame(rows, columns=[*factors, "n", "mean", "ss"])


def empty_cells(cells: pd.DataFrame, factors: Sequence[str]) -> list[str]:
    """Return combinations of the factors' levels that no cell has, as `control x gpt`."""
    present = set(cells[list(factors)].itertuples(index=False, name=None))
    combined = product(*(sorted(cells[factor].unique()) for factor in factors))
    return [" x ".join(map(str, cell)) for cell in combined if cell not in present]


def full_factorial(
    cells: pd.DataFrame, factors: Sequence[str], coding: Coding = "treatment", order: int | None = None
) -> DesignMatrix:
    """Build the intercept, main effects and interactions up to `order` (all by default).

    A column of numbers enters as it is. A column of text is coded with treatment (dummy) coding, reference
    its first level, or with sum-to-zero coding, where the last level has -1 throughout. Levels are
    alphabetical unless the column is categorical.
    """
    coded = {factor: _code(cells[factor], factor, coding) for factor in factors}
    columns: list[tuple[str, Floats]] = [(INTERCEPT, np.ones(len(cells)))]
    terms = {INTERCEPT: [0]}
    for size in range(1, (len(factors) if order is None else order) + 1):
        for chosen in combinations(factors, size):
            products = [
                (":".join(name for name, _ in parts), reduce(np.multiply, (values for _, values in parts)))
                for parts in product(*(coded[factor] for factor in chosen))
            ]
            terms[":".join(chosen)] = list(range(len(columns), len(columns) + len(products)))
            columns += products
    names = tuple(name for name, _ in columns)
    return DesignMatrix(np.column_stack([values for _, values in columns]), names, terms)


def _code(values: pd.Series, name: str, coding: Coding) -> list[tuple[str, Floats]]:
    if pd.api.types.is_numeric_dtype(values):
        return [(name, values.to_numpy(float))]
    levels = (
        list(values.cat.categories) if isinstance(values.dtype, pd.CategoricalDtype) else sorted(set(values))
    )
    if len(levels) < 2:
        raise AnalysisError(f"{name}: only {levels[0]!r} is present; a factor needs two levels")
    indicator = {level: (values == level).to_numpy(float) for level in levels}
    if coding == "treatment":
        return [(f"{name}[{level}]", indicator[level]) for level in levels[1:]]
    return [(f"{name}[S.{level}]", indicator[level] - indicator[levels[-1]]) for level in levels[:-1]]


@dataclass(frozen=True)
class LinearFit:
    """A fit by ordinary least squares.

    Coefficients that the data do not identify are NaN; their terms are not tested. `covariance` is that of
    the coefficients over the residual variance; `rank` is the true rank.
    """

    design: DesignMatrix
    coefficients: Floats
    covariance: Floats
    null_space: Floats
    scale: Floats
    solution: Floats
    rank: int
    n: int
    ss_total: float
    ss_residual: float

    @property
    def df_residual(self) -> int:
        return self.n - self.rank

    @property
    def variance(self) -> float:
        """The variance of the residuals; NaN without degrees of freedom."""
        return self.ss_residual / self.df_residual if self.df_residual > 0 else np.nan

    def is_estimable(self, contrast: Floats) -> bool:
        """Return whether each row of coefficients' weights is a combination of the design's rows."""
        scaled = contrast / self.scale
        lost = np.linalg.norm(scaled @ self.null_space, axis=-1)
        return bool(np.all(lost <= 1e-7 * np.linalg.norm(scaled, axis=-1)))

    def predict(self, matrix: Floats) -> Floats:
        """Return the expected outcome of rows of a design matrix; NaN for a row that is not estimable."""
        return np.array([row @ self.solution if self.is_estimable(row) else np.nan for row in matrix])

    def coefficient_rows(self) -> list[dict[str, Any]]:
        """Return estimate, standard error, t, p and 95 % interval of each column.

        The standard error comes from the residual variance.
        """
        rows = []
        for column, name in enumerate(self.design.columns):
            estimate = self.coefficients[column]
            # A share of the fit that is a rounding error of the largest one is none.
            rounding = ROUNDING * np.abs(self.solution * self.scale).max() / self.scale[column]
            estimate = 0.0 if abs(estimate) <= rounding else estimate
            row: dict[str, Any] = {"term": name, "estimate": estimate, "df": self.df_residual}
            if np.isnan(estimate):
                row["note"] = INESTIMABLE
            elif not self.variance > 0:
                row["note"] = NO_RESIDUAL if self.df_residual <= 0 else "no residual variance: no test"
            else:
                error = np.sqrt(self.variance * self.covariance[column, column])
                row |= student(estimate, error, self.df_residual)
            rows.append(row | {"side": "two-sided"})
        return rows

    def anova_rows(self) -> list[dict[str, Any]]:
        """Return the type III tests of each term, and the residual.

        A test compares a term's coefficients with 0, with all other terms in the model.
        """
        rows = []
        for term, columns in self.design.terms.items():
            contrast = np.eye(len(self.design.columns))[columns]
            row: dict[str, Any] = {"term": term, "df": len(columns), "side": "upper tail"}
            if self.is_estimable(contrast):
                chosen = self.coefficients[columns]
                ss = float(chosen @ np.linalg.solve(self.covariance[np.ix_(columns, columns)], chosen))
                ss = ss if ss > NOISE * self.ss_total else 0.0
                row |= {"sum_sq": ss, **f_test(ss, len(columns), self.ss_residual, self.df_residual)}
            else:
                row["note"] = INESTIMABLE
            rows.append(row)
        return [*rows, {"term": "Residual", "df": self.df_residual, "sum_sq": self.ss_residual}]


def fit_cells(design: DesignMatrix, cells: pd.DataFrame) -> LinearFit:
    """Fit the cells' means on the design by least squares, weighted by count. Cells: n, mean, ss.

    Raises AnalysisError without cells.
    """
    if cells.empty:
        raise AnalysisError("no cell has a response; nothing can be fitted")
    count, mean = cells["n"].to_numpy(float), cells["mean"].to_numpy(float)
    weighted = design.matrix * np.sqrt(count)[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    scale[scale == 0] = 1.0
    left, singular, right = np.linalg.svd(weighted / scale, full_matrices=True)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    kept, inverse = right[:rank], 1 / singular[:rank]
    solution = kept.T @ (inverse * (left[:, :rank].T @ (np.sqrt(count) * mean))) / scale
    spread = kept.T * inverse / scale[:, None]
    fitted = design.matrix @ solution
    total = float(cells["ss"].sum() + count @ mean**2)
    lack_of_fit = float(count @ (mean - fitted) ** 2)
    residual = float(cells["ss"].sum()) + (lack_of_fit if lack_of_fit > NOISE * total else 0.0)
    fit = LinearFit(
        design,
        solution.copy(),
        spread @ spread.T,
        right[rank:].T,
        scale,
        solution,
        rank,
        int(count.sum()),
        total,
        residual,
    )
    for column, contrast in enumerate(np.eye(len(design.columns))):
        if not fit.is_estimable(contrast):
            fit.coefficients[column] = np.nan
    return fit


def f_test(ss: float, df: float, ss_residual: float, df_residual: float) -> dict[str, Any]:
    """Compute F of a sum of squares against the residual one.

    Returns statistic, p_value (upper tail) and note.
    """
    if df_residual <= 0:
        return {"note": NO_RESIDUAL}
    if ss_residual == 0:
        if ss == 0:
            return {"p_value": 1.0, "note": "no difference, no variance: F is undefined"}
        return {
            "statistic": np.inf,
            "p_value": 0.0,
            "note": "degenerate: no residual variance, F is infinite",
        }
    statistic = (ss / df) / (ss_residual / df_residual)
    return {"statistic": statistic, "p_value": float(stats.f.sf(statistic, df, df_residual))}
