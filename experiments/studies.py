"""The kinds of study: from a stored run, or tables from anywhere, to an analysis in sections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd
import sqlalchemy as sql

from analysis.anchoring.study import analyze_anchoring
from analysis.anchoring.table import read_anchoring
from analysis.choice import analyze_choice
from analysis.conjoint import analyze_conjoint
from analysis.conjoint.pricebench import read_conjoint
from analysis.responses import analyze_biases, analyze_montecarlo, read_responses
from analysis.sections import Section
from analysis.table import read_table
from experiments.records import Records, Row, kind_of
from experiments.tables import factors, trials
from experiments.tidy import receipts_table, response_table, score_table, tidy_table


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
    """How one kind is called and analysed: `analyze` takes a table, and what else `stored` gives."""

    title: str
    analyze: Callable[..., StudyAnalysis]
    read: Callable[[Path], pd.DataFrame]
    stored: Callable[[Records, str], tuple[pd.DataFrame | None, ...]]


def factors_table(records: Records, run: str) -> pd.DataFrame | None:
    """The deciding factors of a run; None where it was not judged."""
    query = (
        sql.select(factors.c.trial, trials.c.agent, factors.c.factor, factors.c.judge, factors.c.reason)
        .join_from(factors, trials, (factors.c.run == trials.c.run) & (factors.c.trial == trials.c.trial))
        .where(factors.c.run == run)
        .order_by(factors.c.trial, factors.c.number)
    )
    with records.engine.connect() as connection:
        found = pd.read_sql(query, connection)
    return None if found.empty else found


def _choices(records: Records, run: str) -> tuple[pd.DataFrame | None, ...]:
    return tidy_table(records, run), receipts_table(records, run), factors_table(records, run)


def _cards(records: Records, run: str) -> tuple[pd.DataFrame | None, ...]:
    return (tidy_table(records, run),)


def _responses(records: Records, run: str) -> tuple[pd.DataFrame | None, ...]:
    return (response_table(records, run),)


def _scores(records: Records, run: str) -> tuple[pd.DataFrame | None, ...]:
    return (score_table(records, run),)


STUDIES: Final = {
    "choice": Study("What moved the choices", analyze_choice, read_table, _choices),
    "conjoint": Study("What the choices are worth", analyze_conjoint, read_conjoint, _cards),
    "montecarlo": Study("Willingness to pay", analyze_montecarlo, read_responses, _responses),
    "biases": Study("Cognitive biases", analyze_biases, read_responses, _responses),
    "anchoring": Study("Anchoring in log-probabilities", analyze_anchoring, read_anchoring, _scores),
}


def analyze_run(records: Records, found: Row, **options: Any) -> StudyAnalysis:
    """Analyse a stored run as its kind of study wants it."""
    study = STUDIES[kind_of(found)]
    return study.analyze(*study.stored(records, found["run"]), **{**_of_design(found), **options})


def _of_design(found: Row) -> dict[str, Any]:
    """What an analysis has to do as the design did: draw the same orders of fields."""
    experiment = found["facts"]["experiment"]
    return {name: experiment[name] for name in ("seed", "permutations") if experiment.get("task") == "score"}


def read_tables(kind: str, files: Sequence[Path]) -> pd.DataFrame:
    """All files as one table; the name of a single file is kept for messages."""
    tables = [STUDIES[kind].read(path) for path in files]
    return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
