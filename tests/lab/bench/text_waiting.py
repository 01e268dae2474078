"""Trials per minute with cards as prompts, recorded, of a model that takes its time."""

import asyncio
import os
from contextlib import suppress

import psutil

from agents.providers.network import close_connections
from tests.held_provider import held_provider, seen
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import rate_of_the_middle
from tests.lab.bench.text_mode import GOAL, ended

MODEL = "compatible:model"
ANSWER_SECONDS = 2.0
SLOTS = 500
ASKED = 2_000
BETWEEN_LOOKS = 0.5


async def run() -> Result:
    """Many more trials at once, of a model that takes its time."""
    process = psutil.Process()
    with held_provider("A", seconds=ANSWER_SECONDS) as url:
        os.environ["COMPATIBLE_BASE_URL"] = url
        await ended(MODEL, 1, 1)
        before, looking = process.memory_info().rss, asyncio.create_task(_most_memory(process))
        found, seconds, processor = await ended(MODEL, ASKED, SLOTS)
        looking.cancel()
        memory, most = await looking - before, seen(url)["most"]
        await close_connections()
    rate = rate_of_the_middle(found)
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
