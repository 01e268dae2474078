"""Lead each person through a study: what comes next, a block of trials, and how the visit ends."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from time import monotonic
from typing import Any, Final

from experiments.designs.inputs.identity import digest
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import GuestTrial, GuestTrials
from experiments.people.blocks import practices
from experiments.people.identity import StudyKey, in_its_week
from experiments.people.register import GivenBlock, Register, Row, blocks
from experiments.people.study_file import Ending, PeopleStudy
from experiments.records.errors import DatabaseFailure
from experiments.records.record import TrialRecord
from interventions.errors import UserError
from proxy.guests import Guests

logger = logging.getLogger(__name__)

MOST_FAILURES: Final = 3
"""How often a person's trial may fail for a technical reason before the visit ends."""
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

_STAGES: Final = (
    *("instructions", "practice", "check", "trial"),
    *("reason", "attention", "trial"),  # after each trial, as far as there are more
    *("questions", "debriefing", "done"),
)
HEARD: Final = 20.0
"""How often it is stored that a person is still there, in seconds."""

Store = Callable[[TrialRecord], Awaitable[None]]
"""Stores a trial that has ended, and returns once that is durable."""
Proposes = Callable[[ShopTrial], str | None]
"""Says which option an agent proposes in a trial; None: none."""


class StudyVisits:
    """The people who are in the study now, and the trials that they have."""

    def __init__(
        self,
        study: PeopleStudy,
        register: Register,
        key: StudyKey,
        codes: Mapping[Ending, str],
        trials: Mapping[str, ShopTrial],
        begins: GuestTrials,
        guests: Guests,
        stored: Callable[[str], int],
        store: Store,
        proposes: Proposes,
    ) -> None:
        """Take what all people share; `trials` are those of the design, by their ids.

        `stored` says how many trials of a person are stored.
        """
        self.study, self.register, self.key = study, register, key
        self._codes, self.trials = codes, trials
        self._begins, self._guests = begins, guests
        self._stored, self._store, self._proposes = stored, store, proposes
        self._running: dict[str, tuple[str, GuestTrial]] = {}
        """By person, the cookie of the browser, and the trial that it was given last."""
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._failures: dict[str, int] = {}
        self._known: dict[str, Row] = {}
        self.unstored: dict[str, TrialRecord] = {}
        """By person, a trial that can't be stored: nothing more is stored until the next start."""
        self._heard: dict[str, float] = {}

    # Who it is

    async def of_cookie(self, cookie: str) -> Row | None:
        """Return the person whose browser has this cookie, once a trial that has ended is stored.

        Whose trial can't be stored has come to the end.
        """
        name = self.key.hash(cookie)
        row = self.register.by("cookie", name) if cookie else None
        if row and (task := self._ending.get(row["participant"])) and not task.done():
            await asyncio.shield(task)
            row = self.register.by("cookie", name)
        if row and row["participant"] in self.unstored and not row["ending"]:
            self.end(row, "technical")
            row = self.register.by("cookie", name)
        if row:
            self._known[name] = row
        return row

    def known(self, cookie: str) -> Row | None:
        """Return what was last known of the person with this cookie, where the database says nothing."""
        return self._known.get(self.key.hash(cookie))

    def of_platform(self, person: str) -> Row | None:
        """Return the person whom the platform, or a label, names so."""
        return self.register.by("external", self.key.hash(person)) if person else None

    def take_part(self, ids: Mapping[str, str], language: str, consent: str, device: Row) -> str:
        """Store a person who consents; return the browser's cookie."""
        cookie = secrets.token_urlsafe(16)
        person = ids.get("person", "")
        self.register.consent(
            external=self.key.hash(person) if person else None,
            sealed=self.key.seal(ids) if person else None,
            cookie=self.key.hash(cookie),
            language=language,
            consent=consent,
            **device,
        )
        return cookie

    def move(self, row: Row) -> str:
        """Let a person go on in another browser; return its cookie."""
        cookie = secrets.token_urlsafe(16)
        self.register.change(row["participant"], cookie=self.key.hash(cookie))
        self.register.note(row["participant"], "moved")
        running = self._take(row)
        if running and not running.outcome:
            running.stop()
        return cookie

    # What comes next

    @property
    def has_room(self) -> bool:
        """Whether a new person can begin."""
        study = self.register.study
        target = self.study.file.participants.target
        is_open = study is not None and not study["closed"] and not self.unstored
        return is_open and self.register.has_room(target)

    def after(self, row: Row, stage: str) -> str:
        """Return the stage that follows one that has ended."""
        file, place = self.study.file, row["place"]
        is_there = {
            "practice": file.practice,
            "check": file.check is not None,
            "trial": place < file.block.trials,
            "reason": file.reasons,
            "attention": place in file.block.attention,
            "questions": bool(file.questions),
        }
        return next(each for each in _STAGES[_STAGES.index(stage) + 1 :] if is_there.get(each, True))

    def go(self, row: Row, stage: str) -> None:
        """Lead a person to a stage; at the end the code is stored before it is shown."""
        changes: dict[str, Any] = {"stage": stage}
        if stage == "done" and not row["ending"]:
            changes |= self.code("complete" if row["place"] == self.study.file.block.trials else "declined")
        self._take(row)
        self.register.change(row["participant"], **changes)

    def end(self, row: Row, ending: Ending) -> None:
        """End a visit before its time. Who has seen a trial is told first what was false in it."""
        self._stop(row)
        stage = "done" if row["block"] is None else "debriefing"
        self.register.change(row["participant"], stage=stage, **self.code(ending))

    def leave(self, row: Row) -> None:
        """Let a person leave: what was false is said at once."""
        self._stop(row)
        self.register.change(row["participant"], stage="debriefing")

    def _stop(self, row: Row) -> None:
        """End the trial, and free the block, if it is not done."""
        running = self._take(row)
        if running and not running.outcome:
            running.left()
        self.register.give_back(row["participant"])

    async def close(self) -> None:
        """Stop the trials that run, without a record, and wait for those that have ended."""
        for _, trial in self._running.values():
            if not trial.outcome:
                trial.stop()
        await asyncio.gather(*self._ending.values(), return_exceptions=True)

    def stays(self, row: Row) -> None:
        """Keep the block for a person of whom something is heard, which is every second in a trial."""
        if monotonic() - self._heard.get(row["participant"], -HEARD) < HEARD:
            return
        self._heard[row["participant"]] = monotonic()
        self.register.stay(row["participant"], 60 * self.study.file.time.lease_minutes)

    def code(self, ending: Ending) -> dict[str, Any]:
        """Return how a visit has ended, with its code: the platform's, or one of the person's own."""
        own = "".join(secrets.choice(_LETTERS) for _ in range(8)) if ending == "complete" else ""
        return {"ending": ending, "code": self._codes.get(ending, own)}

    def back(self, code: str) -> str:
        """Return the address of the platform to which a person goes back with a code; empty: none."""
        return (self.study.file.source.back or "").replace("{code}", code) if code else ""

    def code_of(self, ending: Ending) -> str:
        """Return the code of those who do not take part; empty: there is none."""
        return self._codes.get(ending, "")

    # Trials

    def running(self, row: Row) -> GuestTrial | None:
        """Return the trial that a person has now; None: there is none."""
        _, trial = self._running.get(row["participant"], ("", None))
        return trial if trial and not trial.outcome else None

    def begin(self, row: Row, cookie: str) -> bool:
        """Give a person the next trial of the block; return whether one has begun."""
        who = row["participant"]
        if row["stage"] not in ("trial", "practice") or self.running(row):
            return False
        if self.unstored:
            self.end(row, "technical")
            return False
        if row["stage"] == "practice":
            trial = self._practice
            self._give(row, cookie, trial, trial.id, lambda _: self._practised(row))
            return True
        lease = self.register.lease(who, row["block"], 60 * self.study.file.time.lease_minutes)
        if lease is None:
            self.end(row, "full")
            return False
        place = self._stored(who)  # also what a server has stored that was killed then
        if place == len(lease.trials):
            self.register.change(who, place=place, stage=self.after({**row, "place": place}, "trial"))
            self.register.finish(who)
            return False
        self.register.change(who, place=place)
        trial = self.trials[lease.trials[place]]
        own = {"participant": who, "block": lease.block, "place": place}
        own |= {"attempt": lease.attempt, "attention": row["attention_failed"]}
        own |= {"proposed": self.proposal(trial, lease.block)}
        ended = partial(self._ended, lease, own, row["consented_at"])
        self._give(row, cookie, trial, self._id(lease, place), ended)
        return True

    def _give(
        self, row: Row, cookie: str, trial: ShopTrial, name: str, ended: Callable[[TrialRecord], None]
    ) -> None:
        guest = self._begins.begin(trial, ended, attempts=self._failures.get(name, 0) + 1)
        guest.definition = replace(trial, id=name)
        guest.timers.append(asyncio.get_running_loop().create_task(guest.run_out()))
        self._running[row["participant"]] = cookie, guest
        if guest.urls:
            self._guests.give(cookie, guest)

    def _take(self, row: Row) -> GuestTrial | None:
        """Take a person's trial away, with its pages: a server runs for weeks. Return it."""
        cookie, trial = self._running.pop(row["participant"], ("", None))
        self._guests.take(cookie)
        return trial

    @cached_property
    def _practice(self) -> ShopTrial:
        """The trial to practise on, which has no place in the records."""
        return practices([*self.trials.values()], (row["trials"] for row in self.register.rows(blocks)))[-1]

    def _practised(self, row: Row) -> None:
        self.register.change(row["participant"], stage=self.after(row, "practice"))

    def proposal(self, trial: ShopTrial, block: int) -> str | None:
        """Return the option that is proposed in a trial of a block; None: none is."""
        team = self.study.file.team
        # Blocks with proposals are spread evenly: of two in three the second and the third, and so on.
        told = team and int((block + 1) * team.share) > int(block * team.share)
        return self._proposes(trial) if told else None

    def _id(self, lease: GivenBlock, place: int) -> str:
        """The id of the trial at a place of a block; in a block that was given before it is another one."""
        own = lease.trials[place]
        return own if lease.attempt == 1 else digest([own, lease.attempt])[:32]

    def _ended(self, lease: GivenBlock, own: Row, began: float, record: TrialRecord) -> None:
        at = datetime.fromisoformat(record.trial.started_at).timestamp()
        trial = replace(record.trial, started_at=in_its_week(at, began).isoformat(timespec="milliseconds"))
        own = {**own, "seen_seconds": record.seen_seconds}
        record = replace(record, trial=trial, participants=[own])
        who, task = own["participant"], asyncio.create_task(self._settle(lease, own, record))
        self._ending[who] = task
        task.add_done_callback(lambda _: self._ending.pop(who, None))

    async def _settle(self, lease: GivenBlock, own: Row, record: TrialRecord) -> None:
        """Store a trial, and only then let the person go on; of who was forgotten meanwhile nothing is."""
        participant = own["participant"]
        with suppress(*DatabaseFailure):  # one that is away for a moment is waited for below
            if self.register.by("participant", participant) is None:
                return
        try:
            await self._store(record)
        except (*DatabaseFailure, UserError, OSError) as error:
            logger.error("nobody is given a trial until the server is started again: %s", error)
            self.unstored[participant] = record
            return
        row = self.register.by("participant", participant)
        if row is None or row["ending"] or row["stage"] != "trial":
            return  # forgotten, or has left
        if record.trial.outcome != "choice":
            self._take(row)  # whoever closed the browser asks for nothing more
        if record.trial.outcome == "infra_error":
            name = record.trial.trial
            self._failures[name] = self._failures.get(name, 0) + 1
            if self._failures[name] == MOST_FAILURES:
                self.end(row, "technical")
            return
        row |= {"place": own["place"] + 1}
        stage = self.after(row, "trial")
        self.register.change(participant, place=row["place"], stage=stage)
        if row["place"] == len(lease.trials):
            self.register.finish(participant)
