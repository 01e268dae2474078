"""Say how tastes differ: from a normal distribution, or in classes (on request, as they take their time)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.frames import ALL_AGENTS, Row, tidy_frame, tidy_row
from analysis.conjoint.full_models import PRICE, FullModels
from analysis.estimators.choice_sets import has_chances
from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.deciders import Choices, read_choices
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.estimators.t_tests import student
from analysis.estimators.taste_mixtures import (
    Classes,
    MixedLogit,
    Mixture,
    fit_classes,
    fit_mixed,
)
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats

ANSWER, AGENT = "answer", "agent"
"""Who has tastes of its own: each answer of an agent, or each agent."""
MODELS: Final = ("unit", "units", "model", "loglik", "parameters", "aic", "bic")
MEMBERS: Final = ("agent", "class", "probability")


class Tastes(NamedTuple):
    """The four tables on tastes that differ; all empty unless they are asked for."""

    mixed: pd.DataFrame
    classes: pd.DataFrame
    class_members: pd.DataFrame
    taste_models: pd.DataFrame


class _Data(NamedTuple):
    """Choices whose deciders have tastes of their own, and the conditional logit, in which all are alike."""

    group: str
    unit: str
    choices: Choices
    varying: tuple[str, ...]
    alike: CLogit
    start: Floats


def tastes(every: list[FullModels], controls: tuple[str, ...], *, mixed: bool, classes: int) -> Tastes:
    """Fit the mixed logit (`mixed`) and one to `classes` latent classes, none if it is 0.

    With twelve agents or more each agent has tastes of its own, with which it answers all its cards; with
    fewer, each answer of an agent has (`unit`). The models are those of `full_models` in the log price.
    Errors are clustered by agent, and of answers by choice set.

    mixed: the mean over tastes, and their standard deviation in `sd`, `sd_low`, `sd_high`; chains and the
    option shown first count alike for all. classes: the part-worths of each `class`, with its `share`,
    `share_low`, `share_high`. class_members: the likeliest class of each agent. taste_models: log-likelihood,
    `parameters`, `aic` and `bic` of each model.
    """
    spread: list[Row] = []
    parts: list[Row] = []
    members: list[Row] = []
    fits: list[Row] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for data in _data(every, controls) if mixed or classes else ():
            alike = data.alike
            fits.append(_model(data, "alike", alike.loglik, alike.n_parameters))
            if mixed:
                normal = fit_mixed(data.choices, data.varying, data.start)
                spread += _spread(data, normal)
                fits.append(_model(data, "mixed", normal.fit.loglik, len(normal.fit.estimate)))
            for count in range(2, classes + 1):
                found = fit_classes(data.choices, count, data.start)
                fits.append(_model(data, f"{count} classes", found.fit.loglik, len(found.fit.estimate)))
                if count == classes:
                    parts += _classes(data, found)
                    members += _members(data, found)
    return Tastes(
        adjusted(tidy_frame(spread, "sd", "sd_low", "sd_high", "unit")),
        adjusted(tidy_frame(parts, "class", "share", "share_low", "share_high", "unit")),
        pd.DataFrame(members, columns=list(MEMBERS)),
        pd.DataFrame(fits, columns=["group", *MODELS]),
    )


def _data(every: list[FullModels], controls: tuple[str, ...]) -> Iterator[_Data]:
    """The choices of all agents together, or of each agent."""
    alike = [models for models in every if models.block == every[0].block]
    together = len(alike) >= LEAST_CLUSTERS[1]
    for models in [alike] if together else [[each] for each in every]:
        rows = pd.concat([each.rows.assign(agent=each.agent) for each in models], ignore_index=True)
        x = pd.concat([each.columns["log"] for each in models], ignore_index=True).fillna(0.0)
        chosen, trial = rows["chosen"].to_numpy(float, na_value=np.nan), rows[TRIAL_ID].to_numpy()
        if has_chances(chosen):
            continue
        fit = fit_clogit(x, chosen, trial)
        told = [term for term, value in zip(fit.terms, fit.estimate, strict=True) if np.isfinite(value)]
        varying = tuple(term for term in told if term in (*controls, PRICE))
        if fit.notes or not varying:
            continue
        agents = rows["agent"] if together else rows[TRIAL_ID]
        choices = read_choices(x[told], chosen, trial, agents, agents if together else rows["set"])
        start = fit.estimate[[fit.terms.index(term) for term in told]]
        group, unit = (ALL_AGENTS, AGENT) if together else (models[0].agent, ANSWER)
        yield _Data(group, unit, choices, varying, fit, start)


def _spread(data: _Data, found: MixedLogit) -> Iterator[Row]:
    for place, term in enumerate(data.varying):
        note = "no interval of sd: not told apart from 0" if np.isnan(found.sd_low[place]) else ""
        at = data.choices.terms.index(term)
        yield _row(data, found.fit, term, at, found.fit.df, note) | {
            "sd": float(found.sd[place]),
            "sd_low": float(found.sd_low[place]),
            "sd_high": float(found.sd_high[place]),
        }


def _classes(data: _Data, found: Classes) -> Iterator[Row]:
    least = LEAST_CLUSTERS[1]
    few = f"no interval: fewer than {least} {'agents' if data.unit == AGENT else 'choice sets'} in this class"
    for place, clusters in enumerate(found.clusters):
        df = float(clusters) - 1 if clusters >= least else np.nan
        for at, term in enumerate(found.terms):
            note = few if np.isnan(df) else ""
            yield _row(data, found.fit, term, place * len(found.terms) + at, df, note) | {
                "class": place + 1,
                "share": float(found.share[place]),
                "share_low": float(found.share_low[place]),
                "share_high": float(found.share_high[place]),
            }


def _row(data: _Data, fit: Mixture, term: str, at: int, df: float, note: str) -> Row:
    """A row of a coefficient; without degrees of freedom it has no error."""
    estimate = float(fit.estimate[at])
    error = float(fit.std_error[at]) if df > 0 else np.nan
    return tidy_row(
        term,
        data.group,
        fit.n,
        fit.n_missing,
        estimate=estimate,
        **student(estimate, error, df),
        note=fit.note or note,
        unit=data.unit,
    )


def _members(data: _Data, found: Classes) -> Iterator[Row]:
    if data.unit == AGENT and np.isfinite(found.share).all():
        for agent, own in found.member.iterrows():
            place = int(own.to_numpy().argmax())
            yield {"agent": agent, "class": place + 1, "probability": float(own.iloc[place])}


def _model(data: _Data, model: str, loglik: float, parameters: int) -> Row:
    n = data.choices.n
    return {
        "group": data.group,
        "unit": data.unit,
        "units": len(data.choices.labels),
        "model": model,
        "loglik": loglik,
        "parameters": parameters,
        "aic": 2 * parameters - 2 * loglik,
        "bic": float(np.log(n)) * parameters - 2 * loglik,
    }
