"""Trials are found, counted and paged as plain Python does it, in SQLite and PostgreSQL."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError

from experiments.records.reading.grids import Flips, flips, grid
from experiments.records.reading.notes import write_note
from experiments.records.reading.trial_search import (
    SORTS,
    Selection,
    every,
    facet_cells,
    facet_counts,
    matching,
    trial_count,
    with_tags,
)
from experiments.records.reading.whole_trials import counterparts, whole_trial
from experiments.records.record import TrialRow
from experiments.records.store import Records
from experiments.records.tables import runs
from experiments.viewer.csv_text import csv_text
from tests.experiments.postgres_server import postgres_server
from tests.experiments.viewer.made_run import RUN, record, stored, trial
from tests.support import size

REASONS = ("provider: HTTP 500", "provider: HTTP 401", "")
MADE = [
    trial(number, outcome="infra_error", choice=None, reason=REASONS[number % 3])
    if number % 9 == 4
    else trial(number)
    for number in range(60)
]
TAGS = {0: "odd, price read", 1: "odd", 2: "Odd", 3: "price read, 50%_", 4: "read", 9: ""}
"""Tags by trial; that of 9 has only a note."""


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path_factory.mktemp('view')}/t.db"
        if request.param == "postgresql":
            url = stack.enter_context(postgres_server()).new_database()
        opened = stored(url, [record(row) for row in MADE])
        for number, tags in TAGS.items():
            write_note(opened, RUN, MADE[number].trial, tags, "seen")
        yield opened
        opened.close()


def value(row: TrialRow, sort: str) -> Any:
    if sort == "tokens":
        return row.tokens_in + row.tokens_out
    if sort == "cost":
        return -1.0 if row.cost is None else row.cost
    return getattr(row, sort)


def values(row: TrialRow, facet: str) -> list[str]:
    """What the trial has of a facet."""
    if facet == "tag":
        return TAGS.get(row.seed, "").split(", ")
    return [getattr(row, facet)]


def says(row: TrialRow, words: str) -> bool:
    texts = [
        f"I like lamp {row.seed}.",
        "click('7')",
        *(["seen", TAGS[row.seed]] if row.seed in TAGS else []),
    ]
    return row.trial == words or any(words.lower() in text.lower() for text in texts)


ASKED: dict[str, list[str]] = {
    "outcome": ["choice", "infra_error"],
    "condition": ["control", "nudged"],
    "ordering": ["forward"],
    "reason": [*REASONS],
    "tag": ["odd", "Odd", "price read", "price", "read", "50%_", "%", ", ", "odd, price read", ""],
}
WORDS = ["LAMP 7.", "lamp 1", "%", "_amp", "Click(", "READ", "seen", MADE[5].trial]


@settings(max_examples=size(40, 400))
@given(
    facets=st.fixed_dictionaries({}, optional={name: st.sampled_from(each) for name, each in ASKED.items()}),
    others=st.fixed_dictionaries(
        {"sort": st.sampled_from([sign + name for name in SORTS for sign in ("", "-")])},
        optional={"set": st.sampled_from(["lamps-0", "lamps-3"]), "q": st.sampled_from(WORDS)},
    ),
    place=st.integers(0, 60),
)
def test_trials_are_found_counted_and_paged_as_plain_python_does_it(
    records: Records, facets: dict[str, str], others: dict[str, str], place: int
) -> None:
    def fits(row: TrialRow, but: str = "") -> bool:
        """Whether a trial is asked for, whatever it has of one facet."""
        return (
            others.get("set") in (None, row.set)
            and ("q" not in others or says(row, others["q"]))
            and all(wanted in values(row, name) for name, wanted in facets.items() if name != but)
        )

    sort, falls = others["sort"].strip("-"), others["sort"].startswith("-")
    wanted = sorted(filter(fits, MADE), key=lambda row: (value(row, sort), row.trial), reverse=falls)
    selection = Selection.of(RUN, {**facets, **others})
    cells = with_tags(records, selection, facet_cells(records, selection))
    assert trial_count(cells, selection) == len(wanted)
    counted = facet_counts(cells, selection)
    for name in ASKED:
        alike = [row for row in MADE if fits(row, but=name)]
        assert counted[name] == Counter(each for row in alike for each in values(row, name)), name
    found: list[TrialRow] = []
    while page := matching(records, selection, limit=7, after=found[-1].trial if found else ""):
        found += page
    assert found == wanted
    if place < len(wanted):
        before = matching(records, selection, limit=7, before=wanted[place].trial)
        assert before == wanted[max(0, place - 7) : place]
    assert matching(records, selection, limit=7, after="not a trial") == []
    table = list(csv.DictReader(io.StringIO("".join(csv_text(every(records, selection))))))
    assert [row["trial"] for row in table] == [row.trial for row in wanted]
    assert [row["tags"] for row in table] == [TAGS.get(row.seed, "") for row in wanted]


@given(st.lists(st.lists(st.one_of(st.text(st.sampled_from("=+-@\t\r\n',\"a1")), st.floats(), st.none()))))
def test_no_text_in_a_table_is_a_formula(rows: list[list[str | float | None]]) -> None:
    found = list(csv.reader(io.StringIO("".join(csv_text(rows)), newline="")))
    assert len(found) == len(rows)
    for row, cells in zip(rows, found, strict=True):
        for value, cell in zip(row, cells, strict=True):
            if isinstance(value, str):
                assert cell[:1] not in {*"=+-@\t\r\n"}
                assert cell.removeprefix("'") == value.removeprefix("'")
            else:
                assert cell == ("" if value is None else str(value))


def test_an_address_and_its_selection_are_the_same() -> None:
    asked = {"family": "", "agent": "a", "set": "s", "q": "w", "sort": "-cost"}
    assert Selection.of(RUN, asked).query() == asked
    assert Selection.of(RUN, {"sort": "drop table", "unknown": "1"}) == Selection(RUN)


def test_the_grid_counts_every_trial_and_flips_those_that_the_nudge_moved(records: Records) -> None:
    cells = grid(records, RUN)
    assert sum(cell.trials for cell in cells) == len(MADE)
    assert sum(cell.trials for cell in cells if cell.carrier) == sum(
        row.outcome == "choice" and row.condition == "nudged" for row in MADE
    )
    ended = {row.seed for row in MADE if row.outcome == "choice"}
    pairs = Counter(number // 4 for number in range(0, 60, 2) if {number, number + 1} <= ended)
    assert flips(records, RUN) == {f"lamps-{at}": Flips(number, number, 0) for at, number in pairs.items()}


def test_the_most_similar_counterpart_comes_first(records: Records) -> None:
    assert [row.seed for row in counterparts(records, MADE[1])] == [0]
    whole = whole_trial(records, RUN, MADE[1].trial)
    assert whole is not None
    assert whole.trial == MADE[1]
    assert [row["name"] for row in whole.options] == ["Lamp 1", "Lamp 2"]
    assert whole_trial(records, RUN, "none") is None


def test_the_database_refuses_to_be_written(tmp_path: Path) -> None:
    reader = stored(f"sqlite:///{tmp_path}/t.db", [record(MADE[0])])
    reader.read_only()
    with pytest.raises(DBAPIError, match="readonly"), reader.writing() as connection:
        connection.execute(runs.delete())
    with reader.reading() as connection:
        assert connection.scalar(sql.select(sql.func.count()).select_from(runs)) == 1
