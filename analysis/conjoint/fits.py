"""Fit the choice models of the study for each agent."""

from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.cards import INDEPENDENT, OUT, POOLED, PRICES, ShownOptions, decile, decile_edges
from analysis.estimators.choice_sets import Covariance
from analysis.estimators.clogit import INTERCEPT, CLogit, fit_clogit, fit_logit
from analysis.estimators.leave_out import beside, moves
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats

Form = Literal["log", "linear", "deciles", "none"]
FORMS: tuple[Form, ...] = ("log", "linear", "deciles")
UNPRICED: Form = "none"
"""The form of the price where options have none."""

LEAST_SETS: Final = 100
"""Of fewer choice sets the usual errors, classical or clustered, are too small (docs/validity.md)."""


class Spec(NamedTuple):
    """A model of one agent. `logit`: A less B with an intercept, for pairs; `clogit`: conditional logit."""

    agent: str
    model: Literal["logit", "clogit"]
    block: str
    price: Form
    brand: bool = False


Fits = dict[Spec, CLogit]


def fit_models(cards: ShownOptions, agents: list[str], *, cov: Covariance = "classical") -> Fits:
    """Fit every model of every agent. Clustered errors are clustered by choice set.

    Beside them, and beside all errors of fewer than `LEAST_SETS` choice sets, are those of leaving out each
    choice set.

    Decile edges come from the prices of all agents together, so that their coefficients can be compared.
    """
    blocks = [*cards.blocks, *([POOLED] if len(cards.blocks) > 1 else [])]
    edges = {block: decile_edges(cards.prices(block)) if cards.priced else np.zeros(2) for block in blocks}
    chains = brand_families(cards)
    # The matrices are small: several threads would wait for each other longer than they work.
    with threadpool_limits(limits=1, user_api="blas"):
        return {
            spec: fit
            for agent in agents
            for spec, fit in _models_of(agent, cards, edges, chains, cov).items()
        }


def _models_of(
    agent: str, cards: ShownOptions, edges: dict[str, Floats], chains: tuple[str, ...], cov: Covariance
) -> Fits:
    """Every model of one agent, in each of the blocks that have edges."""
    fits: Fits = {}
    columns = list(
        dict.fromkeys([TRIAL_ID, "set", "block", "chosen", "chain", OUT, *PRICES, *cards.controls])
    )
    forms, last = (FORMS, FORMS[-1]) if cards.priced else ((UNPRICED,), UNPRICED)
    own = cards.by_agent[agent][columns]
    for block, prices in edges.items():
        rows = own if block == POOLED else own[own["block"] == block]
        if rows.empty:
            continue
        pairs = block == "binary" and not rows[OUT].any()
        for form in forms:
            terms = regressors(rows, cards.controls, form, prices)
            if pairs:
                fits[Spec(agent, "logit", block, form)] = logit_of_pairs(rows, terms, cov)
            fits[Spec(agent, "clogit", block, form)] = clogit_of_sets(rows, terms, cov)
        if block == cards.blocks[0] and chains:
            terms = regressors(rows, cards.controls, last, prices, chains)
            fit = logit_of_pairs if pairs else clogit_of_sets
            model: Literal["logit", "clogit"] = "logit" if pairs else "clogit"
            fits[Spec(agent, model, block, last, True)] = fit(rows, terms, cov)
    return fits


def headline(fits: Fits, agent: str, price: Form, *, brand: bool = False) -> Spec | None:
    """Return the model that represents an agent: the logit of pairs, without pairs the conditional logit.

    Without prices it is the one without a form of the price.
    """
    forms = (price, UNPRICED)
    own = [spec for spec in fits if spec[0] == agent and spec.price in forms and spec.brand == brand]
    return min(own, key=lambda spec: (spec.model != "logit", spec.block == POOLED), default=None)


def of_sets(fits: Fits, agent: str) -> Fits:
    """Return the conditional logits of an agent, by block, in the log price or without prices."""
    wanted = ("log", UNPRICED)
    return {
        spec: fit
        for spec, fit in fits.items()
        if spec.agent == agent and spec.model == "clogit" and spec.price in wanted and not spec.brand
    }


def regressors(
    rows: pd.DataFrame, controls: tuple[str, ...], form: Form, edges: Floats, chains: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Return the controls, chain families against the base, and the price in the given form.

    Of an opt-out all but its constant are 0.
    """
    terms = {name: rows[name].to_numpy(float) for name in controls}
    for chain in chains:
        terms[f"chain_{chain}"] = (rows["chain"] == chain).to_numpy(float)
    out = rows[OUT].to_numpy() == 1
    if form == "deciles":
        number, unknown = decile(rows["price"], edges), rows["price"].isna().to_numpy() & ~out
        for k in range(2, len(edges)):
            terms[f"D{k}"] = np.where(unknown, np.nan, (number == k) & ~out)
    elif form != UNPRICED:
        name = PRICES[FORMS.index(form)]
        terms[name] = np.where(out, 0.0, rows[name].to_numpy(float))
    return pd.DataFrame(terms, index=rows.index)


def logit_of_pairs(rows: pd.DataFrame, terms: pd.DataFrame, cov: Covariance = "classical") -> CLogit:
    """Fit the ordinary logit, with intercept, of choosing A on A less B.

    rows: sorted by trial, then letter.
    """
    values = terms.to_numpy(float)
    difference = pd.DataFrame(values[::2] - values[1::2], columns=terms.columns)
    chosen = rows["chosen"].to_numpy(float, na_value=np.nan)
    fit = fit_logit(difference, chosen[::2], cov=cov, cluster=_clusters(rows[::2], cov))
    if cov != "clustered" and not few_sets(fit):
        return fit
    return beside(
        fit, moves(fit, _against_empty(terms), chosen, rows[TRIAL_ID].to_numpy(), rows["set"].to_numpy())
    )


def _against_empty(terms: pd.DataFrame) -> pd.DataFrame:
    """A against B as the choice between an option with A less B, and an empty one."""
    values = terms.to_numpy(float)
    both = np.zeros((len(values), 1 + len(terms.columns)))
    both[::2] = np.column_stack([np.ones(len(values) // 2), values[::2] - values[1::2]])
    return pd.DataFrame(both, columns=[INTERCEPT, *terms.columns])


def headline_moves(fits: Fits, cards: ShownOptions, agent: str) -> tuple[CLogit, pd.DataFrame]:
    """Return the log-price model that represents an agent, and how it moves without each choice set.

    See `moves`.
    """
    spec = headline(fits, agent, "log")
    assert spec  # noqa: S101 (each agent of the fits has one)
    rows = cards.by_agent[agent]
    rows = rows if spec.block == POOLED else rows[rows["block"] == spec.block]
    terms = regressors(rows, cards.controls, spec.price, np.zeros(2))
    x = _against_empty(terms) if spec.model == "logit" else terms
    chosen = rows["chosen"].to_numpy(float, na_value=np.nan)
    return fits[spec], moves(fits[spec], x, chosen, rows[TRIAL_ID].to_numpy(), rows["set"].to_numpy())


def clogit_of_sets(rows: pd.DataFrame, terms: pd.DataFrame, cov: Covariance = "classical") -> CLogit:
    """Fit the conditional logit: one set per trial, no intercepts."""
    chosen, trial = rows["chosen"].to_numpy(float, na_value=np.nan), rows[TRIAL_ID].to_numpy()
    fit = fit_clogit(terms, chosen, trial, cov=cov, cluster=_clusters(rows, cov))
    if cov != "clustered" and not few_sets(fit):
        return fit
    return beside(fit, moves(fit, terms, chosen, trial, rows["set"].to_numpy()))


def few_sets(fit: CLogit) -> bool:
    """Say whether a fit has so few choice sets, or clusters of them, that its usual errors are too small."""
    return min(fit.n_sets, fit.df + 1) < LEAST_SETS


def brand_families(cards: ShownOptions) -> tuple[str, ...]:
    """Return the chain families without the base.

    The base is Independent, or the most frequent family where there is none.
    """
    counts = cards.rows["chain"].value_counts()
    counts = counts[counts.index != ""]
    if len(counts) < 2:
        return ()
    base = INDEPENDENT if INDEPENDENT in counts else counts.index[0]
    return tuple(sorted(str(name) for name in counts.index if name != base))


def _clusters(rows: pd.DataFrame, cov: Covariance) -> "pd.Series[str] | None":
    return rows["set"] if cov == "clustered" else None
