"""Report how runs are going, from their records alone: wherever they run, and also when they have ended."""

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from agents.providers.pricing import price_of
from experiments.records.control import requested_state, runners_of
from experiments.records.reading.interventions import never_received
from experiments.records.reading.queries import (
    OutcomeCell,
    cached_tokens,
    cells,
    facts_of,
    partly_opened,
    run_names,
    wasted,
)
from experiments.records.record import Row
from experiments.records.store import Records
from experiments.runs.allocation import agreements, allocation_line
from experiments.runs.stopping import stopping_watch

State = Literal["running", "paused", "finished", "decided", "stopped", "lost", "damaged"]

STATES: Final[dict[State, str]] = {
    "running": "running",
    "paused": "paused: souk resume goes on",
    "finished": "finished",
    "decided": "stopped by its rule",
    "stopped": "stopped: the same souk run goes on",
    "lost": "stopped without a word, killed perhaps: the same souk run goes on",
    "damaged": "the database is damaged: souk db check says what is lost and what is not",
}


@dataclass(slots=True)
class RunStatus:
    """The status of one run. `wanted` is None where no process has said it; costs are in USD."""

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
    tokens_cached: int
    """The tokens of `tokens_in` that came from a provider's cache."""
    saved: float | None
    """How much less those have cost than other input, by the price table, in USD; None: not known.

    What providers ask for putting tokens into a cache is not taken off.
    """
    cost: float
    unknown_costs: int
    """The number of trials whose cost is not known."""
    partly_opened: int
    """The number of guests' choices before which not all options had been opened."""
    unreceived: dict[str, int]
    """The nudges without a receipt in the whole run, with the number of trials that they were planned in."""
    budget: float | None
    budget_left: float | None
    cost_at_end: float | None
    """What the run will have cost if the trials that are left cost what those of their agents did so far.

    None where that is not known, nothing was spent, or none are left. A stopping rule may end the run before.
    """
    reason: str
    runners: list[Row] = field(default_factory=list)
    cells: list[Row] = field(default_factory=list)
    """The number of trials by `agent`, `condition` and `outcome`."""
    sequences: list[Row] = field(default_factory=list)
    """What the stopping rule of the run says of each agent (see `StoppingWatch.found`)."""
    allocation: list[str] = field(default_factory=list)
    """A line for each agent of a run whose repeats are allocated."""

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain data for scripts."""
        return asdict(self)


def run_statuses(records: Records, run: str | None = None) -> list[RunStatus]:
    """Return the status of all runs, the latest first, or of the one with this id."""
    found = [run_status(records, *named) for named in run_names(records, run)]
    ended = [each for each in found if each.state in ("finished", "decided")]
    if ended and records.fault():
        for each in ended:
            each.state = "damaged"
    return found


def run_status(records: Records, run: str, name: str, started_at: str) -> RunStatus:
    """Return the status of one run, without a look at whether the database is damaged."""
    found, facts, cached = cells(records, run), facts_of(records, run), cached_tokens(records, run)
    sequences = _sequences(records, run, facts)
    outcomes = Counter[str]()
    for cell in found:
        outcomes[cell.outcome] += cell.trials
    spent = wasted(records, run) + sum(cell.cost for cell in found)
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
        state=_state(last, sequences, alive=bool(alive), paused=paused, done=done),
        paused=paused,
        wanted=wanted,
        done=done,
        running=sum(process["running"] for process in alive),
        per_minute=60 * rate if alive else None,
        seconds_left=max(0, wanted - done) / rate if rate and wanted is not None else None,
        outcomes=dict(outcomes),
        tokens_in=sum(cell.tokens_in for cell in found),
        tokens_out=sum(cell.tokens_out for cell in found),
        tokens_cached=sum(cached.values()),
        saved=_saved(cached),
        cost=spent,
        unknown_costs=sum(cell.unknown_costs for cell in found),
        partly_opened=partly_opened(records, run),
        unreceived=never_received(records, run),
        budget=budget,
        budget_left=None if budget is None else budget - spent,
        cost_at_end=_cost_at_end(found, facts, sequences, spent, wanted),
        reason=last["reason"] if last else "",
        runners=processes,
        cells=[
            {
                "agent": cell.agent,
                "condition": cell.condition,
                "outcome": cell.outcome,
                "trials": cell.trials,
            }
            for cell in found
        ],
        sequences=sequences,
        allocation=[allocation_line(each) for each in agreements(records, run).values()],
    )


def _saved(cached: dict[str, int]) -> float | None:
    """What tokens from caches have saved, by `PROVIDER:MODEL`; None where one has no price."""
    saved = 0.0
    for name, tokens in cached.items():
        price = price_of(name)
        if price is None:
            return None
        saved += price.saved(tokens)
    return saved


def _cost_at_end(
    found: list[OutcomeCell], facts: Row, sequences: list[Row], spent: float, wanted: int | None
) -> float | None:
    """What the run will have cost, where as many trials are wanted of each of its agents."""
    agents = facts.get("agents")
    ended, costs = Counter[str](), defaultdict[str, float](float)
    for cell in found:
        ended[cell.agent] += 0 if cell.outcome == "infra_error" else cell.trials
        costs[cell.agent] += cell.cost
    unknown = any(cell.unknown_costs for cell in found if cell.outcome != "infra_error")
    if not (wanted and spent) or unknown or not isinstance(agents, list) or {*ended} != {*map(str, agents)}:
        return None
    decided = {each["agent"] for each in sequences if each["decision"]}
    left = {agent: max(0.0, wanted / len(ended) - ended[agent]) for agent in ended if agent not in decided}
    if not any(left.values()) or not all(ended.values()):
        return None
    return spent + sum(costs[agent] / ended[agent] * number for agent, number in left.items())


def _sequences(records: Records, run: str, facts: Row) -> list[Row]:
    """What the rule of the run says; nothing where it has none."""
    experiment = facts.get("experiment")
    if not isinstance(experiment, dict) or not experiment.get("stopping"):
        return []
    watch = stopping_watch(records, run, facts)
    return watch.found() if watch else []


def _state(last: Row | None, sequences: list[Row], *, alive: bool, paused: bool, done: int) -> State:
    if alive:
        return "paused" if paused else "running"
    if last is None:
        return "stopped"
    if done >= last["trials"]:
        return "decided" if any(each["decision"] for each in sequences) else "finished"
    return "stopped" if last["ended_at"] else "lost"


def _per_second(process: Row) -> float:
    """Trials per second since the process has started."""
    seen, began = (datetime.fromisoformat(process[name]) for name in ("seen_at", "started_at"))
    elapsed = (seen - began).total_seconds()
    return float(process["settled"] / elapsed) if elapsed > 0 else 0.0
