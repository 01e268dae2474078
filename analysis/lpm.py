"""Linear probability model with trial fixed effects: one average marginal contrast and its standard error.

The model is `chosen ~ x1 x x2 x ... (all interactions) | trial`. The average marginal contrast of x1 (the
prediction at 1 less the prediction at 0, averaged over the observed values of the other regressors) is a
linear combination of its coefficients. Centring each product that multiplies x1 at its mean, as in
`x1 * (x2 * x3 - mean(x2 * x3))`, leaves the fit unchanged and makes the coefficient of x1 that very
combination, so its delta-method standard error is simply the coefficient's. (As usual for average marginal
effects, the observed values are taken as given.)
"""

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyfixest
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

ROUNDING = 9
TOLERANCE = 10.0**-ROUNDING
"""Size below which a demeaned column, a residual or an estimate is rounding noise."""


@dataclass(frozen=True)
class Contrast:
    """An average marginal contrast, in probability units. NaN is undefined, with the reason in `note`."""

    estimate: float = np.nan
    std_error: float = np.nan
    df: float = np.nan
    note: str = ""

    @property
    def statistic(self) -> float:
        return self.estimate / self.std_error

    @property
    def p_value(self) -> float:
        return float(2 * stats.t.sf(abs(self.statistic), self.df))

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval."""
        return float(stats.t.ppf(0.975, self.df) * self.std_error)


def design_matrix(x: pd.DataFrame, focus: str, order: int) -> pd.DataFrame:
    """Columns of the model with interactions up to `order`; the first, `x0`, is the regressor `focus`.

    The names are generated: labels of the data never reach a formula.
    """
    others = [x[name].to_numpy(float) for name in x if name != focus]
    at = x[focus].to_numpy(float)
    columns = [at]
    for size in range(1, order + 1):
        for factors in combinations(others, size):
            product = np.prod(factors, axis=0)
            columns.append(product)
            if size < order:
                columns.append(at * (product - product.mean()))
    return pd.DataFrame({f"x{i}": column for i, column in enumerate(columns)})


def within_trials(design: pd.DataFrame, trial: Ints) -> Floats:
    """The distinct rows of the columns less their trial means: they span what the fixed effects leave."""
    within = design - design.groupby(trial).transform("mean")
    return within.round(ROUNDING).drop_duplicates().to_numpy(float)


def is_identified(design: pd.DataFrame, trial: Ints) -> bool:
    """Whether `x0` varies within trials beyond what the other columns explain (Frisch-Waugh-Lovell)."""
    within = within_trials(design, trial)
    focus, others = within[:, 0], within[:, 1:]
    left = focus - others @ np.linalg.lstsq(others, focus, rcond=TOLERANCE)[0] if others.size else focus
    return bool(left @ left > TOLERANCE * (focus @ focus))


def average_contrast(y: Floats, design: pd.DataFrame, trial: Ints, clusters: dict[str, Ints]) -> Contrast:
    """Fit the model by least squares and return the contrast of `x0`.

    y: outcome, one value per row (a choice, or a choice probability). trial: fixed effect, integers.
    clusters: one or two named partitions of the rows, each coarser than `trial` and with two or more parts.

    One-way standard errors are CRV1: the sandwich times (N-1)/(N-K) G/(G-1), where K counts the coefficients
    and one for the trial effects, which are nested in the clusters. The two-way variance adds the one-way
    ones and subtracts that of the intersection (Cameron, Gelbach and Miller 2011), each with the smaller G.
    With few clusters that is often too small, or negative; so the largest of the two-way and the two one-way
    standard errors is taken (MacKinnon, Nielsen and Webb 2024), and the note says so. t has min(G) - 1
    degrees of freedom.
    """
    names = {name: f"g{i}" for i, name in enumerate(clusters)}
    data = design.assign(y=y, trial=trial, **{names[name]: codes for name, codes in clusters.items()})
    formula = f"y ~ {' + '.join(map(str, design))} | trial"
    one_way = list(names.values())
    ways = one_way if len(one_way) == 1 else ["+".join(one_way), *one_way]
    with warnings.catch_warnings():
        # Collinear interactions are expected (in pairs, "cheaper" of one option mirrors that of the other); a
        # negative two-way variance gives an invalid square root, which the largest of the three replaces.
        warnings.simplefilter("ignore")
        fit = pyfixest.feols(formula, data, vcov={"CRV1": ways[0]})
        errors = [float(fit.se()["x0"])]
        errors += [float(fit.vcov({"CRV1": way}).se()["x0"]) for way in ways[1:]]
        estimate, residuals = float(fit.coef()["x0"]), fit.resid()
    if abs(estimate) < TOLERANCE:
        estimate = 0.0
    if np.abs(residuals).max() < TOLERANCE:
        return Contrast(estimate, note="no standard error: the model fits every choice exactly")
    std_error = float(np.nanmax(errors))
    if std_error < TOLERANCE:
        return Contrast(estimate, note="no standard error: the residuals cancel in every cluster")
    df = min(len(np.unique(codes)) for codes in clusters.values()) - 1
    note = ""
    if len(ways) > 1 and not errors[0] >= std_error:
        widest = list(names)[int(np.nanargmax(errors[1:]))]
        two_way = "undefined" if np.isnan(errors[0]) else f"{100 * errors[0]:.2f}"
        note = f"standard error by {widest}, larger than two-way ({two_way})"
    return Contrast(estimate, std_error, df, note)
