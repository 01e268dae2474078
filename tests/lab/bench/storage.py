"""Stored bytes per episode with the full trace, against one pickle per step of BrowserGym's observation."""

import asyncio
import itertools
import sqlite3
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from environments.shop.server import shop
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from tests.experiments.command_line import environment
from tests.lab.bench.browsergym_episodes import in_processes
from tests.lab.bench.result import Result

AGENT = "simulated:balanced"
EPISODES = 24
PEER_EPISODES = 6
GOAL = 50


async def run() -> Result:
    """The first episodes of the nudge experiment; BrowserGym on the pages of the first of them."""
    ours, without, steps = await souk()
    design = ShopDesign(experiment_source("nudges"))
    trials = itertools.islice(design.trials([AGENT]), PEER_EPISODES)
    products = [product.key for trial in trials for product in trial.products]
    async with shop() as base_url:
        theirs = await browsergym([f"{base_url}{key}.html" for key in products])
    their_steps, pickled, compressed = (sum(column) / len(theirs) for column in zip(*theirs, strict=True))
    return Result(
        what="stored bytes per episode with the full trace",
        against="one pickle per step of BrowserGym's observation (in brackets: each compressed with gzip)",
        figure=f"{pickled / ours:,.0f} times smaller ({compressed / ours:.1f})",
        goal=f"{GOAL} times smaller",
        reached=pickled >= GOAL * ours,
        times=(
            ("Souk, bytes per episode", f"{ours:,.0f} ({EPISODES} episodes, {steps:.1f} observations each)"),
            (
                "Souk, without the pages as the shop sent them",
                f"{without:,.0f} (they add {ours / without - 1:.0%}; goal: under 30 %)",
            ),
            (
                "BrowserGym, pickles",
                f"{pickled:,.0f} ({len(theirs)} episodes, {their_steps:.1f} observations each)",
            ),
            ("BrowserGym, pickles compressed with gzip", f"{compressed:,.0f}"),
        ),
        how=(
            f"The first {EPISODES} episodes of the `nudges` experiment by `{AGENT}`: the whole SQLite file, "
            "tables and indices included, over the number of episodes. BrowserGym runs the same agent on the "
            "pages of the first of these; its observation of each step is pickled as it is."
        ),
        notes=(
            "BrowserGym's observation holds the screenshot as an array, the DOM and the accessibility tree; "
            "Souk keeps what the agent was shown, the pruned HTML, and of the page its receipts, hashes and, "
            "where the proxy made an edit, what the shop sent. It takes no screenshot here.",
            "Souk stores a page that is seen again once, also where it is seen in another episode.",
            "Compressed pickles show what compression alone would save.",
        ),
    )


async def souk() -> tuple[float, float, float]:
    """Bytes per episode, the same without what the shop sent, and observations per episode."""
    with TemporaryDirectory() as folder:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "experiments.cli", "run", "nudges", "--agent", AGENT),
            *("--limit", str(EPISODES), "--db", "sqlite:///t.db"),
            stdout=asyncio.subprocess.DEVNULL,
            cwd=folder,
            env=environment({}),
        )
        assert await process.wait() == 0, "souk run failed; its own message is above"
        file = Path(folder) / "t.db"
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            (observations,) = connection.execute("SELECT count(*) FROM steps").fetchone()
        size = file.stat().st_size
        return size / EPISODES, size_without_sent(file) / EPISODES, observations / EPISODES


def size_without_sent(file: Path) -> int:
    """The bytes of a database once what the shop sent is deleted from it."""
    with sqlite3.connect(file) as connection:
        names = (
            "SELECT body FROM sent_pages UNION SELECT given FROM sent_pages UNION SELECT site FROM sent_pages"
        )
        connection.execute(
            f"DELETE FROM artifacts WHERE hash IN ({names})"
            " AND hash NOT IN (SELECT observation FROM steps WHERE observation IS NOT NULL)"
        )
        connection.execute("DELETE FROM sent_pages")
        connection.commit()
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.stat().st_size


async def browsergym(urls: list[str]) -> list[tuple[int, int, int]]:
    """Observations, bytes of their pickles, and of these compressed, by episode."""
    (lines,) = await in_processes(1, str(len(urls) // 2), "0", "sizes", *urls)
    return [(int(steps), int(size), int(compressed)) for steps, size, compressed in lines]
