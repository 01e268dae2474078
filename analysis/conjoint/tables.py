"""Make the tables that come directly from the fits of each agent."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.conjoint.cards import (
    OUT,
    POOLED,
    PRICES,
    ShownOptions,
    answered,
    decile,
    decile_edges,
    taken,
)
from analysis.conjoint.fits import LEAST_SETS, UNPRICED, Fits, Form, Spec, few_sets, headline, of_sets
from analysis.conjoint.frames import tidy_frame, tidy_row
from analysis.estimators.clogit import BY_SET, CLogit, lr_test, wald_test
from analysis.estimators.moved import HANGS
from analysis.estimators.wtp import wtp
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import adjusted, benjamini_hochberg
from analysis.tables.frame import FRAME_COLUMNS, NUMBERS, join_notes

MODEL = ("model", "block", "price_form")
ALIKE = (*BY_SET, "p_by_set_adjusted")
"""Where answers to a set may be alike: p value and interval of leaving out each choice set.

They hold for fewer sets than clustered errors do. Of a table all rows, of all agents, are one family.
"""
KRINSKY_ROBB = ("krinsky_robb_low", "krinsky_robb_high")
FEW_SETS = f"fewer than {LEAST_SETS} choice sets: the usual errors are too small to print"
LINEAR = "no error: the linear price fits better, see `money`"
LEAST_BOOKED: Final = 10
"""The choice sets from which the interval of a mean of what was booked holds."""
ROUNDING: Final = 1e-9
"""How far a sum of weights may be from a half by rounding."""
NOT_COMPARABLE = "the two forms are not fitted to the same sets"


def coefficients(fits: Fits) -> pd.DataFrame:
    """Every coefficient of every model; extra columns model, block, price_form, brand and `ALIKE`.

    brand: whether the chain families are in the model, too. The four name the model. A model of fewer than
    `LEAST_SETS` choice sets has estimates and the columns `ALIKE` only.
    """
    if not fits:
        return by_set_adjusted(pd.DataFrame(columns=[*FRAME_COLUMNS, *MODEL, "brand", *BY_SET]))
    frame = pd.concat([_printed(fit.frame(spec.agent), fit) for spec, fit in fits.items()], ignore_index=True)
    frame = frame.join(pd.concat([fit.by_set() for fit in fits.values()], ignore_index=True))
    # Where answers may be alike, the usual errors are too small without those of leaving out sets.
    sizes = [len(fit.terms) for fit in fits.values()]
    alike = np.repeat([fit.left_out is not None for fit in fits.values()], sizes)
    lone = alike & frame["p_by_set"].isna() & frame["p_value"].notna()
    frame.loc[lone, [name for name in NUMBERS if name != "estimate"]] = np.nan
    frame.loc[lone, "note"] = [join_notes(note, HANGS) for note in frame.loc[lone, "note"]]
    for name, values in zip((*MODEL, "brand"), zip(*(spec[1:] for spec in fits), strict=True), strict=True):
        frame[name] = np.repeat(values, sizes)
    return by_set_adjusted(frame)


def headlines(
    every: pd.DataFrame, fits: Fits, price: Form, *, brand: bool = False
) -> dict[Spec, pd.DataFrame]:
    """Return the rows in the frame of `coefficients` of the model that represents each agent."""
    printed = dict(iter(every.groupby(["group", *MODEL, "brand"], sort=False)))
    specs = [headline(fits, agent, price, brand=brand) for agent in agents_of(fits)]
    return {spec: printed[spec].drop(columns="brand") for spec in specs if spec}


def fit_statistics(fits: Fits) -> pd.DataFrame:
    """Return log-likelihood, AIC, McFadden's pseudo R2 and sizes of every model.

    `note` names separated choices.
    """
    rows = [
        {
            "group": spec.agent,
            **_model(spec),
            "brand": spec.brand,
            "loglik": fit.loglik,
            "loglik_null": fit.loglik_null,
            "aic": fit.aic,
            "pseudo_r2": fit.pseudo_r2,
            "parameters": fit.n_parameters,
            "n": fit.n_sets,
            "n_options": fit.n_options,
            "n_missing": fit.n_missing,
            "iterations": fit.iterations,
            "note": "; ".join(fit.notes),
        }
        for spec, fit in fits.items()
    ]
    columns = None if rows else ["group", *MODEL, "brand", "loglik", "aic", "note"]
    return pd.DataFrame(rows, columns=columns)


def price_response(every: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficients of log price and of price, in every model without brands.

    every: the frame of `coefficients`.
    """
    own = every[every["term"].isin(PRICES) & ~every["brand"].astype(bool)]
    own = own.drop(columns="brand").reset_index(drop=True)
    return by_set_adjusted(own)


def price_deciles(every: pd.DataFrame, fits: Fits, cards: ShownOptions) -> pd.DataFrame:
    """Return the decile coefficients of each agent's representative model, beside its price curves.

    every: the frame of `coefficients`.
    Extra columns: `median_price` of the decile; `log_curve` and `linear_curve`, the utility at that price
    less the one at the first decile's median, as the two other models say. D1 is the base, 0 by construction.
    """
    frames = []
    for spec, printed in headlines(every, fits, "deciles").items():
        if spec.price == UNPRICED:
            continue
        prices = cards.prices(spec.block)
        edges = decile_edges(prices)
        medians = pd.Series(prices).groupby(decile(prices, edges)).median().reindex(range(1, len(edges)))
        frame = printed[printed["term"].str.fullmatch(r"D\d+")]
        base = tidy_row("D1", spec.agent, fits[spec].n_sets, fits[spec].n_missing, estimate=0.0, note="base")
        frame = pd.concat([tidy_frame([base]).assign(**_model(spec)), frame], ignore_index=True)
        frame["median_price"] = medians.to_numpy()
        linear, log = fits[spec._replace(price="linear")], fits[spec._replace(price="log")]
        frame["log_curve"] = log.of("log_price")[0] * np.log(frame["median_price"] / medians.iloc[0])
        frame["linear_curve"] = linear.of("price")[0] * (frame["median_price"] - medians.iloc[0])
        frames.append(frame)
    return by_set_adjusted(_joined(frames, *MODEL, "median_price", "log_curve", "linear_curve", *BY_SET))


def functional_form(fits: Fits) -> pd.DataFrame:
    """Return the AIC of the linear less that of the log price, by model.

    It is negative where the linear form fits better. Extra columns: model, block, and `better`, which is
    "neither" where the two differ by less than 2.
    """
    rows = []
    for spec, linear in fits.items():
        if spec.price != "linear":
            continue
        difference = _linear_less_log(fits, spec)
        rows.append(
            tidy_row(
                "aic_linear_minus_log",
                spec.agent,
                linear.n_sets,
                linear.n_missing,
                estimate=difference,
                note=NOT_COMPARABLE if np.isnan(difference) else "AIC has no standard error",
                model=spec.model,
                block=spec.block,
                better="" if np.isnan(difference) else _better(difference),
            )
        )
    return tidy_frame(rows, "model", "block", "better")


def _linear_less_log(fits: Fits, spec: Spec) -> float:
    """The difference of the AICs of a model in its two forms of price; NaN where they cannot be compared."""
    linear, log = (fits[spec._replace(price=form)] for form in ("linear", "log"))
    return linear.aic - log.aic if linear.n_sets == log.n_sets else np.nan


def quality(every: pd.DataFrame, fits: Fits, controls: tuple[str, ...]) -> pd.DataFrame:
    """Return the coefficients of the controls in the log-price model that represents each agent.

    Where the linear form fits better, as in `functional_form`, they take over what the log price misses: they
    have no error then, and the table `money` says what an attribute is worth.
    """
    frame = _terms(every, fits, "log", lambda term: term in controls)
    for agent in agents_of(fits):
        spec = headline(fits, agent, "linear")
        if spec is not None and spec.price == "linear" and _better(_linear_less_log(fits, spec)) == "linear":
            own = frame["group"] == agent
            frame.loc[own, [*(name for name in NUMBERS if name != "estimate"), *BY_SET]] = np.nan
            frame.loc[own, "note"] = [join_notes(note, LINEAR) for note in frame.loc[own, "note"]]
    return by_set_adjusted(frame)


def brands(every: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """Return the chain families' coefficients against the base.

    All controls and price deciles are held constant.
    """
    return _terms(every, fits, "deciles", lambda term: term.startswith("chain_"), brand=True)


def willingness_to_pay(fits: Fits, cards: ShownOptions) -> pd.DataFrame:
    """Return the money for one unit of each attribute, from the model that represents each agent.

    The price is in the form that fits better by AIC, as in `functional_form`. The logarithm gives what a unit
    is worth at the median price (column `at_price`, empty for the linear form). Where the linear form fits
    better, but an attribute's part-worth in the table `quality`, which holds the log price, has another sign,
    there is none. `p_adjusted` is over the attributes of all agents.
    """
    frames = []
    for agent in agents_of(fits):
        linear, log = headline(fits, agent, "linear"), headline(fits, agent, "log")
        if linear is None or log is None or log.price == UNPRICED:
            continue
        difference = _linear_less_log(fits, linear)
        if difference > 0:
            price = float(np.median(cards.prices(log.block)))
            frame = wtp(fits[log], "log_price", at=price, group=agent).assign(**_model(log), at_price=price)
            known = frame["estimate"].notna()
            frame.loc[known, "note"] = f"at the median price, {price:,.2f}"
            frame = _printed(frame, fits[log])
        else:
            frame = wtp(fits[linear], "price", group=agent).assign(**_model(linear), at_price=np.nan)
            frame = _printed(frame, fits[linear])
            if np.isnan(difference):
                frame = _refused(frame, frame["term"] != "", NOT_COMPARABLE)
            parts = frame["term"].map(lambda term, fit=fits[log]: fit.of(term)[0]).astype(float)
            against = frame["estimate"] * parts < 0
            frame = _refused(frame, against, "with the log price its part-worth has another sign")
        frames.append(frame)
    return adjusted(_joined(frames, *KRINSKY_ROBB, *MODEL, "at_price"))


def _refused(frame: pd.DataFrame, rows: "pd.Series[bool]", reason: str) -> pd.DataFrame:
    """The frame with no willingness to pay in these rows."""
    frame = frame.copy()
    frame.loc[rows, [*NUMBERS, *KRINSKY_ROBB]] = np.nan
    frame.loc[rows, "note"] = f"no willingness to pay: {reason}"
    return frame


def pooling(fits: Fits) -> pd.DataFrame:
    """Test by agent whether sets of all sizes follow one model, with the log price.

    The alternative lets every coefficient differ by set size. With independent answers it is a likelihood
    ratio, where the alternative's log-likelihood is the sum over the separate fits; with clustered errors,
    which the likelihood does not know of, a Wald test. `statistic` is chi-square with `df` degrees of
    freedom; there is nothing to estimate. With fewer than `LEAST_SETS` choice sets
    there is none: it would be too large.
    """
    rows = []
    for agent in agents_of(fits):
        own = {spec.block: fit for spec, fit in of_sets(fits, agent).items()}
        pooled = own.pop(POOLED, None)
        if pooled is None or len(own) < 2:
            n = sum(fit.n_sets for fit in own.values())
            rows.append(tidy_row("pooling", agent, n, note="sets of one size only: nothing to pool"))
            continue
        n, missing = pooled.n_sets, pooled.n_missing
        if pooled.notes or any(fit.notes or np.isnan(fit.loglik) for fit in own.values()):
            rows.append(
                tidy_row("pooling", agent, n, missing, note="the choices are separated: no valid test")
            )
            continue
        if few_sets(pooled):
            rows.append(tidy_row("pooling", agent, n, missing, note=FEW_SETS))
            continue
        independent = all(np.isinf(fit.df) for fit in own.values())
        if not independent and any(np.isnan(fit.cov).any() for fit in own.values()):
            reason = "a coefficient has no clustered standard error: no valid test"
            rows.append(tidy_row("pooling", agent, n, missing, note=reason))
            continue
        test = lr_test(pooled, *own.values()) if independent else wald_test(*own.values())
        kind = "likelihood ratio" if independent else "Wald test with the clustered errors"
        rows.append(
            tidy_row(
                "pooling",
                agent,
                n,
                missing,
                statistic=test.statistic,
                p_value=test.p_value,
                note=f"{kind}, upper tail; no estimate",
                df=test.df,
            )
        )
    return tidy_frame(rows, "df")


def booked(cards: ShownOptions) -> pd.DataFrame:
    """Describe the chosen options of the smallest sets by agent, including locked agents.

    Terms: mean_price, median_price, mean_stars, shares of opt-outs and chains in percent. Of scored letters
    each option counts with its chance. Intervals are about
    sets like these: t over choice sets, with ten of them or more. Extra column `offered`: the same of all the
    options shown, so of a chooser at random.
    """
    rows = []
    block = cards.blocks[0]
    for agent, shown in cards.by_agent.items():
        if (own := shown[shown["block"] == block]).empty:
            continue
        done = own[own.groupby(TRIAL_ID)["chosen"].transform("count") > 0]
        booked = taken(done)
        weight, n = booked["weight"], answered(booked)
        missing = own[TRIAL_ID].nunique() - n
        if booked.empty:
            rows.append(tidy_row("mean_price", agent, 0, missing, note="no trial has a choice"))
            continue
        for term, name in (("mean_price", "price"), ("mean_stars", "stars")):
            known = booked[booked[name].notna()]
            mean, error, sets = *mean_by_set(known[name], known), known["set"].nunique()
            half_width = stats.t.ppf(0.975, sets - 1) * error if sets >= LEAST_BOOKED else np.nan
            few = f"no interval: fewer than {LEAST_BOOKED} choice sets" if sets < LEAST_BOOKED else ""
            rows.append(
                tidy_row(term, agent, n, missing, estimate=mean, std_error=error,
                         conf_low=mean - half_width, conf_high=mean + half_width,
                         note=few if len(known) else f"no {name} in this table", offered=done[name].mean())
            )  # fmt: skip
        note = "no standard error" if cards.priced else "no price in this table"
        rows.append(
            tidy_row("median_price", agent, n, missing, estimate=_median(booked["price"], weight),
                     note=note, offered=done["price"].median())
        )  # fmt: skip
        if done[OUT].any():
            share, error = mean_by_set(booked[OUT], booked)
            rows.append(
                tidy_row(f"share_{OUT}", agent, n, missing, estimate=100 * share,
                         std_error=100 * error, offered=100 * done[OUT].mean())
            )  # fmt: skip
        offered = done["chain"].value_counts(normalize=True)
        for chain in offered.index[offered.index != ""]:
            share, error = mean_by_set((booked["chain"] == chain).astype(float), booked)
            rows.append(
                tidy_row(f"share_{chain}", agent, n, missing, estimate=100 * share,
                         std_error=100 * error, offered=100 * float(offered[chain]))
            )  # fmt: skip
    return tidy_frame(rows, "offered")


def mean_by_set(values: "pd.Series[float]", booked: pd.DataFrame) -> tuple[float, float]:
    """Return the mean of values that are known, and its standard error, clustered by set."""
    weight = booked["weight"]
    if not weight.sum():
        return np.nan, np.nan
    mean = float((weight * values).sum() / weight.sum())
    sums = (weight * (values - mean)).groupby(booked["set"]).sum()
    count = len(sums)
    error = np.sqrt(count / (count - 1) * (sums**2).sum()) / weight.sum() if count > 1 else np.nan
    return mean, float(error)


def _median(values: "pd.Series[float]", weight: "pd.Series[float]") -> float:
    """The weighted median: where just half the weight lies below, the middle of the two next to it."""
    known = pd.DataFrame({"value": values, "weight": weight}).dropna().sort_values("value")
    if known.empty:
        return np.nan
    below = known["weight"].cumsum() / known["weight"].sum()
    places = [int(below.searchsorted(0.5 + side * ROUNDING)) for side in (-1, 1)]
    return float(known["value"].iloc[places].mean())


def agents_of(fits: Fits) -> list[str]:
    """Return the agents in the order of their fits."""
    return list(dict.fromkeys(spec.agent for spec in fits))


def _terms(
    every: pd.DataFrame, fits: Fits, price: Form, wanted: Callable[[str], bool], *, brand: bool = False
) -> pd.DataFrame:
    """The wanted terms of the model that speaks for each agent."""
    frame = _joined(list(headlines(every, fits, price, brand=brand).values()), *MODEL, *BY_SET)
    return by_set_adjusted(frame[frame["term"].map(wanted).astype(bool)].reset_index(drop=True))


def _better(difference: float) -> str:
    if abs(difference) < 2:
        return "neither"
    return "linear" if difference < 0 else "log"


def _model(spec: Spec) -> dict[str, str]:
    return {"model": spec.model, "block": spec.block, "price_form": spec.price}


def _printed(frame: pd.DataFrame, fit: CLogit) -> pd.DataFrame:
    """The frame of a fit; of few choice sets no more than the estimates."""
    if not few_sets(fit):
        return frame
    frame = frame.copy()
    known = frame["estimate"].notna()
    frame[[name for name in (*NUMBERS, *KRINSKY_ROBB) if name in frame and name != "estimate"]] = np.nan
    frame.loc[known, "note"] = [join_notes(note, FEW_SETS) for note in frame.loc[known, "note"]]
    return frame


def where_alike(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose p values and intervals are those of leaving out choice sets, where it has such."""
    if "p_by_set" not in frame or frame["p_by_set"].isna().all():
        return frame
    names = dict(zip(("p_value", "conf_low", "conf_high"), BY_SET, strict=True))
    return frame.assign(**{name: frame[own] for name, own in names.items()})


def by_set_adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the columns `ALIKE` last."""
    adjusted = benjamini_hochberg(frame["p_by_set"])
    rest = frame.drop(columns=[*BY_SET, "p_by_set_adjusted"], errors="ignore")
    return rest.join(frame[list(BY_SET)].astype(float)).assign(p_by_set_adjusted=adjusted)


def _joined(frames: list[pd.DataFrame], *extra: str) -> pd.DataFrame:
    if not frames:
        return pd.DataFrame(columns=[*FRAME_COLUMNS, *extra])
    return pd.concat(frames, ignore_index=True)
