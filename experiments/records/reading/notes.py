"""Keep tags and notes of trials, and which runs are put away. Neither is part of a record."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pandas as pd
import sqlalchemy as sql

from experiments.records.database import clean
from experiments.records.store import Records, now
from experiments.records.tables import archived, notes, runs, trials
from interventions.errors import UserError

LONGEST_TAG: Final = 60
MOST_TAGS: Final = 20
BETWEEN_TAGS: Final = ", "
"""What stands between the tags of a trial; a tag holds none."""
LONGEST_NOTE: Final = 10_000
"""In characters."""


class TrialNote(NamedTuple):
    """What is said of a trial; `tags` are joined by a comma and a space."""

    tags: str = ""
    note: str = ""


def _parse_tags(text: str) -> list[str]:
    """Return the tags in a text, which commas part, each once. Raises UserError: too many, or too long."""
    found = list(dict.fromkeys(filter(None, (" ".join(each.split()) for each in text.split(",")))))
    if len(found) > MOST_TAGS:
        raise UserError(f"tags: {len(found)} are too many; a trial can have {MOST_TAGS}")
    if long := next((each for each in found if len(each) > LONGEST_TAG), None):
        raise UserError(f"tags: {long[:20]}... is longer than {LONGEST_TAG} characters; say it in the note")
    return found


def write_note(records: Records, run: str, trial: str, tags: str, note: str) -> None:
    """Set the tags and the note of a trial; with neither, nothing is kept of it.

    Raises:
        UserError: the run has no such trial, or there are too many tags or characters.
    """
    joined, note = clean(BETWEEN_TAGS.join(_parse_tags(tags))), clean(note.replace("\r\n", "\n").strip())
    if len(note) > LONGEST_NOTE:
        raise UserError(f"note: {len(note):,} characters are too many; the most are {LONGEST_NOTE:,}")
    its = (notes.c.run == run) & (notes.c.trial == trial)
    with records.writing() as connection:
        known = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.trial == trial)
        if connection.scalar(known) is None:
            raise UserError(f"run {run} has no trial {trial}")
        connection.execute(notes.delete().where(its))
        if joined or note:
            said = {"tags": joined, "note": note, "updated_at": now()}
            connection.execute(notes.insert().values(run=run, trial=trial, **said))


def noted(records: Records, run: str, names: Sequence[str]) -> dict[str, TrialNote]:
    """Return what is said of these trials, by their ids; of which nothing is said are not in it."""
    query = sql.select(notes).where(notes.c.run == run, notes.c.trial.in_(names))
    rows = records.rows(notes, query)
    return {row["trial"]: TrialNote(row["tags"], row["note"]) for row in rows}


def last_noted(records: Records, run: str) -> tuple[int, str]:
    """Return what changes with the notes of a run: their number, and when the last one was written."""
    query = sql.select(sql.func.count(), sql.func.max(notes.c.updated_at)).where(notes.c.run == run)
    number, latest = records.ask(query)[0]
    return number, latest or ""


def with_notes(records: Records, run: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of trials with the columns `tags` and `note`, if any trial of the run has them.

    Where the table has another `note`, as that of scores, the column is `trial_note`.
    """
    query = sql.select(notes.c.trial, notes.c.tags, notes.c.note).where(notes.c.run == run)
    with records.reading() as connection:
        said = pd.read_sql(query, connection)
    if "note" in table:
        said = said.rename(columns={"note": "trial_note"})
    return table if said.empty else table.merge(said, on="trial", how="left")


def archive(records: Records, run: str, *, away: bool) -> None:
    """Put a run away, or take it out again. Raises UserError: there is no such run."""
    with records.writing() as connection:
        if connection.scalar(sql.select(runs.c.run).where(runs.c.run == run)) is None:
            raise UserError(f"{run}: no such run")
        connection.execute(archived.delete().where(archived.c.run == run))
        if away:
            connection.execute(archived.insert().values(run=run, archived_at=now()))


def put_away(records: Records) -> set[str]:
    """Return the ids of the runs that are put away."""
    return set(records.column(sql.select(archived.c.run)))
