"""People in real browsers, all at once, each with a story: what a study promises holds."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from experiments.people.checks import check_room, tried
from experiments.people.study_file import PeopleStudy
from experiments.people.trying import stories
from interventions.errors import UserError
from tests.experiments.people.study_files import study_file
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.slow]


async def test_every_story_ends_as_it_should(tmp_path: Path) -> None:
    study = PeopleStudy.load(study_file(tmp_path, participants={"target": 60, "spare": 0.2}))
    people = size(8, 50)
    told: list[str] = []
    seen: list[float] = []

    def say(line: str) -> None:
        told.append(line)
        with closing(sqlite3.connect(tmp_path / "try.db")) as connection:
            found = connection.execute("SELECT seen_seconds FROM participants WHERE seen_seconds IS NOT NULL")
            seen[:] = [seconds for (seconds,) in found]

    checks = await tried(study, tmp_path, people, 1, say)
    # How soon pages come depends on what else this machine does.
    assert [(what, fault) for what, fault in checks if fault and not what.startswith("pages come")] == []
    assert len(checks) == 12
    assert min(seen) > 0.2  # each product was looked at for 0.4 seconds
    assert len(told) == len(stories(people, study))


def test_every_story_is_told_once_before_one_is_told_twice(tmp_path: Path) -> None:
    study = PeopleStudy.load(study_file(tmp_path))
    names = Counter(name for name, *_ in stories(8, study))
    assert set(names.values()) == {1}
    assert Counter(name for name, *_ in stories(50, study))["completes"] == 17


def test_a_try_says_before_it_begins_that_a_study_has_no_room_for_so_many(tmp_path: Path) -> None:
    study = PeopleStudy.load(study_file(tmp_path, participants={"target": 40, "spare": 0.2}))
    check_room(study, 50)
    with pytest.raises(UserError, match=r"participants.target: a try with 500 people needs room for 368;"):
        check_room(study, 500)
