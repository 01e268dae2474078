"""All runs, with their state, outcomes and cost; and the question before one is deleted."""

from typing import Any

from experiments.records.reading.notes import put_away
from experiments.records.reading.queries import run_names
from experiments.records.store import Records
from experiments.runs.status import STATES, run_status
from experiments.viewer.links import Links


def runs_screen(records: Records, to: Links, *, away: bool = False) -> dict[str, Any]:
    """Return the values of the screen. away: of the runs that are archived, and no others."""
    archived = put_away(records)
    names = [named for named in run_names(records) if (named[0] in archived) is away]
    found = [run_status(records, *named) for named in names]
    return {
        "to": to,
        "database": records.url,
        "runs": found,
        "away": away,
        "archived": len(archived),
        "states": STATES,
        "live": any(each.state in ("running", "paused") for each in found),
    }


def deletion_screen(records: Records, to: Links, run: str) -> dict[str, Any]:
    """Return the values of the question whether a run is to be deleted."""
    status = run_status(records, *run_names(records, run)[0])
    return {"to": to, "run": run, "status": status, "folder": records.folder(run)}
