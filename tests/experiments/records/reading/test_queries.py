"""What is asked of a database is what its records say, in SQLite and PostgreSQL."""

from dataclasses import replace

import pytest

from agents.base import Call
from experiments.records.reading.queries import (
    Costs,
    OutcomeCell,
    agents_of,
    cached_tokens,
    carriers,
    cells,
    costs,
    has_actions,
    means,
    run_names,
    steps_of,
    trial_rows,
    wasted,
)
from experiments.records.record import to_row
from experiments.records.store import Records
from tests.experiments.records.test_store import a_record, some_facts

TRIALS = [
    a_record("t1", agent="a", condition="control", cost=0.5, tokens_in=2**40, tokens_out=1, seconds=2.0),
    a_record("t2", agent="a", condition="control", cost=0.25, tokens_in=2, tokens_out=3, seconds=4.0),
    a_record("t3", "infra_error", agent="a", condition="nudged", cost=None, tokens_in=1),
    a_record("t4", "agent_limit", agent="b", condition="nudged", cost=None, tokens_in=5),
]
ELSEWHERE = a_record("t1", run="r-2", agent="c", cost=9.0)


@pytest.fixture
def stored(records: Records) -> Records:
    records.begin_run("r-1", "nudges", some_facts())
    records.save(*TRIALS, ELSEWHERE)
    return records


@pytest.mark.thorough
@pytest.mark.slow
def test_rows_come_back_as_they_were_stored(stored: Records) -> None:
    assert trial_rows(stored, "r-1") == {record.trial.trial: record.trial for record in TRIALS}
    assert agents_of(stored, "r-1") == ["a", "b"]
    ((run, name, _),) = run_names(stored, "r-1")
    assert (run, name) == ("r-1", "nudges")


def test_tokens_of_caches_add_up(stored: Records) -> None:
    rows = [to_row(Call("", "m", 9, 1, None, 0.1, tokens_cached=n), number=n, step=0) for n in (3, 4)]
    of = {"agent": "openai:m"}
    stored.save(*(replace(a_record(name, **of), calls=rows) for name in ("t5", "t6")))
    stored.save(replace(a_record("t7", agent="ollama:m"), calls=rows))
    stored.save(replace(a_record("t8", run="r-2", **of), calls=rows))
    assert cached_tokens(stored, "r-1") == {"openai:m": 14, "ollama:m": 7}
    assert cached_tokens(stored, "r-3") == {}


def test_cells_add_up_what_their_trials_took(stored: Records) -> None:
    assert cells(stored, "r-1") == [
        OutcomeCell(
            "a", "control", "choice", 2, tokens_in=2**40 + 2, tokens_out=4, cost=0.75, unknown_costs=0
        ),
        OutcomeCell("a", "nudged", "infra_error", 1, tokens_in=1, tokens_out=0, cost=0.0, unknown_costs=1),
        OutcomeCell("b", "nudged", "agent_limit", 1, tokens_in=5, tokens_out=0, cost=0.0, unknown_costs=1),
    ]


def test_costs_are_of_agents_and_what_was_replaced_is_known(stored: Records) -> None:
    assert costs(stored, "r-1") == {"a": Costs(0.75, 0.5, 0), "b": Costs(0.0, 0.0, 1)}
    assert wasted(stored, "r-1") == 0.0
    stored.save(a_record("t2", "choice", agent="a", cost=0.125, seconds=8.0))
    assert wasted(stored, "r-1") == 0.125
    assert wasted(stored, "no-such-run") == 0.0


def test_means_are_of_trials_that_have_ended(stored: Records) -> None:
    known = means(stored, "r-1", "a")
    assert known
    assert (known.trials, known.cost, known.seconds) == (2, 0.375, 3.0)
    assert known.tokens_in == pytest.approx((2**40 + 2) / 2)
    unpriced = means(stored, "r-1", "b")
    assert unpriced
    assert (unpriced.cost, unpriced.tokens_in) == (None, 5.0)
    assert means(stored, "r-1", "c") is None


@pytest.mark.slow
def test_a_trial_can_be_read_step_by_step(stored: Records) -> None:
    assert has_actions(stored, "r-1")
    assert not has_actions(stored, "no-such-run")
    nudged = a_record("t5")
    nudged.options[1]["nudged"] = 1
    steps = [{**nudged.steps[0], "step": step, "action": f"click({step})"} for step in (1, 0)]
    texts = {"card": "c", "text": "", "reason": "", "rule": "letter"}
    answers = [{"number": number, "value": value, **texts} for number, value in ((1, None), (0, "A"))]
    stored.save(replace(nudged, steps=steps, answers=answers))
    assert [step["action"] for step in steps_of(stored, "r-1", "t5")] == ["click(0)", "click(1)"]
    assert carriers(stored, "r-1") == {"t5": "b"}
