"""Say what attributes are worth in money, in the price form that fits."""

from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.conjoint.frames import Row, rank_correlation, tidy_frame, tidy_row
from analysis.conjoint.full_models import CURVE, FIRST, PRICE, PRICE_FORMS, FullModels
from analysis.estimators.clogit import CLogit
from analysis.estimators.moved import Moved
from analysis.estimators.wtp import fieller, no_price, ratio_error
from analysis.tables.families import adjusted
from analysis.tables.frame import join_notes

PERCENT: Final = ("percent", "percent_low", "percent_high")
MONEY: Final = (*PERCENT, "part_worth", "price_form", "at_price", "block")
NO_FORM_TEST: Final = "the forms cannot be told apart: too few different prices, or no errors"


def money(every: list[FullModels]) -> pd.DataFrame:
    """Return what one unit of each attribute is worth: in money at the median price, and in percent of it.

    With the coefficients b of the attribute and b_price of the price (relative to its median m, see
    `full_models`) that is -m b / b_price, at the slope that the price form has at m. Interval: all ratios
    that the data do not refute (Fieller 1954); it leaves out 0 exactly where the part-worth's does, and the
    p value is the part-worth's. So no value has another sign than its part-worth.

    Undefined unless the interval of the price coefficient is below 0, and where two price forms that are not
    refuted disagree about the sign of a part-worth that one of them tells from 0.
    Extra columns: `percent`, `percent_low`, `percent_high`; `part_worth`,
    the coefficient in the same model; `price_form`, `at_price`, `block`. All rows, of all agents, are
    one family of `p_adjusted`.
    """
    rows = [
        _row(models, term)
        for models in every
        for term in (models.fit.terms if PRICE in models.fit.terms else ())
        if term not in (PRICE, CURVE)
    ]
    frame = tidy_frame(rows, *MONEY)
    return adjusted(frame) if rows else frame


def moved_money(every: list[FullModels], terms: Collection[str]) -> Iterator[Moved]:
    """Yield the values of these attributes that `money` has, and how they move without each choice set."""
    for models in every:
        fit, moved = models.fit, models.moved[models.form]
        for term in (term for term in fit.terms if term in terms and PRICE in fit.terms):
            if not _no_value(models, term):
                (b, _), (slope, _) = fit.of(term), fit.of(PRICE)
                value = -models.at_price * b / slope
                moves = -models.at_price * (b + moved[term]) / (slope + moved[PRICE]) - value
                yield Moved(term, models.agent, value, moves, len(moved) - 1.0)


def _no_value(models: FullModels, term: str) -> str:
    """Why an attribute has no value in money; empty where it has one."""
    fit = models.fit
    own_note = fit.term_notes[fit.terms.index(term)] if np.isnan(fit.of(term)[1]) else ""
    return no_price(fit, PRICE) or own_note or _disagreement(models, term)


def _row(models: FullModels, term: str) -> Row:
    fit, reason = models.fit, _no_value(models, term)
    b, error = fit.of(term)
    values: dict[str, Any] = {"part_worth": b}
    if not reason:
        ratio, low, high = fieller(fit, term, PRICE)
        spread, price = ratio_error(fit, term, PRICE), models.at_price
        values |= {
            "estimate": price * ratio,
            "std_error": price * spread,
            "statistic": b / error,
            "p_value": float(2 * stats.t.sf(abs(b / error), fit.df)),
            "conf_low": price * low,
            "conf_high": price * high,
            **dict(zip(PERCENT, (100 * ratio, 100 * low, 100 * high), strict=True)),
        }
    return tidy_row(
        term,
        models.agent,
        fit.n_sets,
        fit.n_missing,
        note=reason or models.note,
        price_form=models.form,
        at_price=models.at_price,
        block=models.block,
        **values,
    )


def _disagreement(models: FullModels, term: str) -> str:
    """Why an attribute has no value although the price has a coefficient; empty where it has one."""
    found = [models.fits[form].of(term) for form in models.enough]
    told = any(abs(b) > stats.t.ppf(0.975, models.fit.df) * error for b, error in found)
    if not told or len({np.sign(b) for b, _ in found} - {0.0}) < 2:
        return ""
    return "no willingness to pay: the log and the linear price both fit, and give it different signs"


def money_orders(every: list[FullModels]) -> pd.DataFrame:
    """Return whether the price form changes the order of what attributes are worth: Spearman's correlations.

    Between the logarithm and the linear form, and the logarithm and the curve (column `forms`): for each
    attribute over agents, and for each agent over its `attributes`. Another price at which values are asked
    for multiplies all values of the logarithm alike, and leaves those of the linear form, so it changes no
    order.
    """
    worth = pd.DataFrame(
        [
            {"term": term, "group": models.agent}
            | {form: _relative(fit, term) for form, fit in models.fits.items()}
            for models in every
            for term in models.fits["log"].terms
            if PRICE in models.fit.terms and term not in (PRICE, FIRST)
        ],
        columns=["term", "group", *PRICE_FORMS],
    )
    rows: list[Row] = []
    for form in PRICE_FORMS[1:]:
        told = {"forms": f"log and {form}"}
        for agent, own in worth.set_index("term").groupby("group"):
            found = rank_correlation("attributes", own["log"], own[form], str(agent), "attributes")
            rows.append(found | told)
        for term, own in worth.set_index("group").groupby("term") if len(every) > 1 else ():
            rows.append(rank_correlation(str(term), own["log"], own[form]) | told)
    return tidy_frame(rows, "forms")


def _relative(fit: CLogit, term: str) -> float:
    """The value in units of the price; NaN where the price has no clear coefficient."""
    return np.nan if no_price(fit, PRICE) else -fit.of(term)[0] / fit.of(PRICE)[0]


def price_forms(every: list[FullModels]) -> pd.DataFrame:
    """Return by agent and price form whether the form is enough, and which one money values are made in.

    `p_value` is that of the test that the other form adds nothing (see `full_models`); the curve, which holds
    both, has none. Extra columns: `loglik`, `aic`, `pseudo_r2` (McFadden 1974) of the model; `taken`, whether
    it is the form that money values are made in; `at_price`, `block`.
    """
    rows = []
    for models in every:
        for form in PRICE_FORMS if PRICE in models.fit.terms else ():
            fit, p = models.fits[form], models.p[form]
            note = "no estimate; p of the test that the other form adds nothing"
            if form == "curved":
                note = "no estimate and no test: it holds both forms"
            elif np.isnan(p):
                note = NO_FORM_TEST
            rows.append(
                tidy_row(
                    form,
                    models.agent,
                    fit.n_sets,
                    fit.n_missing,
                    p_value=p,
                    note=join_notes(note, models.note),
                    loglik=fit.loglik,
                    aic=fit.aic,
                    pseudo_r2=fit.pseudo_r2,
                    taken=form == models.form,
                    at_price=models.at_price,
                    block=models.block,
                )
            )
    return tidy_frame(rows, "loglik", "aic", "pseudo_r2", "taken", "at_price", "block")
