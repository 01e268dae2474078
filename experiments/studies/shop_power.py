"""Find how large an effect an experiment in a shop can show, by simulating that very experiment."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from agents.simulated.utility import Taste
from analysis.choice.effects import Estimands, main_estimands
from analysis.choice.exact import MainTests
from analysis.estimators.clusters import choose_clusters, cluster_codes
from analysis.tables.choice_table import trial_ids
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, chances, simulated_trials
from interventions.errors import UserError

POWER: Final = 0.8
Feature = Literal["nudge", "order", "price", "rating"]
About = Literal["these sets", "new sets"]
TERMS: Final[Mapping[Feature, str]] = {
    "nudge": "nudged",
    "order": "viewed_first",
    "price": "cheaper",
    "rating": "higher_rated",
}
ABOUT: Final[tuple[About, ...]] = ("these sets", "new sets")
WEIGHTS: Final[Mapping[Feature, str]] = {
    "nudge": "nudge",
    "order": "position",
    "price": "log_price",
    "rating": "rating",
}
"""The weight in a taste that makes each effect."""
_MOST: Final = 30.0
"""The largest weight that is tried: no choice is left to chance."""
_CLOSE: Final = 0.05
"""How near to the wanted effects the shopper's own are, in percentage points."""
_ROUNDS: Final = 20
_CALIBRATED_ON: Final = 1_200
"""The most trials on which a shopper is calibrated."""


@dataclass(frozen=True)
class Target:
    """What a contrast's test is about, and how it did in the simulated studies.

    about: `these sets` (the exact test) or `new sets` (the clustered error). power: the share of studies with
    p below alpha. half_width: of the 95 % interval, on average; detectable: the effect that is found with a
    power of 80 %; both in percentage points. None: no such test with so few sets, or none at all.
    """

    about: About
    power: float | None
    half_width: float | None
    detectable: float | None


@dataclass(frozen=True)
class Contrast:
    """A contrast of the experiment in so many trials of an agent; effect: the true one, percentage points."""

    feature: Feature
    trials: int
    effect: float
    targets: tuple[Target, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self)


def calibrated(design: ShopDesign, taste: Taste, effects: Mapping[Feature, float]) -> Taste:
    """Return a shopper with these effects, in percentage points, and else the given taste.

    Raises UserError for an effect that no such shopper has in this experiment.
    """
    made = simulated_trials(design, taste, _CALIBRATED_ON)
    estimands = _estimands(made)
    weights = {feature: estimands.linear(TERMS[feature]) for feature in effects}
    for feature, linear in weights.items():
        if linear is None:
            reason = estimands.reasons.get(TERMS[feature], "the experiment does not vary it")
            raise UserError(f"--effect {feature}: {reason}; leave it out, or choose another experiment")

    def effect(feature: Feature, taste: Taste) -> float:
        return float(100 * np.dot(weights[feature], chances(made.trials, taste)))  # type: ignore[arg-type]

    for _ in range(_ROUNDS):
        for feature, wanted in effects.items():
            taste = _with_effect(taste, feature, wanted, effect)
        if all(abs(effect(feature, taste) - wanted) < _CLOSE for feature, wanted in effects.items()):
            return taste
    told = ", ".join(f"{feature}={effect(feature, taste):.1f}" for feature in effects)
    raise UserError(f"--effect: no shopper has these effects at once in this experiment; the nearest: {told}")


def _with_effect(
    taste: Taste, feature: Feature, wanted: float, effect: Callable[[Feature, Taste], float]
) -> Taste:
    """The taste whose weight of this feature gives the wanted effect."""
    name, sign = WEIGHTS[feature], -1 if feature == "price" else 1

    def short(weight: float) -> float:
        return effect(feature, taste.model_copy(update={name: sign * weight})) - wanted

    low, high = short(-_MOST), short(_MOST)
    if not low < 0 < high:
        raise UserError(
            f"--effect {feature}={wanted:g}: in this experiment the effect lies between"
            f" {low + wanted:.1f} and {high + wanted:.1f} points; give one of these"
        )
    return taste.model_copy(update={name: sign * float(brentq(short, -_MOST, _MOST, xtol=1e-4))})


def power_of(
    design: ShopDesign,
    taste: Taste,
    trials: int,
    studies: int,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    tell: Callable[[int], None] = lambda _: None,
) -> list[Contrast]:
    """Simulate studies of so many trials of a shopper; return each contrast that the experiment has.

    tell: called with the number of studies that are done.
    """
    made = simulated_trials(design, taste, trials)
    estimands, exact = _estimands(made), MainTests(made.table)
    clusters, _ = choose_clusters(_codes(made))
    chosen = made.drawn(np.random.default_rng([seed, trials]), studies)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with threadpool_limits(limits=1, user_api="blas"):
        for study in range(studies):
            estimates = estimands.fit(chosen[:, study], clusters)
            for term in estimands.weights:
                contrast = estimates.of(term)
                half = 100 * contrast.half_width
                found.setdefault((term, "new sets"), []).append((contrast.p_value, half))
            for term, (p_value, low, high) in exact.of(made.with_choices(chosen[:, study])).items():
                found.setdefault((term, "these sets"), []).append((p_value, (high - low) / 2))
            tell(study + 1)
    contrasts = []
    for feature, term in TERMS.items():
        linear = estimands.linear(term)
        if linear is not None:
            told = [each for each in ABOUT if (term, each) in found]
            targets = tuple(_target(each, found[term, each], alpha) for each in told)
            effect = float(100 * linear @ made.chances)
            contrasts.append(Contrast(feature, len(made.trials), effect, targets))
    return contrasts


def _target(about: About, results: list[tuple[float, float]], alpha: float) -> Target:
    p_values, halves = np.array(results).T
    if np.isnan(p_values).all():
        return Target(about, None, None, None)
    half = float(np.nanmean(halves))
    quantiles = stats.norm.isf(alpha / 2) + stats.norm.ppf(POWER)
    detectable = half * float(quantiles / stats.norm.isf(0.025))
    return Target(about, float((p_values < alpha).mean()), half, detectable if detectable <= 100 else None)


def _estimands(made: SimulatedTrials) -> Estimands:
    return main_estimands(made.table, _codes(made))


def _codes(made: SimulatedTrials) -> dict[str, Any]:
    return cluster_codes(made.table, trial_ids(made.table).to_numpy())
