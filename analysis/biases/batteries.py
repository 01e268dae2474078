"""Compute an effect size per experiment, the index per bias and agent, and regressions.

An experiment is one bias in one scenario with one agent at one temperature: two questions, control and
treatment, each asked many times in fresh contexts.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.effect_size import (
    HOMOGENEOUS,
    cohens_d,
    d_of_chances,
    effect_label,
    homogeneity,
    mean_then_cap,
)
from analysis.estimators.repeats import agents_without_variation, one_answer_each, with_note
from analysis.estimators.t_tests import summed
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats, counted, join_notes, result_frame

CONTROL, TREATMENT = "control", "treatment"
BIASES = (
    "anchoring",
    "category-size",
    "endowment",
    "framing",
    "gamblers-fallacy",
    "loss-aversion",
    "sunk-cost",
    "transaction-utility",
)
CHOICES = ("framing", "loss-aversion", "sunk-cost", "transaction-utility")
"""Biases whose questions are choices; the others ask for a number."""
ABSOLUTE = ("framing", "transaction-utility")
"""Biases for which a difference in either direction counts."""

_SUFFIX = re.compile(r"-(effect|bias|fallacy)$")

EXPERIMENT = ["agent", "item", "scenario", "temperature"]

LEAST_ANSWERS = 15
"""The answers to each question from which the normal interval of d, and that of the index, holds."""
FEW_ANSWERS = f"no interval: fewer than {LEAST_ANSWERS} answers to a question"

RARE = "no interval: fewer than two answers to a question differ from its most common one"
LEAST_RARE = 10
"""The answers of both questions that differ from the most common one, from which on the interval holds."""
HEDGES = ("hedges_g", "hedges_low", "hedges_high")
EXPERIMENT_EXTRA = (
    "scenario",
    "temperature",
    "bias_detected",
    "capped",
    "direction",
    "separated",
    "complete",
    "scored",
    "control_mean",
    "treatment_mean",
    "n_control",
    "n_treatment",
    "unit",
    "side",
    *HEDGES,
)


def known_bias(item: str) -> str:
    """Return the battery's name of a bias, however its source writes it: `Framing Effect`, `sunk_cost`.

    Capitals, spaces, hyphens, apostrophes and a last word effect, bias or fallacy make no difference. What is
    none of `BIASES` stays as it is.
    """
    name = re.sub(r"[\s_-]+", "-", re.sub(r"['\u2019]", "", item.strip().lower()))
    return next((each for each in BIASES if _SUFFIX.sub("", name) == _SUFFIX.sub("", each)), item)


def experiments(
    table: pd.DataFrame,
    *,
    population: bool = False,
    legacy_zero: bool = False,
    absolute_biases: Collection[str] = ABSOLUTE,
    valid: int = 100,
) -> pd.DataFrame:
    """Compute Cohen's d of each experiment: `term` is the bias, `group` the agent.

    bias_detected is |d| for `absolute_biases`, else d; capped is that in [0, 1]. direction is "more" or
    "less" bias in the treatment, or "none". separated marks complete separation. An experiment with fewer
    than `valid` responses to either question is incomplete: everything but its counts is undefined. hedges_g
    is Hedges' g, hedges_low and hedges_high its interval; d itself has none with fewer than 15 answers to a
    question, and neither has one where nearly all answers are alike (`RARE`).
    `p_adjusted` is over all experiments, of all agents.

    Where the letters of both questions were scored (`scored`), d is of the chances of the biased answer: one
    of each is enough, and there is no error.

    Of an agent whose answers to a question never vary each question counts once, after this rule.
    """
    alike = agents_without_variation(table)
    counting = one_answer_each(table, alike)
    rows = []
    for (agent, item, scenario, temperature), asked in table.groupby(EXPERIMENT, sort=True, dropna=False):
        control, treatment = _responses(asked)
        chances = _responses(asked, "chance")
        scored = all(each.size for each in chances)
        once = _responses(counting.loc[counting.index.intersection(asked.index)])
        sizes = [values.size for values in once]
        row = {
            "term": item,
            "group": agent,
            "n": sum(sizes),
            "n_missing": int(asked["response"].isna().sum()),
            "scenario": scenario,
            "temperature": temperature,
            "complete": scored or min(control.size, treatment.size) >= valid,
            "scored": scored,
            "n_control": sizes[0],
            "n_treatment": sizes[1],
            "unit": "response",
            "side": "two-sided",
        }
        if not row["complete"]:
            counts = f"{control.size} control and {treatment.size} treatment"
            rows.append(row | {"note": f"incomplete: {counts} of {valid} valid responses each"})
            continue
        # Two single answers have no variance; from their repeats it is known to be none.
        groups = once if sum(sizes) > 2 else (control, treatment)
        if scored:
            effect = d_of_chances(*(each.mean() for each in chances))
        else:
            effect = cohens_d(*groups, population=population, legacy_zero=legacy_zero)
        detected = abs(effect.d) if item in absolute_biases else effect.d
        few = not np.isnan(effect.conf_low) and min(each.size for each in groups) < LEAST_ANSWERS
        rare = not np.isnan(effect.conf_low) and _rare(groups)
        why = RARE if rare else f"{FEW_ANSWERS}; hedges_g has one" if few else ""
        rows.append(
            row
            | {
                "estimate": effect.d,
                "std_error": effect.std_error,
                "statistic": effect.statistic,
                "p_value": effect.p_value,
                "conf_low": np.nan if few or rare else effect.conf_low,
                "conf_high": np.nan if few or rare else effect.conf_high,
                "note": join_notes(effect.note, why),
                "bias_detected": detected,
                "capped": mean_then_cap([detected])[1],
                "direction": {1.0: "more", -1.0: "less", 0.0: "none"}.get(effect.sign, ""),
                "separated": effect.separated,
                "hedges_g": effect.hedges_g,
                **{end: np.nan if rare else getattr(effect, end) for end in HEDGES[1:]},
                "control_mean": (chances[0] if scored else control).mean(),
                "treatment_mean": (chances[1] if scored else treatment).mean(),
            }
        )
    frame = adjusted(with_note(result_frame(rows, *EXPERIMENT_EXTRA), alike))
    numbers = dict.fromkeys(("bias_detected", "capped", *HEDGES), float)
    return frame.astype(numbers | {"separated": "boolean", "scored": bool})


def _responses(asked: pd.DataFrame, column: str = "response") -> tuple[Floats, Floats]:
    """The given responses to the control and to the treatment, or their chances."""
    control, treatment = (
        asked.loc[asked["condition"] == name, column].dropna().to_numpy(float)
        for name in (CONTROL, TREATMENT)
    )
    return control, treatment


def bias_index(effects: pd.DataFrame, absolute_biases: Collection[str] = ABSOLUTE) -> pd.DataFrame:
    """Average the bias detected by bias and agent over experiments; the cap to [0, 1] comes after.

    effects: the frame of `experiments`. The estimate is the capped mean; extra columns: mean (before the
    cap), label (of the mean's size), used, incomplete, undefined and separated (counts of experiments),
    homogeneity, homogeneous, homogeneity_capped (of capped values, with the sampling variance of d). n and
    n_missing count responses of the experiments used, and all others.

    mean_low and mean_high are the 95 % interval of the mean, conf_low and conf_high the same capped (see
    `mean_interval`), about these scenarios and temperatures. absolute_biases: as of `experiments`.
    """
    rows = []
    for (bias, agent), own in effects.groupby(["term", "group"], sort=True):
        used = own[own["bias_detected"].notna()]
        mean, capped = mean_then_cap(used["bias_detected"].to_numpy(float))
        low, high, why = mean_interval(own, absolute=bias in absolute_biases)
        ratio, reason = homogeneity(used["estimate"], used["n_control"], used["n_treatment"])
        incomplete = int((~own["complete"].astype(bool)).sum())
        separated = int(own["separated"].fillna(False).sum())
        undefined = len(own) - len(used) - incomplete
        notes = [
            "undefined: no experiment has an effect size" if used.empty else "",
            f"{counted(incomplete, 'experiment')} left out: incomplete" if incomplete else "",
            f"{counted(undefined, 'experiment')} left out: undefined" if undefined else "",
            _separation_note(own) if separated else "",
            f"homogeneity {reason}" if np.isnan(ratio) and not used["scored"].all() else "",
            why if len(used) else "",
        ]
        n = int(used["n"].sum())
        rows.append(
            {
                "term": bias,
                "group": agent,
                "estimate": capped,
                "conf_low": float(np.clip(low, 0, 1)),
                "conf_high": float(np.clip(high, 0, 1)),
                "n": n,
                "n_missing": int(own["n"].sum() + own["n_missing"].sum()) - n,
                "note": join_notes(*notes),
                "mean": mean,
                "label": effect_label(mean),
                "used": len(used),
                "incomplete": incomplete,
                "undefined": undefined,
                "separated": separated,
                "homogeneity": ratio,
                "homogeneous": None if np.isnan(ratio) else ratio >= HOMOGENEOUS,
                "homogeneity_capped": homogeneity(used["capped"], used["n_control"], used["n_treatment"])[0],
                "unit": "experiment",
                "mean_low": low,
                "mean_high": high,
            }
        )
    counts = ("used", "incomplete", "undefined", "separated")
    extra = ("homogeneity", "homogeneous", "homogeneity_capped", "unit", "mean_low", "mean_high")
    return result_frame(rows, "mean", "label", *counts, *extra)


def mean_interval(own: pd.DataFrame, *, absolute: bool) -> tuple[float, float, str]:
    """Return the 95 % interval of the mean effect of some experiments, or why there is none.

    Experiments are independent, so the variance of their mean is the sum of theirs over their squared number;
    t has Satterthwaite's degrees of freedom.
    A mean of sizes |d| is biased upwards where effects are near 0. Its interval then ends above at
    the mean of |d| plus, below at the size of the mean of d less, so many standard errors: whatever the true
    signs s are, the mean of |d| is at least that of s d, and the size of the mean effect is at most the mean
    of sizes. So each end misses in at most 2.5 %; where all effects have one sign it is the usual interval.

    own: rows of `experiments`. An effect without a finite value has been left out of the mean, for being
    large: the others have no interval for it.
    """
    used = own[own["bias_detected"].notna()]
    if int(own["separated"].fillna(False).sum()):
        return np.nan, np.nan, "no interval: an effect without a finite value is left out, or counts as 0"
    if len(used) and used["scored"].all():
        return np.nan, np.nan, "no interval: chances have no error"
    if used.empty or used["std_error"].isna().any():
        return np.nan, np.nan, "no interval: an experiment without variance has no standard error"
    sizes = used[["n_control", "n_treatment"]]
    if (sizes < LEAST_ANSWERS).to_numpy().any():
        return np.nan, np.nan, FEW_ANSWERS
    error, df = summed(used["std_error"] ** 2, sizes.sum(axis=1) - 2)
    half_width = float(stats.t.ppf(0.975, df) * error / len(used))
    mean, detected = float(used["estimate"].mean()), float(used["bias_detected"].mean())
    if absolute:
        return max(0.0, abs(mean) - half_width), detected + half_width, ""
    return detected - half_width, detected + half_width, ""


def _rare(groups: Sequence[Floats]) -> bool:
    """Whether too few answers differ for a variance: choices at 3 %, or numbers that are nearly alike."""
    differ = [each.size - int(np.unique(each, return_counts=True)[1].max()) for each in groups]
    return min(differ) < 2 and sum(differ) < LEAST_RARE


def _separation_note(own: pd.DataFrame) -> str:
    separated = own[own["separated"].fillna(False).astype(bool)]
    signs = ", ".join(f"{n} {direction}" for direction, n in separated["direction"].value_counts().items())
    return f"{counted(len(separated), 'experiment')} completely separated ({signs} in the treatment)"
