"""Bound how far trials without a choice could move each effect, in the worst case."""

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import LIMIT, TERMS, agents, count_trials, main_estimands
from analysis.estimators.clusters import cluster_codes
from analysis.tables.choice_table import trial_ids


def worst_case_bounds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest and largest effect that choices in the trials without one could give.

    table: checked. Manski's (1990) worst-case bounds: the effect is linear in the choices, and a trial
    without one gets the option that lowers, or raises, it most. They assume nothing about why choices are
    missing, and say nothing of sampling error. Columns: term, group, low, high (percentage points), n,
    n_missing, note; a row for each agent with such trials and each term.
    """
    rows_of = []
    for agent, rows, used in agents(table):
        n = count_trials(used)
        missing = count_trials(rows) - n
        if not missing:
            continue
        found = main_estimands(rows, cluster_codes(rows, trial_ids(rows).to_numpy()))
        y = rows["chosen"].astype(float)
        for term in TERMS:
            low = high = np.nan
            note = found.reasons.get(term, found.note)
            if found.model and term in found.weights:
                influence = pd.Series(found.model.influence(found.weights[term]), rows.index)
                known = float((influence * y).sum())
                free = influence[y.isna()].groupby(trial_ids(rows[y.isna()]))
                ends = 100 * (known + free.min().sum()), 100 * (known + free.max().sum())
                low, high = (min(max(end, -LIMIT), LIMIT) for end in ends)
            rows_of.append((term, agent, low, high, n, missing, note))
    return pd.DataFrame(rows_of, columns=["term", "group", "low", "high", "n", "n_missing", "note"])
