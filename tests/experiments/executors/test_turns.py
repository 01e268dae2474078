"""Turns at the browser: never too many at once, none for those who think, and none is lost."""

import asyncio
import itertools
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agents.base import Agent, Decision
from environments.protocol.actions import parse_action
from environments.protocol.observation import Observation
from environments.protocol.time_limit import Count, time_limit
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors import turns
from experiments.executors.browser import BrowserExecutor, open_testbed
from experiments.executors.turns import FULL, ROOM, Turns
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from tests.experiments.running import run_trials

SEEN = Observation("", "", (), "", 0)
ANSWER = Decision("", "", parse_action("go_back()"))


def some_turns(count: int) -> Turns:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.cpu_count", lambda: count)
        return Turns()


async def left_of(own: Turns) -> int:
    """How many turns can be taken."""
    taken = 0
    while True:
        try:
            async with asyncio.timeout(0):
                await own.take()
        except TimeoutError:
            break
        taken += 1
    for _ in range(taken):
        own.give()
    return taken


class Pausing:
    """An agent that lets others run so many times before it answers."""

    def __init__(self, pauses: int) -> None:
        self._pauses = pauses

    async def act(self, observation: Observation) -> Decision:
        for _ in range(self._pauses):
            await asyncio.sleep(0)
        return ANSWER


STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3)
"""For how long an episode works, and its agent thinks, in turn."""
EPISODES = st.lists(st.tuples(STEPS, st.none() | st.integers(0, 20)), max_size=8)
"""With the moment at which it is ended from outside."""
CHANGES = st.lists(st.sampled_from([0.0, ROOM, FULL, 100.0]), max_size=20)


@given(st.integers(1, 3), EPISODES, CHANGES)
async def test_never_too_many_work_at_once_and_every_turn_comes_back(
    count: int, episodes: list[tuple[list[tuple[int, int]], int | None]], changes: list[float]
) -> None:
    own, working, most = some_turns(count), set[int](), count

    async def run(number: int, steps: list[tuple[int, int]]) -> None:
        async with own.turn() as turn:
            for work, pauses in steps:
                try:
                    for _ in range(work):
                        working.add(number)
                        assert len(working) <= most
                        await asyncio.sleep(0)
                finally:
                    working.discard(number)
                assert await turn.given_by(Pausing(pauses)).act(SEEN) is ANSWER

    tasks = [asyncio.create_task(run(number, steps)) for number, (steps, _) in enumerate(episodes)]
    for moment in range(40):
        for task, (_, end) in zip(tasks, episodes, strict=True):
            if end == moment:
                task.cancel()
        if changes:
            own.adapt(changes.pop())
            most = max(most, own.count)  # who works goes on where turns become fewer
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        found = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(each) for each in found} <= {type(None), asyncio.CancelledError}
    assert own.count >= count
    await left_of(own)  # one too many goes when it is given back
    assert await left_of(own) == own.count


async def test_there_are_more_where_processors_are_idle_and_somebody_waits() -> None:
    own = some_turns(1)
    own.adapt(ROOM - 1)
    assert own.count == 1  # nobody waits
    async with own.turn():
        own.adapt(ROOM)
        assert own.count == 1
        own.adapt(ROOM - 1)
        async with own.turn():
            own.adapt(FULL)
            assert own.count == 2
            own.adapt(FULL + 1)
            assert own.count == 1
        own.adapt(FULL + 1)
        assert own.count == 1
    assert await left_of(own) == 1


async def test_the_wait_does_not_count() -> None:
    own, counts, begun = some_turns(1), list[Count](), asyncio.Event()

    async def wait() -> None:
        async with time_limit(30) as count:
            counts.append(count)
            begun.set()
            async with own.turn():
                assert count.held == 0

    async with own.turn():
        waiting = asyncio.create_task(wait())
        await begun.wait()
        assert counts[0].held == 1
    await waiting


@given(st.integers(1, 2), st.integers(1, 4), st.integers(0, 12))
async def test_no_more_are_open_than_the_answers_take_time_for(count: int, work: int, pauses: int) -> None:
    """By Little's law the answers keep `pauses / work` episodes for each turn thinking."""
    own, is_open, most = some_turns(count), set[int](), 0

    async def run(number: int) -> None:
        nonlocal most
        async with own.turn() as turn:
            is_open.add(number)
            most = max(most, len(is_open))
            for _ in range(4):
                for _ in range(work):
                    await asyncio.sleep(0)
                await turn.given_by(Pausing(pauses)).act(SEEN)
            is_open.discard(number)

    await asyncio.gather(*map(run, range(60)))
    assert most <= count * (pauses / work + 5) + 5


class Together(ShopTrialRunner):
    """Trials whose agents think until all do: more than there are turns."""

    thinking: asyncio.Barrier

    def agent(self, trial: ShopTrial) -> Agent:
        agent, everybody = super().agent(trial), self.thinking

        class Waiting:
            async def act(self, observation: Observation) -> Decision:
                await everybody.wait()
                return await agent.act(observation)

        return Waiting()


@pytest.mark.thorough
@pytest.mark.browser
async def test_episodes_whose_agents_think_leave_the_browser_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr(turns, "LOOK_SECONDS", 600)
    design = ShopDesign(experiment_source("nudges"))
    trials = list(itertools.islice(design.trials(["simulated:first"]), 4))
    records, ended = Records(f"sqlite:///{tmp_path}/t.db"), list[TrialRecord]()
    records.begin_run(design.run_id, design.experiment.name, design.facts([]))
    async with open_testbed(tmp_path) as testbed:
        assert testbed.turns.count == 1
        runner = Together(design, testbed.base_url)
        runner.thinking = asyncio.Barrier(4)
        await run_trials(BrowserExecutor(runner, testbed, 4), design, records, trials, ended.append)
        assert await left_of(testbed.turns) == 1
    assert [each.trial.outcome for each in ended] == ["choice"] * 4
    records.close()
