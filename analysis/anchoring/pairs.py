"""Turn the table of scores into arrays: the two anchors of a stimulus, target by target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from analysis.anchoring.abss import CONTROL, STUDY
from analysis.anchoring.simulation import PHI
from analysis.anchoring.table import CONDITIONS
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from analysis.tables.table_file import Places

_ORDER: Final = {name: place for place, name in enumerate((CONTROL, *STUDY))}


@dataclass(frozen=True)
class Prompt:
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
    low: Prompt
    high: Prompt

    @property
    def prompts(self) -> dict[str, Prompt]:
        """The two prompts, by condition."""
        return dict(zip(CONDITIONS, (self.low, self.high), strict=True))


def pairs(table: pd.DataFrame) -> list[Pair]:
    """Return the pairs of a checked table.

    Agents come in the order of the table; the study's variations come before others. Raises AnalysisError
    where no prompt of a stimulus has all its fields.
    """
    places = Places(table)
    found = []
    for _, own in table.groupby("agent", sort=False):
        names = own["stimulus"].unique()
        for stimulus in sorted(names, key=lambda name: _ORDER.get(name, len(_ORDER))):
            found.append(_pair(own[own["stimulus"] == stimulus], places))
    return found


def _pair(rows: pd.DataFrame, places: Places) -> Pair:
    agent, stimulus = rows.iloc[0][["agent", "stimulus"]]
    targets = rows.drop_duplicates("target").sort_values("value", kind="stable").set_index("target")["value"]
    named = {text: _split(text) for text in rows["fields"].unique()}
    fields = max(named.values(), key=len)
    if set().union(*named.values()) != set(fields):
        raise AnalysisError(
            f"{places.of(rows.index[0], 'fields')}: {stimulus} of {agent}: fields: no prompt has all of them;"
            " score the full prompt too"
        )
    prompts = []
    for condition in CONDITIONS:
        own = rows[rows["condition"] == condition]
        by_target = own.pivot(index="target", columns="fields", values="logprob").reindex(targets.index)
        coalitions = {frozenset(named[str(text)]): by_target[text].to_numpy(float) for text in by_target}
        full = coalitions.setdefault(frozenset(fields), np.full(len(targets), np.nan))
        anchor = float(own["anchor"].iloc[0]) if len(own) else np.nan
        prompts.append(Prompt(anchor, full, coalitions, _given(own, fields, targets.index)))
    return Pair(str(agent), str(stimulus), fields, targets.to_numpy(float), *prompts)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split("+")) if text else ()


def _given(rows: pd.DataFrame, fields: tuple[str, ...], targets: "pd.Index[str]") -> Floats | None:
    names = [PHI + field for field in fields]
    if not set(names) <= set(rows) or rows[names].isna().all(axis=None):
        return None
    full = rows[rows["fields"] == "+".join(fields)].set_index("target")[names].reindex(targets)
    return full.to_numpy(float).T
