"""Write the report on a battery of biases; the words of its sections are in `report.yaml`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from analysis.biases import figures
from analysis.biases.study import BiasAnalysis
from analysis.reporting.answer import LEVEL, by_agent, claimed, uneven
from analysis.reporting.sections import Report, Section, with_rows, written_sections
from analysis.tables.frame import counted

WORDS = Path(__file__).with_name("report.yaml")


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
            f" (adjusted p < {LEVEL:g}; about its two questions as they are worded){_listed(rows, toward)}"
        )
    if against.any():
        yield f"moved against the bias in {int(against.sum())}{_listed(rows, against)}"
    if (unclear := tested & ~told).any():
        yield f"not told apart from 0 in {int(unclear.sum())}{_listed(rows, unclear)}"
    scored = rows["scored"] & rows["estimate"].notna()
    if scored.any():
        toward = scored & (rows["bias_detected"] > 0)
        yield (
            f"d is above 0 in {int(toward.sum())} of {counted(int(scored.sum()), 'experiment')} whose letters"
            f" were scored (chances have no error, so there is no test){_listed(rows, toward)}"
        )
    for reason, own in rows[~tested & ~scored].groupby(rows["note"].str.split(":").str[0], sort=True):
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
    drawn = {
        "heatmap": partial(figures.heatmap, found.index),
        "detections": partial(figures.detections, found.experiments),
        "scenarios": partial(figures.scenarios, found.experiments),
        "by_scenario": partial(figures.by_scenario, found.experiments),
        "residuals": None if found.residuals.empty else partial(figures.residuals, found.residuals),
        "homogeneity": partial(figures.homogeneity, found.index),
        "importances": partial(figures.importances, found.importances),
    }
    return tuple(written_sections(WORDS, with_rows(vars(found)), drawn, notes=" ".join(found.notes)))
