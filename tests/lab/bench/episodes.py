"""Episodes per minute of an agent that needs no time, against BrowserGym."""

import itertools
import tempfile
import time
from pathlib import Path

from environments.shop.server import shop
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, default_slots, open_testbed
from experiments.executors.workers import needs_pictures
from tests.lab.bench.browsergym_episodes import in_processes
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import all_ended

AGENT = "simulated:balanced"
EPISODES = 60
PEER_EPISODES = 10
SLOW_EPISODES = 4
SLOW_MO = 1000
"""BrowserGym's default, in milliseconds per browser operation."""
GOAL_TIMES = 10
GOAL_RATE = 60


async def run() -> Result:
    """Half of Souk's episodes before BrowserGym's and half after, as a machine's speed may drift."""
    design = ShopDesign(experiment_source("nudges"))
    slots = default_slots([AGENT])
    trials = list(itertools.islice(design.trials([AGENT]), slots + EPISODES))
    warm_up, first = trials[:slots], trials[slots : slots + EPISODES // 2]
    second = trials[slots + EPISODES // 2 :]
    seconds = await souk(design, warm_up, first, slots)
    async with shop() as base_url:
        urls = [f"{base_url}{product.key}.html" for trial in first for product in trial.products]
        default = await browsergym(urls, 1, SLOW_EPISODES, SLOW_MO)
        alone = await browsergym(urls, 1, PEER_EPISODES, 0)
        two = await browsergym(urls, 2, PEER_EPISODES, 0)
    seconds += await souk(design, warm_up, second, slots)
    rate = 60 * EPISODES / seconds
    return Result(
        what="episodes per minute of an agent that answers at once",
        against="BrowserGym with its default settings (in brackets: without its slow_mo)",
        figure=f"{rate / default:.1f} times as many ({rate / alone:.1f}), {rate:.0f} per minute",
        goal=f"{GOAL_TIMES} times as many, at least {GOAL_RATE} per minute",
        reached=rate >= GOAL_TIMES * default and rate >= GOAL_RATE,
        times=(
            (f"Souk, {slots} slots", f"{rate:.1f} per minute ({EPISODES} episodes)"),
            ("BrowserGym, default settings", f"{default:.1f} per minute ({SLOW_EPISODES} episodes)"),
            ("BrowserGym without slow_mo", f"{alone:.1f} per minute ({PEER_EPISODES} episodes)"),
            (
                "BrowserGym without slow_mo, two processes at once",
                f"{two:.1f} per minute ({PEER_EPISODES} episodes)",
            ),
            ("Souk against these two processes", f"{rate / two:.1f} times as many"),
        ),
        how=(
            f"Each episode opens two product pages of the embedded shop in tabs; `{AGENT}` reads both and "
            "puts one into the cart. Souk runs its `nudges` experiment as `souk run` does: the proxy "
            "rewrites the pages, the receipts are checked, and the whole trace is stored in SQLite. "
            "BrowserGym runs the same agent on its own environment, with default settings "
            "and without a proxy, on the pruned HTML of what is visible, which it makes from its own "
            "observation. The first episodes of each process (start of the browser) do not count. Every "
            "counted episode ended with a product in the cart."
        ),
        notes=(
            "Both use the same browser program.",
            "By default BrowserGym adds a second to each browser operation (`slow_mo`); the further figures "
            "are without it, and show what its machinery itself takes. Its wait of half a second before "
            "each observation is always on; that is its default, as are the screenshot and the "
            "accessibility tree in each observation, and a new browser and a chat window for each "
            "episode. Souk takes no screenshot.",
            "BrowserGym's pages are not rewritten and its episodes are not stored, which saves it time.",
            "BrowserGym runs one episode at a time in a process; with two processes it uses both cores as"
            " Souk does.",
        ),
    )


async def souk(design: ShopDesign, warm_up: list[ShopTrial], trials: list[ShopTrial], slots: int) -> float:
    """Run the trials as `souk run` does; returns seconds."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_testbed(Path(folder), pictures=needs_pictures(design, [AGENT])) as testbed:
            runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, slots)
            await all_ended(runner, design, warm_up, f"sqlite:///{folder}/warm-up.db")
            began = time.perf_counter()
            await all_ended(runner, design, trials, f"sqlite:///{folder}/souk.db")
            return time.perf_counter() - began


async def browsergym(urls: list[str], processes: int, episodes: int, slow_mo: int) -> float:
    """Episodes per minute, all processes together; they share out the episodes."""
    share, rate = episodes // processes, 0.0
    for _, *ended in await in_processes(processes, str(share + 1), str(slow_mo), "times", *urls):
        # The first episode starts the browser for the first time.
        assert [outcome for _, outcome in ended] == ["choice"] * share, f"BrowserGym: {ended}"
        rate += 60 * share / sum(float(seconds) for seconds, _ in ended)
    return rate
