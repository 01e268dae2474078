"""Write the report on anchoring: which tables and figures answer which question."""

import math
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from analysis.anchoring import figures
from analysis.anchoring.measures import METHODS
from analysis.anchoring.study import AnchoringAnalysis
from analysis.reporting.answer import LEVEL, claimed, number_text, sentence
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.frame import counted


def report(found: AnchoringAnalysis) -> Report:
    """Make the report: what moved first, then distributions, tests, attribution and ranking."""
    return Report(
        sections=_sections(found),
        answer=tuple(sentence(row["group"], _answer(found, row)) for row in found.models.to_dict("records")),
        checked=found.notes[0],
        problems=tuple(found.notes[1:]),
    )


def _answer(found: AnchoringAnalysis, model: dict[Hashable, Any]) -> Iterator[str]:
    """Where the expected answer went, in how many variations the scores changed, and the agent's score."""
    agent = model["group"]
    moved = found.calls.loc[found.calls["agent"] == agent, "delta_ev"]
    known = moved.dropna()
    if len(known):
        ends = " to ".join(dict.fromkeys(number_text(end) for end in (known.min(), known.max())))
        yield (
            f"the expected answer is higher with the high anchor in {int((known > 0).sum())} of"
            f" {counted(len(known), 'variation')}, lower in {int((known < 0).sum())}"
            f" (changes of {ends}; described, not tested)"
        )
    if len(known) < len(moved):
        yield f"not estimated in {len(moved) - len(known)} (no target has a score)"
    tests = found.tests
    own = tests[(tests["group"] == agent) & (tests["term"] == "paired t") & (tests["scores"] == "raw")]
    tested = int(own["p_value"].notna().sum())
    yield (
        f"the scores of the answers differ in {int(claimed(own).sum())} of {tested} (paired t test,"
        f" adjusted p < {LEVEL:g})"
        if tested
        else "the scores of the answers: no test"
    )
    if math.isnan(model["estimate"]):
        yield f"ABSS: not estimated ({model['note']})"
    else:
        note = f" ({model['note']})" if model["note"] else ""
        yield f"ABSS {number_text(model['estimate'])} over {counted(int(model['n']), 'variation')}{note}"


def _sections(analysis: AnchoringAnalysis) -> tuple[Section, ...]:
    """One section per question."""
    frames, notes = vars(analysis), analysis.notes
    return (
        Section(
            "What moved",
            "One line per agent and variation. B: the expected answer rose (+) or fell (-) with the higher"
            " anchor; its stars are those of the paired t test of the scores, which can point the other way,"
            " so sign_d shows the sign of their mean difference. W and P: Wilcoxon's and the permutation test"
            " of the same differences. A: the attribution to the anchor rose or fell, with the stars of its"
            " own t test; the multiplier is the factor by which the anchor's presence favours the answers"
            " more under the high anchor.\n\n"
            "Stars: *** p < .01, ** p < .05, * p < .10, not corrected for the number of tests.",
            _tables(
                NamedTable("calls", "Calls and sizes by agent and variation.", frames["calls"]),
                NamedTable("results", "All numbers, one row per variation.", frames["results"], detail=True),
            ),
            (
                NamedFigure(
                    "soft_ev",
                    "Expected answer under both anchors. The band is predictive: no confidence interval.",
                    partial(figures.soft_ev, frames["soft_ev"]),
                ),
            ),
        ),
        Section(
            "Scores",
            "Nothing was generated: each possible answer was scored, as the natural logarithm of its"
            " probability after the prompt. A score that is missing or infinite is left out of the expected"
            " value of its anchor, and out of both anchors in a paired test. " + " ".join(notes),
            _tables(NamedTable("missing", "Missing scores by reason.", frames["missing"])),
        ),
        Section(
            "Expected answers",
            "SoftEV is the mean of the possible answers, weighted by their probabilities among themselves."
            " The band is where the mean of 100 answers drawn from these probabilities falls in 95 % of 5,000"
            " simulations. It is a predictive band and not a confidence interval: it does not narrow with"
            " more data.",
            _tables(
                NamedTable(
                    "soft_ev", "Expected answer by anchor, with its predictive band.", frames["soft_ev"]
                ),
                NamedTable(
                    "distributions", "Probabilities of the answers.", frames["distributions"], detail=True
                ),
            ),
            tuple(_distributions(frames["distributions"])),
        ),
        Section(
            "Tests",
            "Differences of the scores, high less low, over the answers. The raw scores count, so a higher"
            " probability of all answers together counts as a difference too; the normalised ones, an extra,"
            " compare only how the answers share it. A significant difference says that the scores changed,"
            " and not that they moved towards the anchor. The answers of one prompt are no independent"
            " sample, so the p values describe this prompt's distribution. The adjusted ones are over the"
            " variations of an agent, for each test and kind of score.",
            _tables(
                NamedTable("tests", "Paired tests by agent, variation and kind of score.", frames["tests"]),
            ),
        ),
        _attribution(frames["attributions"], frames["shifts"]),
        Section(
            "Susceptibility",
            "ABSS joins the two effects, each weighted by how small its p value is: the shift of the expected"
            " answer (over 100) and that of the attribution to the anchor (squeezed into -1 to 1). The sum is"
            " multiplied by the robustness (0.5 to 1, from Wilcoxon's and the permutation test), and 0.15 is"
            " added where both clearly agree in sign, or taken off where they disagree. A variation lies"
            " between about -2.15 and 2.15. V0, the classic question, is shown and never part of a model's"
            " score.\n\n"
            "Models are ranked by the sum over the variations, then by the mean, then by name. A model that"
            " lacks one is marked incomplete, and then all are compared by the mean.",
            _tables(
                NamedTable("models", "Ranking.", frames["models"]),
                NamedTable("scores", "ABSS by variation, with its parts.", frames["scores"]),
            ),
            (
                NamedFigure(
                    "abss_ranking",
                    "ABSS by agent; hatched: some variations have no score.",
                    partial(figures.ranking, frames["models"]),
                ),
                NamedFigure(
                    "abss", "ABSS by agent and variation.", partial(figures.scores, frames["scores"])
                ),
            ),
        ),
    )


def _attribution(frame: pd.DataFrame, shifts: pd.DataFrame) -> Section:
    drawn = [
        NamedFigure(
            f"attribution_{method}_{number}",
            f"{method.capitalize()} values of the prompt's fields: {agent}.",
            partial(figures.attributions, own),
        )
        for number, agent in enumerate(frame["group"].unique(), start=1)
        for method in METHODS
        if len(own := frame[(frame["group"] == agent) & (frame["method"] == method)])
    ]
    return Section(
        "Attribution to the fields of the prompt",
        "How much does each field add to an answer's score? The prompt is scored with every subset of its"
        " fields. Shapley's value averages what a field adds over all orders in which the fields could come;"
        " the values of all fields add up to the score of the full prompt less that of the empty one."
        " Banzhaf's value averages over all subsets with equal weight, and need not add up; it is the uniform"
        " mean that the published study calls Shapley. Intervals are mean +- 1.96 sd / sqrt(n) over the"
        " answers. With SoftEV as the payoff, a value is what the field adds to the expected answer. Where"
        " orders were sampled, sampling_error is the standard error of that.",
        _tables(
            NamedTable("shifts", "Attribution to the anchor, high less low.", shifts),
            NamedTable("attributions", "Mean attribution by field, method and anchor.", frame, detail=True),
        ),
        tuple(drawn),
    )


def _distributions(frame: pd.DataFrame) -> list[NamedFigure]:
    return [
        NamedFigure(
            f"distributions_{number}",
            f"Probability of each answer, among those scored, under both anchors: {agent}.",
            partial(figures.distributions, frame[frame["agent"] == agent]),
        )
        for number, agent in enumerate(frame["agent"].unique(), start=1)
    ]


def _tables(*named: NamedTable) -> tuple[NamedTable, ...]:
    return tuple(each for each in named if not each.frame.empty)
