"""Compare the agents of several stored runs and tables of one kind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from analysis.choice.comparing import comparison_report
from analysis.choice.distances import distance_section, distance_sentences, market_distances
from analysis.choice.stopping import TERMS
from analysis.reporting.comparing import difference_report
from analysis.reporting.sections import Report
from experiments.designs.shop.strata_order import strata_order
from experiments.studies.kinds import agents_left, study_of
from experiments.studies.stored_studies import StoredRun, StoredStudy, shared_kind
from interventions.errors import UserError


class ComparedAgents(NamedTuple):
    """The frame of all pairs, its report, and how its numbers are printed.

    distances: of `market_distances`, where agents chose from sets of three options or more, and no rule could
    stop a run.
    """

    frame: pd.DataFrame
    report: Report
    unit: str
    decimals: int | None
    distances: pd.DataFrame | None = None


def compared(
    studies: Sequence[StoredStudy],
    kind: str | None,
    only: Sequence[str],
    without: Sequence[str],
    margin: float | None,
) -> ComparedAgents:
    """Compare the agents that `agents_left` names, of runs and tables of one kind.

    kind: of tables; choice by default. margin: see `compare_agents`.

    Raises AnalysisError for a table with a mistake or too few agents, and UserError for studies of several
    kinds, an agent that is not there, and a margin for another kind than choice.
    """
    study = study_of(used := shared_kind(studies, kind, "choice"))
    if used != "choice" and margin:
        raise UserError(f"--margin {margin:g}: the kind {used} has no test with a margin; leave it out")
    runs = [each for each in studies if isinstance(each, StoredRun)]
    tables = [each.main_table(used) for each in studies]
    whose = [set(zip(each["agent"], each.get("run", each["agent"]), strict=True)) for each in tables]
    if any("run" not in table for table in tables) or len(set().union(*whose)) < sum(map(len, whose)):
        tables = [table.assign(run=each.name) for each, table in zip(studies, tables, strict=True)]
    table = of_agents(tables, only, without)
    unit = f" ({study.unit})" if study.unit else ""
    if used == "choice":
        rules = rules_of(runs)
        frame = study.compare(table, margin, rules)
        made = ComparedAgents(frame, comparison_report(frame), unit, 1)
        return made if rules else _with_distances(made, market_distances(table))
    frame = study.compare(table)
    return ComparedAgents(frame, difference_report(frame, study.compared, study.unit), unit, None)


def _with_distances(made: ComparedAgents, distances: pd.DataFrame) -> ComparedAgents:
    if distances.empty:
        return made
    answer = (*made.report.answer, *distance_sentences(distances))
    sections = (*made.report.sections, distance_section(distances))
    report = replace(made.report, answer=answer, sections=sections)
    return made._replace(report=report, distances=distances)


def of_agents(tables: Sequence[pd.DataFrame], only: Sequence[str], without: Sequence[str]) -> pd.DataFrame:
    """Return the tables as one, of the agents that `agents_left` names. Raises UserError."""
    table = pd.concat(tables, ignore_index=True)
    left = agents_left(sorted(set(table["agent"])), only, without)
    return table[table["agent"].isin(left)].reset_index(drop=True)


def rules_of(runs: Sequence[StoredRun]) -> dict[str, str]:
    """Return by the run's name the term that a rule is about which could stop the run."""
    orders = {run.name: strata_order(run.found["facts"]) for run in runs}
    return {run: TERMS[order.rule.effect] for run, order in orders.items() if order}
