"""Compare variants of the prompt with the card as it is: what a change of words does to the choices."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.cards import ShownOptions
from analysis.conjoint.fits import UNPRICED, regressors
from analysis.conjoint.frames import Row, rank_correlation, tidy_frame
from analysis.conjoint.full_models import FIRST, full_models
from analysis.conjoint.money import MONEY, money
from analysis.estimators.choice_sets import Covariance
from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.leave_out import moved_terms, moves
from analysis.estimators.moved import Moved
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.errors import AnalysisError
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats, Ints

BASE: Final = "base"
"""The condition of trials with the card as it is."""
DECISIVENESS, FIRST_SHOWN, ATTRIBUTES = "pseudo_r2", "first_shown", "attributes"


class _Measured(NamedTuple):
    """Measures of one agent in one variant, by term; how many choices they rest on, and how many miss."""

    moved: dict[str, Moved]
    n: int
    missing: int


def variants_of(cards: ShownOptions) -> list[str]:
    """Return the conditions beside `base`, in alphabetical order; empty where there is no base."""
    known = sorted(map(str, cards.rows["condition"].unique()))
    return [name for name in known if name != BASE] if BASE in known else []


def of_variant(cards: ShownOptions, name: str) -> ShownOptions:
    """Return the cards of one variant. Raises AnalysisError for an unknown one."""
    rows = cards.rows[cards.rows["condition"] == name]
    if rows.empty:
        known = ", ".join([BASE, *variants_of(cards)]) if variants_of(cards) else "none"
        raise AnalysisError(f"--condition {name}: no such variant of the prompt; there are: {known}")
    return replace(cards, rows=rows.reset_index(drop=True))


def variants(cards: ShownOptions, fitted: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare each variant with `base`, and the orders of agents and attributes in them.

    fitted: the agents whose part-worths are compared; of others it is the first-shown rate alone.

    The first table has for each agent and variant, in the smallest sets that both have choices from: the
    coefficients of the log price and the controls in a conditional logit that holds which option was shown
    first; `pseudo_r2`, McFadden's (1974), which says how decided the choices are; `first_shown`, the share of
    choices of the option that stood first. `estimate` is the value in the variant less that in base; its
    error is that of leaving out each choice set from both at once (CV3), with t. Extra columns: `variant`,
    `value`, `value_base`, and `z`, the estimate over its error. All rows are one family of `p_adjusted`.

    The second has Spearman's rank correlations between variant and base: of each measure over agents, and of
    the controls' coefficients over `attributes` for each agent.
    """
    names = variants_of(cards)
    rows: list[Row] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for agent in sorted(cards.rows["agent"].unique()) if names else ():
            own = cards.rows[(cards.rows["agent"] == agent) & (cards.rows["block"] == cards.blocks[0])]
            answered = own[own["chosen"].notna()].groupby("condition")["set"].agg(set)
            for name in names:
                shared = answered.get(BASE, set()) & answered.get(name, set())
                both = own[own["set"].isin(shared)] if shared else own
                variant, base = (
                    _measured(agent, both[both["condition"] == each], cards, fit=agent in fitted)
                    for each in (name, BASE)
                )
                rows += _rows(agent, name, variant, base)
    table = tidy_frame(rows, "variant", "value", "value_base", "z")
    orders: list[Row] = []
    for name in names:
        own = table[table["variant"] == name]
        for term, each in own.groupby("term", sort=False):
            if len(each) == 1:  # of one agent there is no order
                continue
            by_agent = each.set_index("group")
            found_row = rank_correlation(str(term), by_agent["value"], by_agent["value_base"])
            orders.append(found_row | {"variant": name})
        for agent, each in own[own["term"].isin(cards.controls)].groupby("group", sort=False):
            worth = each.set_index("term")
            order = rank_correlation(
                ATTRIBUTES, worth["value"], worth["value_base"], str(agent), "attributes"
            )
            orders.append(order | {"variant": name})
    return adjusted(table) if rows else table, tidy_frame(orders, "variant")


def variant_money(
    cards: ShownOptions, fitted: list[str], cov: Covariance, at_price: float | None
) -> pd.DataFrame:
    """Return the table `money` of each variant and of base, with the column `variant`."""
    frames = [
        money(full_models(of_variant(cards, name), fitted, cov, at_price)).assign(variant=name)
        for name in ((BASE, *variants_of(cards)) if variants_of(cards) else ())
    ]
    known = [frame for frame in frames if len(frame)]
    return adjusted(pd.concat(known, ignore_index=True)) if known else tidy_frame([], *MONEY, "variant")


def _measured(agent: str, rows: pd.DataFrame, cards: ShownOptions, *, fit: bool) -> _Measured:
    """Measure one agent in one variant."""
    made, asked = rows[rows["chosen"].notna()], rows[TRIAL_ID].nunique()
    if made.empty:
        return _Measured({}, 0, asked)
    first = replace(cards, rows=made).placed.assign(
        front=lambda shown: shown["chosen"] * (shown["place"] == 1)
    )
    sums = first.groupby("set")[["front", "chosen"]].sum()
    front, chosen = sums.sum()
    without = (front - sums["front"]) / (chosen - sums["chosen"]) - front / chosen
    rate = Moved(FIRST_SHOWN, agent, float(front / chosen), without, len(sums) - 1.0)
    if not fit:
        n = made[TRIAL_ID].nunique()
        return _Measured({FIRST_SHOWN: rate}, n, asked - n)
    x = regressors(made, cards.controls, "log" if cards.priced else UNPRICED, np.zeros(2))
    x[FIRST] = (made["position"] == 0).astype(float)
    flags, trial, sets = made["chosen"].to_numpy(float), made[TRIAL_ID].to_numpy(), made["set"].to_numpy()
    found = fit_clogit(x, flags, trial)
    by_set = moves(found, x, flags, trial, sets)
    terms = moved_terms(found, by_set, agent)
    told = {term: terms[term] for term in ("log_price", *cards.controls) if term in terms}
    r2_moves = _r2_moves(found, by_set, x, flags, trial, sets)
    decided = Moved(DECISIVENESS, agent, found.pseudo_r2, r2_moves, len(by_set) - 1.0)
    return _Measured(told | {DECISIVENESS: decided, FIRST_SHOWN: rate}, found.n_sets, asked - found.n_sets)


def _r2_moves(
    fit: CLogit, moved: pd.DataFrame, x: pd.DataFrame, chosen: Floats, trial: Ints, sets: npt.NDArray[Any]
) -> "pd.Series[float]":
    """How far the R squared moves without each choice set, to the second order."""
    utility = pd.Series(x.to_numpy(float) @ fit.estimate)
    odds = pd.Series(np.exp(utility - utility.groupby(trial).transform("max")))
    share = odds / odds.groupby(trial).transform("sum")
    null = -chosen * np.log(share.groupby(trial).transform("size"))
    parts = pd.DataFrame({"own": chosen * np.log(share), "null": null}).groupby(sets).sum()
    scores = x.mul(np.asarray(chosen - share), axis=0).groupby(sets).sum()
    # Without a set the likelihood has its maximum elsewhere: the move there gains half the score times it.
    gained = -(scores * moved).sum(axis=1, skipna=False) / 2
    whole = parts.sum()
    ratio: pd.Series[float] = (whole["own"] - parts["own"] + gained) / (whole["null"] - parts["null"])
    return float(whole["own"] / whole["null"]) - ratio


def _rows(agent: str, name: str, variant: _Measured, base: _Measured) -> Iterator[Row]:
    """The rows of one agent and variant."""
    for term in dict.fromkeys([*variant.moved, *base.moved]):
        nothing = Moved(term, agent, np.nan, pd.Series(dtype=float), np.nan)
        one, other = (each.moved.get(term, nothing) for each in (variant, base))
        row: Row = {"variant": name, **one.less(other).row(), "n": variant.n, "n_missing": variant.missing}
        yield row | {"value": one.estimate, "value_base": other.estimate, "z": row["statistic"]}
