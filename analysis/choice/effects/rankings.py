"""Rank agents by each effect, and say how many pairs of them are told apart."""

from collections.abc import Iterator

import pandas as pd

from analysis.choice.effects.effects import LIMIT, TERMS, agents, main_estimands
from analysis.estimators.clusters import cluster_codes
from analysis.estimators.moved import Moved
from analysis.estimators.ranking import rank_agents
from analysis.tables.choice_table import trial_ids


def rankings(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ranks of agents by effect, and how well each effect tells agents apart.

    table: checked. The effects are those of `main_effects`, in percentage points; choice sets are left out,
    and drawn, for all agents at once, so both are about sets like these. See `rank_agents` for the columns.
    Where an interaction hangs on one set, an effect moves by the set's score (to the first order).
    """
    several = table["agent"].nunique() > 1
    return rank_agents(list(moved_effects(table)) if several else [])


def moved_effects(table: pd.DataFrame) -> Iterator[Moved]:
    """Yield each effect of each agent, and how it moves without each choice set."""
    for agent, _, used in agents(table):
        if used.empty:
            continue
        codes = cluster_codes(used, trial_ids(used).to_numpy())
        found, code = main_estimands(used, codes), codes["set"]
        if found.model is None:
            continue
        labels = pd.Series(used["set"].to_numpy()).groupby(code).first()
        fit = found.model.fit(used["chosen"].to_numpy(float), {"set": code})
        left = found.model.leave_out(code)
        scores = left.scores(fit.residuals)
        for term in TERMS:
            weights = found.weights.get(term)
            if weights is None:
                continue
            estimate = 100 * float(weights @ fit.coefficients)
            if abs(estimate) > LIMIT + 1e-6:
                continue
            if left.identifies(weights):
                jackknife = left.moved(weights, scores)
                sets, moves, df = jackknife.codes, jackknife.moves, jackknife.df
            else:  # one set alone tells an interaction
                sets, moves = left.linearised(weights, scores)
                df = len(sets) - 1.0
            yield Moved(term, agent, estimate, pd.Series(100 * moves, labels[sets].to_numpy()), df)
