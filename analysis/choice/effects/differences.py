"""Estimate how taking the cheaper, or the higher rated, option follows how far apart options are."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import LIMIT
from analysis.estimators.lpm import LEAST_CLUSTERS, Contrast, Model
from analysis.tables.choice_table import TRIAL_ID, row_weights
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats, result_frame

FEATURES: Final = {"price": "cheaper", "rating": "higher_rated"}
RATING_STEP: Final = 10.0
LEVELS: Final = (0.1, 0.5, 0.9)
"""The quantiles of the mean price, or rating, of the trials at which curves are drawn."""
FITTED, OBSERVED = "fitted", "observed"
POINTS, BINS = 9, 10
CURVE: Final = (
    *("group", "feature", "model", "level", "value"),
    *("estimate", "conf_low", "conf_high", "n", "note"),
)
NOT_TOLD: Final = "cannot be told from the categories and the other terms in these trials"


def difference_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate by agent what the size of a difference, and the level of prices or ratings, does.

    table: checked. Linear probability models with a row for each trial with a choice (Cherep et al. 2026,
    figure 4), agents one by one:

        cheaper chosen ~ log2(1 + price difference) x log2(mean price) | category
        higher rated chosen ~ rating difference x mean rating | category

    The price difference is how much more the other options cost on average than the cheapest, in percent of
    its price. Ratings, and their differences, are in units of 10 points. A term is at the mean of the other
    one. Errors leave out each category in turn (CV3), or each choice set where fewer than twelve categories
    have several. They are about sets like these: a difference belongs to a set.

    effects: the columns of every estimator, in percentage points: for 1 + the difference, or the mean price,
    twice as large, and for 10 points of rating. curves: group, feature (price or rating), model (`fitted` or
    `observed`), level (the mean price or rating), value (the difference, in percent or points), estimate,
    conf_low, conf_high (percent), n, note. `fitted` is over the categories as they were seen, `observed` the
    share in each tenth of the differences; without it where trials have chances of assignment.
    """
    effects, curves = [], []
    labels = table[["agent", "set", "category"]].astype("category")
    totals = labels.loc[~table[TRIAL_ID].duplicated(), "agent"].value_counts()
    weights = row_weights(table)
    for feature in FEATURES:
        cells = _cells(table, labels, feature, np.ones(len(table)) if weights is None else weights)
        levels = np.unique(cells["level"].quantile(LEVELS)) if len(cells) else np.array([])
        names = f"{feature}_difference", f"mean_{feature}", f"{feature}_difference:mean_{feature}"
        for agent, own in cells.groupby("agent", observed=True):
            found, n = _Fitted(own, feature), int(own["n"].sum())
            about = {"group": agent, "feature": feature, "n": n}
            for term, weight in zip(names, found.slopes, strict=True):
                row = estimate_row(found.contrast(weight))
                effects.append(about | row | {"term": term, "n_missing": int(totals[agent]) - n})
            curves += [about | row for row in found.curves(levels)]
            curves += [about | row for row in _observed(own)] if weights is None else []
    return adjusted(result_frame(effects)), pd.DataFrame(curves, columns=list(CURVE))


def estimate_row(found: Contrast) -> dict[str, Any]:
    """Return a contrast as a row of estimates, in percentage points; its interval ends at `LIMIT`."""
    middle, half = 100 * found.estimate, 100 * found.half_width
    low, high = np.clip([middle - half, middle + half], -LIMIT, LIMIT)
    numbers = {"estimate": middle, "std_error": 100 * found.std_error, "statistic": found.statistic}
    return {**numbers, "p_value": found.p_value, "conf_low": low, "conf_high": high, "note": found.note}


def _cells(table: pd.DataFrame, labels: pd.DataFrame, feature: str, weights: Floats) -> pd.DataFrame:
    """How many trials with a choice of one best option each set has with the same values: n, weight, won."""
    if feature not in table:
        return pd.DataFrame(columns=["agent", "n"])
    trial, values = table[TRIAL_ID].to_numpy(), table[feature].to_numpy(float)
    best = np.flatnonzero((table[FEATURES[feature]] == 1) & table["chosen"].notna())
    size, own = np.bincount(trial)[trial[best]], values[best]
    mean = np.bincount(trial, values)[trial[best]] / size  # undefined where an option lacks a value
    apart = np.abs(own - mean) * size / (size - 1)
    if feature == "price":
        apart = 100 * apart / np.where(own > 0, own, np.nan)
    won = weights[best] * table["chosen"].iloc[best].to_numpy(float)
    rows = labels.iloc[best].assign(value=apart, level=mean, n=1, weight=weights[best], won=won)[apart > 0]
    keys = [*labels, "value", "level"]
    cells: pd.DataFrame = rows.groupby(keys, as_index=False, observed=True)[["n", "weight", "won"]].sum()
    return cells


class _Fitted:
    """The model of one agent's trials. slopes: the weights of the coefficients in its three terms."""

    def __init__(self, cells: pd.DataFrame, feature: str) -> None:
        weight, self._feature, self._values = cells["weight"].to_numpy(), feature, cells["value"]
        sets, category = pd.factorize(cells["set"])[0], pd.factorize(cells["category"])[0]
        self._means = [
            float(np.average(each, weights=weight)) for each in self._scaled(cells["value"], cells["level"])
        ]
        columns = self._columns(cells["value"], cells["level"])
        self._mean = np.average(columns, axis=0, weights=weight)
        belongs = np.equal.outer(np.unique(category), category) * weight
        columns = columns - (belongs @ columns / belongs.sum(axis=1)[:, None])[category]
        each_once = np.unique(np.c_[sets, category], axis=0)[:, 1]
        several = (np.bincount(each_once) > 1).sum() >= LEAST_CLUSTERS[1]
        # Less their mean in a category the columns are its own: the others keep theirs when it is left out.
        levels = np.ones((1, len(cells))) if several else (belongs > 0).astype(float)
        self._levels = levels @ weight / weight.sum()
        self.slopes = np.eye(len(levels) + 3)[len(levels) :]
        # Beside a row of zeros a cell has an effect of its own, as a trial has: what is left are the cells.
        whole = np.r_[np.c_[levels.T, columns], np.zeros((len(cells), len(levels) + 3))]
        model = Model(whole, np.tile(np.arange(len(cells)), 2), np.tile(weight, 2))
        code = {"category": category} if several else {"set": sets}
        share = np.r_[cells["won"] / weight, np.zeros(len(cells))]
        self._fit = model.fit(share, {name: np.tile(each, 2) for name, each in code.items()})

    def contrast(self, weights: Floats) -> Contrast:
        found = self._fit.contrast(weights)
        return Contrast(note=NOT_TOLD) if np.isnan(found.estimate) else found

    def curves(self, levels: Floats) -> Iterator[dict[str, Any]]:
        """Yield the rows of the curve at each level, over the differences that were seen."""
        least, most = (self._scaled(end, 1.0)[0] for end in (self._values.min(), self._values.max()))
        steps = np.linspace(least, most, POINTS)
        values = 2**steps - 1 if self._feature == "price" else steps * RATING_STEP
        for level in levels:
            for value, row in zip(values, self._columns(values, level), strict=True):
                found = self.contrast(np.r_[self._levels, row - self._mean])
                ends = found.estimate + found.half_width * np.array([0, -1, 1])
                shares = dict(zip(("estimate", "conf_low", "conf_high"), 100 * ends.clip(0, 1), strict=True))
                yield {"model": FITTED, "level": level, "value": value, **shares, "note": found.note}

    def _scaled(self, values: Any, levels: Any) -> tuple[Any, Any]:
        if self._feature == "price":
            return np.log2(1 + values), np.log2(levels)
        return values / RATING_STEP, levels / RATING_STEP

    def _columns(self, values: Any, levels: Any) -> Floats:
        x, level = (each - mean for each, mean in zip(self._scaled(values, levels), self._means, strict=True))
        return np.column_stack(np.broadcast_arrays(x, level, x * level))


def _observed(cells: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the share of choices in each tenth of the differences."""
    ordered = cells.sort_values("value")
    n = ordered["n"].to_numpy()
    tenth = np.unique((BINS * (n.cumsum() - n / 2) / n.sum()).astype(int), return_inverse=True)[1]
    counts, values, won = (np.bincount(tenth, each) for each in (n, n * ordered["value"], ordered["won"]))
    for count, value, share in zip(counts.astype(int), values / counts, 100 * won / counts, strict=True):
        yield {"model": OBSERVED, "value": value, "estimate": share, "n": count, "note": ""}
