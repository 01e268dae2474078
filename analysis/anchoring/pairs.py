"""Turn the table of scores into arrays: the two anchors of a stimulus, target by target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from analysis.anchoring.abss import CONTROL, STUDY
from analysis.anchoring.simulation import PHI
from analysis.anchoring.table import ANCHOR, CONDITIONS
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from analysis.tables.table_file import RowPlaces

_ORDER: Final = {name: place for place, name in enumerate((CONTROL, *STUDY))}


@dataclass(frozen=True)
class AnchorScores:
    """The scores of one anchor: arrays over the targets, NaN where undefined.

    coalitions: by present fields. given: attributions that came with the table, (fields, targets), or None.
    """

    anchor: float
    full: Floats
    coalitions: Mapping[frozenset[str], Floats]
    given: Floats | None


@dataclass(frozen=True)
class Pair:
    """A stimulus of an agent with its two prompts; `fields` have the order of the full prompt."""

    agent: str
    stimulus: str
    fields: tuple[str, ...]
    values: Floats
    low: AnchorScores
    high: AnchorScores
    varied: str = ANCHOR
    """The field that differs, whose attributions are compared."""

    @property
    def prompts(self) -> dict[str, AnchorScores]:
        """The two prompts, by condition."""
        return dict(zip(CONDITIONS, (self.low, self.high), strict=True))

    @property
    def distance(self) -> float:
        """By how much the high anchor is above the low one; NaN where it is not, or one is none.

        It is 100 where no anchor varies: then moves are in the unit of the answers.
        """
        if self.varied != ANCHOR:
            return 100.0
        found = self.high.anchor - self.low.anchor
        return found if found > 0 else np.nan


def pairs(table: pd.DataFrame) -> tuple[list[Pair], dict[str, list[str]]]:
    """Return the pairs of a checked table, and by agent the stimuli that are incomplete.

    Agents come in the order of the table; the study's variations come before others. A stimulus is incomplete
    where an anchor has prompts, and the full one is not among them: so a run leaves the stimulus at which it
    ends. The full prompt has all fields of the stimulus, and the anchor where any prompt of the table has it.

    Raises AnalysisError where all stimuli are incomplete.
    """
    varying = {name for text in table["fields"].unique() for name in _split(text)} & {*table["varied"]}
    found = []
    incomplete: dict[str, list[str]] = {}
    for agent, own in table.groupby("agent", sort=False):
        names = own["stimulus"].unique()
        for stimulus in sorted(names, key=lambda name: _ORDER.get(name, len(_ORDER))):
            rows = own[own["stimulus"] == stimulus]
            if _is_complete(rows, varying):
                found.append(_pair(rows))
            else:
                incomplete.setdefault(str(agent), []).append(stimulus)
    if not found:
        agent, stimulus = table.iloc[0][["agent", "stimulus"]]
        raise AnalysisError(
            f"{RowPlaces(table).of(table.index[0], 'fields')}: {stimulus} of {agent}: fields: no prompt has"
            " all of them; score the full prompt too, with both anchors"
        )
    return found, incomplete


def _is_complete(rows: pd.DataFrame, varying: set[str]) -> bool:
    """Whether each anchor that has prompts has the full one."""
    named = {str(text): {*_split(text)} for text in rows["fields"].unique()}
    fields = set().union(*named.values(), varying & {*rows["varied"]})
    return all(
        any(named[text] == fields for text in own["fields"].unique()) for _, own in rows.groupby("condition")
    )


def _pair(rows: pd.DataFrame) -> Pair:
    agent, stimulus = rows.iloc[0][["agent", "stimulus"]]
    targets = rows.drop_duplicates("target").sort_values("value", kind="stable").set_index("target")["value"]
    named = {text: _split(text) for text in rows["fields"].unique()}
    fields = max(named.values(), key=len)
    prompts = []
    for condition in CONDITIONS:
        own = rows[rows["condition"] == condition]
        by_target = own.pivot(index="target", columns="fields", values="logprob").reindex(targets.index)
        coalitions = {frozenset(named[str(text)]): by_target[text].to_numpy(float) for text in by_target}
        full = coalitions.setdefault(frozenset(fields), np.full(len(targets), np.nan))
        anchor = float(own["anchor"].iloc[0]) if len(own) else np.nan
        prompts.append(AnchorScores(anchor, full, coalitions, _given(own, fields, targets.index)))
    low, high = prompts
    varied = str(rows["varied"].iloc[0])
    return Pair(str(agent), str(stimulus), fields, targets.to_numpy(float), low, high, varied)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split("+")) if text else ()


def _given(rows: pd.DataFrame, fields: tuple[str, ...], targets: "pd.Index[str]") -> Floats | None:
    names = [PHI + field for field in fields]
    if not set(names) <= set(rows) or rows[names].isna().all(axis=None):
        return None
    full = rows[rows["fields"] == "+".join(fields)].set_index("target")[names].reindex(targets)
    return full.to_numpy(float).T
