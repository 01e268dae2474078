"""Find what comparisons cannot identify: collinear columns and separated choices, by name."""

import numpy as np
from scipy import linalg
from scipy.optimize import linprog

from analysis.tables.frame import Floats

COLLINEAR = 1e-8
"""The share of a column that its best combination of others has to leave.

A column that leaves more counts as a column of its own.
"""

LOADING = 1e-6
"""The size below which a coefficient of scaled columns is zero but for rounding."""


def dependent_columns(x: Floats) -> dict[int, Floats]:
    """Return the columns that are combinations of earlier independent ones, with coefficients (K) of each.

    x: N x K, differences within choice sets. A column of zeros has only zero coefficients, and without rows
    all are such.
    """
    if not len(x):
        return {column: np.zeros(x.shape[1]) for column in range(x.shape[1])}
    scale = column_scale(x)
    # The eigenvalues of the correlations settle most cases; products lose half the digits, so not the rest.
    if np.linalg.eigvalsh(x.T @ x / np.outer(scale, scale) / len(x)).min(initial=1) > 1e-6:
        return {}
    root: Floats = linalg.qr(x / scale, mode="r")[0]
    kept: list[int] = []
    found: dict[int, Floats] = {}
    for column in range(x.shape[1]):
        target = root[:, column]
        weights = np.zeros(x.shape[1])
        if kept:
            weights[kept] = np.linalg.lstsq(root[:, kept], target, rcond=None)[0]
        rest = np.linalg.norm(target - root @ weights)
        if rest > COLLINEAR * max(float(np.linalg.norm(target)), np.finfo(float).tiny):
            kept.append(column)
        else:
            weights[abs(weights) < LOADING] = 0
            found[column] = weights * scale[column] / scale
    return found


def separating_direction(differences: Floats) -> Floats | None:
    """Return weights (K) of a combination that separates the choices, or None.

    No chosen option has less of this combination than a rejected one. differences: one row per rejected
    option, the chosen option's values less its own. Along such a direction the likelihood rises for ever
    (Albert and Anderson 1984); a single column is looked for first because it is easiest to understand, then
    a linear programme finds any combination (Konis 2007).
    """
    scale = column_scale(differences)
    scaled = differences / scale
    low, high = scaled.min(axis=0), scaled.max(axis=0)
    for column in range(scaled.shape[1]):
        if (low[column] >= -LOADING) != (high[column] <= LOADING):
            direction = np.zeros(scaled.shape[1])
            direction[column] = 1 if low[column] >= -LOADING else -1
            return direction / scale
    found = linprog(
        -scaled.sum(axis=0), A_ub=-scaled, b_ub=np.zeros(len(scaled)), bounds=(-1, 1), method="highs"
    )
    if found.x is None or not (scaled @ found.x > 10 * LOADING).any():
        return None
    return np.where(abs(found.x) > LOADING, found.x, 0) / scale


def column_scale(x: Floats) -> Floats:
    """Return the root mean square of each column; 1 where it is zero."""
    scale = np.sqrt(np.einsum("nk,nk->k", x, x) / max(len(x), 1))
    return np.where(scale > 0, scale, 1)


def combination(weights: Floats, terms: tuple[str, ...]) -> str:
    """Write a combination in words, e.g. `2 × stars - price`."""
    text = ""
    for weight, term in zip(weights, terms, strict=True):
        if weight:
            size = "" if np.isclose(abs(weight), 1) else f"{abs(weight):.4g} × "
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{size}{term}"
    return text
