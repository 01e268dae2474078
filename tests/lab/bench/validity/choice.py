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
from scipy import sparse, stats

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste, draw
from analysis.choice.effects.effects import main_effects
from analysis.choice.effects.groups import profile_effects
from analysis.choice.effects.nudges import nudge_effects
from analysis.choice.effects.sensitivity import sensitivity
from analysis.estimators.jackknife import TOLERANCE, Jackknife
from analysis.estimators.lpm import Contrast, Fit, Model
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.lab.bench.validity.counting import COUNTS, LEVEL, ROUNDING, adjusted_p, relative_width
from tests.lab.bench.validity.exact import exact_rows
from tests.simulated_choices import with_choices


@dataclass(frozen=True)
class Shopper:
    """Whose choices are drawn.

    alike: what chance adds to a product's utility is the same in all trials of its set, or of the same
    question (the same products, order, nudge and profile), so that the shopper answers these alike.
    """

    taste: Taste
    alike: Literal["", "set", "question"] = ""


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


def as_run(made: SimulatedTrials) -> pd.DataFrame:
    """The table that the run itself gives: each trial's choice is drawn with its own seed."""
    chosen, end = np.zeros(len(made.table), int), 0
    for trial in made.trials:
        begin, end = end, end + len(trial.products)
        chosen[begin + draw(made.chances[begin:end], random.Random(trial.seed).random())] = 1
    return with_choices(made, chosen)


def answers(made: SimulatedTrials, rng: np.random.Generator, studies: int, alike: str = "") -> Floats:
    """Fresh choices, rows x studies, of a shopper that answers sets or questions alike; see `Shopper`."""
    if not alike:
        return made.drawn(rng, studies)
    table = made.table
    known = table[["set", "option"]]
    if alike == "question":
        trial, carries = table[TRIAL_ID], table["nudged"].eq(1)
        known = known.assign(
            profile=table["profile"],
            ordering=table["ordering"],
            words=table["nudge"].where(carries.groupby(trial).transform("any"), ""),
            carrier=table["option"].where(carries).groupby(trial).transform("first").fillna(""),
        )
    code = known.groupby(list(known), sort=False).ngroup().to_numpy()
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
        error, df = (np.sqrt(found.variance), found.df) if found else self._two_ways(fit, weights, residuals)
        if not fit.by_set:
            return estimate, (error, df)
        by_set = fit.by_set.jackknife(weights, residuals)
        other = np.sqrt(by_set.variance)
        return estimate, (np.maximum(error, other), np.where(other > error, min(df, by_set.df), df))

    def _two_ways(self, fit: Fit, weights: Floats, residuals: Floats) -> tuple[Floats, float]:
        """The largest of the two-way and the two one-way errors, and the degrees of freedom."""
        model = fit.model
        scores = (model.within @ (model.inverse @ weights))[:, None] * residuals
        (_, code), (_, its_code) = fit.clusters.items()
        both = np.unique(code * (its_code.max() + 1) + its_code, return_inverse=True)[1]
        sums, counts = [], []
        for each in (code, its_code, both):
            member = sparse.csr_array((np.ones(len(each)), (each, np.arange(len(each)))))
            sums.append(((member @ scores) ** 2).sum(axis=0))
            counts.append(member.shape[0])
        correction = (len(code) - 1) / (len(code) - model.rank - 1)
        least = min(counts[:2])
        variance = correction * np.maximum.reduce(
            [
                least / (least - 1) * (sums[0] + sums[1] - sums[2]),
                *(count / (count - 1) * total for count, total in zip(counts[:2], sums[:2], strict=True)),
            ]
        )
        return np.sqrt(variance), fit.df(weights)


def simulate(
    design: ShopDesign, shopper: Shopper, limit: int, studies: int, seed: int = 0, *, by_row: bool = False
) -> pd.DataFrame:
    """Studies of one design, size and shopper: by table the rows, those with a p value, and how these did.

    Columns: table, rows (of one study), printed (in all studies), null (printed, of a true 0), rejected (of
    these, p < .05), held (of the printed, the intervals with the truth), any_null (studies that print a row
    of a true 0) and any_rejected (those in which an adjusted p of such a row is below .05).
    """
    made = simulated_trials(design, shopper.taste, limit)
    truth = tables(made.table.assign(chosen=made.chances))
    recorder = Recorder()
    frames = recorder.tables(made.table)
    rng = np.random.default_rng([seed, limit, len(design.sets)])
    chosen = answers(made, rng, studies, shopper.alike)
    found = [] if by_row else [exact_counts(made, chosen, given=shopper.alike == "set")]
    for name, frame in frames.items():
        count = dict.fromkeys(COUNTS, 0) | {"table": name, "rows": len(frame)}
        p_values, nulls, rows = [], [], []
        for key, row in frame.iterrows():
            if np.isnan(row["p_value"]):
                continue
            estimate, error, df = recorder.estimates(round(row["estimate"] / 100), chosen)
            true = truth[name].loc[key, "estimate"] / 100
            printed = error > TOLERANCE
            p = np.where(printed, 2 * stats.t.sf(np.abs(estimate) / np.where(printed, error, 1), df), np.nan)
            null = abs(true) < ROUNDING
            held = printed & (np.abs(estimate - true) <= stats.t.ppf(0.975, df) * error + ROUNDING)
            rows.append(
                {
                    "key": key,
                    "df": float(np.median(df)),
                    "printed": printed.sum(),
                    "null": null * printed.sum(),
                    "rejected": null * (p < LEVEL).sum(),
                    "held": held.sum(),
                    "width": relative_width(2 * (stats.t.ppf(0.975, df) * error)[printed], estimate[printed]),
                }
            )
            p_values.append(p)
            nulls.append(null)
        for each in ("printed", "null", "rejected", "held"):
            count[each] = int(sum(row[each] for row in rows))
        count["intervals"] = count["printed"]
        shares = [(r["held"] / r["printed"], r["printed"]) for r in rows if r["printed"] >= studies / 2]
        count["worst"] = min(shares)[0] if shares else np.nan
        widths = [row["width"] for row in rows if row["printed"] >= studies / 2]
        count["width"] = float(np.median(widths)) if widths else np.nan
        if any(nulls):
            adjusted = np.array([adjusted_p(each) for each in np.transpose(p_values)])[:, np.array(nulls)]
            count["any_null"] = int((~np.isnan(adjusted)).any(axis=1).sum())
            count["any_rejected"] = int((adjusted < LEVEL).any(axis=1).sum())
        found += [{"table": name, **row} for row in rows] if by_row else [count]
    return pd.DataFrame(found)


def exact_counts(made: SimulatedTrials, chosen: Floats, *, given: bool) -> dict[str, Any]:
    """The counts of the table of exact tests.

    given: the shopper's own tastes for the products are drawn, too. The tests are about these tastes as they
    are; there is no other truth than the answers, and so no interval to count.
    """
    count: dict[str, Any] = dict.fromkeys(COUNTS, 0) | {"table": "exact", "worst": np.nan}
    family, widths = [], []
    for row in exact_rows(made.table, made.chances, chosen):
        printed, null = ~np.isnan(row.p_values), abs(row.truth) < ROUNDING
        count["rows"] += 1
        count["printed"] += int(printed.sum())
        if null:
            count["null"] += int(printed.sum())
            count["rejected"] += int((row.p_values[printed] < LEVEL).sum())
        held = (row.ends[0] <= row.truth + ROUNDING) & (row.truth - ROUNDING <= row.ends[1])
        if not given:
            count["held"] += int(held.sum())
            count["worst"] = np.nanmin([count["worst"], held.sum() / printed.sum()])
            widths.append(relative_width(row.ends[1] - row.ends[0], row.estimates))
        family.append((row.p_values, null))
    nulls = np.array([null for _, null in family])
    if nulls.any():
        count["any_null"] = chosen.shape[1]
        adjusted = np.array([adjusted_p(each) for each in np.transpose([p for p, _ in family])])
        count["any_rejected"] = int((adjusted[:, nulls] < LEVEL).any(axis=1).sum())
    count["intervals"] = 0 if given else count["printed"]
    count["held"] = np.nan if given else count["held"]
    return count | {"width": np.nan if given else float(np.nanmedian(widths))}


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
