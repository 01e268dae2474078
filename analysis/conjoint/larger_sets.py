"""Predict the choices from larger sets by the weights of the smallest ones."""

from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.conjoint.cards import ShownOptions
from analysis.conjoint.frames import Row, tidy_frame, tidy_row
from analysis.conjoint.full_models import FullModels, price_columns
from analysis.conjoint.tables import LEAST_BOOKED, mean_by_set
from analysis.tables.choice_table import TRIAL_ID

EXTRA: Final = ("chance", "options", "price_form")


def larger_sets(every: list[FullModels], cards: ShownOptions) -> pd.DataFrame:
    """Return how well the weights of the smallest sets tell what is chosen from larger ones.

    The models are those of `money`, with each option's utility at its own price. Terms: `hit_rate`, the share
    of choices of the option with the highest utility; `top_2`, of the two highest; `mean_rank`, the mean rank
    of the chosen option, 1 for the highest. Ties have the mean of their ranks. Intervals are t over choice
    sets, with ten of them or more. Extra columns: `chance`, the same of equal probabilities; `options`, the
    size of the sets; `price_form`.
    """
    rows: list[Row] = []
    for models in every:
        every_set = cards.by_agent[models.agent]
        for _, own in every_set[every_set["block"] != models.block].groupby("size", sort=True):
            rows += _predicted(models, own, cards.controls)
    return tidy_frame(rows, *EXTRA)


def _predicted(models: FullModels, own: pd.DataFrame, controls: tuple[str, ...]) -> list[Row]:
    fit, size = models.fit, int(own["size"].iloc[0])
    chains = tuple(term.removeprefix("chain_") for term in fit.terms if term.startswith("chain_"))
    x = price_columns(own, controls, chains, models.at_price)[models.form]
    utility = pd.Series(x.reindex(columns=list(fit.terms), fill_value=0.0).to_numpy(float) @ fit.estimate)
    chosen, trial = pd.Series(own["chosen"].to_numpy(float, na_value=np.nan)), own[TRIAL_ID].to_numpy()
    rank = utility.groupby(trial).rank(ascending=False)
    complete = (rank.notna() & chosen.notna()).groupby(trial).transform("all").to_numpy()
    hits = pd.DataFrame({"hit_rate": rank == 1, "top_2": rank <= 2, "mean_rank": rank}, dtype=float)
    chances = {"hit_rate": 1 / size, "top_2": 2 / size, "mean_rank": (size + 1) / 2}
    told = {"options": str(size), "price_form": models.form if "price" in fit.terms else ""}
    by_trial = hits.mul(chosen, axis=0).groupby(trial).sum()
    sets = own[complete].drop_duplicates(TRIAL_ID).set_index(TRIAL_ID)["set"]
    missing = own[TRIAL_ID].nunique() - len(sets)
    if sets.empty:
        note = "no choice, or a weight of the smallest sets is not known"
        return [tidy_row("hit_rate", models.agent, 0, missing, note=note, chance=1 / size, **told)]
    count, rows = sets.nunique(), []
    for name, values in by_trial.loc[sets.index].items():
        mean, error = mean_by_set(values, pd.DataFrame({"weight": 1.0, "set": sets}))
        width = stats.t.ppf(0.975, count - 1) * error if count >= LEAST_BOOKED else np.nan
        rows.append(
            tidy_row(
                str(name),
                models.agent,
                len(sets),
                missing,
                estimate=mean,
                std_error=error,
                conf_low=max(mean - width, 1.0 if name == "mean_rank" else 0.0),
                conf_high=min(mean + width, size if name == "mean_rank" else 1.0),
                note="" if count >= LEAST_BOOKED else f"no interval: fewer than {LEAST_BOOKED} choice sets",
                chance=chances[str(name)],
                **told,
            )
        )
    return rows
