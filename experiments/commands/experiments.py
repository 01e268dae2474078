"""souk experiments: what is shipped, to run or to learn from."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.commands.common import AsJson
from experiments.commands.completion import experiment_names


def experiments(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Print the file of this experiment.", autocompletion=experiment_names
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped experiments, or print the file of one, to read it or to start your own from it.

    Examples:

      souk experiments

      souk experiments nudges > mine.yaml
    """
    from experiments.console.terminal import new_table, stdout_console
    from experiments.designs.inputs.experiment_file import LIBRARY, experiment_source

    if name:
        typer.echo(Path(experiment_source(name).name).read_text(encoding="utf-8-sig"), nl=False)
        return
    found = [_facts(path) for path in sorted(LIBRARY.glob("*.yaml"), key=lambda path: path.stem)]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    table = new_table("", "name", "task", "trials", "kind", "what it asks")
    for each in found:
        table.add_row(each["name"], each["task"], f"{each['trials']:,}", each["analysis"], each["about"])
    console = stdout_console()
    console.print(table)
    console.print("trials: for each agent; souk experiments NAME prints its file", style="dim")


def _facts(path: Path) -> dict[str, Any]:
    from experiments.designs.loading import load_design

    design = load_design(path.stem)
    comment = " ".join(
        line.lstrip("# ") for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    )
    return {
        "name": path.stem,
        "task": design.experiment.task,
        "trials": design.at_first,
        "analysis": design.analysis,
        "about": re.split(r"(?<=[.?]) ", comment)[0],
        "path": str(path),
    }
