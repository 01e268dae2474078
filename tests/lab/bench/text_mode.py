"""Trials per minute with cards as prompts, recorded, of an agent that needs no time."""

import itertools
import tempfile
import time

from experiments.designs.cards.design import make_card_design
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.executors.text import SLOTS_WITHOUT_WAITING, TextExecutor
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import Ended, all_ended

AGENT = "simulated:balanced"
WARM_UP = 200
TRIALS = 3_000
GOAL = 5_000


async def run() -> Result:
    """The first trials of the hotel study, from the design to the database."""
    _, seconds, processor = await ended(AGENT, TRIALS, SLOTS_WITHOUT_WAITING, WARM_UP)
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


async def ended(agent: str, count: int, slots: int, warm_up: int = 0) -> tuple[Ended, float, float]:
    """Run trials of the hotel study after a warm-up; return their ends, the seconds, and the processor's."""
    design = make_card_design(experiment_source("hotels"))
    trials = design.trials([agent])
    with tempfile.TemporaryDirectory() as folder:
        first = TextExecutor("warm-up", 300, slots)
        await all_ended(first, design, itertools.islice(trials, warm_up), f"sqlite:///{folder}/warm-up.db")
        began, processor = time.perf_counter(), time.process_time()
        executor = TextExecutor(design.run_id, 300, slots)
        found = await all_ended(executor, design, itertools.islice(trials, count), f"sqlite:///{folder}/t.db")
    return found, time.perf_counter() - began, time.process_time() - processor
