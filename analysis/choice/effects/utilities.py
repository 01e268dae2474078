"""Estimate the part-worth of each feature in log-odds, by agent."""

import pandas as pd

from analysis.choice.effects.effects import agents, regressors
from analysis.choice.effects.frames import stacked
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.clogit_few_data import penalised
from analysis.estimators.leave_out import moves, with_errors
from analysis.tables.choice_table import row_weights, trial_ids


def utilities(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients of the conditional logit of `logit_effects`, in log-odds (McFadden 1974).

    table: checked. Errors are those of leaving out each choice set (CV3), with t on one less than there are
    sets; with fewer than twelve sets there are none. If choices are separated, estimates are `penalised`.
    Without agents whose trials have chances of assignment.
    """
    frames = []
    for agent, _, used in agents(table):
        if used.empty or row_weights(used) is not None:
            continue
        x, trial = regressors(used), trial_ids(used).to_numpy()
        chosen = used["chosen"].to_numpy(float)
        fit = fit_clogit(x, chosen, trial)
        errors = with_errors(fit, moves(fit, x, chosen, trial, used["set"].to_numpy()))
        frame = errors.frame(agent)
        for term, row in penalised(errors, x, chosen, trial, used["set"].to_numpy()).items():
            frame.loc[frame["term"] == term, [*row]] = [*row.values()]
        frames.append(frame)
    return stacked(frames)
