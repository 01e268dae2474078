"""souk register."""

import json
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, AsJson, Db, Experiment, Settings, Wave
from interventions.errors import UserError


def register(
    experiment: Experiment,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", metavar="NAME", help="The planned agents; the file's by default."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N trials of each agent are planned.")
    ] = None,
    settings: Settings = None,
    wave: Wave = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The plan; NAME.plan.json by default.")
    ] = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Freeze the plan of a study before its first trial: design, hypotheses, exclusions, analysis.

    The plan is written to a file with a hash, and to the database; records carry the hash.

    Example: souk register my-study.yaml
    """
    from agents.registry import check_name
    from experiments.designs.loading import load_design
    from experiments.plans.plan import make_plan
    from experiments.plans.registering import plan_path, read_plan, write_plan
    from experiments.records.reading.plans import plan_digest, register_plan
    from experiments.records.store import Records

    design = load_design(experiment, settings=settings or (), wave=wave)
    agents = list(dict.fromkeys(agent or design.experiment.agents))
    for name in agents:
        check_name(name)
    content = make_plan(design, design.source, agents, limit)
    path = out or plan_path(experiment, design.name)
    before = read_plan(path)
    if before is not None and plan_digest(before) != plan_digest(content):
        raise UserError(
            f"{path}: another plan is there (SHA-256 {plan_digest(before)[:12]}); it stays: "
            "give the experiment another name, or the plan another file with --out"
        )
    plan = register_plan(Records(db), design.run_id, design.name, content)
    if before is None:
        write_plan(path, plan)
    if as_json:
        told = {"run": plan.run, "file": str(path), "sha256": plan.hash, "registered_at": plan.registered_at}
        typer.echo(json.dumps({**told, "plan": plan.content}, indent=2))
        return
    number = len(content["hypotheses"])
    typer.echo(f"{path}: plan of run {plan.run}, {content['trials']['planned']:,} trials planned")
    for each in content["hypotheses"]:
        expected = f"within {each['margin']:g} of 0" if each["margin"] else each["expect"]
        row = ", ".join(f"{name} {value}" for name, value in each["row"].items() if value != "")
        typer.echo(f"  {each['name']}: {each['table']}, {row}: {expected} (alpha {each['alpha']:g})")
    if number:
        typer.echo(f"hypotheses: {number}; agents: {len(agents)}; correction: {content['correction']}")
    else:
        typer.echo("no hypothesis is declared (key plan): everything will be exploratory")
    typer.echo(f"SHA-256 {plan.hash}")
    typer.echo("publish this hash now: it shows later that the plan came before the data")
