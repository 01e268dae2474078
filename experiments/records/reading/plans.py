"""Keep the registered plans of runs: what was to be asked and how, before the first trial."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql

from experiments.records.errors import CHECK_IT, Unreadable
from experiments.records.shown import without_folders
from experiments.records.store import Records, now
from experiments.records.tables import links, plans, trials
from interventions.errors import UserError


@dataclass(frozen=True, slots=True)
class RegisteredPlan:
    """A registered plan. `discarded`: trials of the run that were deleted with it since."""

    run: str
    hash: str
    registered_at: str
    content: dict[str, Any]
    discarded: int = 0


def plan_text(content: dict[str, Any]) -> str:
    """Return a plan as canonical JSON, of which its hash is made."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def plan_digest(content: dict[str, Any]) -> str:
    """Return the hash of a plan: SHA-256 of its canonical JSON, in hex."""
    return hashlib.sha256(plan_text(content).encode()).hexdigest()


def given_keys(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an experiment that are not empty, without the folders of this machine.

    A later version may have more keys.
    """
    return {key: without_folders(value) for key, value in experiment.items() if value is not None}


def changed_keys(planned: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the keys of an experiment that differ, but for its agents, which every command may name.

    planned: as `given_keys` gives them; now: all keys.
    """
    now = given_keys(now)
    keys = sorted((planned.keys() | now.keys()) - {"agents"})
    return [key for key in keys if planned.get(key) != now.get(key)]


def register_plan(records: Records, run: str, name: str, content: dict[str, Any]) -> RegisteredPlan:
    """Keep the plan of a run that has no trials yet; the same plan again changes nothing.

    Raises:
        UserError: the run has stored trials, or another plan.
    """
    new = plan_digest(content)
    with records.writing() as connection:
        row = connection.execute(sql.select(plans).where(plans.c.run == run)).mappings().one_or_none()
        if row and row["hash"] == new:
            return _registered(records, dict(row))
        counted = sql.select(sql.func.count()).select_from(trials).where(trials.c.run == run)
        if number := connection.scalar(counted):
            raise UserError(
                f"{run}: {number:,} trials are stored already, and a plan comes before the first; "
                "register a new experiment (another name or seed)"
            )
        if row:
            raise UserError(
                f"{run}: another plan is registered since {row['registered_at']} "
                f"(SHA-256 {row['hash'][:12]}); it stays: give the experiment another name to register anew"
            )
        values = {"run": run, "name": name, "registered_at": now(), "hash": new, "plan": plan_text(content)}
        connection.execute(plans.insert().values(**values, discarded=0))
        return RegisteredPlan(run, new, values["registered_at"], content)


def registered_plan(records: Records, run: str) -> RegisteredPlan | None:
    """Return the registered plan of a run.

    Raises:
        Unreadable: it is not what was registered.
    """
    rows = records.rows(plans, sql.select(plans).where(plans.c.run == run))
    return _registered(records, rows[0]) if rows else None


def registered_otherwise(records: Records, run: str, name: str) -> str:
    """Return the run of this name that has a plan where this one has none; empty: there is none."""
    query = sql.select(plans.c.run).where(plans.c.name == name).order_by(plans.c.registered_at.desc())
    known = records.column(query)
    return "" if run in known or not known else str(known[0])


def _registered(records: Records, row: dict[str, Any]) -> RegisteredPlan:
    try:
        content = json.loads(row["plan"])
        if plan_digest(content) != row["hash"]:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise Unreadable(
            f"--db {records.url}: the plan of run {row['run']} is not what was registered; {CHECK_IT}"
        ) from None
    return RegisteredPlan(row["run"], row["hash"], row["registered_at"], content, row["discarded"])


def trials_by_agent(records: Records, run: str) -> dict[str, int]:
    """Count the stored trials of a run by agent."""
    query = sql.select(trials.c.agent, sql.func.count()).where(trials.c.run == run)
    found = records.ask(query.group_by(trials.c.agent).order_by(trials.c.agent))
    return {agent: number for agent, number in found}


def stored_ids(records: Records, run: str, outcomes: Sequence[str] = ()) -> list[str]:
    """Return the ids of the stored trials of a run in order; of those that ended in one of the outcomes."""
    query = sql.select(trials.c.trial).where(trials.c.run == run).order_by(trials.c.trial)
    return records.column(query.where(trials.c.outcome.in_(outcomes)) if outcomes else query)


@dataclass(frozen=True, slots=True)
class Traces:
    """What the chain of a run shows besides trials that were stored once.

    again: trials that a later command has run again after an `infra_error`; lost: at a repair; anew: the
    chain began anew at a repair.
    """

    again: int
    lost: int
    anew: bool


def traces(records: Records, run: str) -> Traces:
    """Return what the chain of a run shows."""
    query = sql.select(links.c.what, links.c.trial).where(links.c.run == run)
    found = records.ask(query)
    times = Counter(trial for what, trial in found if what == "trial")
    whats = Counter(what for what, _ in found)
    return Traces(sum(number > 1 for number in times.values()), whats["lost"], bool(whats["repaired"]))
