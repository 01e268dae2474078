"""Measure a stimulus: expectations, tests, attributions and the score."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from analysis.anchoring import abss
from analysis.anchoring.attribution import banzhaf, sampled_shapley, shapley
from analysis.anchoring.coalitions import EXACT_FIELDS, coalitions, orders
from analysis.anchoring.expectation import Expectation, expectation, log_probabilities, soft_ev
from analysis.anchoring.paired import PairedTests, differences, paired_t, paired_tests
from analysis.anchoring.pairs import AnchorScores, Pair
from analysis.estimators.t_tests import TTest
from analysis.tables.frame import Floats

Method = Literal["shapley", "banzhaf"]

METHODS: Final[tuple[Method, ...]] = ("shapley", "banzhaf")


@dataclass(frozen=True)
class Attribution:
    """The values of the fields of one prompt: in nats by target, (fields, targets), and of SoftEV, (fields,).

    The errors are those of permutation sampling, of the mean over the targets and of SoftEV's values; None
    where the values are exact. soft_ev is None where the coalitions are not known.
    """

    phi: Floats
    error: Floats | None = None
    soft_ev: Floats | None = None
    soft_ev_error: Floats | None = None


@dataclass(frozen=True)
class Shift:
    """The anchor field's attribution, high against low, over the targets that have both."""

    low: float
    high: float
    t: TTest
    n: int
    n_missing: int

    @property
    def delta(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class PairMeasures:
    """A pair with all its measures.

    Attributions and shifts are by method, `method` is the one in the score.
    """

    pair: Pair
    expectations: dict[str, Expectation]
    raw: PairedTests
    normalised: PairedTests
    attributions: dict[Method, dict[str, Attribution]]
    unattributed: str
    shifts: dict[Method, Shift]
    method: Method
    shift: Shift
    score: abss.Score

    @property
    def delta_ev(self) -> float:
        return self.expectations["high"].estimate - self.expectations["low"].estimate


def measure(pair: Pair, *, seed: int, method: Method, permutations: int) -> PairMeasures:
    """Compute all measures of a pair.

    method: the attribution in the score, where the scores allow it, else the other one.
    """
    expectations = {name: expectation(each.full, pair.values, seed) for name, each in pair.prompts.items()}
    raw = paired_tests(pair.low.full, pair.high.full, seed)
    both = np.where(np.isnan(pair.low.full + pair.high.full), np.nan, [pair.low.full, pair.high.full])
    low, high = log_probabilities(both)
    normalised = paired_tests(low, high, seed)
    attributions, reason = attribute(pair, permutations, seed)
    shifts = {name: _shift(pair, found) for name, found in attributions.items() if pair.varied in pair.fields}
    if attributions and pair.varied not in pair.fields:
        reason = f"no field is called {pair.varied!r}"
    used = method if method in shifts or not shifts else next(iter(shifts))
    nothing = Shift(np.nan, np.nan, TTest(note=reason), 0, len(pair.values))
    shift = shifts.get(used, nothing)
    score = abss.score(
        delta_ev=expectations["high"].estimate - expectations["low"].estimate,
        delta_phi=shift.delta,
        p_log=raw.t.p_value,
        p_shap=shift.t.p_value,
        p_wilcoxon=raw.p_wilcoxon,
        p_permutation=raw.p_permutation,
    )
    return PairMeasures(pair, expectations, raw, normalised, attributions, reason, shifts, used, shift, score)


def attribute(pair: Pair, permutations: int, seed: int) -> tuple[dict[Method, dict[str, Attribution]], str]:
    """Compute attributions by method and condition, and say why there are none, or no Shapley values.

    If all coalitions are scored, both methods are exact. If those of the sampled orders are, only Shapley's
    are estimated. Values that came with the table are Banzhaf's, as they are.
    """
    low, high = pair.low, pair.high
    if low.given is not None and high.given is not None:
        given = {"low": Attribution(low.given), "high": Attribution(high.given)}
        return {"banzhaf": given}, "the table has attributions, not the coalitions' scores"
    if min(len(low.coalitions), len(high.coalitions)) < 2:
        return {}, "only the full prompt was scored"
    if len(pair.fields) <= EXACT_FIELDS:
        every = coalitions(pair.fields)
        if all(set(every) <= set(prompt.coalitions) for prompt in (low, high)):
            return {
                name: {
                    condition: _exact(name, prompt, pair.values, every)
                    for condition, prompt in pair.prompts.items()
                }
                for name in METHODS
            }, ""
    drawn = orders(pair.fields, permutations, seed)
    needed = set(coalitions(pair.fields, "permutations", permutations, seed))
    if not all(needed <= set(prompt.coalitions) for prompt in (low, high)):
        return {}, (
            f"some prompts of the {permutations} permutations with seed {seed} were not scored;"
            " give the design's numbers"
        )
    return {
        "shapley": {condition: _sampled(prompt, pair, drawn) for condition, prompt in pair.prompts.items()}
    }, ""


def _exact(name: Method, prompt: AnchorScores, values: Floats, every: list[frozenset[str]]) -> Attribution:
    solve = shapley if name == "shapley" else banzhaf
    payoffs = np.stack([prompt.coalitions[each] for each in every])
    return Attribution(solve(payoffs), soft_ev=solve(soft_ev(payoffs, values)))


def _sampled(prompt: AnchorScores, pair: Pair, drawn: list[tuple[str, ...]]) -> Attribution:
    phi, _ = sampled_shapley(prompt.coalitions, pair.fields, drawn)
    defined = ~np.isnan(phi).any(axis=0)
    scored = prompt.coalitions.items() if defined.any() else ()
    means = {each: np.asarray(scores[defined].mean()) for each, scores in scored}
    error = sampled_shapley(means, pair.fields, drawn)[1] if means else None
    expected = {each: soft_ev(scores, pair.values) for each, scores in prompt.coalitions.items()}
    return Attribution(phi, error, *sampled_shapley(expected, pair.fields, drawn))


def _shift(pair: Pair, found: dict[str, Attribution]) -> Shift:
    row = pair.fields.index(pair.varied)
    low, high = (found[condition].phi[row] for condition in ("low", "high"))
    both = ~np.isnan(low + high)
    n = int(both.sum())
    if n == 0:
        return Shift(np.nan, np.nan, paired_t(low[both]), 0, len(low))
    t = paired_t(differences(low, high))
    return Shift(float(low[both].mean()), float(high[both].mean()), t, n, len(low) - n)
