"""`python -m tests.bench.validity`: are the printed p values and intervals honest?

Choices of the shipped designs are redrawn from the simulated shoppers' utilities, without a browser: the
sets, texts, orders, profiles and facts are those that a browser would show, and so are the chances of each
choice. Each study is analysed as `souk analyze choice` does. Of the rows that print a p value are counted
those with p < .05 although the true effect is 0 (`rejected`), and the intervals that hold the true effect
(`held`). The true effect of a design is what its estimator gives for the chances: it is linear in choices.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import sparse, stats
from statsmodels.stats.multitest import multipletests
from threadpoolctl import threadpool_limits

from agents.simulated.tab_shopper import shipped_taste, taste_for
from agents.simulated.utility import Alternative, Taste, choice_probabilities, draw
from analysis.choice.effects import main_effects
from analysis.choice.groups import profile_effects
from analysis.choice.nudges import nudge_effects
from analysis.choice.sensitivity import sensitivity
from analysis.estimators.lpm import TOLERANCE, Contrast, Fit, Model
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.frame import Floats, Ints
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign, ShopTrial
from tests.bench.exact_validity import exact_rows

EXPERIMENTS = ("nudges", "nudges-mr", "trios", "profiles")
TRIALS = (60, 240, 600, 2400)
LEVEL = 0.05
ROUNDING = 1e-9


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


@dataclass(frozen=True)
class Drawable:
    """Trials as a checked tidy table, and the chance of each row's option to be chosen."""

    table: pd.DataFrame
    trials: tuple[ShopTrial, ...]
    chances: Floats

    def as_run(self) -> pd.DataFrame:
        """The table that the run itself gives: each trial's choice is drawn with its own seed."""
        chosen = np.zeros(len(self.table), int)
        ends = np.cumsum([len(trial.products) for trial in self.trials])
        for trial, end in zip(self.trials, ends, strict=True):
            chances = self.chances[end - len(trial.products) : end]
            chosen[end - len(chances) + draw(chances, random.Random(trial.seed).random())] = 1
        return self.table.assign(chosen=pd.Series(chosen, self.table.index, dtype="Int64"))

    def redrawn(self, rng: np.random.Generator) -> pd.DataFrame:
        """The table with fresh choices."""
        chosen = self.many(rng, 1)[:, 0]
        return self.table.assign(chosen=pd.Series(chosen, self.table.index).astype("Int64"))

    def many(self, rng: np.random.Generator, studies: int, alike: str = "") -> Floats:
        """Fresh choices, rows x studies: the highest utility, with Gumbel noise, in each trial."""
        known = self.table[["set", "option"]] if alike else pd.DataFrame({"row": range(len(self.table))})
        if alike == "question":
            trial, carries = self.table[TRIAL_ID], self.table["nudged"].eq(1)
            facts = {
                "profile": self.table["profile"],
                "ordering": self.table["ordering"],
                "words": self.table["nudge"].where(carries.groupby(trial).transform("any"), ""),
                "carrier": self.table["option"].where(carries).groupby(trial).transform("first").fillna(""),
            }
            known = known.assign(**facts)
        code = known.groupby(list(known), sort=False).ngroup().to_numpy()
        with np.errstate(divide="ignore"):
            utility = np.log(self.chances)[:, None] + rng.gumbel(size=(code.max() + 1, studies))[code]
        sizes = [len(trial.products) for trial in self.trials]
        best = np.maximum.reduceat(utility, np.cumsum([0, *sizes[:-1]]))
        return (utility == np.repeat(best, sizes, axis=0)).astype(float)


def drawable(design: ShopDesign, taste: Taste, limit: int | None, agent: str = "simulated") -> Drawable:
    """The first trials of a design, and the chances of a shopper with this taste; page by page in tabs."""
    trials = tuple(islice(design.trials([agent]), limit))
    rows: list[dict[str, Any]] = []
    chances: list[Floats] = []
    for trial in trials:
        rows += trial_rows(trial, design)
        chances.append(choice_probabilities(taste_for(trial.goal, taste), alternatives(trial)))
    table = pd.DataFrame(rows)
    return Drawable(check_table(table.assign(chosen=table["viewed_first"])), trials, np.concatenate(chances))


def trial_rows(trial: ShopTrial, design: ShopDesign) -> Iterator[dict[str, Any]]:
    """The tidy rows of a trial in tabs, but for its choice."""
    nudge = trial.nudge
    for position, item in enumerate(trial.products):
        yield {
            "run": design.run_id,
            "trial": trial.id,
            "agent": trial.agent,
            "set": trial.set,
            "option": item.key,
            "position": position,
            "viewed_first": int(position == len(trial.products) - 1),
            "outcome": "choice",
            "category": item.category,
            "price": item.price,
            "rating": item.rating,
            "reviews": item.reviews,
            "nudged": int(item.key == trial.carrier),
            "nudge": nudge.id if nudge else "",
            "nudge_text": nudge.text if nudge else "",
            "family": nudge.family if nudge else "",
            "direction": nudge.direction if nudge else None,
            "condition": trial.condition,
            "match": design.match,
            "profile": trial.profile,
            "repeat": trial.repeat,
            "ordering": trial.ordering,
        }


def alternatives(trial: ShopTrial) -> list[Alternative]:
    """What a simulated shopper sees of a trial in tabs; the last tab is the one seen first."""
    last = len(trial.products) - 1
    return [
        Alternative(
            price=item.price,
            rating=item.rating,
            reviews=item.reviews or 0,
            cue=trial.nudge.direction
            if trial.nudge and trial.nudge.kind != "placebo" and item.key == trial.carrier
            else 0,
            viewed_first=position == last,
        )
        for position, item in enumerate(trial.products)
    ]


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

        def fit(model: Model, y: Floats, clusters: dict[str, Ints]) -> Fit:
            found = fitted(model, y, clusters)
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

    def estimates(self, number: int, chosen: Floats) -> tuple[Floats, Floats, int]:
        """Estimate and standard error in each study, and the degrees of freedom. chosen: rows x studies."""
        one, other = self.parts[number]
        if isinstance(one, Fit):
            estimate, moves, errors, df = self._one(one, np.asarray(other), chosen)
            if moves is None:
                return estimate, errors, df
        else:
            first, its, _, _ = self._one(*self._fitted(one), chosen)
            second, others, _, _ = self._one(*self._fitted(int(other)), chosen)
            assert its is not None and others is not None
            estimate = first - second
            nothing = np.zeros(len(estimate))
            moves = {code: its.get(code, nothing) - others.get(code, nothing) for code in its | others}
        count = len(moves)
        variance = (count - 1) / count * sum(move**2 for move in moves.values())
        return estimate, np.sqrt(variance), count - 1

    def _fitted(self, number: int) -> tuple[Fit, Floats]:
        fit, weights = self.parts[number]
        assert isinstance(fit, Fit)
        return fit, np.asarray(weights)

    def _one(
        self, fit: Fit, weights: Floats, chosen: Floats
    ) -> tuple[Floats, dict[int, Floats] | None, Floats, int]:
        """As `Fit.contrast`, of many outcomes at once: estimate, what each cluster moves, or the errors."""
        model = fit.model
        outcome = model._centred(chosen[self.fits[id(fit)][1]])
        coefficients = model.inverse @ (model.within.T @ outcome)
        residuals = outcome - model.within @ coefficients
        estimate = weights @ coefficients
        if fit.left_out:
            own, scaled = fit.left_out.clusters(weights), weights / model.scale
            moves = {
                cluster: -(columns @ (space / values @ (space.T @ scaled))) @ residuals[rows]
                for cluster, rows, columns, space, values in fit.left_out.parts
                if cluster in own
            }
            return estimate, moves, np.empty(0), 0
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
        df = min(fit.counts(weights).values()) - 1
        variance = correction * np.maximum.reduce(
            [
                least / (least - 1) * (sums[0] + sums[1] - sums[2]),
                *(count / (count - 1) * total for count, total in zip(counts[:2], sums[:2], strict=True)),
            ]
        )
        return estimate, None, np.sqrt(variance), df


def simulate(
    design: ShopDesign, shopper: Shopper, limit: int, studies: int, seed: int = 0, *, by_row: bool = False
) -> pd.DataFrame:
    """Studies of one design, size and shopper: by table the rows, those with a p value, and how these did.

    Columns: table, rows (of one study), printed (in all studies), null (printed, of a true 0), rejected (of
    these, p < .05), held (of the printed, the intervals with the truth), any_null (studies that print a row
    of a true 0) and any_rejected (those in which an adjusted p of such a row is below .05).
    """
    made = drawable(design, shopper.taste, limit)
    truth = tables(made.table.assign(chosen=made.chances))
    recorder = Recorder()
    frames = recorder.tables(made.table)
    rng = np.random.default_rng([seed, limit, len(design.sets)])
    chosen = made.many(rng, studies, shopper.alike)
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
                    "df": df,
                    "printed": printed.sum(),
                    "null": null * printed.sum(),
                    "rejected": null * (p < LEVEL).sum(),
                    "held": held.sum(),
                }
            )
            p_values.append(p)
            nulls.append(null)
        for each in ("printed", "null", "rejected", "held"):
            count[each] = int(sum(row[each] for row in rows))
        shares = [(r["held"] / r["printed"], r["printed"]) for r in rows if r["printed"] >= studies / 2]
        count["worst"] = min(shares)[0] if shares else np.nan
        if any(nulls):
            adjusted = np.array([_adjusted(each) for each in np.transpose(p_values)])[:, np.array(nulls)]
            count["any_null"] = int((~np.isnan(adjusted)).any(axis=1).sum())
            count["any_rejected"] = int((adjusted < LEVEL).any(axis=1).sum())
        found += [{"table": name, **row} for row in rows] if by_row else [count]
    return pd.DataFrame(found)


def exact_counts(made: Drawable, chosen: Floats, *, given: bool) -> dict[str, Any]:
    """The counts of the table of exact tests.

    given: the shopper's own tastes for the products are drawn, too. The tests are about these tastes as they
    are; there is no other truth than the answers, and so no interval to count.
    """
    count: dict[str, Any] = dict.fromkeys(COUNTS, 0) | {"table": "exact", "worst": np.nan}
    family = []
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
        family.append((row.p_values, null))
    nulls = np.array([null for _, null in family])
    if nulls.any():
        count["any_null"] = chosen.shape[1]
        adjusted = np.array([_adjusted(each) for each in np.transpose([p for p, _ in family])])
        count["any_rejected"] = int((adjusted[:, nulls] < LEVEL).any(axis=1).sum())
    count["held"] = np.nan if given else count["held"]
    return count


def _adjusted(p_values: Floats) -> Floats:
    """Benjamini and Hochberg's p values of one family; NaN stays."""
    found, tested = np.full(len(p_values), np.nan), ~np.isnan(p_values)
    if tested.any():
        found[tested] = multipletests(p_values[tested], method="fdr_bh")[1]
    return found


COUNTS = ("rows", "printed", "null", "rejected", "held", "any_null", "any_rejected")


def rates(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts as shares, each with its Monte-Carlo standard error; rows of one study go together.

    worst: the lowest share of intervals that hold the truth of any row that half of the studies print.
    """
    studies = counts["studies"]

    def share(part: str, whole: str) -> "pd.Series[float]":
        found: pd.Series[float] = counts[part] / counts[whole].where(counts[whole] > 0)
        return found

    found = counts[["experiment", "trials", "shopper", "table", "rows"]].assign(
        printed=counts["printed"] / (counts["rows"] * studies),
        rejected=share("rejected", "null"),
        held=share("held", "printed"),
        worst=counts["worst"],
        any_rejected=share("any_rejected", "any_null"),
    )
    for name in ("rejected", "held"):
        # As if the rows of a study were one: at most this large.
        found[f"{name}_error"] = np.sqrt(found[name] * (1 - found[name]) / studies)
    return found


def cell(arguments: tuple[str, str, int, int, int]) -> pd.DataFrame:
    """`simulate` for one experiment, shopper and size."""
    name, shopper, limit, studies, seed = arguments
    with threadpool_limits(limits=1, user_api="blas"):
        counts = simulate(ShopDesign(experiment_source(name)), shoppers()[shopper], limit, studies, seed)
    return counts.assign(experiment=name, trials=limit, shopper=shopper, studies=studies)


def main() -> None:
    """Simulate every experiment, shopper and size, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.validity", description=__doc__)
    parser.add_argument("experiments", nargs="*", default=EXPERIMENTS, metavar="|".join(EXPERIMENTS))
    parser.add_argument("--studies", type=int, default=500, help="of each cell (default: 500)")
    parser.add_argument("--trials", type=int, nargs="+", default=TRIALS)
    parser.add_argument("--shoppers", nargs="+", default=list(shoppers()), choices=list(shoppers()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    cells = [
        (name, shopper, limit, given.studies, given.seed)
        for name, limit, shopper in product(given.experiments, given.trials, given.shoppers)
    ]
    found = []
    with ProcessPoolExecutor(given.workers) as pool:
        for done in pool.map(cell, cells):
            found.append(done)
            sys.stderr.write(f"{len(found)} of {len(cells)}\n")
    text = rates(pd.concat(found, ignore_index=True)).to_string(index=False, float_format="{:.3f}".format)
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
