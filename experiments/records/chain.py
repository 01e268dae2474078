"""Chain what is stored of a run: no trial can be dropped, changed or run again without a trace.

Each stored attempt is a link: SHA-256 of the link before it and of what is said of the trial. The first link
follows from the run's id and the hash of its plan. Links are made in the transaction that stores the trial,
under the lock of all writers, so that there is one order, and a kill leaves both or neither.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import sqlalchemy as sql

from experiments.records.record import Row
from experiments.records.seals import Rows, batches, rows_of
from experiments.records.shown import content_digest, shown
from experiments.records.tables import links, plans, trials

What = Literal["trial", "judged", "lost", "repaired", "withdrawn"]
"""Why there is a link: a trial was stored; a judge has judged it; it was lost at a repair; it is there after
a repair that began the chain anew; a person has withdrawn it."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What a link says of a trial; `seal` is of all its rows, `content` of those that a bundle shows."""

    what: str
    trial: str
    attempts: int
    outcome: str
    seal: str
    content: str


def entry(what: What, rows: Rows) -> LinkFacts:
    """Return the entry of a trial of these rows, which are sealed."""
    row = rows[trials][0]
    return LinkFacts(
        what, row["trial"], row["attempts"], row["outcome"], row["seal"] or "", content_digest(shown(rows))
    )


def beginning(run: str, plan: str) -> str:
    """Return what stands in the place of the link before the first. `plan`: its hash, empty without one."""
    return _digest(["souk", run, plan])


def linked(before: str, number: int, each: LinkFacts) -> str:
    """Return the link of an entry."""
    return _digest([before, number, *asdict(each).values()])


def _digest(value: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def extend(connection: sql.Connection, run: str, new: Sequence[LinkFacts]) -> None:
    """Add links for what was just stored, within its transaction; the first command begins the chain."""
    last = sql.select(links.c.number, links.c.link).where(links.c.run == run)
    found = connection.execute(last.order_by(links.c.number.desc()).limit(1)).one_or_none()
    number, before = found or (-1, beginning(run, plan_hash(connection, run)))
    rows = []
    for number, each in enumerate(new, number + 1):  # noqa: B020 (it goes on from the last one)
        before = linked(before, number, each)
        rows.append({"run": run, "number": number, **asdict(each), "link": before})
    if rows:
        connection.execute(links.insert(), rows)


def link_again(connection: sql.Connection, run: str, trial: str, what: What) -> None:
    """Add a link for a trial that was sealed anew."""
    extend(connection, run, [entry(what, rows_of(connection, run, [trial])[trial])])


def plan_hash(connection: sql.Connection, run: str) -> str:
    """Return the hash of the run's registered plan; empty without one."""
    return connection.scalar(sql.select(plans.c.hash).where(plans.c.run == run)) or ""


def fault(run: str, plan: str, chain: Sequence[Row], stored: Mapping[str, tuple[str, str]]) -> str:
    """Describe the first broken link of a chain; empty: it is whole.

    chain: its links in order. stored: outcome and seal of each stored trial.
    """
    before = beginning(run, plan)
    last: dict[str, tuple[int, str, str]] = {}
    for place, row in enumerate(chain):
        name = f"link {place} (trial {str(row['trial'])[:40]})"
        if row["number"] != place:
            return f"link {place} is missing, or stands elsewhere"
        each = LinkFacts(**{key: row[key] for key in LinkFacts.__slots__})
        before = linked(before, place, each)
        if row["link"] != before:
            against = "the link before it" if place else "the run and its plan"
            return f"{name} does not follow from {against}: it, or one before it, was changed or left out"
        known = last.get(each.trial)
        if each.what not in get_args(What):
            return f"{name}: nobody links {each.what[:20]!r}"
        if each.what == "trial" and known and known[1] != "infra_error":
            return f"{name}: the trial had ended with {known[1]} at link {known[0]}, and was run again"
        if each.what == "lost":
            last.pop(each.trial, None)
        else:
            last[each.trial] = (place, each.outcome, each.seal)
    for trial, (place, outcome, digest) in last.items():
        name = f"link {place} (trial {trial[:40]})"
        if trial not in stored:
            return f"{name}: the trial is not stored any more"
        if stored[trial] != (outcome, digest):
            return f"{name}: the trial is not what was stored ({outcome} then, {stored[trial][0]} now)"
    if unlinked := sorted(stored.keys() - last.keys()):
        return f"trial {unlinked[0][:40]} is stored without a link"
    return ""


def chain_of(connection: sql.Connection, run: str) -> list[Row]:
    """Return the links of a run in order."""
    query = sql.select(links).where(links.c.run == run).order_by(links.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


def chain_fault(connection: sql.Connection, run: str) -> str:
    """Describe the first broken link of a run; empty: the chain is whole."""
    chain = chain_of(connection, run)
    query = sql.select(trials.c.trial, trials.c.outcome, trials.c.seal).where(trials.c.run == run)
    stored = {trial: (outcome, digest or "") for trial, outcome, digest in connection.execute(query)}
    known = connection.execute(sql.select(plans.c.hash, plans.c.plan).where(plans.c.run == run)).one_or_none()
    if known and hashlib.sha256(known.plan.encode()).hexdigest() != known.hash:
        return "its plan is not what was registered"
    return fault(run, known.hash if known else "", chain, stored)


def runs_with_links(connection: sql.Connection) -> set[str]:
    """Return the runs that have a chain, or a plan or trials that should have one."""
    tables = (links, plans, trials)
    return {run for table in tables for run in connection.scalars(sql.select(table.c.run).distinct())}


def mend(connection: sql.Connection, runs_lost: Iterable[str] = ()) -> None:
    """Let chains say what a repair has lost; one that is broken begins anew, which its links say."""
    for run in sorted(runs_with_links(connection) | set(runs_lost)):
        chain = chain_of(connection, run)
        if not chain:
            continue
        there = set(connection.scalars(sql.select(trials.c.trial).where(trials.c.run == run)))
        known: dict[str, Row] = {}
        for row in chain:
            known[row["trial"]] = row
        gone = [row for trial, row in known.items() if trial not in there and row["what"] != "lost"]
        try:
            extend(connection, run, [LinkFacts("lost", row["trial"], 0, "", "", "") for row in gone])
            whole = not chain_fault(connection, run)
        except TypeError:  # a cell that nobody of ours writes
            whole = False
        if not whole:
            begin_anew(connection, run)


def begin_anew(connection: sql.Connection, run: str) -> None:
    """Begin the chain of a run anew with what is there after a repair."""
    connection.execute(links.delete().where(links.c.run == run))
    keys = [(run, name) for name in connection.scalars(sql.select(trials.c.trial).where(trials.c.run == run))]
    there = (rows for _, some in batches(keys) for rows in rows_of(connection, run, some).values())
    extend(connection, run, [entry("repaired", rows) for rows in there])
