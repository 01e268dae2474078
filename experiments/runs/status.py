"""How runs are going, from their records alone: wherever they run, and whether they still do or not."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

import sqlalchemy as sql

from experiments.records.control import requested_state, runners_of
from experiments.records.store import Records, Row
from experiments.records.tables import control, runs, trials

State = Literal["running", "paused", "finished", "stopped", "lost"]

STATES: Final[dict[State, str]] = {
    "running": "running",
    "paused": "paused: souk resume goes on",
    "finished": "finished",
    "stopped": "stopped: the same souk run goes on",
    "lost": "stopped without a word, killed perhaps: the same souk run goes on",
}


@dataclass(slots=True)
class RunStatus:
    """One run. `wanted` is None where no process has said it; costs are in USD."""

    run: str
    name: str
    started_at: str
    state: State
    paused: bool
    wanted: int | None
    done: int
    running: int
    per_minute: float | None
    seconds_left: float | None
    outcomes: dict[str, int]
    tokens_in: int
    tokens_out: int
    cost: float
    unknown_costs: int
    """Trials whose cost is not known."""
    budget: float | None
    budget_left: float | None
    reason: str
    runners: list[Row] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    """Trials by `agent`, `condition` and `outcome`."""

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return asdict(self)


def run_statuses(records: Records, run: str | None = None) -> list[RunStatus]:
    """All runs, the latest first, or the one with this id."""
    query = sql.select(runs.c.run, runs.c.name, runs.c.started_at)
    query = query.order_by(runs.c.started_at.desc(), runs.c.run)
    with records.engine.connect() as connection:
        found = connection.execute(query if run is None else query.where(runs.c.run == run)).all()
    return [_status(records, *row) for row in found]


def _status(records: Records, run: str, name: str, started_at: str) -> RunStatus:
    columns = (trials.c.agent, trials.c.condition, trials.c.outcome)
    sums = (sql.func.sum(trials.c[each]) for each in ("tokens_in", "tokens_out", "cost"))
    query = sql.select(*columns, sql.func.count(), sql.func.count(trials.c.cost), *sums)
    with records.engine.connect() as connection:
        query = query.where(trials.c.run == run).group_by(*columns).order_by(*columns)
        rows = connection.execute(query).all()
        spent = connection.scalar(sql.select(control.c.wasted).where(control.c.run == run)) or 0.0
    outcomes = Counter[str]()
    cells: list[Row] = []
    tokens_in = tokens_out = unknown = 0
    for agent, condition, outcome, count, known, its_in, its_out, cost in rows:
        outcomes[outcome] += count
        cells.append({"agent": agent, "condition": condition, "outcome": outcome, "trials": count})
        tokens_in += int(its_in)
        tokens_out += int(its_out)
        unknown += count - known
        spent += cost or 0.0
    done = outcomes.total() - outcomes["infra_error"]
    processes = runners_of(records, run)
    alive = [process for process in processes if process["alive"]]
    last = processes[-1] if processes else None
    wanted = last["trials"] if last else None
    paused = requested_state(records, run) == "paused"
    rate = sum(map(_per_second, alive))
    budget = last["budget"] if last else None
    return RunStatus(
        run=run,
        name=name,
        started_at=started_at,
        state=_state(last, alive=bool(alive), paused=paused, done=done),
        paused=paused,
        wanted=wanted,
        done=done,
        running=sum(process["running"] for process in alive),
        per_minute=60 * rate if alive else None,
        seconds_left=max(0, wanted - done) / rate if rate and wanted is not None else None,
        outcomes=dict(outcomes),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=spent,
        unknown_costs=unknown,
        budget=budget,
        budget_left=None if budget is None else budget - spent,
        reason=last["reason"] if last else "",
        runners=processes,
        cells=cells,
    )


def _state(last: Row | None, *, alive: bool, paused: bool, done: int) -> State:
    if alive:
        return "paused" if paused else "running"
    if last is None:
        return "stopped"
    if done >= last["trials"]:
        return "finished"
    return "stopped" if last["ended_at"] else "lost"


def _per_second(process: Row) -> float:
    """Trials per second since the process has started."""
    seen, began = (datetime.fromisoformat(process[name]) for name in ("seen_at", "started_at"))
    elapsed = (seen - began).total_seconds()
    return float(process["settled"] / elapsed) if elapsed > 0 else 0.0
