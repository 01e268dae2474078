"""Test whether choices can be pooled, over set sizes, orders and agents, where answers may be dependent."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.cards import ShownOptions
from analysis.conjoint.fits import UNPRICED, Fits, of_sets, regressors
from analysis.conjoint.frames import ALL_AGENTS, Row, tidy_frame, tidy_row
from analysis.conjoint.full_models import FIRST
from analysis.conjoint.tables import pooling
from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.leave_out import equal_coefficients, moves
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import join_notes

ROBUST: Final = ("part", "f_statistic", "df_within", "p_robust")
SEPARATED: Final = "the choices are separated: no valid test"


class _Part(NamedTuple):
    """The choices of one part: their model in the log price, and its moves without each choice set."""

    fit: CLogit
    moved: pd.DataFrame

    @property
    def separated(self) -> bool:
        return bool(self.fit.notes) or np.isnan(self.fit.loglik)


def robust_pooling(fits: Fits, cards: ShownOptions) -> pd.DataFrame:
    """Test whether the coefficients in the log price are the same in all set sizes, orders, and agents.

    The rows of `pooling`, which compare set sizes, and one for the two orders of each agent, and one for all
    agents in the smallest sets. Extra columns beside `df`: `part` (`set size`, `order` or `agents`);
    `f_statistic` with `df` and `df_within` degrees of freedom, and its p value `p_robust`. These hold where
    answers to a choice set depend on each other, whichever part they are in: see `equal_coefficients`.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        by_size = pooling(fits)
        parts = {agent: _sizes(fits, cards, agent) for agent in by_size["group"]}
        rows = [_beside(row, parts[row["group"]]) for row in by_size.to_dict("records")]
        return tidy_frame([*rows, *_more(fits, cards, parts)], "df", *ROBUST)


def _beside(row: Row, parts: list[_Part]) -> Row:
    """The published row with its robust test."""
    test = _tested(parts, "sets of one size only")
    note = row["note"] if test["why"] in row["note"] else join_notes(row["note"], test["why"])
    # The published p value rejects too often: it has the robust one beside it, or is not printed.
    p_value = np.nan if np.isnan(test["p_robust"]) else row["p_value"]
    return (
        row | {"part": "set size", "note": note, "p_value": p_value} | {key: test[key] for key in ROBUST[1:]}
    )


def _more(fits: Fits, cards: ShownOptions, parts: dict[str, list[_Part]]) -> Iterator[Row]:
    """The rows of orders and agents; none where there is one only."""
    for agent in parts:
        orders = _orders(cards, agent)
        if len(orders) > 1:
            yield _row(agent, "order", orders)
    first = cards.blocks[0]
    every = [
        own[0] for agent, own in parts.items() if any(spec.block == first for spec in of_sets(fits, agent))
    ]
    if len(every) > 1:
        yield _row(ALL_AGENTS, "agents", every)


def _row(group: str, name: str, parts: list[_Part]) -> Row:
    test = _tested(parts, "")
    found = {key: test[key] for key in ROBUST[1:]}
    n, missing = (sum(getattr(part.fit, name) for part in parts) for name in ("n_sets", "n_missing"))
    note = join_notes("" if np.isnan(found["p_robust"]) else "F test, upper tail; no estimate", test["why"])
    return tidy_row("pooling", group, n, missing, note=note, part=name, df=test["df"], **found)


def _tested(parts: list[_Part], alone: str) -> dict[str, Any]:
    """The columns of the robust test, its degrees of freedom, and why there is none."""
    empty: dict[str, Any] = dict.fromkeys((*ROBUST[1:], "df"), np.nan)
    if len(parts) < 2:
        return empty | {"why": alone}
    if any(part.separated for part in parts):
        return empty | {"why": SEPARATED}
    found = equal_coefficients([part.fit for part in parts], [part.moved for part in parts])
    if np.isnan(found.p_value):
        return empty | {"why": f"no robust test: {found.note}"}
    values = (found.statistic, float(found.df_within), found.p_value, float(found.df))
    return dict(zip((*ROBUST[1:], "df"), values, strict=True)) | {"why": found.note}


def _sizes(fits: Fits, cards: ShownOptions, agent: str) -> list[_Part]:
    """The models of the sets of each size."""
    own = cards.by_agent[agent]
    found = []
    by_block = {spec.block: fit for spec, fit in of_sets(fits, agent).items()}
    for block in cards.blocks:
        if fit := by_block.get(block):
            found.append(_part(own[own["block"] == block], cards, fit=fit))
    return found


def _orders(cards: ShownOptions, agent: str) -> list[_Part]:
    """The models of the smallest sets in each order, with a preference for the option shown first."""
    rows = cards.by_agent[agent]
    rows = rows[rows["block"] == cards.blocks[0]]
    orders = sorted(rows["ordering"].unique())
    if len(orders) < 2:
        return []
    return [_part(rows[rows["ordering"] == order], cards, first=True) for order in orders]


def _part(
    rows: pd.DataFrame, cards: ShownOptions, *, fit: CLogit | None = None, first: bool = False
) -> _Part:
    x = regressors(rows, cards.controls, "log" if cards.priced else UNPRICED, np.zeros(2))
    if first:
        x[FIRST] = (rows["position"] == 0).astype(float)
    chosen, trial = rows["chosen"].to_numpy(float, na_value=np.nan), rows[TRIAL_ID].to_numpy()
    fit = fit or fit_clogit(x, chosen, trial)
    return _Part(fit, moves(fit, x, chosen, trial, rows["set"].to_numpy()))
