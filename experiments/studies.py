"""The kinds of study with cards: from a stored run, or tables from anywhere, to an analysis in sections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pandas as pd

from analysis.conjoint import analyze_conjoint
from analysis.conjoint.pricebench import read_conjoint
from analysis.responses import analyze_biases, analyze_montecarlo, read_responses
from analysis.sections import Section
from experiments.records import Records
from experiments.tidy import response_table, tidy_table


class StudyAnalysis(Protocol):
    """What every such analysis offers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know."""

    def sections(self) -> list[Section]:
        """The report."""

    def to_json(self) -> str:
        """Every frame."""


@dataclass(frozen=True)
class Study:
    """How one kind is called and analysed."""

    title: str
    analyze: Callable[..., StudyAnalysis]
    read: Callable[[Path], pd.DataFrame]
    stored: Callable[[Records, str], pd.DataFrame]


STUDIES: Final = {
    "conjoint": Study("What the choices are worth", analyze_conjoint, read_conjoint, tidy_table),
    "montecarlo": Study("Willingness to pay", analyze_montecarlo, read_responses, response_table),
    "biases": Study("Cognitive biases", analyze_biases, read_responses, response_table),
}


def stored_table(records: Records, run: str, kind: str) -> pd.DataFrame:
    """What a stored run gives to its analysis."""
    return STUDIES[kind].stored(records, run)


def read_tables(kind: str, files: Sequence[Path]) -> pd.DataFrame:
    """All files as one table; the name of a single file is kept for messages."""
    tables = [STUDIES[kind].read(path) for path in files]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
