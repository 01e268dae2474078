"""The kinds of study: make an analysis in sections from a stored run, or from tables of any origin."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pandas as pd

from agents.simulated.own_profiles import known_as
from analysis.anchoring import report as anchoring
from analysis.anchoring.study import analyze_anchoring
from analysis.anchoring.table import read_anchoring
from analysis.biases import analyze_biases
from analysis.biases import report as biases
from analysis.choice import analyze_choice
from analysis.choice import report as choice
from analysis.conjoint import analyze_conjoint
from analysis.conjoint import report as conjoint
from analysis.conjoint.pricebench import read_conjoint
from analysis.montecarlo import analyze_montecarlo
from analysis.montecarlo import report as montecarlo
from analysis.reporting.sections import Report
from analysis.tables.choice_table import read_table
from analysis.tables.responses_table import read_responses
from analysis.tables.table_file import selected, together
from experiments.designs.shop.strata_order import strata_order
from experiments.records.queries import agents_of, ended_trials
from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.records.tidy_tables import (
    factors_table,
    receipts_table,
    response_table,
    score_table,
    tidy_table,
)
from experiments.studies.sequence import sequence_table
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean


class StudyAnalysis(Protocol):
    """The protocol of all analyses."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes that a reader has to know."""

    def to_json(self) -> str:
        """Return all frames as a JSON object."""


@dataclass(frozen=True)
class Study:
    """A kind of study: its name, and how it is analysed.

    `report` takes what `analyze` gives. `stored` takes a run and the agents of interest (none named: all);
    frames with a column `agent` may hold others too. `tables` are the names of what `stored` gives, in order.
    """

    title: str
    analyze: Callable[..., StudyAnalysis]
    report: Callable[[Any], Report]
    read: Callable[[Path], pd.DataFrame]
    stored: Callable[[Records, str, Sequence[str]], tuple[pd.DataFrame | None, ...]]
    tables: tuple[str, ...]


def _choices(records: Records, run: str, agents: Sequence[str]) -> tuple[pd.DataFrame | None, ...]:
    order = strata_order(records.latest_run(run)["facts"])
    sequence = sequence_table(order, ended_trials(records, run)) if order else None
    return (
        tidy_table(records, run),
        receipts_table(records, run, agents),
        factors_table(records, run),
        sequence,
    )


def _cards(records: Records, run: str, agents: Sequence[str]) -> tuple[pd.DataFrame | None, ...]:
    return (tidy_table(records, run),)


def _responses(records: Records, run: str, agents: Sequence[str]) -> tuple[pd.DataFrame | None, ...]:
    return (response_table(records, run),)


def _scores(records: Records, run: str, agents: Sequence[str]) -> tuple[pd.DataFrame | None, ...]:
    return (score_table(records, run),)


STUDIES: Final = {
    "choice": Study(
        "What moved the choices",
        analyze_choice,
        choice.report,
        read_table,
        _choices,
        ("choices", "receipts-by-edit", "factors", "sequence"),
    ),
    "conjoint": Study(
        "What the choices are worth", analyze_conjoint, conjoint.report, read_conjoint, _cards, ("choices",)
    ),
    "montecarlo": Study(
        "Willingness to pay",
        analyze_montecarlo,
        montecarlo.report,
        read_responses,
        _responses,
        ("responses",),
    ),
    "biases": Study(
        "Cognitive biases", analyze_biases, biases.report, read_responses, _responses, ("responses",)
    ),
    "anchoring": Study(
        "Anchoring in log-probabilities",
        analyze_anchoring,
        anchoring.report,
        read_anchoring,
        _scores,
        ("scores",),
    ),
}


def analyze_run(
    records: Records,
    found: Row,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    names: Mapping[str, str] | None = None,
    **options: Any,
) -> StudyAnalysis:
    """Analyse a stored run by its kind of study.

    `agents_left` says which agents are analysed. names: what agents are called in the analysis.
    """
    study, run = STUDIES[kind_of(found)], found["run"]
    only, without = [*map(known_as, only)], [*map(known_as, without)]
    agents: Sequence[str] = ()
    if only or without:
        agents = agents_left(agents_of(records, run), only, without)
    with records.reading():  # one state of a run that goes on
        frames = study.stored(records, run, agents)
    tables = (
        frame[frame["agent"].isin(agents)].reset_index(drop=True)
        if agents and frame is not None and "agent" in frame
        else frame
        for frame in frames
    )
    named = [_renamed(table, names) if names and table is not None else table for table in tables]
    return study.analyze(*named, **{**of_design(found), **options})


def _renamed(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    return table.assign(agent=table["agent"].replace(names)) if "agent" in table else table


def new_names(known: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what agents are called anew, from pairs of their name and the new one.

    Raises:
        UserError: there is no such agent, or two would have one name, and so be taken for one.
    """
    names = {}
    for agent, name in pairs:
        if (agent := known_as(agent)) not in known:
            hint = did_you_mean(agent, known, noun="agents")
            raise UserError(f"--rename {agent}: there are no trials of this agent; {hint}")
        names[agent] = name
    called = [names.get(agent, agent) for agent in known]
    if twice := next((name for name in called if called.count(name) > 1), ""):
        raise UserError(f"--rename: two agents would be called {twice!r}; give each a name of its own")
    return names


def agents_left(known: Sequence[str], only: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the known agents in `only` (empty: all), without those in `without`.

    Raises:
        UserError: there is no such agent, or none is left.
    """
    for option, names in (("--agent", only), ("--exclude", without)):
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known, noun="agents")
                raise UserError(f"{option} {name}: there are no trials of this agent; {hint}")
    left = [name for name in known if name not in without and (not only or name in only)]
    if not left:
        raise UserError(f"--exclude {' '.join(without)}: no agent is left; exclude fewer")
    return left


def of_design(found: Row) -> dict[str, Any]:
    """Return what an analysis has to do as the design did: draw the same orders of fields."""
    experiment = found["facts"]["experiment"]
    named = ("seed", "permutations") if experiment.get("task") == "score" else ()
    return {name: experiment[name] for name in named if name in experiment}


def read_tables(
    kind: str, files: Sequence[Path], only: Sequence[str] = (), without: Sequence[str] = ()
) -> pd.DataFrame:
    """Read all files as one table, with the agents that `agents_left` names.

    Messages find the rows of the table in their files.
    """
    table = together([STUDIES[kind].read(path) for path in files])
    only, without = [*map(known_as, only)], [*map(known_as, without)]
    if "agent" not in table or (not only and not without):
        return table
    left = agents_left(list(dict.fromkeys(table["agent"])), only, without)
    return selected(table, table["agent"].isin(left))
