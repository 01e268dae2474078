"""Fit the conditional logit (McFadden 1974) to choice sets of any sizes, and the binary logit.

The utility of an option is x'b plus extreme-value noise, so it is chosen with probability exp(x'b) over the
sum of exp(x'b) in its set. The log-likelihood is concave; Newton's method with the analytic gradient and
Hessian finds its maximum in a few steps, or the reason why there is none is found and named.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import linalg, stats

from analysis.estimators.choice_sets import ChoiceSets, Covariance, named, read_pairs, read_sets
from analysis.estimators.identification import (
    column_scale,
    combination,
    dependent_columns,
    separating_direction,
)
from analysis.estimators.lpm import LEAST_CLUSTERS, PLURALS
from analysis.estimators.t_tests import student
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import FRAME_COLUMNS, Floats

CONVERGED = 1e-10
"""The Newton decrement of the last step. Convergence is quadratic: what is left is about its square."""

SUSPICIOUS = 15
"""The number of steps after which separation is looked for.

Seven or eight steps are usual, and with separation no number is enough.
"""

STEPS = 100

READABLE = 3
"""The terms that a note of one term may name; `CLogit.notes` name all."""

ROUNDING = 1e-12
"""No error of a coefficient is as small as this."""
BY_SET = ("p_by_set", "by_set_low", "by_set_high")
"""The columns of `CLogit.by_set`."""

INTERCEPT = "const"
"""The term of the ordinary logit that is 1 in every row."""


@dataclass(frozen=True)
class CLogit:
    """A fitted logit; K is the number of terms.

    estimate (K), cov (K x K): NaN for a term without a finite estimate, see `term_notes`. loglik,
    loglik_null: at the estimate, and of equal probabilities (binary logit: of the intercept alone).
    n_missing: sets left out for a missing value or choice. df: of the t distribution, or infinite.
    left_out (K x K), left_out_df: the covariance of leaving out each choice set, and its degrees of freedom,
    where it was computed (see `analysis.estimators.leave_out`).
    """

    terms: tuple[str, ...]
    estimate: Floats
    cov: Floats
    loglik: float
    loglik_null: float
    n_parameters: int
    n_sets: int
    n_options: int
    n_missing: int
    iterations: int
    df: float
    term_notes: tuple[str, ...]
    notes: tuple[str, ...]
    left_out: Floats | None = None
    left_out_df: float = np.inf

    @property
    def aic(self) -> float:
        """Akaike's criterion (1974): twice the number of parameters less twice the log-likelihood."""
        return 2 * self.n_parameters - 2 * self.loglik

    @property
    def pseudo_r2(self) -> float:
        """McFadden's (1974) pseudo R squared: 1 - loglik / loglik_null."""
        return 1 - self.loglik / self.loglik_null if self.loglik_null else np.nan

    @property
    def std_error(self) -> Floats:
        return np.sqrt(np.diag(self.cov))

    def of(self, term: str) -> tuple[float, float]:
        """Return the estimate and standard error of a term; NaN for one that is not in the model."""
        if term not in self.terms:
            return np.nan, np.nan
        at = self.terms.index(term)
        return float(self.estimate[at]), float(self.std_error[at])

    def frame(self, group: str = "") -> pd.DataFrame:
        """Return the tidy frame.

        `p_adjusted` is Benjamini and Hochberg's (1995) over the terms; n counts sets.
        """
        told = student(self.estimate, self.std_error, self.df)
        return pd.DataFrame(
            {
                "term": self.terms,
                "group": group,
                "estimate": self.estimate,
                **told,
                "p_adjusted": benjamini_hochberg(told["p_value"]),
                "n": self.n_sets,
                "n_missing": self.n_missing,
                "note": self.term_notes,
            },
            columns=list(FRAME_COLUMNS),
        )

    def by_set(self) -> pd.DataFrame:
        """Return the columns `BY_SET`, a row for each term: of leaving out choice sets.

        Undefined where the estimate does not move: then it and its error are what rounding makes of 0.
        """
        if self.left_out is None:
            return pd.DataFrame(np.nan, range(len(self.terms)), list(BY_SET))
        error = np.sqrt(np.diag(self.left_out))
        error = np.where(error > ROUNDING, error, np.nan)
        told = student(self.estimate, error, self.left_out_df)
        names = zip(BY_SET, ("p_value", "conf_low", "conf_high"), strict=True)
        return pd.DataFrame({name: told[own] for name, own in names})


class _ChiSquare(NamedTuple):
    """A test result: the statistic (chi-square), its degrees of freedom and its p value (upper tail)."""

    statistic: float
    df: int
    p_value: float


def fit_clogit(
    x: pd.DataFrame | npt.ArrayLike,
    chosen: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    cov: Covariance = "classical",
    cluster: npt.ArrayLike | None = None,
) -> CLogit:
    """Fit a conditional logit by maximum likelihood. Every argument has one entry per option (N).

    x: N x K regressors. chosen: 1 for the one chosen option of a set, else 0; NaN where no choice was made.
    Or the chances of the options of a set, which add up to 1: then the fit is by quasi-likelihood (Papke and
    Wooldridge 1996, Journal of Applied Econometrics 11), of which classical errors, those of drawn choices,
    say nothing.
    groups: labels of the choice sets. weights: equal within a set; with classical errors they count
    repetitions, with the others they are sampling weights.

    cov: `classical` is the inverse of the information matrix; `robust` the sandwich (Huber 1967, White 1982)
    with sets as units, times G / (G - 1) where G is the number of units; `clustered` sums the scores by the
    labels in `cluster` first, and its intervals use t with G - 1 degrees of freedom.

    A set with a missing value or without a choice is left out and counted. Sets of one option tell nothing.

    Raises AnalysisError if lengths differ, names repeat, a set has more than one choice, or weights or
    clusters differ within a set or do not fit `cov`.
    """
    frame = x if isinstance(x, pd.DataFrame) else named(x)
    sets, n_missing = read_sets(frame, chosen, groups, weights, cluster, cov)
    return _fit(sets, tuple(map(str, frame.columns)), n_missing, cov)


def fit_logit(
    x: pd.DataFrame | npt.ArrayLike,
    outcome: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    cov: Covariance = "classical",
    cluster: npt.ArrayLike | None = None,
) -> CLogit:
    """Fit an ordinary logit with an intercept, called `const`, to an outcome of 1 or 0, or a chance (N rows).

    It is the conditional logit between the row's option and an empty one. See `fit_clogit` for the rest.
    """
    frame = x if isinstance(x, pd.DataFrame) else named(x)
    design = pd.concat([pd.Series(1.0, frame.index, name=INTERCEPT), frame], axis=1)
    sets, n_missing = read_pairs(design, outcome, weights, cluster, cov)
    fit = _fit(sets, tuple(map(str, design.columns)), n_missing, cov)
    ones = float(sets.weight[sets.differences[:, 0] > 0].sum())
    counts = np.array([ones, sets.weight.sum() - ones])
    shares = counts[counts > 0] / sets.weight.sum()
    return replace(fit, loglik_null=float(counts[counts > 0] @ np.log(shares)), n_options=fit.n_sets)


def lr_test(restricted: CLogit, *full: CLogit) -> _ChiSquare:
    """Test two nested models by their likelihood ratio (Wilks 1938).

    full: the larger model, or the fits of its separate parts. Raises AnalysisError if the fits do not use the
    same number of sets or are not nested.
    """
    df = sum(fit.n_parameters for fit in full) - restricted.n_parameters
    if df <= 0 or sum(fit.n_sets for fit in full) != restricted.n_sets:
        raise AnalysisError("lr_test: the fits are not nested; give the same choices and a larger model")
    statistic = max(0.0, 2 * (sum(fit.loglik for fit in full) - restricted.loglik))
    return _ChiSquare(statistic, df, float(stats.chi2.sf(statistic, df)))


def wald_test(*parts: CLogit) -> _ChiSquare:
    """Test (Wald 1943) whether fits to separate choices have the same coefficients, with their own errors.

    Raises AnalysisError if they have other terms, or one has no standard error.
    """
    first = parts[0]
    covs = [fit.cov for fit in parts]
    if any(fit.terms != first.terms for fit in parts) or np.isnan(covs).any():
        raise AnalysisError("wald_test: the fits need the same terms, each with a standard error")
    count = len(first.terms)
    apart = np.concatenate([fit.estimate - first.estimate for fit in parts[1:]])
    # The fits are independent, and each difference has the first one in it.
    spread = linalg.block_diag(*covs[1:]) + np.kron(np.ones((len(parts) - 1,) * 2), covs[0])
    statistic = float(apart @ np.linalg.solve(spread, apart))
    df = count * (len(parts) - 1)
    return _ChiSquare(statistic, df, float(stats.chi2.sf(statistic, df)))


class _Maximum(NamedTuple):
    """Of the scaled columns. scores: one row per set."""

    beta: Floats
    information: Floats
    scores: Floats
    loglik: float
    iterations: int
    converged: bool


def _fit(sets: ChoiceSets, terms: tuple[str, ...], n_missing: int, cov: Covariance) -> CLogit:
    count = len(terms)
    notes, reasons = [], [""] * count
    rest, direction, best = sets, None, None
    while True:
        dependent = dependent_columns(rest.differences)
        kept = [k for k in range(count) if k not in dependent]
        _explain(dependent, terms, direction, reasons)
        told = rest.differences[:, kept] if dependent else rest.differences
        scale = column_scale(told)
        scaled = told / scale
        best = _maximise(rest, scaled, SUSPICIOUS)
        if best.converged:
            break
        found = separating_direction(told)
        if found is None:
            best = _maximise(rest, scaled, STEPS)
            break
        # The likelihood has no maximum, but a limit: the options that lose along this direction are never
        # chosen. What is left to compare identifies the other terms (Geyer 2009).
        direction = np.zeros(count)
        direction[kept] = found / abs(found).max()
        size = column_scale(rest.differences) @ abs(direction)
        loses = rest.differences @ direction > 1e-6 * size
        notes.append(
            f"{combination(direction, terms)} separates the choices: it predicts {int(loses.sum()):,} of"
            f" {len(loses):,} comparisons without an error"
        )
        rest = rest.only(~loses)
    if not best.converged:
        reasons = [f"no maximum found in {STEPS} steps"] * count
    identified = [k for k in kept if not reasons[k]]
    estimate, matrix, df, note = np.full(count, np.nan), np.full((count, count), np.nan), np.inf, ""
    if identified:
        chosen = [kept.index(k) for k in identified]
        estimate[identified] = (best.beta / scale)[chosen]
        full, df, note = _covariance(best, rest, cov, len(np.unique(sets.cluster)))
        matrix[np.ix_(identified, identified)] = (full / np.outer(scale, scale))[np.ix_(chosen, chosen)]
    sizes = 1 + np.bincount(sets.set)
    return CLogit(
        terms,
        estimate,
        matrix,
        best.loglik if sets.n_options and best.converged else np.nan,
        -float(sets.weight @ np.log(sizes)) if sets.n_options else np.nan,
        len(kept),
        sets.n_sets,
        sets.n_options,
        n_missing,
        best.iterations,
        df,
        tuple(reason or note for reason in reasons),
        tuple(notes),
    )


def _explain(
    dependent: dict[int, Floats], terms: tuple[str, ...], direction: Floats | None, reasons: list[str]
) -> None:
    """Give every term without an estimate its reason; one that it already has stays."""
    for column, weights in dependent.items():
        involved = [column, *np.flatnonzero(weights)]
        if direction is not None:
            many = np.count_nonzero(direction) > READABLE
            what = "a combination of its terms" if many else combination(direction, terms)
            reason = f"no finite estimate: {what} separates the choices"
        elif weights.any():
            reason = f"cannot be told apart: {terms[column]} = {combination(weights, terms)} within every set"
        else:
            reason = f"{terms[column]} never differs between the options of a set"
        for k in involved:
            reasons[k] = reasons[k] or reason


def _maximise(sets: ChoiceSets, x: Floats, steps: int) -> _Maximum:
    """Newton's method with step halving, from zero. x: the differences, scaled."""
    beta = np.zeros(x.shape[1])
    weight = sets.weight[sets.set]
    loglik, share = _evaluate(sets, x, beta)
    iterations, converged = 0, not beta.size or not len(x)
    parts, weighted = np.empty_like(x), np.empty_like(x)
    while True:
        missed = sets.sums(np.multiply(x, share[:, None], out=parts))
        np.multiply(x, np.sqrt(weight * share)[:, None], out=weighted)
        information = weighted.T @ weighted
        spread = np.sqrt(sets.weight)[:, None] * missed
        information -= spread.T @ spread
        if converged or iterations == steps:
            scores = sets.weight[:, None] * missed
            return _Maximum(beta, information, scores, loglik, iterations, converged)
        gradient = sets.weight @ missed
        try:
            step = linalg.cho_solve(linalg.cho_factor(information), gradient)
        except linalg.LinAlgError:
            return _Maximum(beta, information, missed, loglik, iterations, False)
        decrement = float(gradient @ step)
        ahead, ahead_share = _evaluate(sets, x, beta + step)
        # Where the step is within rounding, so is its gain.
        while decrement > 1e-6 and ahead < loglik:
            step /= 2
            ahead, ahead_share = _evaluate(sets, x, beta + step)
        beta, loglik, share = beta + step, ahead, ahead_share
        iterations += 1
        converged = decrement < CONVERGED * max(1.0, float(sets.weight.mean()))


def _evaluate(sets: ChoiceSets, x: Floats, beta: Floats) -> tuple[float, Floats]:
    """The log-likelihood, and the probability of each rejected option."""
    if not len(x):
        return 0.0, np.zeros(0)
    utility = -(x @ beta)  # the chosen option's is 0
    top = np.maximum(sets.highest(utility), 0)
    odds = np.exp(utility - top[sets.set])
    total = sets.sums(odds) + np.exp(-top)
    return -float(sets.weight @ (top + np.log(total))), odds / total[sets.set]


def _covariance(best: _Maximum, sets: ChoiceSets, cov: Covariance, units: int) -> tuple[Floats, float, str]:
    """The matrix, the degrees of freedom, and the reason why there is none."""
    bread: Floats = linalg.inv(best.information)
    if cov == "classical":
        return bread, np.inf, ""
    if units < (least := LEAST_CLUSTERS[1] if cov == "clustered" else 2):
        reason = f"no standard error: {cov} errors need {least} or more {PLURALS['set']}"
        return np.full_like(bread, np.nan), np.inf, reason
    sums = pd.DataFrame(best.scores).groupby(sets.cluster).sum().to_numpy()
    sandwich: Floats = bread @ (sums.T @ sums) @ bread * units / (units - 1)
    return sandwich, units - 1.0 if cov == "clustered" else np.inf, ""
