"""Compute the Anchoring Bias Susceptibility Score (Valencia-Clavijo 2025) of a variation and of a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.anchoring.paired import sign

CONTROL: Final = "V0"
"""The classic question; it is shown, and never part of a model's score."""

STUDY: Final = tuple(f"V{number}-{regime}" for regime in "SD" for number in range(1, 6))
"""The ten variations of the study: S has the same two anchors in all, D a pair for each variation."""

CONCORDANCE: Final = 0.15
WEIGHTY: Final = 0.2
"""Both weights must be above this for concordance to count."""


@dataclass(frozen=True)
class Score:
    """The ABSS of a variation and its parts; NaN is undefined.

    w_log, w_shap: weights of the two paired t tests; rho: robustness; concordance: 1, 0 or -1.
    """

    abss: float
    w_log: float
    w_shap: float
    rho: float
    concordance: int


@dataclass(frozen=True)
class ModelScore:
    """The sum and the mean over the variations that have a score; `missing` are those that have none."""

    total: float
    mean: float
    variations: int
    missing: tuple[str, ...]


def weight(p_value: float) -> float:
    """Return the weight of a p value: -log10(p)/3, clipped to [0, 1].

    The weight is 1 for a p that underflows to 0, and 0 for an undefined one.
    """
    if np.isnan(p_value):
        return 0.0
    return 1.0 if p_value <= 0 else float(np.clip(-np.log10(p_value) / 3, 0, 1))


def score(
    *,
    delta_ev: float,
    delta_phi: float,
    p_log: float,
    p_shap: float,
    p_wilcoxon: float,
    p_permutation: float,
) -> Score:
    """Compute ABSS = rho (S_B w_log + S_A w_shap) + 0.15 c.

    S_B is delta_ev / 100 (percentage points), S_A the hyperbolic tangent of delta_phi (nats), and rho 0.5 +
    0.5 times the mean weight of the two other tests that are defined (0.5 if none is).
    """
    w_log, w_shap = weight(p_log), weight(p_shap)
    others = [weight(p) for p in (p_wilcoxon, p_permutation) if not np.isnan(p)]
    rho = 0.5 + 0.5 * (float(np.mean(others)) if others else 0.0)
    agree = sign(delta_ev) * sign(delta_phi) if min(w_log, w_shap) > WEIGHTY else 0
    part_b = delta_ev / 100
    part_a = sign(delta_phi) * float(np.tanh(abs(delta_phi)))
    return Score(rho * (part_b * w_log + part_a * w_shap) + CONCORDANCE * agree, w_log, w_shap, rho, agree)


def expected_variations(stimuli: Sequence[str]) -> list[str]:
    """Return the variations that a complete model score has.

    These are the study's ten; for other stimuli they are all that are given.
    """
    own = [name for name in dict.fromkeys(stimuli) if name != CONTROL]
    return list(STUDY) if set(own) <= set(STUDY) else own


def model_score(scores: Mapping[str, float], expected: Sequence[str]) -> ModelScore:
    """Compute the score of one model.

    scores: ABSS by variation, NaN if undefined.
    """
    given = {name: scores[name] for name in expected if not np.isnan(scores.get(name, np.nan))}
    missing = tuple(name for name in expected if name not in given)
    if not given:
        return ModelScore(np.nan, np.nan, 0, missing)
    values = list(given.values())
    return ModelScore(float(np.sum(values)), float(np.mean(values)), len(values), missing)


def ranking(models: Mapping[str, ModelScore]) -> list[str]:
    """Return the models' names from the highest score down; models without a score come last.

    The order is by sum, then mean, then name. If any model is incomplete, sums have different numbers of
    terms, so the mean decides alone.
    """
    by_sum = not any(each.missing for each in models.values())

    def key(name: str) -> tuple[bool, float, float, str]:
        each = models[name]
        if not each.variations:
            return True, 0.0, 0.0, name
        return False, -each.total if by_sum else 0.0, -each.mean, name

    return sorted(models, key=key)
