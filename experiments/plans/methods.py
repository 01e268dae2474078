"""Write a methods section of a stored run: design, agents, analysis, exclusions, plan."""

from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pandas as pd

from analysis.reporting.literature import bibtex
from analysis.reporting.methods import methods
from analysis.reporting.registered import COLUMNS, Registration
from analysis.tables.frame import counted
from experiments.designs.shop.stopping import Stopping
from experiments.plans.plan import analysis_code
from experiments.records.reading.plans import registered_plan, trials_by_agent
from experiments.records.record import Row, kind_of
from experiments.records.store import Records
from experiments.studies.kinds import study_of
from interventions.errors import UserError

ANYTIME: Final = (
    " Its interval is a confidence sequence, and its p value that of an e-process (a mixture of likelihood"
    " ratios of the discordant strata over the Beta(1/2, 1/2) distribution): both hold at any time."
)


def write_methods(
    records: Records, found: Row, known: tuple[Registration, pd.DataFrame] | None, path: Path
) -> None:
    """Write the methods section of a run, with its registered results, and beside it its sources as BibTeX.

    Raises:
        UserError: it cannot be written.
    """
    results = known[1] if known else pd.DataFrame(columns=list(COLUMNS))
    keys = (*study_of(kind_of(found)).sources, "souk")
    text = methods(paragraphs(records, found, known), results, path, cited=keys)
    try:
        path.write_text(text, encoding="utf-8")
        path.with_suffix(".bib").write_text(bibtex(keys[:-1], version("souk")), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another folder") from None


def paragraphs(
    records: Records, found: Row, known: tuple[Registration, pd.DataFrame] | None
) -> dict[str, str]:
    """Return the text by heading. known: the registered plan and its results."""
    facts = found["facts"]
    plan = registered_plan(records, found["run"])
    counts = trials_by_agent(records, found["run"])
    agents = ", ".join(f"{name} ({counted(number, 'trial')})" for name, number in counts.items())
    total = counted(sum(counts.values()), "trial")
    told = {
        "Design": _design(found, total),
        "Agents": f"{agents or 'None'}.",
        "Analysis": f"{study_of(kind_of(found)).estimators} Intervals are of 95 %.",
    }
    if sentence := Stopping(**(facts["experiment"].get("stopping") or {})).sentence():
        told["Stopping"] = f"The run of an agent {sentence}.{ANYTIME if 'once' in sentence else ''}"
    if items := _interventions(facts):
        told["Interventions"] = f"{', '.join(items)}."
    if plan and known:
        told |= _registration(plan.content, known[0])
    else:
        told["Registration"] = "The study was not registered: all results are exploratory."
    ran = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    told["Software"] = (
        f"Run with {ran}. Analysed with Souk {version('souk')}, analysis code SHA-256 {analysis_code()}."
    )
    return told


def _interventions(facts: dict[str, Any]) -> list[str]:
    """The interventions by name and kind, without what makes values equal that are not made equal."""
    matched = {f"match-{name}" for name in facts["experiment"].get("match") or ()}
    return [
        f"{item['id']} ({item['kind']}{', control ' + twin if (twin := item.get('control')) else ''})"
        for item, *_ in facts.get("inputs", {}).get("interventions", ())
        if item["id"] in matched or not item["id"].startswith("match-")
    ]


def _design(found: Row, total: str) -> str:
    facts = found["facts"]
    experiment = facts["experiment"]
    parts = [f"Experiment {found['name']} (run {found['run']}), {total}"]
    if facts.get("sets"):
        parts.append(counted(facts["sets"], "choice set"))
    factors = experiment.get("factors") or {}
    if nudge := factors.get("nudge"):
        parts.append(f"the nudge on {' and '.join(map(str, nudge.get('on', ())))}")
    if factors.get("order"):
        parts.append(f"order of presentation: {factors['order']}")
    for name, levels in (experiment.get("attributes") or {}).items():
        if levels:
            parts.append(f"{name} drawn from {', '.join(map(str, levels))}")
    for name in ("repeats", "seed"):
        if name in experiment:
            parts.append(f"{name} {experiment[name]}")
    return f"{'; '.join(parts)}."


def _registration(content: dict[str, Any], plan: Registration) -> dict[str, str]:
    tests = "; ".join(
        f"{each['name']}: {each['table']} ({_row(each)}), "
        + (f"within {each['margin']:g} of 0" if each["margin"] else f"{each['expect']} (than 0)")
        + f", alpha {each['alpha']:g}, family {each['family']}"
        for each in content["hypotheses"]
    )
    excluded = [*content["exclude"]["agents"], *content["exclude"]["outcomes"]]
    number = content["trials"]["planned"]
    return {
        "Registration": f"Plan SHA-256 {plan.hash}, registered at {plan.registered_at} before the first "
        f"trial, with {counted(number, 'trial')} planned.",
        "Hypotheses": f"{tests}. Adjusted within a family: {plan.correction}."
        if tests
        else "None: all results are exploratory.",
        "Exclusions": f"{', '.join(excluded)}, as planned." if excluded else "None were planned.",
        "Deviations": f"{'; '.join(plan.deviations)}." if plan.deviations else "None.",
    }


def _row(each: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in each["row"].items() if value != "")
