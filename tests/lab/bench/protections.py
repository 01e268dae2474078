"""`python -m tests.lab.bench.protections`: what the protections against faults cost an episode.

The same trials of `nudges` are run again and again, in one process and browser, in turn with the protections
and without: limited expressions, time that counts only while everything moves, the browser's pulse, and the
seals of trials. Other work on the machine changes the wall clock, so the processors' time is compared too:
of this process, the shop, Playwright and the browser.
"""

import argparse
import asyncio
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from playwright.async_api import CDPSession

from environments import episode
from environments.browser import pulse
from environments.observation import page_watch
from environments.protocol.time_limit import NOBODY, Count
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, default_slots, open_testbed
from experiments.records import store
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.treatment import trajectory
from interventions.yaml import limited
from tests.experiments.command_line import descendants
from tests.experiments.running import run_trials
from tests.lab.bench.episodes import AGENT

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """What a round took, in seconds."""

    wall: float
    processors: float


class Silenced:
    """A session with the browser over which nothing is asked while `off`."""

    off = False

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    async def send(self, method: str) -> Any:
        return None if Silenced.off else await self._session.send(method)


@contextmanager
def unprotected() -> Iterator[None]:
    """Do without the protections in this block."""

    def at_once(find: Callable[..., Any], pattern: str, text: str) -> Any:
        return find(pattern, text)

    @asynccontextmanager
    async def simple_limit(seconds: float, _: object = None) -> Any:
        async with asyncio.timeout(seconds):
            yield Count(seconds, NOBODY)

    async def no_questions(*_: object) -> None:
        pass

    Silenced.off = True
    with (
        patch.object(limited, "_timed", at_once),
        patch.object(limited, "_watched", iter),
        patch.object(trajectory, "time_limit", simple_limit),
        patch.object(episode, "time_limit", simple_limit),
        patch.object(page_watch, "time_limit", simple_limit),
        patch.object(page_watch.PageWatch, "_ask", no_questions),
        patch.object(store, "seal", lambda *_, **__: ""),
    ):
        yield
    Silenced.off = False


def processors() -> float:
    """The seconds of computing of this process and of all that it has started."""
    found = 0.0
    for process in (os.getpid(), *descendants(os.getpid())):
        try:
            told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found += sum(map(int, told[11:15])) / TICK
    return found


async def costs(rounds: int, trials: int) -> dict[str, list[Cost]]:
    """The cost of each round, in turn with and without the protections."""
    design = ShopDesign(experiment_source("nudges"))
    slots = default_slots([AGENT])
    chosen = list(itertools.islice(design.trials([AGENT]), trials))
    begin = pulse.Pulse.__init__
    found: dict[str, list[Cost]] = {"with": [], "without": []}

    def gated(self: pulse.Pulse, session: CDPSession, processes: list[int]) -> None:
        begin(self, Silenced(session), processes)

    with tempfile.TemporaryDirectory() as name, patch.object(pulse.Pulse, "__init__", gated):
        async with open_testbed(Path(name)) as testbed:
            runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, slots)

            async def one(file: str) -> Cost:
                return await cost(runner, design, chosen, f"sqlite:///{name}/{file}.db")

            await one("warm-up")
            for number in range(rounds):
                for how in ("with", "without") if number % 2 else ("without", "with"):
                    with unprotected() if how == "without" else patch.object(Silenced, "off", False):
                        found[how].append(await one(f"{number}-{how}"))
                    print(number, how, found[how][-1], flush=True)
    return found


async def cost(
    runner: BrowserExecutor[ShopTrial], design: ShopDesign, trials: list[ShopTrial], url: str
) -> Cost:
    """Run the trials, and return what they took."""
    finished: list[TrialRecord] = []
    records = Records(url)
    records.begin_run(design.run_id, design.experiment.name, design.facts([]))
    began, before = time.perf_counter(), processors()
    await run_trials(runner, design, records, trials, finished.append)
    ended = Cost(time.perf_counter() - began, processors() - before)
    records.close()
    assert [each.trial.outcome for each in finished] == ["choice"] * len(trials)
    return ended


def ratio(found: dict[str, list[Cost]], of: Callable[[Cost], float]) -> tuple[float, float]:
    """The median over the rounds of with / without, and its standard error (1.25 s / sqrt(n))."""
    ratios = [of(one) / of(other) for one, other in zip(found["with"], found["without"], strict=True)]
    return statistics.median(ratios), 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench.protections")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=12)
    options = parser.parse_args()
    found = asyncio.run(costs(options.rounds, options.trials))
    for what, of in (("wall clock", lambda c: c.wall), ("processors", lambda c: c.processors)):
        median, error = ratio(found, of)
        sys.stdout.write(f"{what}: {median - 1:+.1%} (standard error {error:.1%})\n")


if __name__ == "__main__":
    main()
