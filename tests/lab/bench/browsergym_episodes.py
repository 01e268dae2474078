"""The same simulated shopper in BrowserGym.

`python -m tests.lab.bench.browsergym_episodes N SLOW_MO times|sizes URL URL ...`: each episode opens two
product pages in tabs, as Souk's `compare-tabs` does, and ends when one is in the cart. BrowserGym runs with
its own environment and default settings, but launches the browser program that Souk does; SLOW_MO is what it
adds to each browser operation, in milliseconds. It reads the shop directly, without a proxy. Prints a line
for each episode: its seconds and its outcome, or its observations, the bytes of their pickles, and of these
compressed.
"""

import asyncio
import gzip
import logging
import pickle
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import playwright.sync_api
from browsergym.core.action.highlevel import HighLevelActionSet
from browsergym.core.env import BrowserEnv
from browsergym.core.task import AbstractBrowserTask

from agents.base import Agent, Decision
from agents.registry import make_agent
from environments.browsergym.task import launched_with, look_of
from environments.protocol.observation import Observation
from tests.experiments.command_line import ROOT

MAX_STEPS = 10
IN_CART = 'div.message-success div[data-bind*="prepareMessageForHtml"]'


class CompareTabs(AbstractBrowserTask):
    """Put one of the products in the open tabs into the cart."""

    def __init__(self, seed: int, urls: Sequence[str]) -> None:
        super().__init__(seed)
        self.urls = urls

    def setup(self, page: playwright.sync_api.Page) -> tuple[str, dict[str, Any]]:
        page.goto(self.urls[0])
        for url in self.urls[1:]:
            page = page.context.new_page()
            page.goto(url)
        page.bring_to_front()
        return "Add the best product from the open tabs to the shopping cart.", {}

    def validate(
        self, page: playwright.sync_api.Page, chat_messages: list[str]
    ) -> tuple[float, bool, str, dict[str, Any]]:
        done = page.locator(IN_CART).count() > 0
        return float(done), done, "", {}


def decide(agent: Agent, observation: Observation) -> Decision:
    """What the agent does; has to run in a thread that has no event loop, as Playwright's own has one."""
    return asyncio.run(agent.act(observation))


async def in_processes(count: int, *arguments: str) -> list[list[list[str]]]:
    """Run this in so many processes at once; return the words of the lines of each."""
    command = (sys.executable, "-m", "tests.lab.bench.browsergym_episodes", *arguments)
    started = [
        await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
        for _ in range(count)
    ]
    outputs = await asyncio.gather(*(process.communicate() for process in started))
    assert not any(process.returncode for process in started), "BrowserGym failed; its message is above"
    return [[line.split() for line in output.decode().splitlines()] for output, _ in outputs]


def main() -> None:
    """Run N episodes over pairs of the given URLs, in turn."""
    logging.disable(logging.WARNING)  # it warns at each episode that slow_mo is given
    count, slow_mo, printed, *urls = sys.argv[1:]
    thread = ThreadPoolExecutor(max_workers=1)
    env = BrowserEnv(
        CompareTabs,
        task_kwargs={"urls": urls[:2]},
        slow_mo=int(slow_mo),
        action_mapping=HighLevelActionSet(subsets=["bid", "nav", "tab"]).to_python_code,
    )
    folder = TemporaryDirectory()
    for episode in range(int(count)):
        began = time.perf_counter()
        start = 2 * episode % len(urls)
        env.task_kwargs = {"urls": urls[start : start + 2]}
        with launched_with((), Path(folder.name)):
            obs, _ = env.reset(seed=episode)
        agent = make_agent("simulated:balanced", seed=episode)
        done, observations = False, [obs]
        for step in range(MAX_STEPS):
            decision = thread.submit(decide, agent, look_of(obs, step, None).observation).result()
            obs, _, done, _, _ = env.step(str(decision.action))
            observations.append(obs)
            if done:
                break
        found: tuple[object, ...] = (time.perf_counter() - began, "choice" if done else "none")
        if printed == "sizes":
            pickles = [pickle.dumps(each) for each in observations]
            found = len(pickles), sum(map(len, pickles)), sum(len(gzip.compress(each)) for each in pickles)
        print(*found, flush=True)
    env.close()
    folder.cleanup()


if __name__ == "__main__":
    main()
