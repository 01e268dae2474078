"""All runs, with their state, outcomes and cost."""

from typing import Any

from experiments.records.queries import run_names
from experiments.records.store import Records
from experiments.runs.status import STATES, run_status
from experiments.viewer.links import Links


def runs_screen(records: Records, to: Links) -> dict[str, Any]:
    """Return the values of the screen."""
    found = [run_status(records, *named) for named in run_names(records)]
    return {
        "to": to,
        "database": records.url,
        "runs": found,
        "states": STATES,
        "live": any(each.state in ("running", "paused") for each in found),
    }
