"""Bring the trials of a run together that were run into two databases, as on two machines."""

import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.control import refuse_at_work
from experiments.records.integrity.salvage import Progress
from experiments.records.reading.notes import noted, write_note
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import Row, RunFacts, TrialRecord, screenshot_of
from experiments.records.store import Records
from experiments.records.tables import artifacts
from interventions.errors import UserError

_AT_ONCE: Final = 50
"""The number of trials that are stored together."""
_SAME: Final = ("experiment", "inputs", "plan", "observe", "subject")
"""The facts in which two runs must agree to be one."""
_NAME: Final = re.compile(r"[0-9a-f]{32}")


def merge_run(source: Records, target: Records, run: str, progress: Progress) -> int:
    """Copy the trials of a run that the other database lacks to it, with their pages; return their number.

    Only trials with an outcome other than `infra_error` are copied; none is replaced. What is said of a trial
    (tags, note) comes along where the other database says nothing of it.

    Raises:
        UserError: a database does not have the run, the two were not made of the same files, or a process is
            at work on one.
    """
    theirs, ours = source.latest_run(run), target.latest_run(run)
    _check(source, target, theirs, ours)
    missing = sorted(source.finished(ours["run"]) - target.finished(ours["run"]))
    facts = {**ours["facts"], **{key: theirs["facts"].get(key) for key in ("agents", "shoppers", "fonts")}}
    names = {each.name for each in fields(RunFacts)}
    target.begin_run(
        ours["run"], ours["name"], RunFacts(**{key: facts[key] for key in facts if key in names})
    )
    for start in range(0, len(missing), _AT_ONCE):
        progress("trials", start, len(missing))
        some = missing[start : start + _AT_ONCE]
        target.save(*(_with_pages(source, ours["run"], trial) for trial in some))
        known = noted(target, ours["run"], some)
        for trial, said in noted(source, ours["run"], some).items():
            if trial not in known:
                write_note(target, ours["run"], trial, said.tags, said.note)
    return len(missing)


def _check(source: Records, target: Records, theirs: Row, ours: Row) -> None:
    run = ours["run"]
    if theirs["run"] != run or any(theirs["facts"].get(key) != ours["facts"].get(key) for key in _SAME):
        raise UserError(
            f"{theirs['run']}: not made of the same files as {run} in {target.url}, or with another "
            "--observe; only parts of one run can be merged"
        )
    refuse_at_work(source, run)
    refuse_at_work(target, run)


def _with_pages(records: Records, run: str, trial: str) -> TrialRecord:
    """A trial with all stored texts that its rows name."""
    record = whole_trial(records, run, trial)
    assert record is not None  # noqa: S101 - it has just been listed, and trials are deleted with their run
    own: dict[str, Any] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        own[each.name] = [_apart(row) for row in value] if isinstance(value, list) else value
    found = dict(_texts(records, own))
    for text in list(found.values()):
        if picture := screenshot_of(text):
            found |= _text(records, picture)
    return replace(record, **{**own, "artifacts": found})


def _apart(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("run", "trial")}


def _texts(records: Records, own: dict[str, Any]) -> Iterator[tuple[str, str]]:
    rows = [row for value in own.values() if isinstance(value, list) for row in value]
    named = {cell for row in rows for cell in row.values() if isinstance(cell, str) and _NAME.fullmatch(cell)}
    there = set(records.column(sql.select(artifacts.c.hash).where(artifacts.c.hash.in_(named))))
    for name in there:
        yield from _text(records, name).items()


def _text(records: Records, name: str) -> dict[str, str]:
    text = records.kept(name)
    return {} if text is None else {name: text}  # where it was lost, the record says so
