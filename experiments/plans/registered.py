"""Compare a stored run with its plan, and give its registered results."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from inspect import signature
from typing import Any

import pandas as pd

from analysis.choice.exact.exact import exact_tests
from analysis.reporting.registered import DeclaredHypothesis, Registration, judged, with_plan
from analysis.reporting.sections import Report
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import check_table
from experiments.plans.plan import analysis_code, sha256
from experiments.records.reading.plans import (
    RegisteredPlan,
    changed_keys,
    registered_otherwise,
    registered_plan,
    stored_ids,
    traces,
    trials_by_agent,
)
from experiments.records.record import Row, kind_of
from experiments.records.shown import without_folders
from experiments.records.store import Records
from experiments.studies.kinds import of_design, study_of


def registration(
    records: Records, found: Row, plan: RegisteredPlan, more: Iterable[str] = ()
) -> Registration:
    """Return what is known of a run's plan: hypotheses, and how the run departed from it.

    more: deviations of the analysis at hand.
    """
    content = plan.content
    names = {without_folders(agent): agent for agent in trials_by_agent(records, plan.run)}
    return Registration(
        hash=plan.hash,
        registered_at=plan.registered_at,
        hypotheses=[
            DeclaredHypothesis(
                **{each.name: row[each.name] for each in fields(DeclaredHypothesis) if each.name in row}
            )
            for row in content["hypotheses"]
        ],
        agents=[
            names.get(name, name) for name in content["agents"] if name not in content["exclude"]["agents"]
        ],
        correction=content["correction"],
        deviations=(*_deviations(records, found, plan), *more),
    )


def _deviations(records: Records, found: Row, plan: RegisteredPlan) -> Iterator[str]:
    """How the stored trials and facts of a run depart from its plan, a line each."""
    content, run = plan.content, plan.run
    facts = found["facts"]
    if changed := changed_keys(content["experiment"], facts["experiment"]):
        yield f"the experiment file was changed after registration ({', '.join(changed)}); the plan counts"
    counts = trials_by_agent(records, run)
    stored, planned = sum(counts.values()), content["trials"]["planned"]
    rule = content["experiment"].get("stopping") or {"rule": "fixed"}
    if stored < planned and rule["rule"] == "fixed":  # a registered rule is meant to stop a run
        yield f"{stored:,} of {planned:,} planned trials are stored: the run was stopped early, or goes on"
    if stored > planned and not content["trials"]["at_least"]:
        yield f"{stored:,} trials are stored, more than the {planned:,} that were planned"
    for agent, number in counts.items():
        if without_folders(agent) not in content["agents"]:
            yield f"{number:,} trials are of {agent}, an agent that was not planned"
    comparable = stored == planned == content["trials"]["listed"] and not content["trials"]["at_least"]
    if comparable and sha256(stored_ids(records, run)) != content["trials"]["ids"]:
        yield "the stored trials are not those that were planned"
    chain = traces(records, run)
    if chain.again:
        yield f"{chain.again:,} trials were stored as infra_error and run again by a later command"
    if chain.lost:
        yield f"{chain.lost:,} trials were lost at a repair of the database"
    if chain.anew:
        yield "the chain of stored trials was begun anew at a repair: what was before it is not shown"
    if plan.discarded:
        yield f"{plan.discarded:,} trials of this run were deleted (souk runs delete) after registration"


def of_other_code(plan: RegisteredPlan) -> tuple[str, ...]:
    """Return a line where the analysis at hand is not the one of the plan."""
    then, now = plan.content["analysis"], {"souk": version("souk"), "code": analysis_code()}
    if then == now:
        return ()
    said = [f"{each['souk']} ({str(each['code'])[:12]})" for each in (then, now)]
    return (f"registered for the analysis of Souk {said[0]}, analysed with {said[1]}",)


def registered_results(
    records: Records,
    found: Row,
    analysed: Any,
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    code: bool = True,
) -> tuple[Registration, pd.DataFrame] | None:
    """Return a run's registration and the registered results; None where the run has no plan.

    analysed: the analysis of the run, of some agents (`only`, `without`) and with `options`, which are
    deviations. code: name another version of the analysis too.

    What the plan excludes is left out of a second analysis, which gives the registered results.
    """
    if (plan := registered_plan(records, found["run"])) is None:
        return None
    more = list(of_other_code(plan)) if code else []
    left_out = set(plan.content["exclude"]["agents"])
    more += [f"--exclude {name}, which was not planned" for name in without if name not in left_out]
    if only:
        more.append(f"--agent {', '.join(only)}: the others are left out, which was not planned")
    others = _unusual(found, options or {})
    more += [f"the option {name} of the analysis was not planned" for name in others]
    known = registration(records, found, plan, more)
    found_anew = _without_excluded(records, found, plan, analysed, only, without, options or {})
    margins = _of_margins(records, found, plan, only, without)
    return known, judged({**vars(found_anew), **margins}, known)


def _unusual(found: Row, options: Mapping[str, Any]) -> list[str]:
    """The options of an analysis that are not those of `souk analyze` without any."""
    known = signature(study_of(kind_of(found)).analyze).parameters
    usual = {name: each.default for name, each in known.items()} | of_design(found)
    return sorted(name for name, value in options.items() if (value or None) != (usual[name] or None))


def _without_excluded(
    records: Records,
    found: Row,
    plan: RegisteredPlan,
    analysed: Any,
    only: Sequence[str],
    without: Sequence[str],
    options: Mapping[str, Any],
) -> Any:
    """The analysis without what the plan excludes."""
    excluded = plan.content["exclude"]
    if not excluded["agents"] and not excluded["outcomes"]:
        return analysed
    tables = _kept(records, found, plan, only, without)
    return study_of(kind_of(found)).analyze(*tables, **{**of_design(found), **options})


def _of_margins(
    records: Records, found: Row, plan: RegisteredPlan, only: Sequence[str], without: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """The exact tests of the margins that hypotheses declare."""
    asked = [each for each in plan.content["hypotheses"] if each["table"] == "exact"]
    margins = {each["margin"] for each in asked} - {None}
    if not margins:
        return {}
    choices = check_table(_kept(records, found, plan, only, without)[0])
    return {f"exact, margin {margin}": exact_tests(choices, margin) for margin in sorted(margins)}


def _kept(
    records: Records, found: Row, plan: RegisteredPlan, only: Sequence[str], without: Sequence[str]
) -> list[Any]:
    """The tables of a run without what the plan, or the command, leaves out."""
    study, excluded = study_of(kind_of(found)), plan.content["exclude"]
    with records.reading():
        tables = study.stored(records, found["run"], ())
        ended = stored_ids(records, found["run"], excluded["outcomes"]) if excluded["outcomes"] else []
    kept = []
    for table in tables:
        if table is not None and "agent" in table:
            gone = table["agent"].isin([*excluded["agents"], *without])
            if only:
                gone |= ~table["agent"].isin(only)
            if "trial" in table:
                gone |= table["trial"].isin(ended)
            table = table[~gone].reset_index(drop=True)  # noqa: PLW2901
        kept.append(table)
    return kept


def unregistered(records: Records, found: Row) -> str:
    """Return a line where a plan was registered under this name for another run; empty: there is none."""
    other = registered_otherwise(records, found["run"], found["name"])
    if not other:
        return ""
    return f"Not registered: the plan of this name is of run {other}, and the experiment was changed since."


def report_of(
    kind: str, analysed: Any, known: tuple[Registration, pd.DataFrame] | None, note: str = ""
) -> Report:
    """Return the report of an analysis, with the registered results first where there are any.

    note: a further problem, that the run is not registered though its name is.
    """
    report = study_of(kind).report(analysed)
    if known:
        return with_plan(report, *known)
    return replace(report, problems=(note, *report.problems)) if note else report


def registered_data(known: tuple[Registration, pd.DataFrame]) -> dict[str, Any]:
    """Return the registered results and the deviations as plain data."""
    plan, results = known
    told = {
        "plan": plan.hash,
        "registered_at": plan.registered_at,
        "correction": plan.correction,
        "results": results,
        "deviations": list(plan.deviations),
    }
    data: dict[str, Any] = json.loads(to_json(told))
    return data
