"""Estimate how choices follow the size of a difference in price or rating, not only its sign."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.choice.effects.counts import noted
from analysis.choice.effects.effects import NO_CHOICE, agents, contrast_frame, count_trials, regressors
from analysis.choice.effects.frames import CLUSTERED, QUESTION, clustered, stacked, wilson, with_questions
from analysis.estimators.clusters import choose_clusters, cluster_codes
from analysis.estimators.lpm import Contrast, Fit, Model
from analysis.tables.choice_table import TRIAL_ID, row_weights, trial_ids
from analysis.tables.frame import Floats, join_notes

UNITS = {"price_advantage": 10.0, "rating_advantage": 10.0}
"""The units of the slopes: 10 % of the price, 10 points of rating."""

DEGREE = 4
POINTS = 31
BINS = 10


def advantages(table: pd.DataFrame) -> pd.DataFrame:
    """Return how much better each option is than the mean of the others in its set.

    table: checked; the rows are the same. price_advantage: the others' mean price less its own, in percent of
    the set's mean price. rating_advantage: its rating less the others' mean, in points. Undefined where the
    set lacks a value.
    """
    found = {}
    for name, sign in (("price", -1.0), ("rating", 1.0)):
        if name not in table:
            found[f"{name}_advantage"] = pd.Series(np.nan, table.index)
            continue
        trials = table.groupby(TRIAL_ID)[name]
        size, mean = trials.transform("size"), trials.transform("mean")
        mean = mean.where(trials.transform("count") == size)
        apart = sign * (table[name] - mean) * size / (size - 1)
        found[f"{name}_advantage"] = 100 * apart / mean.where(mean != 0) if name == "price" else apart
    return pd.DataFrame(found)


def sensitivity(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate slopes by agent, and the probability of being chosen by the size of an advantage.

    table: checked. The linear model is `chosen ~ price_advantage + rating_advantage + viewed_first + nudged
    | trial`; the quartic one has a polynomial of the fourth order in the size of the price advantage,
    mirrored at 0, instead of the linear term (in a pair the two advantages are opposite, so that a curve
    through both must be its own mirror image). Errors are clustered as in the main model. Lines and curves
    end at 0 and 100 %.

    slopes: the columns of every estimator; percentage points for 10 % of the price or 10 points of rating.
    curves: group, advantage, model (linear, quartic, observed), value (% or points), estimate, conf_low,
    conf_high (percent), n, note. The lines are for an option whose set is alike in all else; `observed` is
    the share chosen, in ten parts of the advantage, with Wilson's interval, n options, and in clustered_low
    and clustered_high an interval about these sets. Without `observed` where trials have chances of
    assignment, which a share of answers does not weigh.
    """
    slopes, curves = [], []
    advantage = advantages(table)
    differing = [name for name in UNITS if advantage[name].abs().max() > 0]
    for agent, rows, used in agents(table) if differing else ():
        complete = used[advantage.loc[used.index, differing].notna().all(axis=1)]
        own = advantage.loc[complete.index, differing]
        if complete.empty:
            nothing = {name: Contrast(note=NO_CHOICE) for name in differing}
            slopes.append(contrast_frame(nothing, agent, 0, count_trials(rows)))
            continue
        linear = _fit(complete, own)
        found = {name: _counted(linear.unit(name, UNITS[name]), own[name], complete) for name in differing}
        slopes.append(contrast_frame(found, agent, count_trials(complete), count_trials(rows)))
        n = count_trials(complete)
        question = complete[TRIAL_ID].map(with_questions(complete).set_index(TRIAL_ID)[QUESTION])
        for name in differing:
            grid = _grid(own[name])
            curves.append(_curve(linear, name, grid, agent, "linear", n))
            if row_weights(complete) is None:
                curves.append(_observed(own[name], complete["chosen"], (complete["set"], question), agent))
        if "price_advantage" in differing:
            powers = _powers(own["price_advantage"])
            quartic = _fit(complete, own.drop(columns="price_advantage").join(powers))
            curves.append(
                _curve(quartic, "price_advantage", _grid(own["price_advantage"]), agent, "quartic", n)
            )
    names = ("group", "advantage", "model", "value", "estimate", "conf_low", "conf_high", "n", "note")
    return stacked(slopes), pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=names)


@dataclass(frozen=True)
class _Response:
    """A fitted model; size: of most sets."""

    fit: Fit
    names: list[str]
    size: int
    note: str

    def unit(self, name: str, amount: float) -> Contrast:
        found = self.fit.contrast(amount * np.eye(len(self.names))[self.names.index(name)])
        if found.note == "not identified":
            return Contrast(note=f"{name} cannot be told from the other features in these trials")
        if np.isnan(found.std_error):
            return found  # how it would have been clustered is of no interest
        return replace(found, note=join_notes(found.note, self.note))

    def at(self, name: str, value: float) -> Contrast:
        """The probability, less chance, of an option with this advantage; the others share its opposite."""
        weights = np.zeros(len(self.names))
        here, there = (_terms(name, v) for v in (value, -value / (self.size - 1)))
        for term, amount in here.items():
            if term in self.names:
                weights[self.names.index(term)] = (self.size - 1) / self.size * (amount - there[term])
        return self.fit.contrast(weights)


def _fit(rows: pd.DataFrame, own: pd.DataFrame) -> _Response:
    columns = own.join(regressors(rows)[["viewed_first", "nudged"]])
    trial = trial_ids(rows).to_numpy()
    codes = cluster_codes(rows, trial)
    clusters, note = choose_clusters(codes)
    # A few sets with large differences decide a slope; an agent may answer each set alike.
    by_set = None if "set" in clusters else codes["set"]
    model = Model(columns.to_numpy(float), trial, row_weights(rows))
    fit = model.fit(rows["chosen"].to_numpy(float), clusters, by_set)
    return _Response(
        fit, [str(name) for name in columns], int(np.bincount(np.bincount(trial)).argmax()), note
    )


def _counted(slope: Contrast, advantage: "pd.Series[float]", rows: pd.DataFrame) -> Contrast:
    """The slope; without an error its note says in how many sets choices went with it, and against it."""
    if np.isnan(slope.estimate) or not np.isnan(slope.std_error):
        return slope
    signs = (advantage * rows["chosen"].astype(float)).groupby(rows["set"]).sum()
    differing = advantage.abs().groupby(rows["set"]).max() > 0
    return replace(slope, note=noted(slope.note, signs[differing]))


def _terms(name: str, value: float) -> dict[str, float]:
    """The values of all columns that an advantage has a share in; a model has the linear or the others."""
    powers = {f"power{k}": float(np.sign(value)) * abs(value / 100) ** k for k in range(1, DEGREE + 1)}
    return {name: value} | (powers if name == "price_advantage" else {})


def _powers(advantage: "pd.Series[float]") -> pd.DataFrame:
    share = advantage / 100
    return pd.DataFrame({f"power{k}": np.sign(share) * share.abs() ** k for k in range(1, DEGREE + 1)})


def _grid(advantage: "pd.Series[float]") -> Floats:
    """Where a curve is drawn: as far as 95 % of the advantages reach; little is known beyond."""
    reach = float(advantage.abs().quantile(0.95)) or float(advantage.abs().max())
    return reach * np.linspace(-1, 1, POINTS)  # the one in the middle is exactly 0


def _curve(response: _Response, name: str, grid: Floats, agent: str, model: str, n: int) -> pd.DataFrame:
    chance = 100 / response.size
    found = [response.at(name, value) if value else Contrast(0.0, 0.0, 1.0) for value in grid]
    curve = pd.DataFrame(
        {
            "group": agent,
            "advantage": name.removesuffix("_advantage"),
            "model": model,
            "value": grid,
            "estimate": [chance + 100 * each.estimate for each in found],
            "conf_low": [chance + 100 * (each.estimate - each.half_width) for each in found],
            "conf_high": [chance + 100 * (each.estimate + each.half_width) for each in found],
            "n": n,
            "note": [each.note if np.isnan(each.half_width) else "" for each in found],
        }
    )
    shares = ["estimate", "conf_low", "conf_high"]
    curve[shares] = curve[shares].clip(0, 100)  # a line may leave what a probability can be
    return curve


def _observed(
    advantage: "pd.Series[float]", chosen: "pd.Series[int]", asked: tuple["pd.Series[str]", Any], agent: str
) -> pd.DataFrame:
    bins = pd.qcut(advantage, BINS, duplicates="drop")
    cells = pd.DataFrame({"value": advantage, "chosen": chosen.astype(float)}).groupby(bins, observed=True)
    found = cells.agg(value=("value", "mean"), chosen=("chosen", "sum"), n=("chosen", "size")).reset_index(
        drop=True
    )
    shares = pd.DataFrame(wilson(found["chosen"], found["n"]))
    name = str(advantage.name).removesuffix("_advantage")
    own = clustered(chosen, [bins], *asked).reindex(found.index, columns=CLUSTERED)
    rest = found[["n"]].assign(note="").join(own)
    return pd.concat(
        [found[["value"]].assign(group=agent, advantage=name, model="observed"), shares, rest], axis=1
    )
