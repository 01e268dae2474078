"""Trials are found, counted and paged as plain Python does it, in SQLite and PostgreSQL."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import given
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

REASONS = ("provider: HTTP 500", "provider: HTTP 401", "")
MADE = [
    trial(
        number,
        **(
            {"outcome": "infra_error", "choice": None, "reason": REASONS[number % 3]}
            if number % 9 == 4
            else {}
        ),
    )
    for number in range(60)
]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    made = [record(row) for row in MADE]
    if request.param == "sqlite":
        yield stored(f"sqlite:///{tmp_path_factory.mktemp('view')}/t.db", made)
        return
    with postgres_server() as server:
        opened = stored(server.new_database(), made)
        yield opened
        opened.close()


def value(row: TrialRow, sort: str) -> object:
    if sort == "tokens":
        return row.tokens_in + row.tokens_out
    if sort == "cost":
        return -1.0 if row.cost is None else row.cost
    return getattr(row, sort)


@pytest.mark.thorough
@pytest.mark.parametrize("sort", [sign + name for name in SORTS for sign in ("", "-")])
def test_pages_hold_every_trial_once_and_in_order(records: Records, sort: str) -> None:
    selection = Selection.of(RUN, {"sort": sort, "outcome": "choice"})
    wanted = [row for row in MADE if row.outcome == "choice"]
    wanted.sort(key=lambda row: (value(row, sort.strip("-")), row.trial), reverse=sort.startswith("-"))
    found: list[TrialRow] = []
    while page := matching(records, selection, limit=7, after=found[-1].trial if found else ""):
        found += page
    assert found == wanted
    assert matching(records, selection, limit=7, before=wanted[20].trial) == wanted[13:20]
    assert matching(records, selection, limit=7, after="not a trial") == []


def test_facets_count_as_if_they_were_not_filtered_by(records: Records) -> None:
    selection = Selection.of(RUN, {"outcome": "infra_error", "condition": "nudged"})
    cells = facet_cells(records, selection)
    counted = facet_counts(cells, selection)
    nudged = [row for row in MADE if row.condition == "nudged"]
    failed = [row for row in MADE if row.outcome == "infra_error"]
    both = [row for row in nudged if row in failed]
    assert counted["outcome"] == Counter(row.outcome for row in nudged)
    assert counted["condition"] == Counter(row.condition for row in failed)
    assert counted["ordering"] == Counter(row.ordering for row in both)
    assert counted["reason"] == Counter(row.reason for row in both)
    assert counted["category"] == {"Lamps": len(both)}
    assert trial_count(cells, selection) == len(both) == len(matching(records, selection, limit=99))


TAGS = {0: "odd, price read", 1: "odd", 2: "Odd", 3: "price read, 50%_", 4: "read", 9: ""}
"""Tags by trial; that of 9 has only a note."""


@pytest.fixture
def tagged(records: Records) -> Iterator[Records]:
    for number, tags in TAGS.items():
        write_note(records, RUN, MADE[number].trial, tags, "seen")
    yield records
    for number in TAGS:
        write_note(records, RUN, MADE[number].trial, "", "")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "tag", ["odd", "Odd", "price read", "price", "read", "50%_", "%", ", ", "odd, price read", ""]
)
@pytest.mark.parametrize("others", [{}, {"condition": "nudged"}, {"set": "lamps-0"}, {"q": "seen"}], ids=str)
def test_trials_are_found_and_counted_by_each_of_their_tags(
    tagged: Records, tag: str, others: dict[str, str]
) -> None:
    def of(row: TrialRow) -> list[str]:
        return TAGS.get(row.seed, "").split(", ")

    alike = [
        row
        for row in MADE
        if others.get("condition") in (None, row.condition)
        and others.get("set") in (None, row.set)
        and ("q" not in others or row.seed in TAGS)
    ]
    wanted = [row for row in alike if tag in of(row)]
    selection = Selection.of(RUN, {"tag": tag, "sort": "-seconds", **others})
    cells = with_tags(tagged, selection, facet_cells(tagged, selection))
    assert trial_count(cells, selection) == len(wanted)
    counted = facet_counts(cells, selection)
    of_set = [row for row in MADE if others.get("set") in (None, row.set)]
    of_set = [row for row in of_set if "q" not in others or row.seed in TAGS]
    assert counted["tag"] == Counter(each for row in alike for each in of(row))
    assert counted["condition"] == Counter(row.condition for row in of_set if tag in of(row))
    found, after = [], ""
    while page := matching(tagged, selection, limit=3, after=after):
        found += page
        after = page[-1].trial
    wanted.sort(key=lambda row: (row.seconds, row.trial), reverse=True)
    assert [row.trial for row in found] == [row.trial for row in wanted]
    table = list(csv.DictReader(io.StringIO("".join(csv_text(every(tagged, selection))))))
    assert [row["trial"] for row in table] == [row.trial for row in wanted]
    assert [row["tags"] for row in table] == [TAGS.get(row.seed, "") for row in wanted]


@pytest.mark.parametrize(
    ("words", "wanted"), [("LAMP 7.", [7]), ("lamp 1", [1, *range(10, 20)]), ("%", []), ("_amp", [])]
)
def test_words_are_searched_as_they_are(records: Records, words: str, wanted: list[int]) -> None:
    found = matching(records, Selection.of(RUN, {"q": words}), limit=99)
    assert sorted(row.seed for row in found) == wanted


def test_a_trial_is_found_by_its_id(records: Records) -> None:
    assert matching(records, Selection.of(RUN, {"q": MADE[5].trial}), limit=9) == [MADE[5]]


def test_all_of_a_selection_is_given_as_a_table(records: Records) -> None:
    text = "".join(csv_text(every(records, Selection.of(RUN, {"set": "lamps-3"}))))
    found = list(csv.DictReader(io.StringIO(text)))
    assert [row["trial"] for row in found] == [row.trial for row in MADE[12:16]]


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
