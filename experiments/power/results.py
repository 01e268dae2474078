"""What simulated studies show of a contrast: power, width of the interval, smallest effect that is found."""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from analysis.tables.frame import Floats

K = TypeVar("K", bound=Hashable)

POWER: Final = 0.8
POINTS: Final = "points"
"""Percentage points of the choice, of which there are a hundred."""

ELASTICITY: Final = "% per 1 %"
"""The unit of the effect of a price that is drawn: by how much the chance changes if it is 1 % higher."""
DIFFER: Final = 0.5
"""How far texts and choice sets differ in their effects by default, as a share of the mean effect."""
_Z: Final = float(stats.norm.isf(0.025))


def differing(share: float, what: str) -> str:
    """Say how far texts, sets or products are assumed to differ."""
    if not share:
        return f"assumed: an effect is the same in all {what}"
    return f"assumed: {what} differ in an effect, SD {100 * share:.0f} % of it (--differ)"


@dataclass(frozen=True)
class TestedEffect:
    """What a contrast's test is about, and how it did in the simulated studies.

    about: in a shop `these sets` (the exact test) or `new sets` (the clustered error). power: the share of
    studies with p below alpha; claimed: with an adjusted one, see `claims`. half_width: of the 95 %
    interval, on average; detectable: the effect that is claimed with a power of 80 %; both in the contrast's
    unit. None: no such test with so few sets, or none at all.
    """

    about: str
    power: float | None
    claimed: float | None
    half_width: float | None
    detectable: float | None


@dataclass(frozen=True)
class ContrastPower:
    """A contrast of the experiment in so many trials of an agent; effect: the true one, in its unit.

    error: how far 95 % of the studies' estimates are at most from the effect in all sets and texts like
    theirs, by their standard deviation.
    """

    feature: str
    trials: int
    effect: float
    targets: tuple[TestedEffect, ...]
    unit: str = POINTS
    error: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self)


@dataclass
class SimulatedResults:
    """What the studies gave: estimates, p values, half widths of the 95 % intervals.

    estimates is empty where another test has the same. own: the effects in each study's own sets and texts;
    empty where they are not known.
    """

    estimates: list[float] = field(default_factory=list)
    p_values: list[float] = field(default_factory=list)
    half_widths: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)

    def add(self, estimates: Floats | None, p_values: Floats, half_widths: Floats) -> None:
        """Add the results of some studies, one entry each."""
        self.estimates += [] if estimates is None else estimates.tolist()
        self.p_values += p_values.tolist()
        self.half_widths += half_widths.tolist()

    def chance(self, truth: float, spread: float) -> float:
        """Return the variance of the estimates that chance alone has; NaN without estimates.

        truth, spread: see `target`.
        """
        estimates = np.array(self.estimates)
        if not np.isfinite(estimates).any():
            return np.nan
        if self.own:
            return float(np.nanvar(estimates - self.own))
        variance = float(np.nanvar(estimates))
        return max(variance - (spread * truth) ** 2, variance / 4)

    def off_by(self, truth: float, spread: float) -> float | None:
        """Return 1.96 standard deviations of the estimates; None without any. The arguments: see `target`."""
        variance = self.chance(truth, spread) + (spread * truth) ** 2
        return None if np.isnan(variance) else float(_Z * np.sqrt(variance))

    def target(
        self,
        about: str,
        alpha: float,
        truth: float,
        spread: float = 0.0,
        *,
        covered: float = 0.0,
        unit: str = POINTS,
        estimated: "SimulatedResults | None" = None,
        claim: "Claim | None" = None,
    ) -> TestedEffect:
        """Return how a test did.

        truth: the effect in these studies. spread: the standard deviation of the studies' own effects, as a
        share of it; covered: the part of it that is in the intervals. estimated: the results that have the
        estimates, where these have none. claim: see `claims`.
        """
        p_values, halves = np.array(self.p_values), np.array(self.half_widths)
        if np.isnan(p_values).all():
            return TestedEffect(about, None, None, None, None)
        half = float(np.nanmean(halves))
        chance = (estimated or self).chance(truth, spread)
        chance = (half / _Z) ** 2 if np.isnan(chance) else chance
        found = smallest(half, claim.level if claim else alpha, truth, spread, covered, chance)
        most = 100.0 if unit == POINTS else np.inf
        detectable = found if found is not None and found <= most else None
        return TestedEffect(about, float((p_values < alpha).mean()), claim and claim.share, half, detectable)


class Claim(NamedTuple):
    """The share of studies in which a sentence claims an effect, and the level at which its p is judged."""

    share: float
    level: float


def claims(family: Mapping[K, SimulatedResults], alpha: float, copies: int = 1) -> dict[K, Claim]:
    """Return how often a report's sentence claims each effect of a family.

    It does where p, adjusted over the family, is below alpha. The level is the mean over studies of the p
    below which it is, given those of the other effects. copies: how many alike families a study has, such as
    scenarios; the others are taken from other studies. The family is that of one agent: in a run with several
    agents it is larger.
    """
    p_values = np.array([results.p_values for results in family.values()])
    if not p_values.size:
        return dict.fromkeys(family, Claim(0.0, alpha))
    shuffled = np.random.default_rng(0)
    every = np.vstack([p_values, *(shuffled.permutation(p_values, axis=1) for _ in range(copies - 1))])
    found = {}
    for at, name in enumerate(family):
        level = _levels(np.delete(every, at, axis=0), alpha)
        found[name] = Claim(float((every[at] < level).mean()), float(level.mean()))
    return found


def _levels(others: Floats, alpha: float) -> Floats:
    """The p below which one is claimed beside others (effects x studies), by Benjamini and Hochberg's steps.

    With m p values it is the largest alpha k / m of which k - 1 others are below.
    """
    ranked, m = np.sort(others, axis=0), 1 + (~np.isnan(others)).sum(axis=0)
    level: Floats = alpha / m
    for k, own in enumerate(ranked, 2):
        level = np.where(own < alpha * k / m, alpha * k / m, level)
    return level


def smallest(
    half: float, alpha: float, truth: float, spread: float, covered: float, chance: float
) -> float | None:
    """Return the effect that is claimed with a power of 80 %; None where no effect is large enough.

    half: half the width of the 95 % interval in studies with the effect `truth`. chance: the variance v of
    their estimates that is due to chance alone. If sets and texts differ, an effect e is estimated with the
    variance v + (spread e)^2, and the interval has that of w + (covered e)^2; w follows from `half`. The
    effect is found if its estimate is beyond z[1 - alpha/2] errors. So e is the root of
    e = z[power] sqrt(v + (spread e)^2) + z[1 - alpha/2] sqrt(w + (covered e)^2).
    """
    z, limit = float(stats.norm.ppf(POWER)), float(stats.norm.isf(alpha / 2))
    error = (half / _Z) ** 2
    within = max(error - (covered * truth) ** 2, error / 4)
    slope = 1 - z * spread - limit * covered
    if slope <= 0:
        return None

    def short(effect: float) -> float:
        own, told = chance + (spread * effect) ** 2, within + (covered * effect) ** 2
        return float(effect - z * np.sqrt(own) - limit * np.sqrt(told))

    most = (z * np.sqrt(chance) + limit * np.sqrt(within)) / slope
    return float(brentq(short, 0.0, 1.01 * most)) if most else 0.0
