"""Tell of a run with `allocation: adaptive` whose repeats are left out, and say how many that saves."""

from experiments.designs.shop.allocation import Agreement, allocation_of
from experiments.records.reading.queries import ended_trials, facts_of
from experiments.records.store import Records


def agreements(records: Records, run: str) -> dict[str, Agreement]:
    """Return how the agents of a run answered what was asked twice; nothing where all trials are run."""
    allocation = allocation_of(facts_of(records, run))
    return allocation.agreements(ended_trials(records, run)) if allocation else {}


def allocation_line(found: Agreement) -> str:
    """Say how often an agent's answers agreed, and what follows for its further repeats."""
    alike = f"{found.agent}: {found.alike:,} of {found.questions:,} questions answered the same twice"
    if found.settled:
        return f"{alike}; {found.left_out:,} further repeats are left out"
    return f"{alike}; its answers vary, and all repeats are run" if found.ended else alike
