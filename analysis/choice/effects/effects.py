"""Estimate how much a feature of an option moves its probability of being chosen, for each agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.estimators.clusters import TEXT_WAY, choose_clusters, cluster_codes
from analysis.estimators.contrasts import Specification, best_specification, interactions
from analysis.estimators.lpm import LEAST_CLUSTERS, Contrast, Fit, Model
from analysis.tables.choice_table import check_table, row_weights, trial_ids
from analysis.tables.families import adjusted
from analysis.tables.frame import FRAME_COLUMNS, NUMBERS, Floats, Ints, join_notes

TERMS = ("viewed_first", "higher_rated", "cheaper", "nudged")
"""The four features of an option that every choice study is about."""

PLACEBO, LESS_PLACEBO = "placebo", "nudged_less_placebo"

LIMIT = 100.0
"""The largest possible effect on a probability, in percentage points."""

LONG_LIST = 8
"""The largest choice sets in which each feature is often chosen, at the median of an agent's trials."""
LEAST_EXPECTED = 10.0
RARELY = "no interval: by chance fewer than 10 choices would have it"
NO_CHOICE = "no trial has a choice"
THESE_TEXTS = "about these nudge texts"
"""Of an interval that does not count how far texts differ."""


def choice_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate the effects of the four features on choice, by agent and term, in percentage points.

    An effect compares an option that has the feature with an option of the same set that has it not, where
    both are alike in the other three. Products may differ in more than these, so the effects of `cheaper` and
    `higher_rated` are not causal. Agents are fitted one by one: with trial fixed effects the joint model,
    fully interacted with the agent, gives the same estimates, and so no agent's estimates and errors depend
    on who else was run. `p_adjusted` is Benjamini and Hochberg's (1995) over the terms of all agents.
    n: trials with a choice; n_missing: trials without.

    Where the table has trials with a placebo there are two more rows: its effect, and that of the nudge less
    it. Both are of the same model; their errors are clustered by category, or set, which have both. The
    intervals are about sets like these. Where errors are not clustered by nudge text, those of the nudge are
    about these texts only, and the note says so.

    Raises AnalysisError for a table that `check_table` refuses.
    """
    return main_effects(check_table(table))


def main_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate effects as `choice_effects` does, in a table that is checked."""
    frames = []
    for agent, rows, used in agents(table):
        contrasts = contrasts_of(used, used["chosen"].to_numpy(float))
        frame = contrast_frame(contrasts, agent, count_trials(used), count_trials(rows))
        frames.append(without_rare(frame, used))
    return adjusted(pd.concat(frames, ignore_index=True))


def without_rare(frame: pd.DataFrame, used: pd.DataFrame) -> pd.DataFrame:
    """Return the frame without errors where a chooser at random would seldom take an option with the feature.

    So it is in long lists. Where hardly any choice has the feature, the error is that of the few that there
    are, and far too small. Only what was shown decides, and not what was chosen.
    """
    size = used.groupby(trial_ids(used))["option"].transform("size")
    if used.empty or size.median() <= LONG_LIST:
        return frame
    expected = regressors(used).div(size, axis=0).sum()
    rare = frame["term"].map(expected) < LEAST_EXPECTED
    frame = frame.assign(**{name: frame[name].mask(rare) for name in NUMBERS if name != "estimate"})
    notes = [
        join_notes(RARELY, note) if each else note for each, note in zip(rare, frame["note"], strict=True)
    ]
    return frame.assign(note=notes)


def agents(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield each agent, its rows, and those of its trials with a choice."""
    for agent, rows in table.groupby("agent", sort=True):
        yield str(agent), rows, rows[rows["chosen"].notna()]


def count_trials(rows: pd.DataFrame) -> int:
    """Count the trials of these rows."""
    return int(trial_ids(rows).nunique())


def regressors(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the terms as 0/1 columns; also the placebo where there is one.

    A negative nudge is turned: it counts as one on the other options.
    """
    x = rows[[*TERMS, *([PLACEBO] if rows[PLACEBO].any() else [])]].astype(float)
    pushed = rows["nudged"].eq(1) & rows["direction"].eq(-1)
    if not pushed.any():
        return x
    turned = pushed.groupby(trial_ids(rows)).transform("any") & ~pushed
    x["nudged"] = ((x["nudged"].eq(1) & ~pushed) | turned).astype(float)
    return x


@dataclass(frozen=True)
class Estimands:
    """The average marginal contrasts of a model by term: their weights, or why there are none."""

    model: Model | None
    weights: Mapping[str, Floats]
    reasons: Mapping[str, str]
    note: str = ""

    def linear(self, term: str) -> Floats | None:
        """Return the weight of each row's outcome in the contrast of a term; None where it has none."""
        if self.model is None or term not in self.weights:
            return None
        return self.model.within @ (self.model.inverse @ self.weights[term])

    def fit(self, y: Floats, clusters: dict[str, Ints], note: str = "") -> "Estimates":
        """Fit the model to an outcome by row, with errors clustered as `Fit` does.

        `note` is added to every estimate.
        """
        fit = self.model.fit(y, clusters) if self.model and self.weights else None
        return Estimates(self, fit, join_notes(note, self.note))


@dataclass(frozen=True)
class Estimates:
    """The contrasts of a fitted model; undefined ones have their reason."""

    estimands: Estimands
    fit: Fit | None
    note: str

    def of(self, term: str) -> Contrast:
        """Return the contrast of a term."""
        return self._contrast(self.estimands.reasons.get(term, ""), self.estimands.weights.get(term))

    def difference(self, term: str, base: str) -> Contrast:
        """Return the contrast of a term less that of another one, the base."""
        reasons, weights = self.estimands.reasons, self.estimands.weights
        if reason := reasons.get(term) or reasons.get(base):
            return Contrast(note=reason)
        return self._contrast("", weights[term] - weights[base])

    def _contrast(self, reason: str, weights: Floats | None) -> Contrast:
        if weights is None or self.fit is None:
            return Contrast(note=reason)
        found = self.fit.contrast(weights)
        if np.isnan(found.std_error):
            return found  # its note is the reason, and how it would have been clustered is of no interest
        return replace(found, note=join_notes(found.note, self.note))


def main_estimands(rows: pd.DataFrame, codes: Mapping[str, Ints]) -> Estimands:
    """Return the terms' contrasts in the main model (see `estimands`) of rows of a checked table."""
    return estimands(regressors(rows), trial_ids(rows).to_numpy(), codes, row_weights(rows))


def estimands(x: pd.DataFrame, trial: Ints, codes: Mapping[str, Ints], rows: Floats | None) -> Estimands:
    """Return the terms' contrasts in the main model: all interactions, as far as the data hold them.

    x: `regressors`. trial: of each row, from 0. codes: of the rows, see `choose_clusters`. rows: the weight
    of each; None: 1. If errors are clustered one way, interactions are left out also where only one of the
    clusters tells them, because then there would be no jackknife.
    """
    if x.empty:
        return Estimands(None, {}, dict.fromkeys((*TERMS, PLACEBO), NO_CHOICE))
    moving = {term: bool(varies(x[term], trial).any()) for term in map(str, x)}
    varying = [term for term in moving if moving[term]]
    reasons = {
        term: f"{term} never differs between the options of a trial"
        for term in (*TERMS, PLACEBO)
        if term not in varying
    }
    if not varying:
        return Estimands(None, {}, reasons)
    specifications = [
        Specification(x, interactions(varying, order), left_out(order, len(varying)), rows)
        for order in range(len(varying), 0, -1)
    ]
    clusters, _ = choose_clusters(_paired(codes) if PLACEBO in varying else codes)
    code = next(iter(clusters.values())) if len(clusters) == 1 else None
    if code is not None and len(np.unique(code)) < LEAST_CLUSTERS[1]:
        code = None  # there is no jackknife anyway
    specification, model, found = best_specification(specifications, trial, varying, code)
    weights = {term: row for term, row in zip(varying, found, strict=True) if model.identifies(row)}
    untold = {
        term: f"{term} cannot be told from the other features in these trials"
        for term in varying
        if term not in weights
    }
    return Estimands(model, weights, reasons | untold, specification.note)


def left_out(order: int, count: int) -> str:
    """Return the note of a model of `count` features with interactions of up to `order` of them."""
    return "" if order == count else f"interactions of {order + 1} or more features left out: too little data"


def varies(column: "pd.Series[float]", trial: Ints) -> npt.NDArray[np.bool_]:
    """Return for each row whether its trial, a number from 0, holds different values."""
    values = column.to_numpy(float)
    least = np.full(trial.max(initial=-1) + 1, np.inf)
    largest = -least
    np.fmin.at(least, trial, values)
    np.fmax.at(largest, trial, values)
    differs: npt.NDArray[np.bool_] = (largest > least)[trial]
    return differs


def contrasts_of(rows: pd.DataFrame, outcome: Floats) -> dict[str, Contrast]:
    """The contrast of each term for the rows of one agent; all trials have a choice."""
    codes = cluster_codes(rows, trial_ids(rows).to_numpy())
    found = main_estimands(rows, codes)
    clusters, note = choose_clusters(codes)
    estimates = found.fit(outcome, clusters, note)
    contrasts = {term: estimates.of(term) for term in TERMS}
    of_texts = [] if TEXT_WAY in clusters else ["nudged"]
    # Seven texts and none are eight clusters of the other terms, and too few of this one.
    too_few = TEXT_WAY in clusters and np.isnan(contrasts["nudged"].std_error)
    placebo = rows[PLACEBO].any()
    paired = found.fit(outcome, *choose_clusters(_paired(codes))) if too_few or placebo else estimates
    if too_few:
        contrasts["nudged"], of_texts = paired.of("nudged"), ["nudged"]
    if placebo:
        contrasts |= {PLACEBO: paired.of(PLACEBO), LESS_PLACEBO: paired.difference("nudged", PLACEBO)}
        of_texts += [PLACEBO, LESS_PLACEBO]
    for term in of_texts:
        if not np.isnan((own := contrasts[term]).std_error):
            contrasts[term] = replace(own, note=join_notes(own.note, THESE_TEXTS))
    return contrasts


def _paired(codes: Mapping[str, Ints]) -> dict[str, Ints]:
    """The clusters that have trials with a nudge and with a placebo: a placebo is a text of its own."""
    return {name: code for name, code in codes.items() if name != TEXT_WAY}


def contrast_frame(
    contrasts: Mapping[str, Contrast], agent: str, n: int, trials: int, limit: float = LIMIT
) -> pd.DataFrame:
    """Return the frame of one agent's contrasts by term, without adjusted p values.

    limit: the largest possible size, in percentage points, at which intervals end; twice that for the
    difference of two effects.
    """
    frame = pd.DataFrame(
        {
            "term": list(contrasts),
            "group": agent,
            "estimate": [100 * c.estimate for c in contrasts.values()],
            "std_error": [100 * c.std_error for c in contrasts.values()],
            "statistic": [c.statistic for c in contrasts.values()],
            "p_value": [c.p_value for c in contrasts.values()],
            "p_adjusted": np.nan,
            "conf_low": [100 * (c.estimate - c.half_width) for c in contrasts.values()],
            "conf_high": [100 * (c.estimate + c.half_width) for c in contrasts.values()],
            "n": n,
            "n_missing": trials - n,
            "note": [c.note for c in contrasts.values()],
        },
        columns=list(FRAME_COLUMNS),
    )
    ends = ["conf_low", "conf_high"]
    largest = np.where(frame["term"] == LESS_PLACEBO, 2 * limit, limit)
    frame[ends] = frame[ends].clip(-largest, largest, axis=0)
    return frame
