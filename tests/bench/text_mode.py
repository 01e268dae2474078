"""Trials per minute with cards as prompts, recorded, with an agent that needs no time."""

import itertools
import tempfile
import time

from experiments.designs.cards.design import make_card_design
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.executors.text import SLOTS_WITHOUT_WAITING, TextExecutor
from experiments.records.store import Records
from tests.bench.result import Result
from tests.experiments.running import run_trials

AGENT = "simulated:balanced"
WARM_UP = 200
TRIALS = 3_000
GOAL = 5_000


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
