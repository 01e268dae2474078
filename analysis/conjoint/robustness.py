"""Ask whether part-worths hang on one option, or stay where tier, area or each option itself is held."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.frames import Row, tidy_frame
from analysis.conjoint.full_models import FullModels, errors_of_options, moves_by_option
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.leave_out import moves, with_errors
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import adjusted
from analysis.tables.frame import NUMBERS, join_notes

TIER, AREA, OPTIONS = "tier", "area", "options"

INCIDENTAL: Final = "no interval: with a constant for each option, weights are about a tenth too large"
"""At 3,600 choices between 180 options, as simulated; see Neyman and Scott (1948)."""


def without_one(every: list[FullModels]) -> pd.DataFrame:
    """Return how far each part-worth moves when one option and all its trials are left out.

    `estimate` is that of the model in the log price (see `full_models`). Extra columns: `lowest` and
    `highest`, the part-worth without one option, to the first order (see `moves`); `option`, the one that
    moves it most.
    """
    rows: list[Row] = []
    for models in every:
        fit = models.fits["log"]
        moved = moves_by_option(fit, models.columns["log"], models.rows)
        frame = fit.frame(models.agent)
        frame["lowest"] = frame["estimate"] + moved.min(skipna=False).to_numpy()
        frame["highest"] = frame["estimate"] + moved.max(skipna=False).to_numpy()
        known = moved.notna().all().to_numpy()
        frame["option"] = [
            moved.index[int(np.argmax(abs(moved[term])))] if told else ""
            for term, told in zip(fit.terms, known, strict=True)
        ]
        rows += frame.to_dict("records")
    return tidy_frame(rows, "lowest", "highest", "option")


def robustness(every: list[FullModels]) -> pd.DataFrame:
    """Return the part-worths of the log price's model with more held; the column `check` says what.

    `base`: the model itself; `tier`: stars as levels in the place of a number; `area`: each neighborhood;
    `options`: each option itself (fixed effects), so that only what is drawn anew for it counts. An option,
    or an area, that is always or never chosen says nothing beside its own constant, and is left out with its
    trials. Errors are those of `money`; `options` has none, because so many constants
    make its weights too large. All rows are one family of `p_adjusted`.
    """
    rows: list[Row] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for models in every:
            for check, kept, x in _checks(models):
                own = models.rows[kept]
                chosen, trial = own["chosen"].to_numpy(float, na_value=np.nan), own[TRIAL_ID].to_numpy()
                fit = fit_clogit(x, chosen, trial)
                if check == OPTIONS:
                    frame = fit.frame(models.agent)
                    frame[[name for name in NUMBERS if name != "estimate"]] = np.nan
                    frame["note"] = [join_notes(note, INCIDENTAL) for note in frame["note"]]
                else:
                    fit = with_errors(fit, moves(fit, x, chosen, trial, own["set"].to_numpy()))
                    fit = errors_of_options(fit, x, own)
                    frame = fit.frame(models.agent)
                frame["check"] = check
                rows += frame[frame["term"].isin(models.columns["log"].columns)].to_dict("records")
    return adjusted(tidy_frame(rows, "check")) if rows else tidy_frame(rows, "check")


def _checks(models: FullModels) -> Iterator[tuple[str, "pd.Series[bool]", pd.DataFrame]]:
    """Each check that the data allow, the rows that count in it, and its regressors."""
    rows, x = models.rows, models.columns["log"]
    every = pd.Series(True, rows.index)
    yield "base", every, x
    if "stars" in x and x["stars"].nunique() > 2:
        yield TIER, every, x.drop(columns="stars").join(_levels(x["stars"]))
    if rows["area"].nunique() > 1:
        kept = _undecided(rows, "area")
        yield AREA, kept, x[kept].join(_levels(rows.loc[kept, "area"]))
    kept = _undecided(rows, "option")
    drawn = x[kept].groupby(rows["option"]).nunique().gt(1).any()
    varying = list(drawn.index[drawn.to_numpy()])
    if kept.any() and len(varying) > 1:
        yield OPTIONS, kept, x.loc[kept, varying].join(_levels(rows.loc[kept, "option"]))


def _levels(values: "pd.Series[str]") -> pd.DataFrame:
    return pd.get_dummies(values, prefix="held", drop_first=True, dtype=float)


def _undecided(rows: pd.DataFrame, name: str) -> "pd.Series[bool]":
    """The rows whose trials have no option, or area, that is always or never chosen in the other rows."""
    kept = pd.Series(True, rows.index)
    while kept.any():
        own = rows[kept]
        share = own["chosen"].astype(float).groupby(own[name]).mean()
        lost = own[TRIAL_ID][own[name].map((share == 0) | (share == 1))]
        if lost.empty:
            break
        kept &= ~rows[TRIAL_ID].isin(lost)
    return kept
