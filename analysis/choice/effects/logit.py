"""Check robustness: the same effects from a conditional logit instead of a linear probability model."""

import numpy as np
import pandas as pd
from scipy import stats

from analysis.choice.effects.effects import NO_CHOICE, TERMS, agents, regressors
from analysis.estimators.clogit import fit_clogit
from analysis.tables.choice_table import row_weights, trial_ids
from analysis.tables.frame import Floats, Ints

UNWEIGHTED = "trials have chances of assignment, and the logit does not weigh them"
LEAST_PAIRS = 4
"""The fewest pairs of effects for a correlation; with fewer it says hardly anything."""


def logit_effects(table: pd.DataFrame, effects: pd.DataFrame) -> pd.DataFrame:
    """Estimate the effects by a conditional logit (McFadden 1974), beside the linear ones.

    table: checked. effects: the frame of `choice_effects`. A logit effect compares, in each set, the
    probability of an option when it alone has the feature with that when another option alone has it, and is
    averaged over sets and options; that is what the linear effect means. Columns: term, group, linear, logit
    (percentage points), note.
    """
    rows = []
    linear = effects.set_index(["group", "term"])["estimate"]
    for agent, _, used in agents(table):
        x, trial = regressors(used), trial_ids(used).to_numpy()
        weighted = row_weights(used) is not None
        fit = fit_clogit(x, used["chosen"].astype(float), trial) if len(used) and not weighted else None
        notes = dict(zip(fit.terms, fit.term_notes, strict=True)) if fit else {}
        for term in TERMS:
            found, note = np.nan, notes.get(term, UNWEIGHTED if weighted else NO_CHOICE)
            if fit and not np.isnan(fit.of(term)[0]):
                found = 100 * _effect(x, trial, np.nan_to_num(fit.estimate), list(fit.terms).index(term))
            rows.append((term, agent, linear[agent, term], found, note))
    return pd.DataFrame(rows, columns=["term", "group", "linear", "logit", "note"])


def agreement(both: pd.DataFrame) -> pd.DataFrame:
    """Correlate the two kinds of effects over agents and terms (Pearson).

    Columns: n, correlation, largest_difference (percentage points), note.
    """
    pairs = both.dropna(subset=["linear", "logit"])
    correlation, note = np.nan, ""
    if len(pairs) < LEAST_PAIRS:
        note = f"effects of both kinds: {len(pairs)}; a correlation needs {LEAST_PAIRS} or more"
    elif pairs["linear"].nunique() == 1 or pairs["logit"].nunique() == 1:
        note = "all effects are the same"
    else:
        correlation = float(stats.pearsonr(pairs["linear"], pairs["logit"]).statistic)
    apart = float((pairs["linear"] - pairs["logit"]).abs().max()) if len(pairs) else np.nan
    return pd.DataFrame(
        {"n": [len(pairs)], "correlation": [correlation], "largest_difference": [apart], "note": [note]}
    )


def _effect(x: pd.DataFrame, trial: Ints, beta: Floats, focus: int) -> float:
    """Mean over options i of P(i chosen, i has the feature) - P(i chosen, another option has it)."""
    ordered = np.argsort(trial, kind="stable")
    values, trials = x.to_numpy(float)[ordered], trial[ordered]
    values[:, focus] = 0
    strength = np.exp(values @ beta)
    sizes = np.bincount(trials)[trials]
    total, options = 0.0, 0
    for size in np.unique(sizes):
        odds = strength[sizes == size].reshape(-1, size)
        lifted = odds * np.exp(beta[focus])
        # sums[t, j]: of the odds in trial t when option j has the feature
        sums = odds.sum(axis=1, keepdims=True) - odds + lifted
        own = (lifted / sums).sum()
        others = (odds * (1 / sums).sum(axis=1, keepdims=True)).sum() - (odds / sums).sum()
        total += own - others / (size - 1)
        options += odds.size
    return float(total / options)
