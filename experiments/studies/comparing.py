"""Compare the agents of several stored runs and tables of one kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analysis.choice.comparing import compare_agents, comparison_report
from analysis.choice.stopping import TERMS
from analysis.reporting.comparing import difference_report
from analysis.reporting.sections import Report
from analysis.tables.choice_table import check_table
from experiments.designs.shop.strata_order import strata_order
from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.studies.kinds import agents_left, study_of
from interventions.errors import UserError


class ComparedAgents(NamedTuple):
    """The frame of all pairs, its report, and how its numbers are printed."""

    frame: pd.DataFrame
    report: Report
    unit: str
    decimals: int | None


def compared(
    records: Records | None,
    found: Sequence[Row],
    files: Sequence[Path],
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
    kinds = {str(run["name"]): kind_of(run) for run in found}
    if kind and found:
        raise UserError(f"--as {kind}: a run has its own kind of study; leave it out")
    if len(set(kinds.values())) > 1:
        said = ", ".join(f"{name} is of the kind {each}" for name, each in kinds.items())
        raise UserError(f"{said}: agents of one kind of study are compared; name those runs only")
    study = study_of(used := next(iter(kinds.values()), kind or "choice"))
    if used != "choice" and margin:
        raise UserError(f"--margin {margin:g}: the kind {used} has no test with a margin; leave it out")
    tables = [study.read(path) for path in files]
    if records:
        with records.reading():
            tables += [study.table(records, run["run"]) for run in found]
    names = [*_own_names(files), *(run["run"] for run in found)]
    whose = [set(zip(each["agent"], each.get("run", each["agent"]), strict=True)) for each in tables]
    twice = len(set().union(*whose)) < sum(map(len, whose))
    if twice or (study.compare and any("run" not in table for table in tables)):
        tables = [table.assign(run=name) for name, table in zip(names, tables, strict=True)]
    if study.compare is None:
        table = of_agents([check_table(each) for each in tables], only, without)
        frame = compare_agents(table, margin, rules_of(found))
        return ComparedAgents(frame, comparison_report(frame), " (percentage points)", 1)
    frame = study.compare(of_agents(tables, only, without))
    return ComparedAgents(frame, difference_report(frame, study.compared), "", None)


def _own_names(files: Sequence[Path]) -> list[str]:
    """The name of each file, or the path of files of one name. Raises UserError for a file named twice."""
    stems = [path.stem for path in files]
    names = [path.stem if stems.count(path.stem) == 1 else str(path) for path in files]
    if again := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"{again}: named twice; name each table once")
    return names


def of_agents(tables: Sequence[pd.DataFrame], only: Sequence[str], without: Sequence[str]) -> pd.DataFrame:
    """Return the tables as one, of the agents that `agents_left` names. Raises UserError."""
    table = pd.concat(tables, ignore_index=True)
    left = agents_left(sorted(set(table["agent"])), only, without)
    return table[table["agent"].isin(left)].reset_index(drop=True)


def rules_of(found: Sequence[Row]) -> dict[str, str]:
    """Return by run the term that a rule is about which could stop the run."""
    orders = {run["run"]: strata_order(run["facts"]) for run in found}
    return {run: TERMS[order.rule.effect] for run, order in orders.items() if order}
