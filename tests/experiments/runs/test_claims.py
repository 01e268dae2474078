"""The queue of one process among several: each trial once, also those that another has left."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.records.control import ClaimResult, Runner
from experiments.records.store import Records
from experiments.runs.claims import SAY_AFTER, ClaimedTrials
from tests.experiments.records.test_store import a_record


@dataclass(frozen=True)
class ATrial:
    """What the queue is shown."""

    id: str
    agent: str = "simulated:balanced"


async def test_what_others_have_ended_is_told_and_what_they_leave_is_given(tmp_path: Path) -> None:
    records = Records(f"sqlite:///{tmp_path}/t.db")
    me, other = Runner("r-1"), Runner("r-1", pid=os.getppid())
    for each in (me, other):
        each.begin(records)
    assert other.claim(records, ["t2", "t4"]).own == {"t2", "t4"}
    records.save(a_record("t1"))
    ended: list[int] = []
    said: list[str] = []

    async def claim(trials: Sequence[str]) -> ClaimResult:
        return me.claim(records, trials)

    trials: Any = [ATrial(f"t{number}") for number in range(1, 6)]
    queue = ClaimedTrials(trials, claim, 2, elsewhere=ended.append, say=said.append)
    given = []
    while (trial := await queue.next()) is not None:
        given.append(trial.id)
    assert (given, queue.waits, sum(ended), said) == (["t3", "t5"], True, 1, [])
    for _ in range(SAY_AFTER):
        assert await queue.next() is None
    assert said == [f"waiting for 2 trials that process {os.getppid()} on {me.host} runs"]
    records.save(a_record("t2"))
    other.release(records, "t4")
    last = await queue.next()
    assert last is not None
    assert (last.id, queue.waits, sum(ended)) == ("t4", False, 2)
    assert await queue.next() is None
    records.close()
