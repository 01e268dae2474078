"""The chain of what is stored: whatever is dropped, changed, re-ordered or run again, a link shows it."""

import tempfile
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sql
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.records import tables
from experiments.records.chain import chain_fault
from experiments.records.integrity.check import check_database
from experiments.records.integrity.deletion import delete_run
from experiments.records.reading.judgements import add_factors
from experiments.records.reading.plans import register_plan, registered_plan, traces
from experiments.records.seals import seal_trial
from experiments.records.store import Records
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record, some_facts
from tests.support import size

RUN = "r-1"
trials, links, plans = tables.trials, tables.links, tables.plans


def chains(url: str) -> str:
    """What the check says of the chains; empty: they are whole."""
    (found,) = [each for each in check_database(url, lambda *_: None) if each.name == "chains"]
    return "" if found.ok else found.found


def fill(records: Records, batches: list[list[tuple[int, str]]]) -> None:
    records.begin_run(RUN, "nudges", some_facts())
    for batch in batches:
        several = {name: a_record(f"t{name}", outcome, cost=0.1) for name, outcome in batch}
        records.save(*several.values())


outcomes = st.sampled_from(["choice", "no_choice", "infra_error"])
batches = st.lists(
    st.lists(st.tuples(st.integers(0, 5), outcomes), min_size=1, max_size=3), min_size=1, max_size=6
)


@pytest.mark.slow
@given(batches)
@settings(max_examples=size(15, 200), deadline=None)
def test_what_was_stored_as_it_came_is_whole(several: list[list[tuple[int, str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/t.db"
        records = Records(url)
        fill(records, several)
        assert chains(url) == ""
        stored: dict[int, str] = {}
        again = set()
        for batch in several:
            for name, outcome in dict(batch).items():
                again |= {name} if stored.get(name) == "infra_error" else set()
                if stored.get(name) in (None, "infra_error"):
                    stored[name] = outcome
        assert traces(records, RUN).again == len(again)
        records.close()


def of(table: sql.Table, name: str) -> Any:
    return (table.c.run == RUN) & (table.c.trial == name)


def drop(connection: sql.Connection, name: str) -> None:
    for table in tables.OF_TRIAL:
        connection.execute(table.delete().where(of(table, name)))


def drop_with_link(connection: sql.Connection, name: str) -> None:
    drop(connection, name)
    connection.execute(links.delete().where(of(links, name)))


def drop_and_renumber(connection: sql.Connection, name: str) -> None:
    """As whoever knows the table, and not the digest."""
    gone = connection.scalar(sql.select(links.c.number).where(of(links, name)))
    drop_with_link(connection, name)
    later = connection.scalars(
        sql.select(links.c.number).where(links.c.number > gone).order_by(links.c.number)
    )
    for number in list(later):
        connection.execute(links.update().where(links.c.number == number).values(number=number - 1))


def swap(connection: sql.Connection, name: str) -> None:
    """Two neighbours change places."""
    number = connection.scalar(sql.select(links.c.number).where(of(links, name))) or 1
    for one, other in ((number, -1), (number - 1, number), (-1, number - 1)):
        connection.execute(links.update().where(links.c.number == one).values(number=other))


def reseal(**values: Any) -> Callable[[sql.Connection, str], None]:
    def change(connection: sql.Connection, name: str) -> None:
        connection.execute(trials.update().where(of(trials, name)).values(values))
        seal_trial(connection, RUN, name)

    return change


def relabel(**values: Any) -> Callable[[sql.Connection, str], None]:
    def change(connection: sql.Connection, name: str) -> None:
        connection.execute(links.update().where(of(links, name)).values(values))

    return change


def lose_an_option(connection: sql.Connection, name: str) -> None:
    options = tables.options
    connection.execute(options.delete().where(of(options, name), options.c.position == 1))
    seal_trial(connection, RUN, name)


def another_plan(connection: sql.Connection, _: str) -> None:
    connection.execute(plans.update().values(plan='{"hypotheses":[1]}'))


def another_plan_and_hash(connection: sql.Connection, _: str) -> None:
    digest = "5df7b9f7ac4eeb66fbf8d6ff9aa0d9d1fd0f1ae0c9b29c0bcbc5cc9fa1e0a3a1"
    connection.execute(plans.update().values(plan='{"hypotheses":[1]}', hash=digest))


def forget_links(connection: sql.Connection, _: str) -> None:
    connection.execute(links.delete())


TAMPERING = [
    drop, drop_with_link, drop_and_renumber, swap, lose_an_option, another_plan, another_plan_and_hash,
    forget_links, reseal(outcome="no_choice"), reseal(choice="b"), reseal(agent="x"), reseal(seconds=9.0),
    reseal(attempts=2), relabel(outcome="no_choice"), relabel(attempts=3), relabel(seal="0" * 32),
    relabel(content="0" * 64), relabel(link="0" * 64), relabel(what="before"), relabel(trial="t9"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("tamper", TAMPERING, ids=lambda each: each.__qualname__)
@given(number=st.integers(1, 4))
@settings(max_examples=size(1, 8), deadline=None)
def test_what_was_tampered_with_is_named(tamper: Callable[[sql.Connection, str], None], number: int) -> None:
    """Of six trials one between the first and the last."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/t.db"
        records = Records(url)
        register_plan(records, RUN, "nudges", {"hypotheses": []})
        fill(records, [[(name, "choice")] for name in range(6)])
        assert chains(url) == ""
        with records.writing() as connection:
            tamper(connection, f"t{number}")
        found = chains(url)
        assert "1 broken" in found
        assert any(word in found for word in ("link", "plan"))
        records.close()


@pytest.mark.thorough
@pytest.mark.slow
def test_a_stored_outcome_that_is_run_again_is_named(records: Records, url: str) -> None:
    fill(records, [[(0, "choice")], [(1, "choice")]])
    with records.writing() as connection:
        drop(connection, "t0")
    records.save(a_record("t0", "no_choice"))
    assert "was run again" in chains(url)


@pytest.mark.slow
def test_a_judged_trial_has_another_link(records: Records, url: str) -> None:
    fill(records, [[(0, "choice")]])
    said = {"number": 0, "factor": "price", "quotation": "cheap", "judge": "j", "reason": ""}
    add_factors(records, RUN, "t0", [said])
    assert chains(url) == ""


def test_a_plan_comes_before_the_first_trial(records: Records) -> None:
    fill(records, [[(0, "choice")]])
    with pytest.raises(UserError, match="1 trials are stored already"):
        register_plan(records, RUN, "nudges", {"hypotheses": []})


def test_there_is_one_plan_and_deleting_the_run_shows(records: Records) -> None:
    first = register_plan(records, RUN, "nudges", {"hypotheses": []})
    assert register_plan(records, RUN, "nudges", {"hypotheses": []}) == first
    with pytest.raises(UserError, match="another plan is registered"):
        register_plan(records, RUN, "nudges", {"hypotheses": [1]})
    fill(records, [[(0, "choice"), (1, "choice")]])
    assert records.latest_run(RUN)["facts"]["plan"] == first.hash
    delete_run(records, RUN)
    kept = registered_plan(records, RUN)
    assert kept is not None
    assert (kept.hash, kept.discarded) == (first.hash, 2)
    fill(records, [[(0, "choice")]])
    with records.reading() as connection:
        assert chain_fault(connection, RUN) == ""


@pytest.mark.thorough
def test_several_writers_make_one_chain(url: str, records: Records) -> None:
    others = [Records(url) for _ in range(3)]
    records.begin_run(RUN, "nudges", some_facts())
    for number in range(12):
        others[number % 3].save(a_record(f"t{number}"))
    assert chains(url) == ""
    for each in others:
        each.close()
