"""Test whether answers go missing evenly over the levels of a factor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from analysis.tables.families import adjusted
from analysis.tables.frame import FRAME_COLUMNS

Counts = npt.NDArray[np.integer[Any]]

RESAMPLES = 9_999
EXCHANGES = 1_999
SEED = 0
ROUNDING = 1e-9
LEAST_EXPECTED = 5
"""The expected count of each cell from which the chi-square distribution is taken."""


def by_factor(
    asked: pd.DataFrame,
    missing: "pd.Series[bool]",
    factors: Sequence[str],
    unit: str = "",
    question: Sequence[str] = (),
) -> pd.DataFrame:
    """Test for each agent and factor that the share of missing answers is the same at all levels.

    asked: one row per trial, with `agent` and the factors; a level that is NaN is left out. missing: of each
    row. unit: the column of choice sets, whose trials may end alike: see `evenness_of_units`. question: the
    columns that make two trials the same question, whose repeats may end alike; without choice sets, where
    few questions are asked very often, the repeats of an agent are draws as soon as those of one question end
    both ways. Rows as of `evenness`, with the column `factor`, where the factor varies in an agent's trials.
    `p_adjusted` is over all rows. Empty where nothing is missing.
    """
    rows = []
    for agent, own in asked.groupby("agent", sort=True):
        for factor in factors if missing[own.index].any() else ():
            known = own[factor].dropna() if factor in own else pd.Series(dtype=object)
            if known.nunique() < 2:
                continue
            trials, lost = own.loc[known.index], missing[known.index]
            units = trials[unit] if unit and factor != unit else None
            questions = codes(trials, question)
            if not unit and lost.groupby(questions).nunique().max() > 1:
                questions = codes(trials, ())
            row = evenness_of_units(str(agent), known, lost, factor, units, questions)
            rows.append(row | {"factor": factor})
    return adjusted(evenness_frame(rows, "factor"))


def codes(trials: pd.DataFrame, question: Sequence[str]) -> "pd.Series[int]":
    """Return a number for each trial that is the same for the same question; see `by_factor`."""
    if not question:
        return pd.Series(range(len(trials)), trials.index)
    return trials.groupby(list(question), sort=False, dropna=False).ngroup()


def evenness_of_units(
    agent: str,
    levels: "pd.Series[Any]",
    missing: "pd.Series[bool]",
    factor: str,
    units: "pd.Series[Any] | None",
    questions: "pd.Series[int]",
) -> dict[str, object]:
    """Return the row of `evenness` where the trials of a unit (a choice set) may end alike.

    If units have one level each, their levels could have been exchanged: the chi-square is compared with that
    of 1,999 exchanges of whole units (seed 0). Else questions could have been exchanged within units, each
    with all its repeats: that is the generalised Mantel-Haenszel test (Mantel 1963), to which units that all
    end alike add nothing. It is `evenness` itself without units where no question was asked twice, or each
    level has one question whose repeats do not end alike: they are taken as draws.
    """
    row = evenness(agent, levels, missing, factor)
    repeated = bool(questions.duplicated().any())
    if np.isnan(row["p_value"]) or (units is None and not repeated):  # type: ignore[call-overload]
        return row
    if units is None and questions.nunique() == levels.nunique():
        if missing.groupby(questions).nunique().max() > 1:
            return row
        note = f"no test: one question for each {factor}, and its repeats end alike"
        return row | {"statistic": np.nan, "p_value": np.nan, "note": note}
    level = pd.factorize(levels)[0]
    unit = np.zeros(len(level), int) if units is None else pd.factorize(units)[0]
    asked = np.zeros((unit.max() + 1, level.max() + 1), int)
    np.add.at(asked, (unit, level), 1)
    if units is not None and ((asked > 0).sum(axis=1) == 1).all():
        return row | _between(asked, np.bincount(unit, missing.to_numpy(), len(asked)).astype(int))
    if repeated:
        place = pd.DataFrame({"unit": unit, "level": level, "question": questions.to_numpy()})
        blocks = place.assign(lost=missing.to_numpy().astype(int)).groupby([*place], as_index=False)["lost"]
        return row | _between_questions(blocks.agg(["size", "sum"]), factor)
    given = np.zeros_like(asked)
    np.add.at(given, (unit, level), missing.to_numpy().astype(int))
    return row | _within(asked, given, factor)


def _between_questions(blocks: pd.DataFrame, factor: str) -> dict[str, object]:
    """Exchange whole questions within units. blocks: unit, level; size and sum: asked how often, and lost.

    Each question counts once, by the share of its answers that are missing: those that were asked more often
    vary more in how many are missing, and so could not be exchanged. With one answer each this is the
    statistic of `_within`.
    """
    levels = int(blocks["level"].max()) + 1
    apart, spread = np.zeros(levels), np.zeros((levels, levels))
    least, draws = np.zeros((2, levels)), np.zeros((EXCHANGES, levels))
    rng = np.random.default_rng(SEED)
    for _, own in blocks.groupby("unit"):
        size, lost, count = own["size"].to_numpy(), own["sum"].to_numpy(), len(own)
        score = lost / size - (lost / size).mean()
        member = np.eye(levels)[own["level"]]
        if not abs(score).max() > ROUNDING or (member.sum(axis=0) > 0).sum() < 2:
            continue
        share = member.mean(axis=0)
        apart += score @ member
        spread += (score**2).sum() * count / (count - 1) * (np.diag(share) - np.outer(share, share))
        least += share * np.array([[(lost > 0).sum()], [(lost < size).sum()]])
        draws += rng.permuted(np.tile(score, (EXCHANGES, 1)), axis=1) @ member
    if not spread.any():
        note = f"no test: no choice set has questions that end both ways at two levels of {factor}"
        return {"statistic": np.nan, "p_value": np.nan, "note": note}
    inverse, df = np.linalg.pinv(spread, hermitian=True), int(np.linalg.matrix_rank(spread, hermitian=True))
    statistic = float(apart @ inverse @ apart)
    if least[:, spread.diagonal() > 0].min() >= LEAST_EXPECTED:
        note = f"Mantel-Haenszel, {df} df; repeats of a question, which may end alike, go together"
        return {"statistic": statistic, "p_value": float(stats.chi2.sf(statistic, df)), "note": note}
    values = np.einsum("nk,kl,nl->n", draws, inverse, draws)
    p_value = (1 + (values >= statistic - ROUNDING).sum()) / (1 + EXCHANGES)
    note = f"Mantel-Haenszel, {EXCHANGES:,} exchanges of questions, each with its repeats: small counts"
    return {"statistic": statistic, "p_value": float(p_value), "note": note}


def _between(asked: Counts, lost: Counts) -> dict[str, object]:
    """Exchange the levels of whole units. asked: units x levels; lost: by unit."""
    size, count = asked.sum(axis=1), asked.shape[1]
    exchanged = np.tile(asked.argmax(axis=1), (EXCHANGES + 1, 1))
    np.random.default_rng(SEED).permuted(exchanged[1:], axis=1, out=exchanged[1:])
    cells = (exchanged + count * np.arange(EXCHANGES + 1)[:, None]).ravel()
    of_level, lost_there = (
        np.bincount(cells, np.tile(each, EXCHANGES + 1)).reshape(-1, count) for each in (size, lost)
    )
    share = lost.sum() / size.sum()
    values = ((lost_there - share * of_level) ** 2 / (of_level * share * (1 - share))).sum(axis=1)
    p_value = float((values >= values[0] - 1e-9).mean())
    note = f"chi-square, {EXCHANGES:,} exchanges of choice sets, which may end alike"
    return {"statistic": float(values[0]), "p_value": p_value, "note": note}


def _within(asked: Counts, lost: Counts, factor: str) -> dict[str, object]:
    """Exchange trials within units. asked, lost: units x levels."""
    size, gone = asked.sum(axis=1), lost.sum(axis=1)
    told = (gone > 0) & (gone < size) & ((asked > 0).sum(axis=1) > 1)
    if not told.any():
        note = f"no test: no choice set has trials that end both ways at two levels of {factor}"
        return {"statistic": np.nan, "p_value": np.nan, "note": note}
    asked, lost, size, gone = asked[told], lost[told], size[told], gone[told]
    share = asked / size[:, None]
    expected = share * gone[:, None]
    weight = gone * (size - gone) / (size - 1)
    spread = np.diag(weight @ share) - share.T @ (share * weight[:, None])
    inverse, df = np.linalg.pinv(spread, hermitian=True), int(np.linalg.matrix_rank(spread, hermitian=True))

    def statistic(counts: Counts) -> float:
        apart = (counts - expected).sum(axis=0)
        return float(apart @ inverse @ apart)

    observed, rest = statistic(lost), asked.sum(axis=0) - expected.sum(axis=0)
    if min(expected.sum(axis=0)[asked.any(axis=0)].min(), rest[asked.any(axis=0)].min()) >= LEAST_EXPECTED:
        note = f"Mantel-Haenszel within choice sets, {df} df"
        return {"statistic": observed, "p_value": float(stats.chi2.sf(observed, df)), "note": note}
    rng, draws = np.random.default_rng(SEED), np.zeros((RESAMPLES, asked.shape[1]))
    for levels, count in zip(asked, gone, strict=True):
        draws += rng.multivariate_hypergeometric(levels, count, RESAMPLES)
    apart = draws - expected.sum(axis=0)
    values = np.einsum("nk,kl,nl->n", apart, inverse, apart)
    p_value = (1 + (values >= observed - 1e-9).sum()) / (1 + RESAMPLES)
    note = f"Mantel-Haenszel within choice sets, {RESAMPLES:,} random tables: small counts"
    return {"statistic": observed, "p_value": float(p_value), "note": note}


def evenness(
    agent: str, levels: "pd.Series[Any]", missing: "pd.Series[bool]", factor: str
) -> dict[str, object]:
    """Return the row of an agent: are missing answers as frequent at each level?

    Pearson's chi-square if all expected counts are 5 or more; else Fisher's exact test for two levels
    (two-sided), and for more the chi-square against 9,999 random tables with the same margins (seed 0).
    `estimate` is the largest difference between two levels, in percentage points.
    """
    counts = pd.crosstab(levels, missing).reindex(columns=[False, True], fill_value=0)
    shares = counts[True] / counts.sum(axis=1)
    statistic, p_value, note = _test_independence(counts.to_numpy(), factor)
    return {
        "term": "equal_attrition",
        "group": agent,
        "estimate": 100 * (shares.max() - shares.min()) if len(shares) > 1 else np.nan,
        "statistic": statistic,
        "p_value": p_value,
        "n": len(levels) - int(missing.sum()),
        "n_missing": int(missing.sum()),
        "note": note,
    }


def evenness_frame(rows: list[dict[str, object]], *more: str) -> pd.DataFrame:
    """Make a frame of such rows, with the columns of every estimator."""
    return pd.DataFrame(rows, columns=[*FRAME_COLUMNS, *more]).astype(
        dict.fromkeys(("std_error", "p_adjusted", "conf_low", "conf_high"), float)
    )


def _test_independence(counts: Counts, factor: str) -> tuple[float, float, str]:
    """Statistic, p value and note of a table of levels x (choice, no choice)."""
    if len(counts) < 2:
        return np.nan, np.nan, f"no test: one {factor} only"
    if (counts.sum(axis=0) == 0).any():
        same = "no trial lacks a choice" if counts[:, 1].sum() == 0 else "no trial has a choice"
        return np.nan, np.nan, f"no test: {same}"
    expected = stats.contingency.expected_freq(counts)
    observed = _chi_square(counts, expected)
    if (expected >= LEAST_EXPECTED).all():
        df = len(counts) - 1
        return observed, float(stats.chi2.sf(observed, df)), f"chi-square, {df} df"
    if len(counts) == 2:
        return np.nan, float(stats.fisher_exact(counts).pvalue), "Fisher's exact test: small counts"
    tables = stats.random_table(counts.sum(axis=1), counts.sum(axis=0), seed=SEED).rvs(RESAMPLES)
    # The tolerance counts tables that equal the observed one despite rounding.
    as_extreme = _chi_square(tables, expected) >= observed - 1e-9
    p_value = (1 + as_extreme.sum()) / (1 + RESAMPLES)
    return observed, float(p_value), f"chi-square, {RESAMPLES:,} random tables: small counts"


def _chi_square(counts: Counts, expected: npt.NDArray[np.float64]) -> Any:
    """Pearson's statistic over the last two axes."""
    return ((counts - expected) ** 2 / expected).sum(axis=(-2, -1))
