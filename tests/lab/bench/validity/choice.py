"""Choices of the shipped designs are redrawn from the simulated shoppers' utilities, without a browser.

The sets, texts, orders, profiles and facts are those that a browser would show, and so are the chances of
each choice. Each study is analysed as `souk analyze` does. The true effect of a design is what its
estimator gives for the chances: it is linear in choices.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import stats

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste, draw
from analysis.choice.effects.effects import main_effects
from analysis.choice.effects.groups import profile_effects
from analysis.choice.effects.nudges import nudge_effects
from analysis.choice.effects.sensitivity import sensitivity
from analysis.estimators.jackknife import TOLERANCE, Jackknife
from analysis.estimators.lpm import Contrast, Fit, Model
from analysis.estimators.lpm_many import _two_ways
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.lab.bench.validity.counting import adjusted_p
from tests.lab.bench.validity.exact import exact_rows
from tests.lab.bench.validity.studies import Columns, counts
from tests.simulated_choices import with_choices


@dataclass(frozen=True)
class Shopper:
    """Whose choices are drawn.

    alike: what chance adds to a product's utility is the same in all trials of its set, or of the same
    question (the same products, order, nudge and profile), so that the shopper answers these alike; but for
    those answered afresh, one less `determinism` of the taste. own: the standard deviation of what each
    question adds to a product's utility, beside what chance adds in each trial.
    """

    taste: Taste
    alike: Literal["", "set", "question"] = ""
    own: float = 0.0


def shoppers() -> dict[str, Shopper]:
    """Null: the balanced shopper without a weight for nudges. Price-only: nothing but the price counts."""
    balanced = shipped_taste("balanced")
    null = balanced.model_copy(update={"nudge": 0.0})
    return {
        "null": Shopper(null),
        "random": Shopper(Taste()),
        "balanced": Shopper(balanced),
        "price-only": Shopper(Taste(log_price=-5)),
        "deterministic": Shopper(balanced, alike="set"),
        "repeating": Shopper(balanced, alike="question"),
        "repeating-null": Shopper(null, alike="question"),
    }


def repeated_shoppers() -> dict[str, Shopper]:
    """Shoppers that are asked the same five times: nearly deterministic, or with a taste for each prompt."""
    null = shoppers()["null"].taste
    return {
        "98 % alike": Shopper(null.model_copy(update={"determinism": 0.98}), alike="question"),
        "90 % alike": Shopper(null.model_copy(update={"determinism": 0.9}), alike="question"),
        "prompted": Shopper(Taste(), own=1.0),
    }


def as_run(made: SimulatedTrials) -> pd.DataFrame:
    """The table that the run itself gives: each trial's choice is drawn with its own seed."""
    chosen, end = np.zeros(len(made.table), int), 0
    for trial in made.trials:
        begin, end = end, end + len(trial.products)
        chosen[begin + draw(made.chances[begin:end], random.Random(trial.seed).random())] = 1
    return with_choices(made, chosen)


def answers(made: SimulatedTrials, rng: np.random.Generator, studies: int, shopper: Shopper) -> Floats:
    """Fresh choices, rows x studies, of a shopper that answers sets or questions alike; see `Shopper`."""
    if not (shopper.alike or shopper.own) or made.determinism:
        return made.drawn(rng, studies)
    table = made.table
    known = table[["set", "option"]]
    if shopper.alike != "set":
        trial, carries = table[TRIAL_ID], table["nudged"].eq(1)
        known = known.assign(
            profile=table["profile"],
            ordering=table["ordering"],
            words=table["nudge"].where(carries.groupby(trial).transform("any"), ""),
            carrier=table["option"].where(carries).groupby(trial).transform("first").fillna(""),
        )
    code = known.groupby(list(known), sort=False).ngroup().to_numpy()
    if shopper.own:
        return made.drawn_with(rng, shopper.own * rng.standard_normal((code.max() + 1, studies))[code])
    return made.best(rng.gumbel(size=(code.max() + 1, studies))[code])


def tables(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of the choice analysis that print p values, indexed by agent, term and level."""
    by_text, by_category = nudge_effects(table)
    profiles, differences = profile_effects(table)
    frames = {
        "effects": main_effects(table),
        "nudge_texts": by_text,
        "categories": by_category,
        "profiles": profiles,
        "profile_differences": differences,
        "slopes": sensitivity(table)[0],
    }
    keys = ("group", "term", "nudge_text", "category", "profile")
    return {
        name: frame.set_index([key for key in keys if key in frame])
        for name, frame in frames.items()
        if len(frame)
    }


@dataclass
class Recorder:
    """The rows of the tables as linear functions of the choices, which is all that they are of one design.

    While it is installed, each contrast has its number in `parts` as its estimate, so that the frames tell
    which contrast stands in which row. What stands for the choices meanwhile
    are numbers by chance, by which a fit's rows are found again.
    """

    fits: dict[int, tuple[Fit, Ints]] = field(default_factory=dict)
    parts: list[tuple[Fit, Floats] | tuple[int, int]] = field(default_factory=list)

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The tables, with a contrast's number as each estimate; p is there where there may be one."""
        fitted, contrast = Model.fit, Fit.contrast
        marks = np.random.default_rng(0).random(len(table))
        order = np.argsort(marks)

        def fit(model: Model, y: Floats, clusters: dict[str, Ints], by_set: Ints | None = None) -> Fit:
            found = fitted(model, y, clusters, by_set)
            self.fits[id(found)] = found, order[np.searchsorted(marks[order], y)]
            return found

        def combine(found: Fit, weights: Floats) -> Contrast:
            made = contrast(found, weights)
            if np.isnan(made.std_error):
                return made
            return self._numbered((found, weights))

        def less(one: Contrast, other: Contrast) -> Contrast:
            if np.isnan(one.std_error) or np.isnan(other.std_error):
                return Contrast(np.nan)
            return self._numbered((round(one.estimate), round(other.estimate)))

        with (
            patch.object(Model, "fit", fit),
            patch.object(Fit, "contrast", combine),
            patch.object(Contrast, "less", less),
        ):
            return tables(table.assign(chosen=marks))

    def _numbered(self, part: tuple[Fit, Floats] | tuple[int, int]) -> Contrast:
        self.parts.append(part)
        return Contrast(len(self.parts) - 1, 1.0, 1.0)

    def estimates(self, number: int, chosen: Floats) -> tuple[Floats, Floats, Floats]:
        """Estimate, standard error and degrees of freedom in each study. chosen: rows x studies."""
        one, other = self.parts[number]
        if isinstance(one, Fit):
            estimate, found = self._one(one, np.asarray(other), chosen)
        else:
            estimate, found = self._one(*self._fitted(one), chosen)
            its, others = self._one(*self._fitted(int(other)), chosen)
            assert isinstance(found, Jackknife)
            assert isinstance(others, Jackknife)
            estimate, found = estimate - its, found.less(others)
        error, df = (np.sqrt(found.variance), found.df) if isinstance(found, Jackknife) else found
        return estimate, error, np.broadcast_to(df, error.shape)

    def _fitted(self, number: int) -> tuple[Fit, Floats]:
        fit, weights = self.parts[number]
        assert isinstance(fit, Fit)
        return fit, np.asarray(weights)

    def _one(
        self, fit: Fit, weights: Floats, chosen: Floats
    ) -> tuple[Floats, Jackknife | tuple[Floats, Floats | float]]:
        """As `Fit.contrast`, of many outcomes at once: estimate, and its jackknife or error and df."""
        model = fit.model
        outcome = model.centred(chosen[self.fits[id(fit)][1]])
        coefficients = model.inverse @ (model.within.T @ outcome)
        residuals = outcome - model.within @ coefficients
        estimate = weights @ coefficients
        found = fit.left_out.jackknife(weights, residuals) if fit.left_out else None
        if found and not fit.by_set:
            return estimate, found
        error, df = (
            (np.sqrt(found.variance), found.df)
            if found
            else (_two_ways(fit, weights, residuals), fit.df(weights))
        )
        if not fit.by_set:
            return estimate, (error, df)
        by_set = fit.by_set.jackknife(weights, residuals)
        other = np.sqrt(by_set.variance)
        return estimate, (np.maximum(error, other), np.where(other > error, min(df, by_set.df), df))


def simulate(design: ShopDesign, shopper: Shopper, limit: int, studies: int, seed: int = 0) -> pd.DataFrame:
    """Return the counts of each table in studies of one design, size and shopper; see `counts`."""
    made = simulated_trials(design, shopper.taste, limit)
    truth = tables(made.table.assign(chosen=made.chances))
    recorder = Recorder()
    frames = recorder.tables(made.table)
    rng = np.random.default_rng([seed, limit, len(design.sets)])
    chosen = answers(made, rng, studies, shopper)
    found = [exact_counts(made, chosen, given=shopper.alike == "set")]
    for name, frame in frames.items():
        told = frame.loc[frame["p_value"].notna(), "estimate"]
        rows = {key: printed(recorder, round(number / 100), chosen) for key, number in told.items()}
        known = {key: truth[name].loc[key, "estimate"] / 100 for key in rows}
        found.append(
            counts(Columns(name, name, adjusted="p_adjusted"), judged(rows), known) | {"rows": len(frame)}
        )
    return pd.DataFrame(found)


def printed(recorder: Recorder, number: int, chosen: Floats) -> Floats:
    """Return what is printed of a row (studies x 4): estimate, p value, and both ends of the interval."""
    estimate, error, df = recorder.estimates(number, chosen)
    error = np.where(error > TOLERANCE, error, np.nan)
    p, width = 2 * stats.t.sf(np.abs(estimate / error), df), stats.t.ppf(0.975, df) * error
    return np.column_stack([estimate, p, estimate - width, estimate + width])


def judged(rows: Mapping[Any, Floats]) -> dict[Any, Floats]:
    """Return the rows of a table (see `printed`) with the p values that are adjusted in each study."""
    p_values = np.array([numbers[:, 1] for numbers in rows.values()])
    adjusted = np.array([adjusted_p(each) for each in p_values.T]).T
    return {
        key: np.column_stack([numbers, own])
        for (key, numbers), own in zip(rows.items(), adjusted, strict=True)
    }


def exact_counts(made: SimulatedTrials, chosen: Floats, *, given: bool) -> dict[str, Any]:
    """The counts of the table of exact tests.

    given: the shopper's own tastes for the products are drawn, too. The tests are about these tastes as they
    are; there is no other truth than the answers, and so no interval to count.
    """
    rows, truth = {}, {}
    for row in exact_rows(made.table, made.chances, chosen):
        ends = np.full_like(row.ends, np.nan) if given else row.ends
        rows[row.key] = np.column_stack([row.estimates, row.p_values, *ends])
        truth[row.key] = row.truth
    return counts(Columns("exact", "exact", adjusted="p_adjusted"), judged(rows), truth)


def true_tradeoffs(
    part_worths: Mapping[str, float], options: float, price: float
) -> dict[tuple[str, str], float]:
    """Return what the rows of `tradeoffs` estimate, by term and measure, from true part-worths in its units.

    options: the mean of 1 / options. price: the median price.
    """
    found = {(term, "part_worth"): worth for term, worth in part_worths.items()}
    if slope := part_worths.get("price"):
        found["price", "elasticity"] = slope * (1 - options)
        for term, worth in part_worths.items():
            if term != "price":
                change = float(np.expm1(-worth / slope))
                found[term, "percent"], found[term, "money"] = 100 * change, price * change
    return found
