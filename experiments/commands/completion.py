"""What a shell completes: names of experiments, agents and runs (`souk --install-completion`)."""

from contextlib import suppress

import typer

from interventions.errors import UserError


def experiment_names(incomplete: str) -> list[str]:
    """Return the shipped experiments whose names begin so."""
    from experiments.designs.inputs.experiment_file import LIBRARY

    return sorted(path.stem for path in LIBRARY.glob("*.yaml") if path.stem.startswith(incomplete))


def agent_names(incomplete: str) -> list[str]:
    """Return the agents whose names begin so, without those whose capitals stand for the user's choice."""
    from agents.registry import agent_names as known

    return [name for name in known() if name.startswith(incomplete) and name.islower()]


def run_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names and ids of the database's runs that begin so; none where it cannot be read."""
    from experiments.commands.common import DEFAULT_DB, open_records
    from experiments.records.errors import DatabaseFailure
    from experiments.records.reading.queries import run_names as known

    with suppress(UserError, *DatabaseFailure):
        rows = known(open_records(context.params.get("db") or DEFAULT_DB))
        words = dict.fromkeys(word for run, name, _ in rows for word in (name, run))
        return [word for word in words if word.startswith(incomplete)]
    return []
