"""Are the tables of card studies honest? Choices of the shipped design are redrawn, and analysed again.

What a table's numbers are about is what its model says of infinitely many answers to the same cards (the
estimate that maximises the expected likelihood); of `money` it is what the respondent's own weights say.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import stats
from threadpoolctl import threadpool_limits

from agents.simulated.utility import Taste
from analysis.conjoint import fits as models_of_study
from analysis.conjoint import full_models as models_of_money
from analysis.conjoint.attributes import HOTELS
from analysis.conjoint.cards import ShownOptions, encode
from analysis.conjoint.fits import Fits, few_sets, fit_models
from analysis.conjoint.full_models import CURVE, PRICE, full_models
from analysis.conjoint.held_out import held_out
from analysis.conjoint.money import money, price_forms
from analysis.conjoint.poolable import robust_pooling
from analysis.conjoint.tables import booked, willingness_to_pay
from analysis.conjoint.triage import triage
from analysis.estimators.choice_sets import Covariance
from analysis.estimators.clogit import CLogit, fit_clogit, fit_logit
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import Floats, Ints
from experiments.designs.cards.design import CardDesign
from tests.lab.bench.validity.cards import AGENT, Respondent, SimulatedCards, simulated_cards
from tests.lab.bench.validity.studies import Columns, Frames, Key, Truth

NOTHING: Final = 1e-8
"""The size below which an estimate of infinitely many answers is rounding noise."""

MODEL: Final = ("model", "block", "price_form", "term")
WHOLE: Final = (*MODEL, "brand")
OWN: Final = ("term",)
PARTS: Final = ("price_response", "price_deciles", "quality", "brands")
"""Tables that are parts of `coefficients`."""
BY_SET: Final = {"p": "p_by_set", "low": "by_set_low", "high": "by_set_high"}
TABLES: Final = (
    Columns("triage", "triage", OWN, null=0.5),
    Columns("triage, exact", "triage", OWN, p="p_exact", low="exact_low", high="exact_high", null=0.5),
    *(Columns(name, name, MODEL, adjusted="p_by_set_adjusted", **BY_SET) for name in PARTS),
    Columns("coefficients", "coefficients", WHOLE, adjusted="p_by_set_adjusted", **BY_SET),
    *(Columns(f"{name}, clustered", name, MODEL) for name in PARTS),
    Columns("coefficients, clustered", "coefficients", WHOLE),
    Columns("willingness_to_pay", "willingness_to_pay", MODEL, adjusted="p_adjusted"),
    Columns(
        "willingness_to_pay, Krinsky and Robb",
        "willingness_to_pay",
        MODEL,
        p="",
        low="krinsky_robb_low",
        high="krinsky_robb_high",
    ),
    Columns("money", "money", OWN, "percent", low="percent_low", high="percent_high", adjusted="p_adjusted"),
    Columns("price_forms", "price_forms", OWN),
    Columns("pooling", "pooling", ("part",)),
    Columns("pooling, robust", "pooling", ("part",), p="p_robust"),
    Columns("held_out", "held_out", OWN),
    Columns("booked", "booked", OWN),
)


@dataclass(frozen=True)
class CardStudies:
    """Studies of one respondent and size. cards: read once; a study has choices of its own.

    place: of each row of the cards in the table.
    """

    made: SimulatedCards
    cards: ShownOptions
    place: Ints

    @classmethod
    def of(cls, design: CardDesign, respondent: Respondent, limit: int) -> "CardStudies":
        made = simulated_cards(design, respondent, limit)
        cards = encode(made.table)
        begin = np.cumsum([0, *(len(trial.options) for trial in made.trials)])
        return cls(made, cards, begin[cards.rows[TRIAL_ID]] + cards.rows["position"].astype(int).to_numpy())

    @property
    def tables(self) -> tuple[Columns, ...]:
        """Which tables are counted."""
        return TABLES

    def study(self, rng: np.random.Generator) -> Frames:
        """Return the tables of one study."""
        chosen = pd.Series(self.made.drawn(rng)[self.place], self.cards.rows.index).astype("Int64")
        cards = replace(self.cards, rows=self.cards.rows.assign(chosen=chosen))
        return tables(cards, "clustered" if cards.repeated else "classical")

    def truth(self) -> Truth:
        """Return what the tables' rows are about."""
        table, taste = self.made.table, self.made.taste
        copies = []
        for place in range(int(table["position"].max()) + 1):
            has = table.groupby("trial")["position"].transform("max") >= place
            own = table[has].assign(
                chosen=table["position"].eq(place).astype(int), chance=self.made.chances[has]
            )
            copies.append(own.assign(trial=own["trial"] + f"-{place}"))
        every = pd.concat(copies, ignore_index=True)
        picked = every[every["chosen"] == 1]
        cards = encode(every.drop(columns="chance"))
        # The cards number the trials in their order.
        found = expected(cards, picked["chance"].to_numpy())
        found |= {name: _shares(cards, picked["chance"].to_numpy(), name) for name in ("triage", "booked")}
        found["triage, exact"] = found["triage"]
        if not taste.log_reviews:  # else the number of reviews has another form than in the models
            for name in ("pooling", "pooling, robust"):
                parts = ["set size", *([] if taste.position else ["order"])]
                found[name] = {(part,): 0.0 for part in parts}
        found["money"] = true_money(taste) | {
            key: value for key, value in found["money"].items() if key == ("review_count_100",)
        }
        found["price_forms"] = {("log",): 0.0} if not taste.log_reviews else {}
        return found


def tables(cards: ShownOptions, cov: Covariance) -> dict[str, pd.DataFrame]:
    """Return the tables of the analysis that have p values or intervals."""
    fits = fit_models(cards, [AGENT], cov=cov)
    full = full_models(cards, [AGENT], cov)
    every = coefficients(fits)
    plain, headline = ~every["brand"], every["model"].eq("logit")
    decile = every["term"].str.fullmatch(r"D\d+")
    controls = every["price_form"].eq("log") & every["term"].isin(cards.controls)
    parts = {
        "coefficients": every,
        "price_response": every[plain & every["term"].isin(["price", "log_price"])],
        "price_deciles": every[plain & headline & decile],
        "quality": every[plain & headline & controls],
        "brands": every[every["brand"] & every["term"].str.startswith("chain_")],
    }
    return {
        name: part.assign(p_by_set_adjusted=benjamini_hochberg(part["p_by_set"]))
        for name, part in parts.items()
    } | {
        "triage": triage(cards),
        "willingness_to_pay": willingness_to_pay(fits, cards),
        "money": money(full),
        "price_forms": price_forms(full),
        "pooling": robust_pooling(fits, cards),
        "held_out": held_out(full),
        "booked": booked(cards),
    }


def coefficients(fits: Fits) -> pd.DataFrame:
    """Return the numbers of `analysis.conjoint.tables.coefficients`, in a tenth of the time."""
    parts = []
    for spec, fit in fits.items():
        error = fit.std_error
        p_value = 2 * stats.t.sf(abs(fit.estimate / error), fit.df)
        width = stats.t.ppf(0.975, fit.df) * error
        if few_sets(fit):
            p_value, width = np.full_like(p_value, np.nan), np.full_like(width, np.nan)
        numbers = (
            fit.estimate,
            p_value,
            fit.estimate - width,
            fit.estimate + width,
            *fit.by_set().to_numpy().T,
        )
        labels = (spec.model, spec.block, spec.price, spec.brand)
        parts += [(*labels, *row) for row in zip(fit.terms, *numbers, strict=True)]
    names = ("estimate", "p_value", "conf_low", "conf_high", *BY_SET.values())
    return pd.DataFrame(parts, columns=["model", "block", "price_form", "brand", "term", *names])


def expected(cards: ShownOptions, chance: Floats) -> dict[str, dict[Key, float]]:
    """Return the estimates that maximise the expected likelihood.

    cards: each trial once with each of its options chosen. chance: of each trial.
    """
    with _weighted(chance), threadpool_limits(limits=1, user_api="blas"):
        fits = fit_models(cards, [AGENT])
        full = full_models(cards, [AGENT], "classical")
    every = coefficients(fits)
    every["estimate"] = every["estimate"].where(abs(every["estimate"]) > NOTHING, 0.0)
    values = every.set_index([*MODEL, "brand"])["estimate"].to_dict()
    plain = {key[:-1]: value for key, value in values.items() if not key[-1]}
    found: dict[str, dict[Key, float]] = dict.fromkeys(PARTS, plain)
    found["coefficients"] = values
    found["brands"] = {key[:-1]: value for key, value in values.items() if key[-1]}
    of_money = {} if not full else {(term,): value for term, value in _percents(full[0].fits["log"]).items()}
    ratios: dict[Key, float] = {}
    for spec, fit in fits.items():
        if spec.price == "deciles" or spec.brand:
            continue
        price = "log_price" if spec.price == "log" else "price"
        at = float(np.median(cards.prices(spec.block))) if spec.price == "log" else 1.0
        slope = fit.of(price)[0]
        for term, value in zip(fit.terms, fit.estimate, strict=True):
            if slope < -NOTHING:
                ratios[spec.model, spec.block, spec.price, term] = _rounded(-at * value / slope)
    found |= {f"{name}, clustered": values for name, values in found.items()}
    names = ("willingness_to_pay", "willingness_to_pay, Krinsky and Robb")
    return found | {"money": of_money} | dict.fromkeys(names, ratios)


def true_money(taste: Taste) -> dict[Key, float]:
    """Return what one unit of each attribute is worth to a respondent, in percent of the price."""
    if not taste.log_price:
        return {}
    names = {
        "stars": taste.stars,
        "bed_rank": taste.bed,
        "cancel": taste.cancellation,
        "breakfast": taste.breakfast,
        "review_score": taste.rating,
        "shown_first": taste.position,
        **{f"chain_{name}": taste.brand.get(name.lower(), 0.0) for name in HOTELS["families"]},
    }
    return {(name,): -100 * weight / taste.log_price for name, weight in names.items()}


def _percents(fit: CLogit) -> dict[str, float]:
    slope = fit.of(PRICE)[0]
    terms = [term for term in fit.terms if term not in (PRICE, CURVE)]
    return {term: _rounded(-100 * fit.of(term)[0] / slope) for term in terms} if slope < -NOTHING else {}


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < NOTHING else value


def _shares(cards: ShownOptions, chance: Floats, name: str) -> dict[Key, float]:
    """The expected rows of `triage` or `booked`."""
    rows = cards.rows.assign(chance=chance[cards.rows[TRIAL_ID]])
    if name == "triage":
        between = rows[rows["letter"] < 2]
        front = between["position"] == between.groupby(TRIAL_ID)["position"].transform("min")
        won = between["chosen"] == 1
        share = float(between.loc[won & front, "chance"].sum() / between.loc[won, "chance"].sum())
        return {("first_shown",): share}
    taken = rows[(rows["block"] == cards.blocks[0]) & (rows["chosen"] == 1)]
    whole = taken["chance"].sum()
    found: dict[Key, float] = {
        (f"mean_{name}",): float((taken[name] * taken["chance"]).sum() / whole) for name in ("price", "stars")
    }
    shares = taken.groupby("chain")["chance"].sum() / whole
    return found | {(f"share_{chain}",): 100 * float(share) for chain, share in shares.items()}


@contextmanager
def _weighted(chance: Floats) -> Iterator[None]:
    """Let the models weigh the trials by their chances."""

    def sets(rows: pd.DataFrame, terms: pd.DataFrame, cov: Covariance = "classical") -> CLogit:
        chosen, trial = rows["chosen"].to_numpy(float), rows[TRIAL_ID].to_numpy()
        return fit_clogit(terms, chosen, trial, weights=chance[trial])

    def pairs(rows: pd.DataFrame, terms: pd.DataFrame, cov: Covariance = "classical") -> CLogit:
        values = terms.to_numpy(float)
        difference = pd.DataFrame(values[::2] - values[1::2], columns=terms.columns)
        chosen, trial = rows["chosen"].to_numpy(float)[::2], rows[TRIAL_ID].to_numpy()[::2]
        return fit_logit(difference, chosen, weights=chance[trial])

    def full(x: pd.DataFrame, chosen: Any, groups: Ints, **_: Any) -> CLogit:
        return fit_clogit(x, chosen, groups, weights=chance[groups])

    with (
        patch.object(models_of_study, "clogit_of_sets", sets),
        patch.object(models_of_study, "logit_of_pairs", pairs),
        patch.object(models_of_money, "fit_clogit", full),
    ):
        yield
