"""Make the wide table of all published numbers, and the calls."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

from analysis.anchoring.abss import ModelScore
from analysis.anchoring.measures import PairMeasures
from analysis.anchoring.paired import plain_call, signed_call

Row = dict[str, Any]

RESULTS: Final = (
    *("model", "variation", "anchor_low", "anchor_high", "soft_ev_low", "soft_ev_high", "delta_ev"),
    *("soft_ev_low_lo", "soft_ev_low_hi", "soft_ev_high_lo", "soft_ev_high_hi"),
    *("t_log", "p_log", "w_stat", "p_wilcoxon", "p_perm"),
    *("shap_low", "shap_high", "delta_shap", "t_shap", "p_shap"),
    *("abss", "call_b", "call_w", "call_p", "call_a", "abss_sum", "abss_mean"),
)


def results(measured: Sequence[PairMeasures], found: Mapping[str, ModelScore]) -> pd.DataFrame:
    """Return all numbers of the published tables in one wide table.

    A model's own row has the variation MODEL. Differences and t are high less low. shap: the attribution to
    the anchor by the method of the score.
    """
    rows: list[Row] = []
    for agent, model in found.items():
        for each in measured:
            if each.pair.agent == agent:
                rows.append({"model": agent, "variation": each.pair.stimulus, **_result(each)})
        total = {"abss_sum": model.total, "abss_mean": model.mean}
        rows.append({"model": agent, "variation": "MODEL", **total})
    return pd.DataFrame(rows, columns=list(RESULTS))


def _result(each: PairMeasures) -> Row:
    low, high = each.expectations["low"], each.expectations["high"]
    return {
        "anchor_low": each.pair.low.anchor,
        "anchor_high": each.pair.high.anchor,
        "soft_ev_low": low.estimate,
        "soft_ev_high": high.estimate,
        "delta_ev": each.delta_ev,
        "soft_ev_low_lo": low.low,
        "soft_ev_low_hi": low.high,
        "soft_ev_high_lo": high.low,
        "soft_ev_high_hi": high.high,
        "t_log": each.raw.t.statistic,
        "p_log": each.raw.t.p_value,
        "w_stat": each.raw.w_statistic,
        "p_wilcoxon": each.raw.p_wilcoxon,
        "p_perm": each.raw.p_permutation,
        "shap_low": each.shift.low,
        "shap_high": each.shift.high,
        "delta_shap": each.shift.delta,
        "t_shap": each.shift.t.statistic,
        "p_shap": each.shift.t.p_value,
        "abss": each.score.abss,
        **stimulus_calls(each),
    }


def stimulus_calls(each: PairMeasures) -> Row:
    """Return direction and stars of the four tests, such as `B+***`, `W**`, `P`, `A-*`.

    A call is empty if it is undefined.
    """
    return {
        "call_b": signed_call("B", each.delta_ev, each.raw.t.p_value),
        "call_w": plain_call("W", each.raw.p_wilcoxon),
        "call_p": plain_call("P", each.raw.p_permutation),
        "call_a": signed_call("A", each.shift.delta, each.shift.t.p_value),
    }
