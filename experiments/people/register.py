"""Keep who takes part, which block each person has, and what each has answered, in tables beside the runs'.

A run's tables hold trials under a random name of the person; what could tell who that is stays here.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.database import Text
from experiments.records.store import Records
from interventions.errors import UserError

metadata = sql.MetaData()

studies = sql.Table(
    "people_studies",
    metadata,
    sql.Column("study", Text, primary_key=True),
    sql.Column("run", Text, nullable=False),
    sql.Column("digest", Text, nullable=False),
    sql.Column("prepared_at", sql.Float, nullable=False),
    sql.Column("closed", sql.Integer, nullable=False),
    sql.Column("declined", sql.Integer, nullable=False),
    sql.Column("screened", sql.Integer, nullable=False),
    sql.Column("full", sql.Integer, nullable=False),
)
"""A study; of people who have not consented only their number is kept."""

participants = sql.Table(
    "people_participants",
    metadata,
    sql.Column("study", Text, primary_key=True),
    sql.Column("participant", Text, primary_key=True),
    sql.Column("external", Text),
    sql.Column("sealed", Text),
    sql.Column("cookie", Text, nullable=False),
    sql.Column("stage", Text, nullable=False),
    sql.Column("ending", Text, nullable=False),
    sql.Column("code", Text, nullable=False),
    sql.Column("block", sql.Integer),
    sql.Column("attempt", sql.Integer),
    sql.Column("place", sql.Integer, nullable=False),
    sql.Column("language", Text, nullable=False),
    sql.Column("consent", Text, nullable=False),
    sql.Column("consented_at", sql.Float, nullable=False),
    sql.Column("seen_at", sql.Float, nullable=False),
    sql.Column("width", sql.Integer),
    sql.Column("height", sql.Integer),
    sql.Column("touch", sql.Integer),
    sql.Column("browser", Text, nullable=False),
    sql.Column("checks_failed", sql.Integer, nullable=False),
    sql.Column("attention_failed", sql.Integer, nullable=False),
    sql.Column("data", Text, nullable=False),
)
"""A person who has consented.

`external`: the keyed hash of the platform's id, `sealed`: its ids, encrypted; `cookie`: the hash of the
browser's. `stage`: the page that comes next. `place`: how many trials have ended. `data`: what the person
decided after the debriefing, `use` or `delete`; empty: nothing yet.
"""

blocks = sql.Table(
    "people_blocks",
    metadata,
    sql.Column("study", Text, primary_key=True),
    sql.Column("block", sql.Integer, primary_key=True),
    sql.Column("trials", sql.JSON, nullable=False),
    sql.Column("participant", Text),
    sql.Column("until", sql.Float, nullable=False),
    sql.Column("attempt", sql.Integer, nullable=False),
    sql.Column("done", sql.Integer, nullable=False),
)
"""A block of trials, whose it is, and until when; `attempt`: how often it was given."""

answers = sql.Table(
    "people_answers",
    metadata,
    sql.Column("study", Text, primary_key=True),
    sql.Column("participant", Text, primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("kind", Text, nullable=False),
    sql.Column("item", Text, nullable=False),
    sql.Column("text", Text, nullable=False),
    sql.Column("right", sql.Integer),
    sql.Column("at", sql.Float, nullable=False),
)
"""An answer to a check, an attention item, a question, or why a choice was made (`item`: its trial)."""

events = sql.Table(
    "people_events",
    metadata,
    sql.Column("study", Text, primary_key=True),
    sql.Column("participant", Text, primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("kind", Text, nullable=False),
    sql.Column("page", Text, nullable=False),
    sql.Column("at", sql.Float, nullable=False),
)
"""What happened to a person's visit: a page was opened, reloaded, opened twice, or in another browser."""

_OF_PERSON: Final = (participants, answers, events)
COUNTED: Final = ("declined", "screened", "full")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GivenBlock:
    """A block that a person has: its number, its trials in order, and how often it was given."""

    block: int
    trials: tuple[str, ...]
    attempt: int


class Register:
    """The people of one study."""

    def __init__(self, records: Records, study: str) -> None:
        """Open the tables; they are made where they are missing."""
        self._records, self._study = records, study
        with records.writing() as connection:
            metadata.create_all(connection)

    def prepare(self, run: str, digest: str, made: Sequence[Sequence[str]]) -> None:
        """Store the study with its blocks; the same once more changes nothing.

        Raises:
            UserError: another study of this name is there.
        """
        with self._records.writing() as connection:
            found = connection.execute(sql.select(studies).where(studies.c.study == self._study)).first()
            if found and (found.digest, found.run) != (digest, run):
                raise UserError(
                    f"{self._study}: a study of this name is prepared with other trials, pages or rules; "
                    "give this one another name"
                )
            known = self._count(connection, blocks)
            if found is None:
                row = {"study": self._study, "run": run, "digest": digest, "prepared_at": time.time()}
                zero = dict.fromkeys(("closed", *COUNTED), 0)
                connection.execute(studies.insert().values(row | zero))
            elif known > len(made):
                raise UserError(f"{self._study}: {known:,} blocks are prepared already; a study only grows")
            new = [
                {
                    "study": self._study,
                    "block": number,
                    "trials": list(trials),
                    "participant": None,
                    "until": 0.0,
                    "attempt": 0,
                    "done": 0,
                }
                for number, trials in enumerate(made)
            ]
            if new[known:]:
                connection.execute(blocks.insert(), new[known:])

    @property
    def study(self) -> Row | None:
        """The study's row; None: it is not prepared."""
        return self._first(studies, studies.c.study == self._study)

    def close(self) -> None:
        """Let nobody begin any more; who has begun may end."""
        with self._records.writing() as connection:
            connection.execute(studies.update().where(studies.c.study == self._study).values(closed=1))

    def count(self, what: str) -> None:
        """Count a person who does not take part: `declined`, `screened` or `full`."""
        column = studies.c[what]
        with self._records.writing() as connection:
            changed = studies.update().where(studies.c.study == self._study)
            connection.execute(changed.values({what: column + 1}))

    def consent(self, **facts: Any) -> None:
        """Store a person who has consented; the name is random and tells nothing."""
        now = time.time()
        row = {
            **dict.fromkeys(("external", "sealed", "block", "attempt", "width", "height", "touch")),
            **dict.fromkeys(("ending", "code", "data", "browser"), ""),
            **dict.fromkeys(("place", "checks_failed", "attention_failed"), 0),
            "study": self._study,
            "participant": f"p{secrets.token_hex(5)}",
            "stage": "instructions",
            "consented_at": now,
            "seen_at": now,
            **facts,
        }
        with self._records.writing() as connection:
            connection.execute(participants.insert().values(row))

    def by(self, column: str, value: str) -> Row | None:
        """Return the person with this `participant`, `cookie` or `external`; None: there is none."""
        return self._first(participants, self._of(participants), participants.c[column] == value)

    def change(self, participant: str, **changes: Any) -> None:
        """Change what is stored of a person."""
        with self._records.writing() as connection:
            its = self._of(participants), participants.c.participant == participant
            connection.execute(participants.update().where(*its).values(seen_at=time.time(), **changes))

    def lease(self, participant: str, own: int | None, seconds: float) -> GivenBlock | None:
        """Give the person a block, or the `own` one on; None: all are given or done, or the own one is.

        A block of which nothing was heard for its time is given to the next person, from its beginning. Who
        had it before has the rest of it as long as nobody else has it, and never another one: a choice set
        would come twice.
        """
        now = time.time()
        wanted = blocks.c.until < now
        if own is not None:
            wanted = (blocks.c.block == own) & (wanted | (blocks.c.participant == participant))
        # Blocks that were given back come last: spares are for those who drop out.
        query = sql.select(blocks).where(self._of(blocks), blocks.c.done == 0, wanted)
        query = query.order_by(blocks.c.attempt, blocks.c.block).limit(1)
        with self._records.writing() as connection:
            found = connection.execute(query).first()
            if found is None:
                return None
            attempt = found.attempt + (found.participant != participant)
            changed = blocks.update().where(self._of(blocks), blocks.c.block == found.block)
            connection.execute(changed.values(participant=participant, until=now + seconds, attempt=attempt))
            its = self._of(participants), participants.c.participant == participant
            has = {"block": found.block, "attempt": attempt}
            connection.execute(participants.update().where(*its).values(has))
        return GivenBlock(found.block, tuple(found.trials), attempt)

    def has_room(self, target: int) -> bool:
        """Return whether a block can be given to a new person: the target isn't reached, and one is free."""
        done = sql.select(sql.func.count()).select_from(blocks).where(self._of(blocks), blocks.c.done == 1)
        if self._records.ask(done)[0][0] >= target:
            return False
        free = self._of(blocks), blocks.c.done == 0, blocks.c.until < time.time()
        return self._first(blocks, *free) is not None

    def stay(self, participant: str, seconds: float) -> None:
        """Keep the person's block for so long from now on."""
        with self._records.writing() as connection:
            its = self._of(blocks), blocks.c.participant == participant, blocks.c.done == 0
            connection.execute(blocks.update().where(*its).values(until=time.time() + seconds))

    def finish(self, participant: str) -> None:
        """Mark the person's block as done: nobody else is given it."""
        with self._records.writing() as connection:
            its = self._of(blocks), blocks.c.participant == participant
            connection.execute(blocks.update().where(*its).values(done=1))

    def give_back(self, participant: str) -> None:
        """Free the person's block for the next one."""
        with self._records.writing() as connection:
            its = self._of(blocks), blocks.c.participant == participant, blocks.c.done == 0
            connection.execute(blocks.update().where(*its).values(participant=None, until=0.0))

    def answer(self, participant: str, kind: str, item: str, text: str, *, right: bool | None = None) -> None:
        """Store an answer."""
        more = {"kind": kind, "item": item, "text": text, "right": None if right is None else int(right)}
        self._add(answers, participant, more)

    def note(self, participant: str, kind: str, page: str = "") -> None:
        """Store an event of a person's visit."""
        self._add(events, participant, {"kind": kind, "page": page})

    def rows(self, table: sql.Table) -> list[Row]:
        """Return all rows of one of this module's tables that are of this study."""
        query = sql.select(table).where(self._of(table)).order_by(*table.primary_key.columns)
        return [dict(row._mapping) for row in self._records.ask(query)]

    def forget(self, participant: str) -> None:
        """Delete what is stored of a person here; the block stays done, under no name."""
        with self._records.writing() as connection:
            for table in _OF_PERSON:
                connection.execute(table.delete().where(self._of(table), table.c.participant == participant))
            its = self._of(blocks), blocks.c.participant == participant
            connection.execute(blocks.update().where(*its).values(participant=None))

    def anonymise(self) -> None:
        """Delete what could lead from a person's random name to the person."""
        with self._records.writing() as connection:
            gone = participants.update().where(self._of(participants))
            connection.execute(gone.values(external=None, sealed=None, cookie=""))

    # The inside

    def _of(self, table: sql.Table) -> sql.ColumnElement[bool]:
        return table.c.study == self._study

    def _first(self, table: sql.Table, *where: sql.ColumnElement[bool]) -> Row | None:
        found = self._records.ask(sql.select(table).where(*where).limit(1))
        return dict(found[0]._mapping) if found else None

    def _count(self, connection: sql.Connection, table: sql.Table) -> int:
        return connection.scalar(sql.select(sql.func.count()).select_from(table).where(self._of(table))) or 0

    def _add(self, table: sql.Table, participant: str, more: Mapping[str, Any]) -> None:
        with self._records.writing() as connection:
            its = self._of(table), table.c.participant == participant
            number = connection.scalar(sql.select(sql.func.max(table.c.number)).where(*its))
            key: Row = {"study": self._study, "participant": participant}
            key["number"] = 0 if number is None else number + 1
            connection.execute(table.insert().values({**key, **more, "at": time.time()}))
