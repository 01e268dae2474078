"""Which trials may start: a budget is never passed and never stalls a run; a run is paused from elsewhere."""

import asyncio
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.providers.pricing import price_of
from experiments.records.control import Runner, request_state, runners_of
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.runs import admission as gate_module
from experiments.runs.admission import ANSWER_TOKENS, MARGIN, PROMPT_TOKENS, Admission
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record, some_facts

MODEL = "openai:gpt-4.1-mini"
STEPS = 10


def worst() -> float:
    price = price_of(MODEL)
    assert price
    return STEPS * (PROMPT_TOKENS * price.input + ANSWER_TOKENS * price.output) / 1e6


@dataclass(frozen=True)
class ATrial:
    """A trial, as the admission sees it."""

    id: str
    agent: str = MODEL


def ended(trial: str, cost: float | None, agent: str = MODEL) -> TrialRecord:
    return a_record(trial, agent=agent, cost=cost)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    opened = Records(f"sqlite:///{tmp_path}/t.db")
    opened.begin_run("r-1", "nudges", some_facts())
    yield opened
    opened.close()


async def spend(admission: Admission, trials: int, slots: int, costs: random.Random, most: float) -> float:
    """Run trials that cost up to `most` USD, some at a time; what they cost."""
    queue = iter(range(trials))
    spent = 0.0

    async def work() -> None:
        nonlocal spent
        for number in queue:
            if not await admission.admit(ATrial(f"t{number}")):
                return
            for _ in range(costs.randint(0, 5)):
                await asyncio.sleep(0)  # others go on meanwhile
            cost = costs.uniform(0.6, 1) * most
            spent += cost
            admission.settle(ended(f"t{number}", cost))

    await asyncio.gather(*(work() for _ in range(slots)))
    return spent


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    slots=st.integers(1, 12),
    share=st.floats(0.01, 1),
    budget=st.floats(0.5, 20),
)
def test_a_budget_is_used_and_never_passed(
    known: bool, seed: int, slots: int, share: float, budget: float
) -> None:
    """Also where it is known what a trial costs at most."""
    most = share * worst()
    money = budget * (most if known else worst())
    admission = Admission(Records("sqlite://"), "r-1", budget=money, agents=[MODEL], steps=STEPS)
    if known:
        admission.most = lambda _: most
    spent = asyncio.run(spend(admission, 100_000, slots, random.Random(seed), most))
    assert spent <= money
    assert admission.reason.startswith("--budget ")
    if budget < 1:
        assert spent == 0
    else:
        assert spent + (1.001 if known else MARGIN) * most >= money


async def test_without_a_budget_everything_may_start(records: Records) -> None:
    admission = Admission(records, "r-1", agents=["nobody:knows-its-price"])
    assert [await admission.admit(ATrial(str(number), "nobody:x")) for number in range(9)] == [True] * 9


async def test_what_costs_nothing_passes_any_budget(records: Records) -> None:
    agents = ["simulated:balanced", "ollama:llama3"]
    admission = Admission(records, "r-1", budget=0, agents=agents)
    assert [await admission.admit(ATrial(agent, agent)) for agent in agents] == [True, True]
    assert not admission.reason


def test_a_budget_needs_a_price(records: Records) -> None:
    with pytest.raises(
        UserError, match="price of openai:no-such-model is unknown; add it to your price file"
    ):
        Admission(records, "r-1", budget=1, agents=["simulated:balanced", "openai:no-such-model"])


async def test_pictures_that_have_a_price_are_kept_money_for(
    records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices = 'as_of: "2026-11"\nmodels: {"fara-computer:m": {input: 0, output: 0, image: 0.01}}\n'
    (tmp_path / "prices.yaml").write_text(prices)
    monkeypatch.setenv("SOUK_PRICES", str(tmp_path / "prices.yaml"))
    each = STEPS * (STEPS + 1) / 2 * 0.01  # a picture goes with all requests that follow
    for budget, fits in ((0.99 * each, False), (1.01 * each, True)):
        admission = Admission(records, "r-1", budget=budget, agents=["fara-computer:m"], steps=STEPS)
        assert await admission.admit(ATrial("t", "fara-computer:m")) is fits


async def may_spend(records: Records, budget: float) -> bool:
    """Whether a further trial fits into the budget of the run r-1."""
    admission = Admission(records, "r-1", budget=budget, agents=[MODEL], steps=STEPS)
    return await admission.admit(ATrial("next"))


@pytest.mark.parametrize(
    ("stored", "left"),
    [
        ([ended("t1", 0.30), ended("t2", 0.10), ended("t3", 0.0, "simulated:price")], 0.4 + MARGIN * 0.3),
        ([a_record("t1", run="r-2", agent=MODEL, cost=9.0), ended("t1", 0.10)], 0.1 + MARGIN * 0.1),
        (
            [a_record("t1", "infra_error", agent=MODEL, cost=0.25, seconds=2.0), ended("t1", 0.10)],
            0.35 + MARGIN * 0.1,
        ),
        ([ended("t1", 0.10), ended("t2", None)], 0.1 + 2 * MARGIN * 0.1),
    ],
    ids=["trials of before", "not those of other runs", "replaced attempts", "unknown cost"],
)
async def test_what_is_stored_counts(stored: list[TrialRecord], left: float, records: Records) -> None:
    for each in stored:
        records.save(each)
    assert await may_spend(records, left + 1e-9)
    assert not await may_spend(records, left - 1e-9)


async def test_the_dearest_trial_and_not_the_last_says_what_the_next_may_cost(records: Records) -> None:
    admission = Admission(records, "r-1", budget=100, agents=[MODEL], steps=STEPS)
    for number, cost in enumerate((30.0, 0.01)):
        assert await admission.admit(ATrial(f"t{number}")), "nothing has been spent yet"
        admission.settle(ended(f"t{number}", cost))
    assert await admission.admit(ATrial("t2")), "30.01 are spent, and one may cost 60"
    waiting = asyncio.create_task(admission.admit(ATrial("t3")))
    await asyncio.sleep(0)
    assert not waiting.done(), "beside the one that runs, another could pass the budget"
    waiting.cancel()


async def test_a_trial_of_unknown_cost_counts_as_one_that_may_still_come(records: Records) -> None:
    admission = Admission(records, "r-1", budget=2.5 * worst(), agents=[MODEL], steps=STEPS)
    for number in range(2):
        assert await admission.admit(ATrial(f"t{number}"))
        admission.settle(ended(f"t{number}", None))
    assert not await admission.admit(ATrial("t2"))


async def test_a_run_pauses_and_resumes_as_told(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "LOOK", 0.01)
    said: asyncio.Queue[str] = asyncio.Queue()
    request_state(records, "r-1", "paused")
    async with Admission(records, "r-1", trials=3, say=said.put_nowait) as admission:
        assert await said.get() == "paused; souk resume r-1 goes on"
        waiting = asyncio.create_task(admission.admit(ATrial("t1")))
        await asyncio.sleep(0)
        assert not waiting.done()
        request_state(records, "r-1", "running")
        assert await said.get() == "resumed"
        assert await waiting
        request_state(records, "r-1", "paused")
        assert (await said.get()).startswith("paused")
        admission.settle(ended("t1", None))
        waiting = asyncio.create_task(admission.admit(ATrial("t2")))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
    (me,) = runners_of(records, "r-1")
    assert (me["trials"], me["settled"], me["running"], me["alive"]) == (3, 1, 0, False)
    assert me["ended_at"]


@pytest.mark.parametrize(("mine", "theirs"), [(1.0, None), (None, 1.0), (1.0, 1.0), (None, None)])
async def test_with_a_budget_a_run_has_one_process(
    records: Records, mine: float | None, theirs: float | None
) -> None:
    other = Runner("r-1", pid=os.getppid(), budget=theirs)
    other.begin(records)
    said: list[str] = []
    admission = Admission(records, "r-1", budget=mine, agents=[MODEL], say=said.append)
    if mine is theirs is None:
        async with admission:
            assert said == [
                f"process {other.pid} on {other.host} runs r-1 too: each trial is run by one of them"
            ]
        return
    with pytest.raises(UserError, match=rf"--budget: process {other.pid} on .* runs r-1 too"):
        async with admission:
            pass
    assert {row["pid"] for row in runners_of(records, "r-1") if row["alive"]} == {other.pid}
