"""One step, an action and the observation after it, against BrowserGym on the same page."""

import asyncio
import logging
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from browsergym.core import _get_global_playwright, _set_global_playwright
from browsergym.core.action.highlevel import HighLevelActionSet
from browsergym.core.env import BrowserEnv

from environments.browser.pool import run_browsers
from environments.browsergym.task import launched_with, look_of
from environments.episode import Episode
from environments.protocol.actions import parse_action
from environments.shop.server import shop
from tests.lab.bench.browsergym_episodes import CompareTabs
from tests.lab.bench.page import product_page
from tests.lab.bench.proxied import SIZE
from tests.lab.bench.result import Result
from tests.lab.bench.timing import describe
from tests.support import STOPS, pages

ACTIONS = ("scroll(0, 300)", "scroll(0, -300)")
WARM_UP = 2
STEPS = 40
PEER_STEPS = 12
SLOW_STEPS = 4
SLOW_MO = 1000
WAIT = 0.5
GOAL_TIMES = 10


async def run() -> Result:
    """Half of Souk's steps before BrowserGym's and half after, as a machine's speed may drift."""
    page = await product_page(SIZE)
    path = urlsplit(page.url).path
    with ThreadPoolExecutor(max_workers=1) as thread:
        async with shop() as base_url:
            # Style sheets, scripts and pictures still come from a shop.
            html = page.html.replace(page.url.removesuffix(path.lstrip("/")), base_url)
            async with pages({path: html}) as server:
                url = server.rstrip("/") + path
                ours = await souk(url)
                loop = asyncio.get_running_loop()
                default, _ = await loop.run_in_executor(thread, browsergym, url, SLOW_STEPS, SLOW_MO, WAIT)
                waiting, _ = await loop.run_in_executor(thread, browsergym, url, PEER_STEPS, 0, WAIT)
                alone, pruning = await loop.run_in_executor(thread, browsergym, url, PEER_STEPS, 0, 0.0)
                ours += await souk(url)
                await loop.run_in_executor(thread, stop_playwright)
    median = statistics.median(ours)
    times = statistics.median(waiting) / median
    without = statistics.median(alone) / median
    return Result(
        what="one step: an action, and the observation after it",
        against="BrowserGym's `env.step` without its slow_mo (in brackets: without its wait of 0.5 s too)",
        figure=f"{times:.0f} times faster ({without:.0f})",
        goal=f"{GOAL_TIMES} times faster",
        reached=times >= GOAL_TIMES,
        times=(
            ("Souk", describe(ours, "steps", 0)),
            ("BrowserGym, default settings", describe(default, "steps", 0)),
            ("BrowserGym without slow_mo", describe(waiting, "steps", 0)),
            ("BrowserGym without slow_mo and without its wait", describe(alone, "steps", 0)),
            (
                "BrowserGym's pruned HTML of that observation, not part of `env.step`",
                describe(pruning, "steps", 0),
            ),
        ),
        how=(
            f"A product page of the embedded shop with reviews ({len(html.encode()) / 1000:.0f} KB of HTML),"
            " loaded directly, without a proxy. The page is scrolled down and up again in turn; timed is each"
            f" scroll until the observation after it is there, after {WARM_UP} steps of warm-up. Souk's is an"
            " action and a look of `Episode`, BrowserGym's is `env.step` on its own environment."
        ),
        notes=(
            "Both use the same browser program and the same size of window.",
            "BrowserGym's observation holds the whole DOM, the accessibility tree and a screenshot; Souk's "
            "the pruned HTML of what is visible, ready to be read. With BrowserGym an agent makes that HTML "
            "itself, which takes the time of the last line.",
            "By default BrowserGym adds a second to each browser operation (`slow_mo`).",
        ),
    )


async def souk(url: str) -> list[float]:
    """Seconds of each step."""
    async with run_browsers() as browsers, browsers.context(None) as context:
        episode = Episode(context, "Look around.", STOPS)
        await episode.open([url])
        seconds = []
        for number in range(WARM_UP + STEPS // 2):
            began = time.perf_counter()
            error = await episode.act(parse_action(ACTIONS[number % 2]))
            look = await episode.look()
            seconds.append(time.perf_counter() - began)
            assert not error, error
            assert "Add to Cart" in look.observation.html
    return seconds[WARM_UP:]


def browsergym(url: str, steps: int, slow_mo: int, wait: float) -> tuple[list[float], list[float]]:
    """Seconds of each step, and of pruning each observation."""
    logging.getLogger("browsergym").setLevel(logging.ERROR)  # it warns that slow_mo is given
    mapping: Callable[[str], str] = HighLevelActionSet(subsets=["bid"]).to_python_code
    env: Any = BrowserEnv(
        CompareTabs,
        task_kwargs={"urls": [url]},
        slow_mo=slow_mo,
        pre_observation_delay=wait,
        action_mapping=mapping,
    )
    seconds, pruning = [], []
    folder = TemporaryDirectory()
    with launched_with((), Path(folder.name)):
        env.reset(seed=0)
    for number in range(WARM_UP + steps):
        began = time.perf_counter()
        observation, *_ = env.step(ACTIONS[number % 2])
        stepped = time.perf_counter()
        html = look_of(observation, number, None).observation.html
        seconds.append(stepped - began)
        pruning.append(time.perf_counter() - stepped)
        assert not observation["last_action_error"], observation["last_action_error"]
        assert "Add to Cart" in html
    env.close()
    folder.cleanup()
    return seconds[WARM_UP:], pruning[WARM_UP:]


def stop_playwright() -> None:
    """BrowserGym starts one for its thread and leaves it running."""
    _get_global_playwright().stop()
    _set_global_playwright(None)
