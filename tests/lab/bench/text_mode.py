"""Trials per minute with cards as prompts, recorded: an agent that needs no time, and a model that does."""

import asyncio
import itertools
import os
import tempfile
import time
from contextlib import suppress
from typing import Final

import psutil

from agents.providers.network import close_connections
from experiments.designs.cards.design import make_card_design
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.executors.text import SLOTS_WITHOUT_WAITING, TextExecutor
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from tests.experiments.running import run_trials
from tests.held_provider import held_provider, seen
from tests.lab.bench.result import Result

AGENT = "simulated:balanced"
WARM_UP = 200
TRIALS = 3_000
GOAL = 5_000

MODEL: Final = "compatible:model"
ANSWER_SECONDS: Final = 2.0
SLOTS: Final = 500
ASKED: Final = 2_000
BETWEEN_LOOKS: Final = 0.5


async def run() -> Result:
    """The first trials of the hotel study, from the design to the database."""
    design = make_card_design(experiment_source("hotels"))
    trials = design.trials([AGENT])
    with tempfile.TemporaryDirectory() as folder:
        records = Records(f"sqlite:///{folder}/souk.db")
        warm_up = TextExecutor("warm-up", 300, SLOTS_WITHOUT_WAITING)
        await run_trials(warm_up, design, records, itertools.islice(trials, WARM_UP))
        began, processor = time.perf_counter(), time.process_time()
        runner = TextExecutor(design.run_id, 300, SLOTS_WITHOUT_WAITING)
        await run_trials(runner, design, records, itertools.islice(trials, TRIALS))
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        outcomes = records.outcomes(design.run_id)
    assert outcomes == {"choice": TRIALS}, outcomes
    rate = 60 * TRIALS / seconds
    return Result(
        what="trials per minute with cards as text, with records",
        against="nothing: a rate",
        figure=f"{rate:,.0f} per minute",
        goal=f"{GOAL:,} per minute",
        reached=rate >= GOAL,
        times=(
            (f"{TRIALS:,} trials", f"{seconds:.1f} s"),
            ("processor's time", f"{processor:.1f} s"),
        ),
        how=(
            f"Trials of the hotel study, in order, after {WARM_UP} of warm-up: each is drawn from the "
            f"design, written as a prompt, answered by `{AGENT}`, read, and stored in SQLite with its "
            "prompt, its options and the answer. Every trial ended as a choice."
        ),
        notes=("The agent reads the prompt, as any agent does; a model would add its latency.",),
    )


async def run_waiting() -> Result:
    """Many more trials at once, of a model that takes its time."""
    design = make_card_design(experiment_source("hotels"))
    trials = itertools.islice(design.trials([MODEL]), ASKED)
    process, ended = psutil.Process(), list[float]()

    def finished(_: TrialRecord) -> None:
        ended.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder, held_provider("A", seconds=ANSWER_SECONDS) as url:
        os.environ["COMPATIBLE_BASE_URL"] = url
        records = Records(f"sqlite:///{folder}/souk.db")
        warm_up = TextExecutor("warm-up", 300, 1)
        await run_trials(warm_up, design, records, itertools.islice(design.trials([MODEL]), 1))
        before, looking = process.memory_info().rss, asyncio.create_task(_most_memory(process))
        began, processor = time.perf_counter(), time.process_time()
        await run_trials(TextExecutor(design.run_id, 300, SLOTS), design, records, trials, finished)
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        looking.cancel()
        memory, most, outcomes = await looking - before, seen(url)["most"], records.outcomes(design.run_id)
        await close_connections()
    assert outcomes == {"choice": ASKED}, outcomes
    rate = 60 * ASKED / 2 / (ended[3 * ASKED // 4 - 1] - ended[ASKED // 4 - 1])
    alone = 60 * SLOTS / ANSWER_SECONDS
    return Result(
        what=f"trials per minute with cards as text, {SLOTS} slots and answers of {ANSWER_SECONDS:g} s",
        against="waiting alone",
        figure=f"{rate:,.0f} per minute, {most} requests under way, {memory / 2**20 / most:.2f} MB for each",
        goal=f"{GOAL:,} per minute",
        reached=rate >= GOAL,
        times=(
            (f"{ASKED:,} trials, from one under way to {most}", f"{seconds:.1f} s"),
            ("waiting alone", f"{alone:,.0f} per minute"),
            ("processor's time", f"{processor:.1f} s"),
        ),
        how=(
            f"Trials of the hotel study, as `souk run hotels --mode text --slots {SLOTS}` runs them in one "
            "process, each asked through the `openai` SDK of a server in another process that answers after "
            f"{ANSWER_SECONDS:g} s. What counts are the trials that ended after the first quarter of them "
            "and before the last: in the first the limit of requests grows from 8 on. Memory is what the "
            f"process takes more than before, at most (looks each {BETWEEN_LOOKS:g} s)."
        ),
        notes=(
            "The server takes its share of the processors.",
            "Fewer than the slots are under way where the processor's time is what limits the rate.",
        ),
    )


async def _most_memory(process: psutil.Process) -> int:
    """Look again and again until cancelled; return the most bytes."""
    most = 0
    with suppress(asyncio.CancelledError):
        while True:
            most = max(most, process.memory_info().rss)
            await asyncio.sleep(BETWEEN_LOOKS)
    return most
