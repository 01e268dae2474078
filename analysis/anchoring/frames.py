"""Make the tables of an analysis, one row per measured thing, from the measures of all stimuli."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.anchoring.abss import CONTROL, ModelScore, ranking
from analysis.anchoring.expectation import BAND_STREAM, log_probabilities
from analysis.anchoring.measures import PairMeasures
from analysis.anchoring.paired import (
    PERMUTATION_STREAM,
    PairedTests,
    sign,
    signed_call,
    stars,
)
from analysis.anchoring.results import stimulus_calls
from analysis.anchoring.table import ANCHOR
from analysis.estimators.t_tests import one_sample_t, summarize
from analysis.tables.families import adjusted_within
from analysis.tables.frame import join_notes, result_frame

Row = dict[str, Any]

EVERY: Final = "all variations"
EXPECTED: Final = "expected answer"
"""The `stimulus` and the `scores` of the test over an agent's variations."""

Z: Final = 1.96
"""The factor of the interval of a mean attribution, as in the study."""


def soft_ev(measured: Sequence[PairMeasures], seed: int) -> pd.DataFrame:
    """Return SoftEV by agent, stimulus and anchor, with the predictive band of the mean of 100 answers."""
    rows = (
        {
            "term": condition,
            "group": each.pair.agent,
            "stimulus": each.pair.stimulus,
            "anchor": prompt.anchor,
            "estimate": found.estimate,
            "band_low": found.low,
            "band_high": found.high,
            "spread": found.spread,
            "n": found.n,
            "n_missing": found.n_missing,
            "seed": seed,
            "stream": BAND_STREAM,
            "note": "" if found.n else "no target has a score",
        }
        for each in measured
        for condition, prompt in each.pair.prompts.items()
        for found in [each.expectations[condition]]
    )
    extra = ("stimulus", "anchor", "band_low", "band_high", "spread", "seed", "stream")
    return result_frame(rows, *extra)


def distributions(measured: Sequence[PairMeasures]) -> pd.DataFrame:
    """Return the probability of each target among those scored.

    Columns: agent, stimulus, condition, value, probability.
    """
    parts = [
        pd.DataFrame(
            {
                "agent": each.pair.agent,
                "stimulus": each.pair.stimulus,
                "condition": condition,
                "value": each.pair.values,
                "probability": np.exp(log_probabilities(prompt.full)),
            }
        )
        for each in measured
        for condition, prompt in each.pair.prompts.items()
    ]
    return pd.concat(parts, ignore_index=True)


def tests(measured: Sequence[PairMeasures], seed: int) -> pd.DataFrame:
    """Return the three paired tests of each stimulus, and of each agent one over its stimuli.

    Those of a stimulus are made on the raw scores and, as an extra, on normalised ones. `p_adjusted` is over
    the stimuli of all agents, for each test and kind of scores; over the stimuli, over the agents.
    """
    rows: list[Row] = []
    for each in measured:
        for scores, found in (("raw", each.raw), ("normalised", each.normalised)):
            same = {
                "group": each.pair.agent,
                "stimulus": each.pair.stimulus,
                "scores": scores,
                "side": "two-sided",
                "n": found.n,
                "n_missing": found.n_missing,
            }
            rows += [same | row for row in _tests(found, seed)]
    rows += _over_variations(measured)
    frame = result_frame(rows, "stimulus", "scores", "stars", "df", "side", "seed")
    return adjusted_within(frame, "term", "scores")


def _tests(found: PairedTests, seed: int) -> Iterator[Row]:
    p = found.t.p_value
    yield found.t.row() | {"term": "paired t", "estimate": found.mean, "stars": stars(p)}
    p = found.p_wilcoxon
    yield {
        "term": "Wilcoxon",
        "statistic": found.w_statistic,
        "p_value": p,
        "stars": stars(p),
        "note": found.wilcoxon_note,
    }
    p = found.p_permutation
    yield {
        "term": "permutation",
        "estimate": found.mean,
        "p_value": p,
        "stars": stars(p),
        "seed": seed,
        "note": join_notes(PERMUTATION_STREAM, found.permutation_note),
    }


def _over_variations(measured: Sequence[PairMeasures]) -> Iterator[Row]:
    """Of each agent the mean move of the expected answer, in percent of the distance of its anchors.

    The variations are what is independent: the scores of one prompt's answers are not. The classic question
    is no variation.
    """
    for agent in dict.fromkeys(each.pair.agent for each in measured):
        own = [each for each in measured if each.pair.agent == agent and each.pair.stimulus != CONTROL]
        sample = summarize([100 * each.delta_ev / each.pair.distance for each in own])
        test = one_sample_t(sample)
        yield test.row() | {
            "term": "paired t",
            "group": agent,
            "stimulus": EVERY,
            "scores": EXPECTED,
            "n": sample.n,
            "n_missing": len(own) - sample.n,
            "stars": stars(test.p_value),
            "note": test.note.replace("response", "variation"),
        }


def attributions(measured: Sequence[PairMeasures]) -> pd.DataFrame:
    """Return the mean attribution of each field, by method, payoff, stimulus and anchor.

    payoff logprob: mean over the targets in nats, with mean +- 1.96 sd / sqrt(n); soft_ev: in the targets'
    units. sampling_error: the standard error of permutation sampling, empty where values are exact.
    """
    rows: list[Row] = []
    for each in measured:
        for method, by_condition in each.attributions.items():
            for condition, found in by_condition.items():
                for i, field in enumerate(each.pair.fields):
                    same = {
                        "term": field,
                        "group": each.pair.agent,
                        "stimulus": each.pair.stimulus,
                        "condition": condition,
                        "method": method,
                    }
                    error = np.nan if found.error is None else found.error[i]
                    rows.append(same | _mean_of(found.phi[i]) | {"sampling_error": error})
                    if found.soft_ev is not None:
                        error = np.nan if found.soft_ev_error is None else found.soft_ev_error[i]
                        value = {"payoff": "soft_ev", "estimate": found.soft_ev[i], "sampling_error": error}
                        note = "a prompt has no scored target" if np.isnan(found.soft_ev[i]) else ""
                        rows.append(same | value | {"note": note})
    return result_frame(rows, "stimulus", "condition", "method", "payoff", "std_dev", "sampling_error")


def _mean_of(phi: np.ndarray[Any, np.dtype[np.float64]]) -> Row:
    given = phi[~np.isnan(phi)]
    row: Row = {"payoff": "logprob", "n": len(given), "n_missing": len(phi) - len(given)}
    if not len(given):
        return row | {"note": "no target has a score for all the prompts"}
    mean = given.mean()
    if len(given) == 1:
        return row | {"estimate": mean, "note": "one target: no standard deviation"}
    sd = given.std(ddof=1)
    error = sd / np.sqrt(len(given))
    interval = {"conf_low": mean - Z * error, "conf_high": mean + Z * error}
    return row | {"estimate": mean, "std_dev": sd, "std_error": error} | interval


def shifts(measured: Sequence[PairMeasures]) -> pd.DataFrame:
    """Return the anchor field's attribution, high less low, by method.

    Extra columns hold the paired t, the multiplier exp(shift) and the call.
    """
    rows = (
        shift.t.row()
        | {
            "term": each.pair.varied,
            "group": each.pair.agent,
            "stimulus": each.pair.stimulus,
            "method": method,
            "low": shift.low,
            "high": shift.high,
            "estimate": shift.delta,
            "multiplier": _exp(shift.delta),
            "call": signed_call("A", shift.delta, shift.t.p_value),
            "n": shift.n,
            "n_missing": shift.n_missing,
        }
        for each in measured
        for method, shift in each.shifts.items()
    )
    return result_frame(rows, "stimulus", "method", "low", "high", "multiplier", "call", "df", "side")


def calls(measured: Sequence[PairMeasures]) -> pd.DataFrame:
    """Return one row per agent and stimulus: what moved, in which direction, how clearly, and the score."""
    return pd.DataFrame(
        {
            "agent": each.pair.agent,
            "stimulus": each.pair.stimulus,
            "anchors": " / ".join(
                condition
                if each.pair.varied != ANCHOR
                else "none"
                if np.isnan(prompt.anchor)
                else f"{prompt.anchor:g}"
                for condition, prompt in each.pair.prompts.items()
            ),
            "delta_ev": each.delta_ev,
            "soft_ev_low": each.expectations["low"].estimate,
            "soft_ev_high": each.expectations["high"].estimate,
            "mean_d": each.raw.mean,
            "sign_d": "" if np.isnan(each.raw.mean) else "-0+"[sign(each.raw.mean) + 1],
            **stimulus_calls(each),
            "method": each.method if each.shifts else "",
            "delta_phi": each.shift.delta,
            "multiplier": _exp(each.shift.delta),
            "abss": each.score.abss,
            "note": join_notes(each.raw.t.note, "" if each.shifts else each.unattributed),
        }
        for each in measured
    )


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):  # beyond the largest number it is infinite
        return float(np.exp(value))


def scores(measured: Sequence[PairMeasures]) -> pd.DataFrame:
    """Return ABSS by agent and stimulus with its parts; `counts`: it enters the model's score."""
    rows = (
        {
            "term": "ABSS",
            "group": each.pair.agent,
            "stimulus": each.pair.stimulus,
            "estimate": each.score.abss,
            "w_log": each.score.w_log,
            "w_shap": each.score.w_shap,
            "rho": each.score.rho,
            "concordance": each.score.concordance,
            "counts": "no" if each.pair.stimulus == CONTROL or np.isnan(each.score.abss) else "yes",
            "method": each.method if each.shifts else "",
            "n": each.raw.n,
            "n_missing": each.raw.n_missing,
            "note": "" if not np.isnan(each.score.abss) else _undefined(each),
        }
        for each in measured
    )
    return result_frame(rows, "stimulus", "w_log", "w_shap", "rho", "concordance", "counts", "method")


def _undefined(each: PairMeasures) -> str:
    return join_notes(
        "SoftEV is undefined" if np.isnan(each.delta_ev) else "",
        f"no attribution to the anchor: {each.shift.t.note}" if np.isnan(each.shift.delta) else "",
    )


def models(found: Mapping[str, ModelScore]) -> pd.DataFrame:
    """Return agents from the highest ABSS down.

    `estimate` is the sum over the variations, `mean` their mean.
    """
    rows = []
    for rank, agent in enumerate(ranking(found), start=1):
        each = found[agent]
        note = f"incomplete, compared by the mean: {', '.join(each.missing)} missing" if each.missing else ""
        note = note if each.variations else "no variation has a score"
        rows.append(
            {
                "term": "ABSS",
                "group": agent,
                "rank": rank if each.variations else pd.NA,
                "estimate": each.total,
                "mean": each.mean,
                "n": each.variations,
                "n_missing": len(each.missing),
                "note": note,
            }
        )
    return result_frame(rows, "rank", "mean").astype({"rank": "Int64"})
