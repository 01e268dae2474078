"""Write the report on anchoring; the words of its sections are in `report.yaml`."""

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.anchoring import figures
from analysis.anchoring.frames import EVERY
from analysis.anchoring.measures import METHODS
from analysis.anchoring.study import AnchoringAnalysis
from analysis.anchoring.table import ANCHOR
from analysis.reporting.answer import Wording, clauses, number_text, sentence
from analysis.reporting.sections import Draw, NamedFigure, Report, Section, with_rows, written_sections
from analysis.tables.frame import counted

WORDING = Wording(
    {"paired t": "a higher anchor"},
    "{name} moves the expected answer by {estimate} % of the anchors' distance (95 %: {interval}; t test over"
    " the variations)",
    "{name} by {estimate} ({interval})",
    1,
)
_UNITS = " % of the anchors' distance"

WORDS = Path(__file__).with_name("report.yaml")


def report(found: AnchoringAnalysis) -> Report:
    """Make the report: what moved first, then distributions, tests, attribution and ranking."""
    return Report(
        sections=_sections(found),
        answer=tuple(sentence(row["group"], _answer(found, row)) for row in found.models.to_dict("records")),
        checked=found.notes[0],
        problems=tuple(found.notes[1:]),
    )


def _answer(found: AnchoringAnalysis, model: dict[Hashable, Any]) -> Iterator[str]:
    """Where the expected answer went, its mean move over the variations, and the agent's score."""
    agent = model["group"]
    moved = found.calls.loc[found.calls["agent"] == agent, "delta_ev"]
    known = moved.dropna()
    if len(known):
        ends = " to ".join(dict.fromkeys(number_text(end) for end in (known.min(), known.max())))
        yield (
            f"the expected answer is higher with the high {found.varied} in {int((known > 0).sum())} of"
            f" {counted(len(known), 'variation')}, lower in {int((known < 0).sum())}"
            f" (changes of {ends}; described, not tested)"
        )
    if len(known) < len(moved):
        yield f"not estimated in {len(moved) - len(known)} (no target has a score)"
    tests = found.tests[(found.tests["group"] == agent) & (found.tests["stimulus"] == EVERY)]
    named = {"paired t": f"the high {found.varied}"}
    plain = replace(WORDING, names=named, first=WORDING.first.replace(_UNITS, ""))
    wording = WORDING if found.varied == ANCHOR else plain
    yield from clauses(tests, wording, counted(int(tests["n"].sum()), "variation"))
    if math.isnan(model["estimate"]):
        yield f"ABSS: not estimated ({model['note']})"
    else:
        note = f" ({model['note']})" if model["note"] else ""
        yield f"ABSS {number_text(model['estimate'])} over {counted(int(model['n']), 'variation')}{note}"


def _sections(found: AnchoringAnalysis) -> tuple[Section, ...]:
    """One section per question."""
    drawn: dict[str, Draw | list[NamedFigure]] = {
        "soft_ev": partial(figures.soft_ev, found.soft_ev, found.varied),
        "distributions": list(_distributions(found.distributions, found.varied)),
        "attributions": list(_attributions(found.attributions)),
        "abss_ranking": partial(figures.ranking, found.models),
        "abss": partial(figures.scores, found.scores, found.varied),
    }
    words = {"notes": " ".join(found.notes), "varied": found.varied}
    return tuple(written_sections(WORDS, with_rows(vars(found)), drawn, **words))


def _attributions(frame: pd.DataFrame) -> Iterator[NamedFigure]:
    for number, agent in enumerate(frame["group"].unique(), start=1):
        for method in METHODS:
            own = frame[(frame["group"] == agent) & (frame["method"] == method)]
            if len(own):
                caption = f"{method.capitalize()} values of the prompt's fields: {agent}."
                draw = partial(figures.attributions, own)
                yield NamedFigure(f"attribution_{method}_{number}", caption, draw)


def _distributions(frame: pd.DataFrame, varied: str) -> Iterator[NamedFigure]:
    for number, agent in enumerate(frame["agent"].unique(), start=1):
        caption = f"Probability of each answer, among those scored, under both {varied}s: {agent}."
        draw = partial(figures.distributions, frame[frame["agent"] == agent], varied)
        yield NamedFigure(f"distributions_{number}", caption, draw)
