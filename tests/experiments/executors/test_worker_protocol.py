"""What a command and a worker process say to each other, over a real socket pair."""

import asyncio
import pickle
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.executors.executor import WorkerDied
from experiments.executors.processes import ProcessWorker
from experiments.executors.worker_protocol import (
    HEADER,
    receive_answer,
    receive_order,
    send_answer,
    send_order,
)
from experiments.records.record import Cause, TrialRecord, TrialRow
from interventions.errors import UserError
from tests.experiments.records.test_store import a_record

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
cells = st.none() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=()))
"""What stands in a row; of texts also halves of characters, as models and pages may have them."""


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Ends, Ends]]:
    """The command's end and the worker's."""
    ends = [await asyncio.open_connection(sock=each) for each in socket.socketpair()]
    try:
        yield ends[0], ends[1]
    finally:
        for _, writer in ends:
            writer.close()


@pytest.mark.slow
@given(
    trial=st.fixed_dictionaries({each.name: cells for each in fields(TrialRow)}),
    rows=st.lists(st.dictionaries(st.text(), cells | st.dictionaries(st.text(), cells))),
    artifacts=st.dictionaries(st.text(), st.text(st.characters(exclude_categories=()))),
    cause=st.none() | st.sampled_from(get_args(Cause)),
)
async def test_a_record_arrives_as_it_was(
    trial: dict, rows: list, artifacts: dict, cause: Cause | None
) -> None:
    record = TrialRecord(TrialRow(**trial), attributes=rows, artifacts=artifacts, cause=cause)
    async with connected() as (command, worker):
        await send_answer(worker[1], 7, record)
        assert await receive_answer(command[0]) == (7, record)


@pytest.mark.parametrize(
    ("error", "kind"), [(UserError("agents: no key; set it"), UserError), (OSError("a fault"), RuntimeError)]
)
async def test_what_went_wrong_arrives(error: Exception, kind: type[Exception]) -> None:
    async with connected() as (command, worker):
        await send_answer(worker[1], 3, error)
        number, found = await receive_answer(command[0])
    assert (number, type(found), str(found)) == (3, kind, str(error))


async def test_orders_arrive() -> None:
    async with connected() as (command, worker):
        await send_order(command[1], (1, Path("x")))
        assert await receive_order(worker[0]) == (1, Path("x"))


class Touch:
    """Unpickled it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


async def taken_for_dead(sent: bytes, length: int) -> None:
    async with connected() as (command, worker):
        worker[1].write(HEADER.pack(length) + sent)
        worker[1].close()
        with pytest.raises(EOFError):
            await receive_answer(command[0])


NONSENSE = [b"", b"{}", b"[1]", b'{"number": 1, "record": {"run": 1}}', b"\xff", b"cut"]


@pytest.mark.parametrize("nonsense", NONSENSE)
async def test_a_worker_that_talks_nonsense_is_taken_for_dead(nonsense: bytes) -> None:
    await taken_for_dead(nonsense, 100 if nonsense == b"cut" else len(nonsense))


async def test_nothing_that_a_worker_sends_is_unpickled(tmp_path: Path) -> None:
    bad = pickle.dumps((1, Touch(tmp_path / "ran")))
    await taken_for_dead(bad, len(bad))
    assert not (tmp_path / "ran").exists()
    pickle.loads(bad)
    assert (tmp_path / "ran").exists(), "it would have made a file"


async def in_turn(answer: TrialRecord | None) -> TrialRecord:
    """What an attempt gives whose answer comes after one that nobody asked for."""
    async with connected() as (command, worker):
        process = ProcessWorker(1, *command)
        reading = asyncio.create_task(process.read())
        running = asyncio.create_task(process.run("attempt"))  # type: ignore[arg-type]
        number, _ = await receive_order(worker[0])
        await send_answer(worker[1], number + 1, a_record("t2"))
        await send_answer(worker[1], number, answer)
        try:
            return await asyncio.wait_for(running, 30)
        finally:
            reading.cancel()


async def test_an_answer_that_nobody_asked_for_is_passed_over() -> None:
    assert await in_turn(a_record("t1")) == a_record("t1")


async def test_a_worker_that_is_only_ready_has_not_answered() -> None:
    with pytest.raises(WorkerDied):
        await in_turn(None)
