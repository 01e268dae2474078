"""Records, in SQLite and PostgreSQL: whole trials or nothing, each once; artifacts once; clear errors."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sql

from experiments.records import tables
from experiments.records.integrity.upkeep import rename_run
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.record import RunFacts, TrialRecord, TrialRow, artifact_hash
from experiments.records.seals import seal_run
from experiments.records.store import Records
from interventions.errors import UserError


def some_facts(**more: Any) -> RunFacts:
    """What is kept of a run, with these fields."""
    return RunFacts(**{"experiment": {}, "agents": [], "versions": {}, "inputs": {}, **more})


def a_record(trial: str, outcome: str = "choice", page: str = "<h1>Oats</h1>", **more: Any) -> TrialRecord:
    """A record with a page, and `more` in the row of the trial."""
    name = artifact_hash(page)
    row = {
        "run": "r-1", "trial": trial, "agent": "simulated:balanced", "set": "cookies-1",
        "condition": "control", "nudge": "", "nudge_text": "", "family": "", "direction": None,
        "match": "none", "profile": "none",
        "ordering": "forward", "repeat": 0, "seed": 1, "outcome": outcome, "choice": "a", "reason": "",
        "attempts": 1, "started_at": "2026-01-01T00:00:00", "seconds": 1.0, "steps": 1, "tokens_in": 0,
        "tokens_out": 0, "cost": None,
    }  # fmt: skip
    return TrialRecord(
        trial=TrialRow(**{**row, **more}),
        options=[
            {
                "position": position, "option": key, "name": key, "category": "Cookies",
                "price": 2.5, "rating": 80.0, "reviews": 3, "viewed_first": position, "nudged": 0,
            }
            for position, key in enumerate("ab")
        ],
        steps=[
            {
                "step": 0, "url": "http://x/", "observation": name, "thought": "", "memory": "",
                "action": "click('1')", "error": "", "seconds": 0.1,
            }
        ],
        artifacts={name: page},
    )  # fmt: skip


def count(records: Records, table: sql.Table) -> int:
    with records.engine.connect() as connection:
        return connection.scalar(sql.select(sql.func.count()).select_from(table)) or 0


@pytest.mark.slow
def test_a_trial_is_stored_whole_and_its_page_once(records: Records) -> None:
    for trial in ("t1", "t2"):
        records.save(a_record(trial))
    assert [count(records, table) for table in (tables.trials, tables.options, tables.steps)] == [2, 4, 2]
    assert count(records, tables.artifacts) == 1
    assert records.artifact(artifact_hash("<h1>Oats</h1>")) == "<h1>Oats</h1>"


def a_row(table: sql.Table) -> dict[str, Any]:
    """A row of a table of trials, without the trial's own key."""
    values: dict[type, Any] = {int: 1, float: 0.5, dict: {"name": "x"}}
    columns = [column for column in table.columns if column.name not in ("run", "trial")]
    return {column.name: values.get(column.type.python_type, "x") for column in columns}


def test_each_table_of_a_trial_gets_the_rows_of_its_name(records: Records) -> None:
    of_trial = {
        name: table
        for name, table in tables.metadata.tables.items()
        if {"run", "trial"} <= {*table.columns.keys()} and name not in ("trials", "claims", "links", "notes")
    }
    rows = {name: [a_row(table)] for name, table in of_trial.items()}
    records.save(replace(a_record("t1"), **rows))
    key = {"run": "r-1", "trial": "t1"}
    with records.engine.connect() as connection:
        for name, table in of_trial.items():
            (stored,) = connection.execute(sql.select(table)).mappings()
            assert dict(stored) == {**key, **rows[name][0]}, name


def test_a_trial_that_cannot_be_stored_whole_leaves_nothing(records: Records) -> None:
    broken = a_record("t1", page="<h1>Other</h1>")
    broken.options.append(broken.options[0])
    with pytest.raises(sql.exc.IntegrityError):
        records.save(broken)
    assert [count(records, table) for table in (tables.trials, tables.options, tables.artifacts)] == [0, 0, 0]
    records.save(a_record("t1", page="<h1>Other</h1>"))
    assert records.artifact(artifact_hash("<h1>Other</h1>")) == "<h1>Other</h1>"


def test_only_an_infrastructure_error_is_run_again_and_then_replaced(records: Records) -> None:
    for trial, outcome in (("t1", "choice"), ("t2", "agent_limit"), ("t3", "infra_error")):
        records.save(a_record(trial, outcome))
    assert records.finished("r-1") == {"t1", "t2"}
    assert records.finished("r-2") == set()
    records.save(a_record("t3"))
    assert records.finished("r-1") == {"t1", "t2", "t3"}
    assert records.outcomes("r-1") == {"choice": 2, "agent_limit": 1}
    assert count(records, tables.options) == 6


OUTCOMES = ("choice", "no_choice", "agent_limit", "agent_error", "treatment_failed")


@pytest.mark.parametrize("stored", OUTCOMES)
def test_a_stored_outcome_is_never_replaced(records: Records, stored: str) -> None:
    records.begin_run("r-1", "nudges", some_facts())
    records.save(first := a_record("t1", stored, page="first"))
    for number, outcome in enumerate((*OUTCOMES, "infra_error"), start=1):
        second = a_record("t1", outcome, page="second", choice="b", cost=0.25, seconds=1.0 + number)
        second.options.pop()
        records.save(second, a_record("t2"))
        assert records.finished("r-1") == {"t1", "t2"}, "the others are stored"
        with records.engine.connect() as connection:
            kept = sql.select(tables.trials).where(tables.trials.c.trial == "t1")
            stored_row = dict(connection.execute(kept).mappings().one())
            assert stored_row.pop("seal")
            assert stored_row == asdict(first.trial)
            assert connection.scalar(sql.select(tables.control.c.wasted)) == 0.25 * number, "it was paid for"
        assert [count(records, table) for table in (tables.options, tables.steps)] == [4, 2]
    with pytest.raises(KeyError):
        records.artifact(artifact_hash("second"))


def test_a_run_has_the_agents_of_all_its_commands(records: Records) -> None:
    for agents in (["a", "b"], ["c", "b"], ["c"]):
        records.begin_run("r-1", "nudges", some_facts(agents=agents, sets=len(agents)))
    assert records.latest_run()["facts"] == some_facts(agents=["a", "b", "c"], sets=1).to_dict()


def test_what_counts_as_shown_is_one_for_all_trials_of_a_run(records: Records) -> None:
    for observe in (None, "viewport", None, "viewport"):
        records.begin_run("r-1", "nudges", some_facts(observe=observe))
    with pytest.raises(UserError, match="--observe page: r-1 has --observe viewport"):
        records.begin_run("r-1", "nudges", some_facts(observe="page"))
    assert records.latest_run()["facts"]["observe"] == "viewport"


def test_what_is_read_together_is_of_one_moment(url: str) -> None:
    reader, writer = Records(url), Records(url)
    reader.begin_run("r-1", "nudges", some_facts())
    reader.save(a_record("t1"), a_record("t2", "infra_error"))
    with reader.reading():
        before = tidy_table(reader, "r-1")
        writer.save(a_record("t2"), a_record("t3"))
        assert reader.outcomes("r-1") == {"choice": 1, "infra_error": 1}
        pd.testing.assert_frame_equal(tidy_table(reader, "r-1"), before)
    assert reader.outcomes("r-1") == {"choice": 3}


def test_only_the_trials_of_the_same_run_are_replaced(records: Records) -> None:
    for run, trial in (("r-1", "t1"), ("r-2", "t2")):
        records.save(a_record(trial, "infra_error", run=run))
    records.save(a_record("t2"), a_record("t1", run="r-2"))
    assert [records.outcomes(run) for run in ("r-1", "r-2")] == [{"infra_error": 1, "choice": 1}] * 2
    again = a_record("t1")
    records.save(again)
    assert records.outcomes("r-1") == {"choice": 2}, (
        "a choice of another run with the same id keeps nothing out"
    )


def test_the_latest_run_is_the_one_that_was_started_last(records: Records) -> None:
    started = {"r-1": "2026-03-01", "r-2": "2026-05-01", "r-3": "2026-04-01"}
    for run, when in started.items():
        records.begin_run(run, "nudges", some_facts())
        with records.writing() as connection:
            changed = tables.runs.update().where(tables.runs.c.run == run)
            connection.execute(changed.values(started_at=f"{when}T00:00:00+00:00"))
            seal_run(connection, run)
    assert records.latest_run()["run"] == records.latest_run("nudges")["run"] == "r-2"
    rename_run(records, "r-2", "r-1")
    assert records.latest_run("r-1")["run"] == "r-1", "an id goes before a name"


def test_a_resumed_run_keeps_its_start(records: Records) -> None:
    records.begin_run("r-1", "nudges", some_facts(sets=1))
    started = records.latest_run()["started_at"]
    records.begin_run("r-1", "nudges", some_facts(sets=2))
    assert (records.latest_run("nudges")["started_at"], records.latest_run("r-1")["facts"]) == (
        started,
        some_facts(sets=2).to_dict(),
    )


@pytest.mark.parametrize(
    ("url", "words"),
    [("t.db", "not a database URL"), ("nosuchdb://x", "nosuchdb"), ("sqlite:////proc/no/t.db", "/proc/no")],
)
def test_an_unusable_database_is_the_users_mistake(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        Records(url)
    assert "\n" not in str(caught.value)


def test_a_database_of_another_schema_is_refused(url: str) -> None:
    first = Records(url)
    with first.engine.begin() as connection:
        connection.execute(sql.text("UPDATE souk_schema SET version = 99"))
    with pytest.raises(UserError, match="schema 99"):
        Records(url)


def test_a_database_that_many_open_first_is_made_once(url: str) -> None:
    with ThreadPoolExecutor(max_workers=8) as threads:
        opened = list(threads.map(Records, [url] * 8))
    with opened[0].engine.connect() as connection:
        assert connection.scalars(sql.select(tables.schema.c.version)).all() == [tables.SCHEMA_VERSION]


def test_runs_written_at_once_into_one_database_share_its_pages(url: str) -> None:
    def write(run: str) -> None:
        records = Records(url)
        for number in range(10):
            records.save(a_record(f"t{number}", page=f"<p>{number}</p>", run=run))

    with ThreadPoolExecutor(max_workers=3) as threads:
        list(threads.map(write, ["r-1", "r-2", "r-3"]))
    records = Records(url)
    assert [len(records.finished(run)) for run in ("r-1", "r-2", "r-3")] == [10, 10, 10]
    assert count(records, tables.artifacts) == 10


@pytest.mark.parametrize("text", ["a\0b", "\ud83d alone", "ж" * 100_000, "'; DROP TABLE trials; --"])
def test_any_text_can_be_stored(records: Records, text: str) -> None:
    record = a_record("t1", reason=text, set=text)
    record.steps[0]["thought"] = text
    record.attributes.append({"position": 0, "attributes": {"name": text}})
    records.save(record)
    with records.engine.connect() as connection:
        stored = connection.scalar(sql.select(tables.trials.c.reason))
    assert stored == text.replace("\0", "\ufffd").replace("\ud83d", "?")


def test_runs_are_found_by_how_they_are_analysed(records: Records) -> None:
    records.begin_run("r-1", "nudges", some_facts(analysis="choice"))
    records.begin_run("r-2", "old", some_facts())
    records.begin_run("r-3", "hotels", some_facts(analysis="conjoint"))
    assert records.latest_run(kind="conjoint")["run"] == "r-3"
    assert {records.latest_run(name, "choice")["run"] for name in ("nudges", "old")} == {"r-1", "r-2"}
    with pytest.raises(UserError, match="hotels is a study of the kind conjoint, not choice"):
        records.latest_run("hotels", "choice")


def test_an_empty_database_has_no_latest_run(records: Records) -> None:
    with pytest.raises(UserError, match="run an experiment first"):
        records.latest_run()
    with pytest.raises(UserError, match="no run 'x'"):
        records.latest_run("x")


@pytest.mark.thorough
@pytest.mark.slow
def test_disagreements_are_kept_and_counted_among_the_wanted_trials(records: Records) -> None:
    for trial, texts in {"t1": [], "t2": ["price is 1, but 2", "rating is 3, but 4"], "t3": ["x"]}.items():
        record = a_record(trial)
        record.disagreements.extend({"number": n, "text": text} for n, text in enumerate(texts))
        records.save(record)
    assert records.disagreeing("r-1", {"t1", "t2"}) == (1, "price is 1, but 2")
    assert records.disagreeing("r-1", {"t1"}) == (0, "")
    assert records.disagreeing("r-1", {"t2", "t3"}) == (2, "price is 1, but 2")
