"""Ask of a study: how it goes, who is paid, what may leave the house; and forget a person."""

import csv
import os
import statistics
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from experiments.people.identity import StudyKey, in_its_week
from experiments.people.register import COUNTED, Register, Row, answers, blocks, events, participants
from experiments.people.study_file import PeopleStudy
from experiments.records.integrity.deletion import withdraw
from experiments.records.integrity.upkeep import write_anew
from experiments.records.reading.people import trials_of_people
from experiments.records.store import Records
from experiments.records.whole_file import whole_file
from interventions.errors import UserError

_GROUP: Final = 5
"""Answers that fewer people than this have given could tell who somebody is."""
PAYMENTS: Final = ("person", "session", "listed", "participant", "outcome", "code", "minutes", "trials")


class StudyBooks:
    """The stored state of one study, read and changed from outside its server."""

    def __init__(self, study: PeopleStudy, records: Records) -> None:
        """Open a study. Raises UserError: it is not prepared in this database."""
        self.study, self.records = study, records
        self.register = Register(records, study.name)
        row = self.register.study
        if row is None:
            raise UserError(f"{study.name}: not prepared here; souk study prepare {study.source.name}")
        self.run = str(row["run"])
        self._row = row

    def status(self) -> dict[str, Any]:
        """Return how the study goes: people by state and stage, blocks, minutes, failures of checks."""
        people, now = self.register.rows(participants), time.time()
        late = 60 * self.study.file.time.lease_minutes
        states: Counter[str] = Counter(self._state(row, now, late) for row in people)
        stages: Counter[str] = Counter(row["stage"] for row in people if not row["ending"])
        made = self.register.rows(blocks)
        minutes = [self._minutes(row) for row in people if row["ending"] == "complete"]
        outcomes = Counter(row["outcome"] for row in trials_of_people(self.records, self.run))
        return {
            "study": self.study.name,
            "run": self.run,
            "closed": bool(self._row["closed"]),
            "keep_until": str(self.study.file.privacy.keep_until),
            **{what: self._row[what] for what in COUNTED},
            "people": dict(sorted(states.items())),
            "stages": dict(sorted(stages.items())),
            "blocks": {
                "done": sum(row["done"] for row in made),
                "given": sum(1 for row in made if not row["done"] and row["until"] >= now),
                "free": sum(1 for row in made if not row["done"] and row["until"] < now),
                "given twice or more": sum(1 for row in made if row["attempt"] > 1),
            },
            "median_minutes": round(statistics.median(minutes), 1) if minutes else None,
            "attention_failed": sum(1 for row in people if row["attention_failed"]),
            "asked_to_delete": sum(1 for row in people if row["data"] == "delete"),
            "trials": dict(sorted(outcomes.items())),
        }

    def payments(self, path: Path, key: StudyKey, known: Collection[str] | None = None) -> tuple[int, int]:
        """Write a row for each person who has consented, with the platform's ids, readable by you alone.

        known: the ids that the platform knows: anybody can make one up. Returns how many people there are,
        and how many of them the platform does not know.
        """
        rows: list[Row] = []
        for row in self.register.rows(participants):
            ids = key.unseal(row["sealed"])
            state = self._state(row, time.time(), 60 * self.study.file.time.lease_minutes)
            rows.append(
                {
                    "person": ids.get("person", ""),
                    "session": ids.get("session", ""),
                    "listed": "" if known is None else int(ids.get("person", "") in known),
                    "participant": row["participant"],
                    "outcome": state,
                    "code": row["code"],
                    "minutes": round(self._minutes(row), 1),
                    "trials": row["place"],
                }
            )
        _write(path, PAYMENTS, rows, private=True)
        return len(rows), sum(row["listed"] == 0 for row in rows)

    def export(self, folder: Path, *, with_text: bool) -> dict[str, int]:
        """Write participants, answers and events without what tells who somebody is; return the rows.

        Times are seconds from the consent, and dates are weeks. An answer that fewer than five people have
        given is left out, and free text without `with_text`.
        """
        people = {row["participant"]: row for row in self.register.rows(participants)}
        told = [self._unnamed(row) for row in people.values()]
        said = self._answers(people, with_text=with_text)
        happened = [
            {
                "participant": row["participant"],
                "seconds": round(row["at"] - people[row["participant"]]["consented_at"], 1),
                "kind": row["kind"],
                "page": row["page"],
            }
            for row in self.register.rows(events)
            if row["participant"] in people
        ]
        found = {"participants": told, "answers": said, "events": happened}
        for name, rows in found.items():
            _write(folder / f"{name}.csv", list(rows[0]) if rows else ["participant"], rows)
        return {name: len(rows) for name, rows in found.items()}

    def forget(self, *people: str) -> dict[str, int]:
        """Delete what is stored of people, and leave shells of their trials; return how many each one had.

        The file is written anew, so that nothing is left in its free places either. Raises UserError.
        """
        had: dict[str, list[str]] = {name: [] for name in people}
        for row in trials_of_people(self.records, self.run):
            if row["participant"] in had:
                had[row["participant"]].append(row["trial"])
        for name, trials in had.items():
            withdraw(self.records, self.run, trials)
            self.register.forget(name)
        if people:
            write_anew(self.records)
        return {name: len(trials) for name, trials in had.items()}

    def anonymise(self) -> None:
        """Delete what could lead from people's random names to them; the key is another file."""
        self.register.anonymise()
        write_anew(self.records)

    def asked_to_be_forgotten(self) -> list[str]:
        """Return the people whose visit has ended with the wish that their data be deleted."""
        rows = self.register.rows(participants)
        return [row["participant"] for row in rows if row["data"] == "delete" and row["ending"]]

    def person(self, name: str, key: StudyKey | None) -> str:
        """Return the random name of a person, given by it or by the platform's id. Raises UserError."""
        found = self.register.by("participant", name)
        if found is None and key:
            found = self.register.by("external", key.hash(name))
        if found is None:
            raise UserError(f"{name}: nobody of this study; name a participant, or the platform's id")
        return str(found["participant"])

    # The inside

    @staticmethod
    def _minutes(row: Row) -> float:
        return float(row["seen_at"] - row["consented_at"]) / 60

    @staticmethod
    def _state(row: Row, now: float, late: float) -> str:
        if row["ending"]:
            return str(row["ending"])
        return "here" if now - row["seen_at"] < late else "dropout"

    def _unnamed(self, row: Row) -> Row:
        kept = (
            *("participant", "stage", "ending", "block", "attempt", "place", "language", "width", "height"),
            *("touch", "browser", "checks_failed", "attention_failed", "data"),
        )
        week = f"{in_its_week(row['consented_at'], row['consented_at']):%G-W%V}"
        return {name: row[name] for name in kept} | {"week": week, "minutes": round(self._minutes(row), 1)}

    def _answers(self, people: Mapping[str, Row], *, with_text: bool) -> list[Row]:
        choices = {each.id for each in self.study.file.questions if each.options}
        rows = [row for row in self.register.rows(answers) if row["participant"] in people]
        times = Counter((row["item"], row["text"]) for row in rows if row["kind"] == "questions")
        found = []
        for row in rows:
            is_text = row["kind"] == "reason" or (row["kind"] == "questions" and row["item"] not in choices)
            rare = row["kind"] == "questions" and not is_text and times[row["item"], row["text"]] < _GROUP
            text = "" if rare or (is_text and not with_text) else row["text"]
            kept = {name: row[name] for name in ("participant", "kind", "item", "right")}
            found.append({**kept, "text": text, "left_out": int(text != row["text"])})
        return found


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row], *, private: bool = False) -> None:
    with whole_file(path) as partial:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(partial, flags, 0o600 if private else 0o644), "w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({name: _cell(row[name]) for name in columns} for row in rows)


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    is_formula = isinstance(value, str) and value[:1] in tuple("=+-@\t\r\n")
    return f"'{value}" if is_formula else value
