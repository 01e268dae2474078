"""Predict choices from cards that a model was not fitted to."""

from typing import Final

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from analysis.conjoint.frames import Row, tidy_frame, tidy_row
from analysis.conjoint.full_models import PRICE, FullModels
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats, Ints

FOLDS: Final = 5
MEASURES: Final = ("hit_of_chance", "loglik_per_choice", "loglik_of_chance", "held_out_r2", "pseudo_r2")


def held_out(every: list[FullModels]) -> pd.DataFrame:
    """Return how well each agent's choices are predicted on cards that were held out.

    The choice sets are put into five folds by chance (seeded); the answers to each fold are predicted by a
    model of the four others, so that all showings of a card are held out together. `estimate` is the hit
    rate: the share of choices of the option with the highest probability (a tie counts its share), of scored
    letters its chance. Its interval is clustered by choice set. Extra columns: `price_form`;
    `loglik_per_choice`, the mean logarithm of the probability that was given to the choice; `hit_of_chance`
    and `loglik_of_chance`, those of equal probabilities; `held_out_r2`, 1 less the ratio of the two log-
    likelihoods, which is McFadden's (1974) measure on cards that were held out; `pseudo_r2`, the same on the
    cards of the fit.

    Undefined with fewer than twelve choice sets, or if a model of four folds leaves a coefficient undefined.
    """
    rows: list[Row] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for models in every:
            trial = pd.factorize(models.rows[TRIAL_ID])[0]
            sets = models.rows["set"].to_numpy()
            chosen = models.rows["chosen"].to_numpy(float, na_value=np.nan)
            rows.append(_row(models, trial, sets, chosen))
    return tidy_frame(rows, "price_form", *MEASURES)


def _row(models: FullModels, trial: Ints, sets: Ints, chosen: Floats) -> Row:
    fit = models.fit
    common = {"price_form": models.form if PRICE in fit.terms else "", "pseudo_r2": fit.pseudo_r2}
    code, names = pd.factorize(sets, sort=True)
    if len(names) < LEAST_CLUSTERS[1]:
        reason = f"fewer than {LEAST_CLUSTERS[1]} choice sets"
        return tidy_row("hit_rate", models.agent, fit.n_sets, fit.n_missing, note=reason, **common)
    fold = np.random.default_rng(0).permutation(len(names)) % FOLDS
    utility = _predicted(models.columns[models.form], chosen, trial, fold[code])
    complete = np.bincount(trial, np.isnan(utility) | np.isnan(chosen)) == 0
    kept = complete[trial]
    if not kept.any():
        reason = "a model of four fifths of the cards has an undefined coefficient"
        return tidy_row("hit_rate", models.agent, fit.n_sets, fit.n_missing, note=reason, **common)
    trial, utility, chosen, code = pd.factorize(trial[kept])[0], utility[kept], chosen[kept], code[kept]
    size = np.bincount(trial)
    top = np.full(len(size), -np.inf)
    np.maximum.at(top, trial, utility)
    odds = np.exp(utility - top[trial])
    share = odds / np.bincount(trial, odds)[trial]
    best = utility == top[trial]
    hit = np.bincount(trial, best * chosen) / np.bincount(trial, best)
    of_choice = np.bincount(trial, chosen * np.log(np.maximum(share, np.finfo(float).tiny)))
    of_chance = -np.log(size)
    rate = float(hit.mean())
    cluster = np.zeros(len(size), int)
    cluster[trial] = code
    sums = np.bincount(cluster, hit - rate)[np.unique(cluster)]
    count = len(sums)
    error = float(np.sqrt(count / (count - 1) * (sums**2).sum()) / len(hit))
    width = float(stats.t.ppf(0.975, count - 1)) * error
    return tidy_row(
        "hit_rate",
        models.agent,
        len(hit),
        fit.n_sets + fit.n_missing - len(hit),
        estimate=rate,
        std_error=error,
        conf_low=max(rate - width, 0.0),
        conf_high=min(rate + width, 1.0),
        note=models.note,
        **common,
        loglik_per_choice=float(of_choice.mean()),
        loglik_of_chance=float(of_chance.mean()),
        hit_of_chance=float((1 / size).mean()),
        held_out_r2=float(1 - of_choice.sum() / of_chance.sum()),
    )


def _predicted(x: pd.DataFrame, chosen: Floats, trial: Ints, fold: Ints) -> Floats:
    """The utility of each option by the models of the other folds; NaN where one has no estimate."""
    utility = np.full(len(x), np.nan)
    values = x.to_numpy(float)
    for each in range(FOLDS):
        out = fold == each
        estimate = fit_clogit(x[~out], chosen[~out], trial[~out]).estimate
        utility[out] = values[out] @ estimate
    return utility
