"""Episodes per minute at a model's pace, against an agent that answers at once and Playwright alone."""

import asyncio
import itertools
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean, mean
from typing import Any, Final

from playwright.async_api import Browser, async_playwright

from agents.providers.network import close_connections
from environments.browser.pool import WITHOUT_PICTURES, find_browser
from environments.shop.server import shop
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, default_slots, open_testbed
from experiments.executors.workers import needs_pictures
from experiments.treatment.trajectory import Trajectory
from tests.experiments.command_line import descendants
from tests.held_provider import held_provider
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import all_ended, rate_of_the_middle

AGENT: Final = "compatible:model"
IN_FLIGHT: Final = 64
EPISODES: Final = 192
AT_ONCE: Final = 180
ROUNDS: Final = 3
"""Playwright alone, answers at once and slow ones take turns: a machine's pace changes by the minute."""
SLOW: Final = 3.0
SLOWER: Final = 10.0
"""Seconds that an answer takes. With the slower ones, when all are in flight, the memory is looked at."""
GOAL_SHARE: Final = 0.9
GOAL_MEMORY: Final = 60
"""MB for each episode in flight."""
BETWEEN_LOOKS: Final = 5.0
MB: Final = 1024
PARTS: Final = {
    "--type=renderer": "the pages' own processes",
    "--type=gpu-process": "drawing",
    "--type=": "the rest of the browser",
    "--headless": "the rest of the browser",
    "/driver/node": "Playwright",
}
"""What the memory is for, by a part of the process's command line; the first that fits, else SOUK."""
SOUK: Final = "Souk with the shop"
PSS: Final = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


class CountedTrials(ShopTrialRunner):
    """Trials of which it is known how many are open, and how many were at most."""

    open = most = 0

    async def episode(self, *what: Any) -> Trajectory:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            return await super().episode(*what)
        finally:
            self.open -= 1


async def run() -> Result:
    design = ShopDesign(experiment_source("nudges"))
    trials = list(itertools.islice(design.trials([AGENT]), AT_ONCE))
    many = list(itertools.islice(design.trials([AGENT]), EPISODES))
    cores = default_slots([])
    bare, at_once, slow = list[float](), list[Found](), list[Found]()
    for number in range(ROUNDS):
        bare.append(await playwright_alone(trials[number::ROUNDS], cores))
        at_once.append(await souk(design, trials[number::ROUNDS], cores, 0.0))
        slow.append(await souk(design, many[: 2 * IN_FLIGHT], IN_FLIGHT, SLOW))
    plain = await playwright_alone(trials[: AT_ONCE // 2], cores, WITHOUT_PICTURES)
    slower = await souk(design, many, IN_FLIGHT, SLOWER, looked_at=True)
    alone = harmonic_mean(bare)
    own = harmonic_mean(found.rate for found in at_once)
    rate = harmonic_mean(found.rate for found in slow)
    steps = mean(found.steps for found in slow)
    memory = slower.memory.total()
    return Result(
        what=f"episodes per minute with {IN_FLIGHT} slots and answers of {SLOW:g} s",
        against="the same machine with an agent that answers at once (in brackets: that one against a bare "
        "Playwright loop)",
        figure=f"{rate / own:.2f} of it ({own / alone:.2f}), {memory:.0f} MB for each episode in flight",
        goal=f"{GOAL_SHARE:g} ({GOAL_SHARE:g}), under {GOAL_MEMORY} MB",
        reached=rate >= GOAL_SHARE * own and own >= GOAL_SHARE * alone and memory < GOAL_MEMORY,
        times=(
            (f"answers at once, {cores} slots", f"{own:.1f} per minute ({AT_ONCE} episodes)"),
            (f"Playwright alone, {cores} at once", f"{alone:.1f} per minute ({AT_ONCE} episodes)"),
            ("the same without pictures", f"{plain:.1f} per minute ({AT_ONCE // 2} episodes)"),
            *(
                (
                    f"answers of {seconds:g} s, {IN_FLIGHT} slots",
                    f"{episodes:.1f} per minute ({number} episodes); at most {in_flight} in flight; waiting"
                    f" alone would allow {60 * IN_FLIGHT / (seconds * steps):.0f} per minute",
                )
                for seconds, episodes, number, in_flight in (
                    (SLOW, rate, 2 * IN_FLIGHT * ROUNDS, max(found.in_flight for found in slow)),
                    (SLOWER, slower.rate, EPISODES, slower.in_flight),
                )
            ),
            (
                f"of the memory for each, with answers of {SLOWER:g} s",
                ", ".join(f"{part} {share:.1f} MB" for part, share in slower.memory.most_common()),
            ),
        ),
        how=(
            "A model in the experiment `nudges`, as `souk run` runs it, asked through the `openai` SDK of a"
            f" server in another process; each of its answers, of which a trial has about {steps:.1f}, takes"
            " so long, or none. What counts are the episodes that ended after the"
            " first quarter of them and before the last. Playwright alone opens the same two pages in"
            " tabs, presses the button and waits for the message, in a context of its own, without proxy,"
            " observation and records."
        ),
        notes=(
            "Memory is that of the command and of all processes that it started (browser, Playwright), each"
            f" shared page of memory counted once (PSS): with answers of {SLOWER:g} s the largest of looks"
            f" each {BETWEEN_LOOKS:g} s, divided by the number of episodes in flight then. The shop runs in"
            " the same process. No look falls into the other measurements, as it takes time.",
            f"Playwright alone, answers at once and answers of {SLOW:g} s take turns, {ROUNDS} times: the"
            " pace of a machine may change by the minute. Rates are harmonic means.",
            "An episode begins when the browser is free for it: with quick answers there are fewer in flight"
            " than slots, and no fewer a minute.",
            "Souk's browser loads no pictures here, as its agents are shown none; Playwright's loads them, as"
            " it does by itself, unless said otherwise. The goal is held against that.",
        ),
    )


@dataclass(frozen=True)
class Found:
    """rate: episodes per minute. steps: answers in a trial. in_flight: the most episodes that were.

    memory: MB for each episode in flight, by part; empty where it was not looked at.
    """

    rate: float
    steps: float
    in_flight: int
    memory: Counter[str]


async def souk(
    design: ShopDesign, trials: Sequence[ShopTrial], slots: int, seconds: float, *, looked_at: bool = False
) -> Found:
    """Run the trials, with answers of so many seconds."""
    with tempfile.TemporaryDirectory() as folder, held_provider("", seconds=seconds) as url:
        os.environ["COMPATIBLE_BASE_URL"] = url
        async with open_testbed(Path(folder), pictures=needs_pictures(design, [AGENT])) as testbed:
            runner = CountedTrials(design, testbed.base_url)
            looking = asyncio.create_task(_look_again(runner)) if looked_at else None
            executor = BrowserExecutor(runner, testbed, slots)
            ended = await all_ended(executor, design, trials, f"sqlite:///{folder}/souk.db")
            memory, open_then = Counter[str](), 1
            if looking:
                looking.cancel()
                memory, open_then = max(await looking, key=lambda look: look[0].total())
        await close_connections()
    each = Counter({part: mb / open_then for part, mb in memory.items()})
    steps = mean(trial.steps for _, trial in ended)
    return Found(rate_of_the_middle(ended), steps, runner.most, each)


async def playwright_alone(trials: Sequence[ShopTrial], at_once: int, options: Sequence[str] = ()) -> float:
    """Episodes per minute without Souk; `options` of the browser."""
    left = iter(trials)
    async with shop() as base_url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright), args=[*options])
        began = time.perf_counter()
        await asyncio.gather(*(_visit(browser, base_url, left) for _ in range(at_once)))
        seconds = time.perf_counter() - began
        await browser.close()
    return 60 * len(trials) / seconds


async def _visit(browser: Browser, base_url: str, trials: Iterator[ShopTrial]) -> None:
    for trial in trials:
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        pages = [await context.new_page() for _ in trial.products]
        await asyncio.gather(
            *(
                page.goto(f"{base_url}{product.key}.html")
                for page, product in zip(pages, trial.products, strict=True)
            )
        )
        await pages[0].locator("#product-addtocart-button").click()
        await pages[0].locator(".message-success").wait_for()
        await context.close()


async def _look_again(runner: CountedTrials) -> list[tuple[Counter[str], int]]:
    """The memory of this process and all that it has started, in MB by part, and the episodes in flight.

    Looks again and again until cancelled. A look takes the kernel a tenth of a second and more.
    """
    found: list[tuple[Counter[str], int]] = []
    with suppress(asyncio.CancelledError):
        while True:
            found.append((await asyncio.to_thread(_memory), max(runner.open, 1)))
            await asyncio.sleep(BETWEEN_LOOKS)
    return found


def _memory() -> Counter[str]:
    total = Counter({SOUK: 0.0})
    for process in (os.getpid(), *descendants(os.getpid())):
        with suppress(OSError):
            command = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
            if "tests.held_provider" in command:
                continue
            if found := PSS.search(Path(f"/proc/{process}/smaps_rollup").read_text()):
                total[next((part for sign, part in PARTS.items() if sign in command), SOUK)] += (
                    int(found[1]) / MB
                )
    return total
