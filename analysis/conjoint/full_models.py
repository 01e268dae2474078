"""Fit the models that money values rest on: the price in three forms, and all that may go with it held."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.conjoint.cards import OUT, PRICES, ShownOptions
from analysis.conjoint.fits import UNPRICED, brand_families, regressors
from analysis.estimators.choice_sets import Covariance
from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.leave_out import moves, with_errors
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.estimators.t_tests import student
from analysis.tables.choice_table import TRIAL_ID

PriceForm = Literal["log", "linear", "curved"]
PRICE_FORMS: Final[tuple[PriceForm, ...]] = get_args(PriceForm)
PRICE, CURVE, FIRST = "price", "price_curve", "shown_first"
"""Terms of the models: the price at its median, its curve, and whether an option was shown first."""
LEVEL: Final = 0.05


@dataclass(frozen=True)
class FullModels:
    """The models of one agent.

    rows: the options shown; columns: by price form, their regressors; fits: by price form. at_price: the
    median price, in whose units the price is: the coefficient `price` of every form is the change of utility
    for a price that is higher by `at_price`, at the slope that the form has there. moved: by form, how far
    the coefficients move without each choice set. p: by form, of the test that it is enough.
    """

    agent: str
    block: str
    rows: pd.DataFrame
    columns: dict[str, pd.DataFrame]
    fits: dict[PriceForm, CLogit]
    moved: dict[PriceForm, pd.DataFrame]
    at_price: float
    p: dict[PriceForm, float]
    note: str

    @property
    def enough(self) -> list[PriceForm]:
        """The forms that are not refuted; without a test these are the logarithm and the linear form."""
        return [form for form in self.fits if form != "curved" and not self.p[form] < LEVEL]

    @property
    def form(self) -> PriceForm:
        """The form that fits: the likelier one of those that are not refuted; the curve if both are."""
        return max(self.enough, key=lambda form: self.fits[form].loglik, default="curved")

    @property
    def fit(self) -> CLogit:
        """The model in the form that fits."""
        return self.fits[self.form]


def full_models(
    cards: ShownOptions, agents: list[str], cov: Covariance, at_price: float | None = None
) -> list[FullModels]:
    """Fit conditional logits of the smallest sets, with the controls, chains and the option shown first held.

    Three forms of the price p, with its median m, or `at_price`: the logarithm, ln(p / m); linear, p / m; and
    the curve, which has both: ln(p / m) and `price_curve`, p / m - ln(p / m), whose slope at m is 0. A form
    is enough if the other adds nothing to it (Davidson and MacKinnon 1981): in the curve, the logarithm alone
    has no `price_curve`, the linear form as much of it as of `price`. cov: `clustered` errors are those of
    leaving out each choice set. Chains are left out where they separate the choices or leave the price
    without an error, which a note says. Errors: see `errors_of_options`. Without prices the one model has no
    price (`log`).
    """
    chains = brand_families(cards)
    with threadpool_limits(limits=1, user_api="blas"):
        return [models for agent in agents if (models := _of_agent(agent, cards, chains, cov, at_price))]


def _of_agent(
    agent: str, cards: ShownOptions, chains: tuple[str, ...], cov: Covariance, at_price: float | None
) -> FullModels | None:
    needed = [TRIAL_ID, "set", "option", "area", "size", "block", "position", "chosen", "chain", *PRICES, OUT]
    own = cards.by_agent.get(agent, cards.rows[:0])[list(dict.fromkeys([*needed, *cards.controls]))]
    block = next((block for block in cards.blocks if (own["block"] == block).any()), None)
    rows = own[own["block"] == block]
    known = (rows["price"] > 0) | (rows[OUT] == 1) | (not cards.priced)
    priced = known.groupby(rows[TRIAL_ID]).transform("all")
    rows = rows[priced & rows["chosen"].notna()]
    if block is None or rows.empty:
        return None
    if at_price is None or not cards.priced:
        at_price = float(np.median(cards.prices(block))) if cards.priced else np.nan
    found = _fitted(agent, block, rows, price_columns(rows, cards.controls, chains, at_price), cov, at_price)
    if chains and (found.fit.notes or np.isnan(found.fit.of(PRICE)[1])):
        columns = price_columns(rows, cards.controls, (), at_price)
        note = "chains are left out: too few choice sets to hold them"
        return _fitted(agent, block, rows, columns, cov, at_price, note)
    return found


def price_columns(
    rows: pd.DataFrame, controls: tuple[str, ...], chains: tuple[str, ...], at_price: float
) -> dict[str, pd.DataFrame]:
    """Return the regressors of each form; the price is the last term, or the last but one.

    That of an opt-out is the median: its constant is against an option at this price.
    """
    held = regressors(rows, controls, UNPRICED, np.zeros(2), chains)
    first = (rows["position"] == 0).astype(float)
    # An opt-out that always stands beside one option, in the same place, says the same as its place.
    told = len(set(zip(first, rows[OUT], strict=True))) > 2 or not rows[OUT].any()
    if first.groupby(rows[TRIAL_ID]).sum().all() and told:
        held[FIRST] = first
    # A chain that an agent was never shown has no column of its own.
    held = held.drop(columns=[f"chain_{name}" for name in chains if not held[f"chain_{name}"].any()])
    if np.isnan(at_price):
        return {"log": held}
    relative = rows["price"].mask(rows[OUT] == 1, at_price) / at_price
    log = held.assign(**{PRICE: np.log(relative)})
    return {
        "log": log,
        "linear": held.assign(**{PRICE: relative}),
        "curved": log.assign(**{CURVE: relative - np.log(relative)}),
    }


def _fitted(
    agent: str,
    block: str,
    rows: pd.DataFrame,
    columns: dict[str, pd.DataFrame],
    cov: Covariance,
    at_price: float,
    note: str = "",
) -> FullModels:
    chosen, trial, sets = (
        rows["chosen"].to_numpy(float, na_value=np.nan),
        rows[TRIAL_ID].to_numpy(),
        rows["set"].to_numpy(),
    )
    fits: dict[PriceForm, CLogit] = {}
    moved: dict[PriceForm, pd.DataFrame] = {}
    for form in (form for form in PRICE_FORMS if form in columns):
        x = columns[form]
        fits[form] = fit_clogit(x, chosen, trial, cov="robust" if cov == "robust" else "classical")
        moved[form] = moves(fits[form], x, chosen, trial, sets)
        if cov == "clustered":
            fits[form] = errors_of_options(with_errors(fits[form], moved[form]), x, rows)
    p: dict[PriceForm, float] = dict.fromkeys(PRICE_FORMS, np.nan)
    if curved := fits.get("curved"):
        p["log"] = _p_zero(curved, {CURVE: 1.0})
        p["linear"] = _p_zero(curved, {PRICE: 1.0, CURVE: -1.0})
    return FullModels(agent, block, rows, columns, fits, moved, at_price, p, note)


def moves_by_option(fit: CLogit, x: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return how far each coefficient moves without each option and its trials: see `moves`.

    x: the regressors of rows, of whose trials all have as many options.
    """
    size = int(rows["size"].iloc[0])
    chosen, trial = rows["chosen"].to_numpy(float, na_value=np.nan), rows[TRIAL_ID]
    options = rows["option"].to_numpy().reshape(-1, size)
    each = np.repeat(options.T[:, :, None], size, axis=2).ravel()
    copy = np.repeat(np.arange(size), len(x))
    again = pd.concat([x] * size, ignore_index=True)
    groups = np.tile(pd.factorize(trial)[0], size) + copy * len(x)
    return moves(fit, again, np.tile(chosen, size), groups, each, copies=size)


def errors_of_options(fit: CLogit, x: pd.DataFrame, rows: pd.DataFrame) -> CLogit:
    """Return the fit with larger errors where sets share options, each of which an agent may like for itself.

    The variance of sets that share an option (dyadic; Aronow, Samii and Assenova 2015, Political Analysis 23)
    is the sum over options of squared moves, less what sets count twice. It is taken where it is the larger.
    """
    size, options = int(rows["size"].iloc[0]), rows["option"].nunique()
    if not LEAST_CLUSTERS[1] <= options < size * rows["set"].nunique():
        return fit
    squares = (moves_by_option(fit, x, rows) ** 2).sum(skipna=False).to_numpy()
    own = np.diag(fit.cov)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = ((options - 1) / options * squares - (size - 1) * own) / own
    wider = np.sqrt(np.where(ratio > 1, ratio, 1.0))
    return replace(fit, cov=fit.cov * np.outer(wider, wider), df=min(fit.df, options - 1.0))


def _p_zero(fit: CLogit, weights: dict[str, Any]) -> float:
    """The p value of a combination of coefficients being 0; NaN where one has no error."""
    at = [fit.terms.index(term) for term in weights]
    weight = np.array(list(weights.values()))
    error = float(np.sqrt(weight @ fit.cov[np.ix_(at, at)] @ weight))
    return float(student(weight @ fit.estimate[at], error if error > 0 else np.nan, fit.df)["p_value"])
