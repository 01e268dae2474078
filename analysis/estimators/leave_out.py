"""Leave out each cluster of choices in turn: how far the coefficients of a conditional logit move.

The moves give errors that hold with few clusters, and tests over fits that share clusters.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from analysis.estimators.clogit import CLogit
from analysis.estimators.moved import FEW_SETS, HANGS, LEAST, Moved
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats

SINGULAR = 1e-10
"""The smallest eigenvalue of the scaled information, in relation to its largest, that tells something."""
ROUNDING = 1e-6


def moves(
    fit: CLogit,
    x: pd.DataFrame,
    chosen: npt.ArrayLike,
    groups: npt.ArrayLike,
    clusters: npt.ArrayLike,
    copies: int = 1,
) -> pd.DataFrame:
    """Return how far each coefficient moves without each cluster: G x K, indexed by the clusters' labels.

    fit, x (N x K), chosen, groups: of `fit_clogit`. clusters: N labels. To the first order the coefficients
    without cluster g differ by -(I - I_g)^-1 s_g, with the information I and the cluster's score s_g (the
    linearised jackknife of MacKinnon, Nielsen and Webb 2023). NaN are a term without an estimate, one that
    hangs on one cluster alone, and everything if choices are separated: then the estimate is a limit, at
    which the comparisons that a column decides have dropped out. copies: how often each set is given, where
    it is in several clusters.
    """
    told = np.flatnonzero(~np.isnan(fit.estimate))
    values, flags = x.to_numpy(float), np.asarray(chosen, float)
    set_code, set_names = pd.factorize(np.asarray(groups))
    complete = np.isfinite(values).all(axis=1) & ~np.isnan(flags)
    usable = np.bincount(set_code, ~complete, len(set_names)) == 0
    usable &= np.isclose(np.bincount(set_code, np.nan_to_num(flags), len(set_names)), 1)
    kept = usable[set_code]
    values, flags, set_code = values[kept][:, told], flags[kept], pd.factorize(set_code[kept])[0]
    code, names = pd.factorize(np.asarray(clusters)[kept], sort=True)
    found = np.full((len(names), len(fit.terms)), np.nan)
    if fit.notes or not len(told) or len(names) < 2:
        return pd.DataFrame(found, names, fit.terms)
    order = np.argsort(code, kind="stable")
    values, flags, set_code, code = values[order], flags[order], set_code[order], code[order]
    utility = values @ fit.estimate[told]
    top = np.full(set_code.max() + 1, -np.inf)
    np.maximum.at(top, set_code, utility)
    odds = np.exp(utility - top[set_code])
    share = odds / np.bincount(set_code, odds)[set_code]
    mean = np.column_stack([np.bincount(set_code, share * column)[set_code] for column in values.T])
    apart = (values - mean) * np.sqrt(share)[:, None]
    scores = np.column_stack([np.bincount(code, (flags - share) * column) for column in values.T])
    size, own = np.bincount(code), np.empty((len(names), len(told), len(told)))
    for each in np.unique(size):  # clusters of one size in one product
        parts = apart[size[code] == each].reshape(-1, each, len(told))
        own[size == each] = parts.transpose(0, 2, 1) @ parts
    whole = own.sum(axis=0) / copies
    scale = np.sqrt(np.diag(whole))
    if not scale.min() > 0:  # by rounding, choices are as good as certain
        return pd.DataFrame(found, names, fit.terms)
    rest = (whole - own) / np.outer(scale, scale)
    found[:, told] = -_solved(rest, scores / scale) / scale
    return pd.DataFrame(found, names, fit.terms)


def _solved(matrices: Floats, vectors: Floats) -> Floats:
    """Solve each system; NaN for an unknown that one of the systems cannot tell."""
    try:
        if np.linalg.cholesky(matrices).diagonal(axis1=1, axis2=2).min() > np.sqrt(SINGULAR):
            return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    inverse = np.linalg.pinv(matrices, rcond=SINGULAR, hermitian=True)
    found = (inverse @ vectors[:, :, None])[:, :, 0]
    # What a system cannot tell is not given back by the product with its inverse.
    lost = abs((inverse @ matrices).diagonal(axis1=1, axis2=2) - 1) > ROUNDING
    found[:, lost.any(axis=0)] = np.nan
    return np.asarray(found, dtype=np.float64)


def with_errors(fit: CLogit, moved: pd.DataFrame, hangs: str = HANGS) -> CLogit:
    """Return the fit with the errors of its moves (CV3), and t with one less degree than there are clusters.

    The covariance is (G - 1) / G times the sum of the moves' products. With fewer than twelve clusters there
    are no errors. hangs: what is said of a term whose move is unknown.
    """
    count = len(moved)
    if count < LEAST:
        notes = tuple(note or FEW_SETS for note in fit.term_notes)
        return replace(fit, cov=np.full_like(fit.cov, np.nan), df=np.inf, term_notes=notes)
    values = moved.to_numpy(float)
    cov = (count - 1) / count * values.T @ values
    lost = np.isnan(np.diag(cov))
    notes = tuple(note or (hangs if gone else "") for note, gone in zip(fit.term_notes, lost, strict=True))
    return replace(fit, cov=cov, df=count - 1.0, term_notes=notes)


def beside(fit: CLogit, moved: pd.DataFrame) -> CLogit:
    """Return the fit with the errors of its moves beside its own; see `with_errors`."""
    found = with_errors(fit, moved)
    return replace(fit, left_out=found.cov, left_out_df=found.df)


def moved_terms(fit: CLogit, moved: pd.DataFrame, group: str = "") -> dict[str, Moved]:
    """Return the estimates of a fit with their moves, by term."""
    told = zip(fit.terms, fit.estimate.tolist(), fit.term_notes, strict=True)
    return {
        term: Moved(term, group, value, moved[term], len(moved) - 1.0, note if np.isnan(value) else "")
        for term, value, note in told
    }


class _FTest(NamedTuple):
    """A test's statistic, its degrees of freedom, and its p value (upper tail). NaN where there is none."""

    statistic: float
    df: int
    df_within: int
    p_value: float
    note: str = ""


def equal_coefficients(fits: Sequence[CLogit], moved: Sequence[pd.DataFrame]) -> _FTest:
    """Test whether P fits have the same K coefficients, where answers within a cluster may be dependent.

    moved: the `moves` of each fit. Clusters with the same label are the same, so the fits may share them, as
    agents that are shown the same cards do. Hotelling's (1931) T squared of the P x K moves: with q = K (P -
    1) and G clusters, (G - q) / (q (G - 1)) times it is F with q and G - q degrees of freedom. Terms that a
    fit has no error for are left out; without as many clusters there is no test.

    Raises AnalysisError if the fits do not have the same terms.
    """
    first = fits[0]
    if len(fits) < 2 or any(fit.terms != first.terms for fit in fits):
        raise AnalysisError("equal_coefficients: give two fits or more with the same terms")
    told = [k for k in range(len(first.terms)) if not any(each.iloc[:, k].isna().any() for each in moved)]
    union = pd.concat([each.iloc[:, told] for each in moved], axis=1).fillna(0.0)
    values = union.to_numpy(float)
    count, parts, terms = len(values), len(fits), len(told)
    q = terms * (parts - 1)
    if not terms:
        return _FTest(np.nan, 0, 0, np.nan, "no coefficient has an error in every part")
    if count - q < LEAST:
        reason = f"{count} choice sets are too few to compare {q} coefficients"
        return _FTest(np.nan, q, 0, np.nan, reason)
    against = np.kron(np.column_stack([-np.ones((parts - 1, 1)), np.eye(parts - 1)]), np.eye(terms))
    apart = against @ np.concatenate([fit.estimate[told] for fit in fits])
    spread = (count - 1) / count * against @ values.T @ values @ against.T
    scale = np.sqrt(np.diag(spread))
    if not (scale > 0).all():
        return _FTest(np.nan, q, 0, np.nan, "a coefficient does not vary")
    squared = float((apart / scale) @ np.linalg.pinv(spread / np.outer(scale, scale)) @ (apart / scale))
    statistic = (count - q) / (q * (count - 1)) * squared
    left_out = len(first.terms) - terms
    note = f"{left_out} of {len(first.terms)} terms have no error and are left out" if left_out else ""
    return _FTest(statistic, q, count - q, float(stats.f.sf(statistic, q, count - q)), note)
