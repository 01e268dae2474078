"""Run the whole analysis of anchoring in log-probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.anchoring import frames
from analysis.anchoring.abss import expected_variations, model_score
from analysis.anchoring.measures import Method, PairMeasures, measure
from analysis.anchoring.paired import sign
from analysis.anchoring.pairs import pairs
from analysis.anchoring.results import results
from analysis.anchoring.table import ANCHOR, check_scores, missing_scores
from analysis.reporting.to_json import to_json
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import counted


@dataclass(frozen=True)
class AnchoringAnalysis:
    """The frames of an analysis, each documented by its function; `results` has all published numbers."""

    missing: pd.DataFrame
    soft_ev: pd.DataFrame
    distributions: pd.DataFrame
    calls: pd.DataFrame
    tests: pd.DataFrame
    attributions: pd.DataFrame
    shifts: pd.DataFrame
    scores: pd.DataFrame
    models: pd.DataFrame
    results: pd.DataFrame
    notes: tuple[str, ...]
    varied: str = ANCHOR
    """The field that differs between low and high; `anchor` where several do."""

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json({name: value for name, value in vars(self).items() if name != "varied"})


def analyze_anchoring(
    table: pd.DataFrame, *, seed: int = 42, method: Method = "shapley", permutations: int = 200
) -> AnchoringAnalysis:
    """Analyse a table of scores, as `read_anchoring` reads it, of one or several agents.

    seed: of the bands and of the permutation tests; with `permutations` also of the orders of an attribution
    by sampling, where both must be the design's. method: of the attribution in calls and scores, banzhaf for
    the published one; an agent that has only the other one gets that, and a note says so.

    A stimulus without its full prompt is left out, and a note says so.

    Raises AnalysisError for a table that `check_scores` refuses, or in which no stimulus has its full prompt.
    """
    if method not in ("shapley", "banzhaf"):
        raise AnalysisError(f"method: {method!r} is unknown; use shapley or banzhaf")
    checked = check_scores(table)
    varied = set(checked["varied"])
    complete, incomplete = pairs(checked)
    measured = [measure(each, seed=seed, method=method, permutations=permutations) for each in complete]
    expected = expected_variations(list(checked["stimulus"].unique()))
    by_agent: dict[str, dict[str, float]] = {str(agent): {} for agent in checked["agent"].unique()}
    for each in measured:
        by_agent[each.pair.agent][each.pair.stimulus] = each.score.abss
    models = {agent: model_score(scores, expected) for agent, scores in by_agent.items()}
    return AnchoringAnalysis(
        missing=missing_scores(checked),
        soft_ev=frames.soft_ev(measured, seed),
        distributions=frames.distributions(measured),
        calls=frames.calls(measured),
        tests=frames.tests(measured, seed),
        attributions=frames.attributions(measured),
        shifts=frames.shifts(measured),
        scores=frames.scores(measured),
        models=frames.models(models),
        results=results(measured, models),
        notes=_notes(checked, table, measured, incomplete, method),
        varied=varied.pop() if len(varied) == 1 else ANCHOR,
    )


def _notes(
    checked: pd.DataFrame,
    table: pd.DataFrame,
    measured: list[PairMeasures],
    incomplete: Mapping[str, Sequence[str]],
    method: Method,
) -> tuple[str, ...]:
    missing = int(checked["logprob"].isna().sum())
    notes = [f"{missing:,} of {counted(len(checked), 'score')} are missing."]
    if left_out := len(table) - len(checked):
        notes.append(f"{counted(left_out, 'score')} of a second regime left out; the standard one is used.")
    for agent, left in incomplete.items():
        asked = counted(checked.loc[checked["agent"] == agent, "stimulus"].nunique(), "variation")
        notes.append(
            f"{agent}: {len(left)} of {asked} left out: {', '.join(left)}"
            " (without the full prompt of both anchors)."
        )
    if shifted := int(checked["shifted"].fillna(0).sum()):
        notes.append(
            f"{counted(shifted, 'score')} begin within the prompt's last token, which the target changed."
        )
    others = [each for each in measured if each.shifts and each.method != method]
    for agent in dict.fromkeys(each.pair.agent for each in others):
        notes.append(
            f"{agent}: there are no {method.capitalize()} values, so those of the other method count."
        )
    reasons = [(each.pair.agent, each.unattributed) for each in measured if not each.shifts]
    notes += [f"{agent}: no attribution to the anchor: {why}." for agent, why in dict.fromkeys(reasons)]
    against: dict[str, list[str]] = {}
    for each in measured:
        if sign(each.delta_ev) * sign(each.raw.mean) < 0:
            against.setdefault(each.pair.agent, []).append(each.pair.stimulus)
    notes += [
        f"{agent}: the expected answer and the mean score move in opposite directions in"
        f" {', '.join(stimuli)}; the sign of B is that of the expected answer, its stars are the scores'."
        for agent, stimuli in against.items()
    ]
    return tuple(notes)
