"""The report on a battery of biases: which tables and figures answer which question, in plain words."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from analysis.biases import figures
from analysis.biases.study import BiasAnalysis
from analysis.reporting.answer import LEVEL, by_agent, claimed, uneven
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section, named_tables
from analysis.tables.frame import counted
from analysis.tables.readings import CAPTION

THREE = 3
"""Decimals of an effect size."""


def report(found: BiasAnalysis) -> Report:
    """Make the report: the index first, then the experiments behind it, then what explains them."""
    return Report(
        sections=_sections(found),
        answer=by_agent(found.experiments, _answer),
        checked=found.notes[0],
        problems=tuple(_problems(found)),
    )


def _answer(_agent: str, rows: pd.DataFrame) -> Iterator[str]:
    """In how many of its experiments each bias was told apart from 0, and in which direction."""
    told = claimed(rows)
    toward, against = told & (rows["bias_detected"] > 0), told & (rows["bias_detected"] < 0)
    tested = rows["p_value"].notna()
    if tested.any():
        yield (
            f"biased in {int(toward.sum())} of {counted(int(tested.sum()), 'experiment')} with a test"
            f" (adjusted p < {LEVEL:g}){_listed(rows, toward)}"
        )
    if against.any():
        yield f"moved against the bias in {int(against.sum())}{_listed(rows, against)}"
    if (unclear := tested & ~told).any():
        yield f"not told apart from 0 in {int(unclear.sum())}{_listed(rows, unclear)}"
    for reason, own in rows[~tested].groupby(rows["note"].str.split(":").str[0], sort=True):
        every = pd.Series(True, own.index)
        yield f"not estimated in {len(own)} ({reason or 'no reason is given'}){_listed(own, every)}"


def _listed(rows: pd.DataFrame, chosen: "pd.Series[bool]") -> str:
    """`: framing, sunk-cost 2`: the biases with the number of their experiments, where it is not one."""
    counts: Mapping[str, int] = Counter(rows.loc[chosen, "term"])
    names = [name if count == 1 else f"{name} {count}" for name, count in sorted(counts.items())]
    return f": {', '.join(names)}" if names else ""


def _problems(found: BiasAnalysis) -> Iterator[str]:
    for reason, count in found.missing.groupby("reason", sort=True)["count"].sum().items():
        yield f"{counted(int(count), 'response')} missing: {reason}."
    yield from uneven(found.attrition_by_factor, "responses")
    incomplete, separated, *others, _divisor = found.notes[1:]
    if not found.experiments["complete"].astype(bool).all():
        yield incomplete
    if found.experiments["separated"].fillna(False).any():
        yield separated
    yield from others


def _sections(found: BiasAnalysis) -> tuple[Section, ...]:
    """The index, the responses and the experiments behind it, then what explains them."""
    return (
        Section(
            "Biases by agent",
            "Cohen's d of each experiment, averaged over scenarios and temperatures and then capped to 0"
            " to 1, with a 95 % interval about these scenarios and temperatures. The figure shows the mean"
            " before the cap; 0.2 is small, 0.5 medium, 0.8 large. "
            "Experiments that are incomplete, or in which the groups are completely separated so that d "
            "is undefined, are left out and counted in the table.",
            (NamedTable("index", "Bias detected by bias and agent (d)", found.index, THREE),),
            (
                NamedFigure(
                    "heatmap", "Mean bias detected by bias and agent", partial(figures.heatmap, found.index)
                ),
            ),
        ),
        Section(
            "Responses",
            "Each question was asked in a context of its own. A response that is missing or not valid is"
            " left out and counted here, with its reason. " + " ".join(found.notes),
            named_tables(
                missing=("Missing responses by reason", found.missing),
                readings=(CAPTION, found.readings),
                attrition_by_factor=(
                    "Do responses go missing evenly? Largest difference between levels (points)",
                    found.attrition_by_factor,
                ),
            ),
        ),
        Section(
            "Scenarios and temperatures",
            "d = (treatment mean - control mean) / pooled standard deviation. Positive values are in the"
            " biased direction; for gambler's fallacy that is the higher estimate after a streak. "
            "Intervals are 95 %, by the delta method without assuming normality; p values are two-sided "
            "and adjusted over an agent's experiments. Hedges' g is d without its bias in small samples. The "
            "figure averages over agents.",
            (NamedTable("experiments", "Cohen's d by experiment", found.experiments, THREE),),
            (
                NamedFigure(
                    "scenarios",
                    "Mean d by scenario and temperature",
                    partial(figures.scenarios, found.experiments),
                ),
            ),
        ),
        Section(
            "Homogeneity",
            "How much of the variance of d between the experiments of a pair is sampling error. From "
            "0.75 on they may be spoken of as one effect. The ratios are in the table of biases by "
            "agent.",
            figures=(
                NamedFigure(
                    "homogeneity", "Homogeneity by bias and agent", partial(figures.homogeneity, found.index)
                ),
            ),
        ),
        Section(
            "Regressions",
            "Least squares of the bias detected, and of its value capped to 0 to 1, on bias, agent, "
            "scenario and temperature. A coefficient is the difference from the reference, all else "
            "equal.",
            named_tables(regressions=("Regressions over experiments", found.regressions)),
        ),
        Section(
            "What makes a model biased",
            "Gradient-boosted trees predict the capped bias of agents they have not seen. A feature's "
            "importance is how much worse they do when it is shuffled.",
            named_tables(importances=("Permutation importances on held-out agents", found.importances)),
            (
                NamedFigure(
                    "importances", "Permutation importances", partial(figures.importances, found.importances)
                ),
            ),
        ),
    )
