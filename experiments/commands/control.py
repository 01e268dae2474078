"""souk pause and souk resume."""

import typer

from experiments.commands.common import DEFAULT_DB, Db, OneRun, open_records


def pause(run: OneRun = None, db: Db = DEFAULT_DB) -> None:
    """Let no further trial of a run start; running trials end and are stored.

    Example: souk pause nudges && souk status nudges
    """
    _tell(run, db, paused=True)


def resume(run: OneRun = None, db: Db = DEFAULT_DB) -> None:
    """Let a paused run go on.

    Example: souk resume nudges
    """
    _tell(run, db, paused=False)


def _tell(run: str | None, db: str, *, paused: bool) -> None:
    from experiments.records.control import request_state, runners_of

    records = open_records(db)
    found = records.latest_run(run)["run"]
    request_state(records, found, "paused" if paused else "running")
    alive = any(process["alive"] for process in runners_of(records, found))
    if paused:
        then = "what runs ends, nothing more starts" if alive else "its next souk run waits for souk resume"
        typer.echo(f"{found}: paused; {then}")
    else:
        then = "goes on" if alive else "nothing runs it now; the same souk run goes on"
        typer.echo(f"{found}: {then}")
