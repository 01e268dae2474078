"""Make the plan that `souk register` freezes: the design, what is asked, and how it is analysed."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, get_type_hints

import analysis
from experiments.designs.design import ExperimentFile
from experiments.designs.inputs.identity import canonical_json
from experiments.designs.inputs.plan_section import Hypothesis, PlanSection
from experiments.designs.loading import AnyDesign
from experiments.records.reading.plans import given_keys
from experiments.records.shown import without_folders
from experiments.studies.kinds import study_of
from interventions.yaml.yaml_source import Source, did_you_mean

FORMAT: Final = 1


def make_plan(
    design: AnyDesign, source: Source, agents: Sequence[str], limit: int | None = None
) -> dict[str, Any]:
    """Return the plan of an experiment as plain data, the same on every machine with the same code.

    limit: only so many trials of each agent.

    Raises:
        UserError: a hypothesis names a table that this kind of study does not have, or the plan excludes an
            agent that it does not have.
    """
    section = plan_section(design.experiment)
    most = min((number for number in (limit, design.most) if number), default=None)
    counts: Counter[str] = Counter()
    names = []
    for trial in design.trials(agents):
        if most is None or counts[trial.agent] < most:
            counts[trial.agent] += 1
            names.append(trial.id)
    inputs = design.inputs
    items = [item for item, *_ in inputs.get("interventions", ())]
    plan = {
        "format": FORMAT,
        "run": design.run_id,
        "name": design.name,
        "kind": design.analysis,
        "mode": design.mode,
        "experiment": given_keys(design.experiment.model_dump(mode="json", by_alias=True)),
        "interventions": {str(item["id"]): sha256(item) for item in items},
        "inputs": sha256(inputs),
        "agents": without_folders(list(agents)),
        "trials": {
            "planned": section.trials or len(names),
            "at_least": design.quota is not None,
            "listed": len(names),
            "ids": sha256(sorted(names)),
        },
        "hypotheses": [
            _resolved(each, place, design.analysis, source, design.watched)
            for place, each in enumerate(section.hypotheses)
        ],
        "correction": section.correction,
        "exclude": section.exclude.model_dump(mode="json"),
        "analysis": {"souk": version("souk"), "code": analysis_code()},
    }
    _check_exclusions(plan, source)
    return plan


def plan_section(experiment: ExperimentFile) -> PlanSection:
    """Return the section `plan` of an experiment; one that declares nothing where there is none."""
    return experiment.plan or PlanSection()


@cache
def analysis_code() -> str:
    """Return the version of the analysis: SHA-256 of its source files, in hex."""
    root = Path(str(analysis.__file__)).parent
    told = hashlib.sha256()
    files = [*root.rglob("*.py"), *root.rglob("*.yaml")]
    for path in sorted(files, key=lambda path: path.relative_to(root).as_posix()):
        told.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return told.hexdigest()


def _resolved(each: Hypothesis, place: int, kind: str, source: Source, sequential: str) -> dict[str, Any]:
    """A hypothesis with its table and row. Raises UserError.

    sequential: the effect that a stopping rule looks at; only the table `sequence` has its p value.
    """
    here = ("plan", "hypotheses", place)
    effects = study_of(kind).effects
    if each.effect and each.effect not in effects:
        raise source.error((*here, "effect"), f"effects are of shops, this is {kind}; give table and row")
    table, own = effects[each.effect] if each.effect else ("", {})
    if each.effect and each.effect == sequential:
        table = "sequence"
    table, row = each.table or table, {**own, **each.row}
    known = _tables(kind)
    if table not in known:
        hint = did_you_mean(table, known, noun="tables")
        raise source.error((*here, "table"), f"no table {table!r} of souk analyze {kind}; {hint}")
    if table == "exact":
        row = {"part": "", "level": "", **row}
    told = each.model_dump(mode="json", exclude={"effect", "table", "row"})
    return {**told, "table": table, "row": row}


def _tables(kind: str) -> list[str]:
    """The names of the tables of an analysis."""
    found = get_type_hints(study_of(kind).analyze)["return"]
    return [each.name for each in fields(found) if each.name != "notes"]


def sha256(value: Any) -> str:
    """Return SHA-256 of the value's canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _check_exclusions(plan: Mapping[str, Any], source: Source) -> None:
    """Raise UserError for an agent that is not planned, or where none is left."""
    agents = plan["agents"]
    for place, name in enumerate(plan["exclude"]["agents"]):
        if name not in agents:
            hint = did_you_mean(name, agents, noun="agents")
            raise source.error(("plan", "exclude", "agents", place), f"no agent {name!r} is planned; {hint}")
    if agents and not set(agents) - set(plan["exclude"]["agents"]):
        raise source.error(("plan", "exclude", "agents"), "no agent is left; exclude fewer")
