"""What the checks of a treatment take of an episode: the same episodes with and without them."""

import itertools
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

import psutil
import yaml

from environments.observation.observe import NOTHING
from environments.shop.shop import Shop
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.episodes import page_record, shop_episode
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, default_slots, open_testbed
from tests.lab.bench.result import Result
from tests.lab.bench.shop_trials import all_ended
from tests.lab.storefronts.cases import cases
from tests.lab.storefronts.shops import running

AGENT = "simulated:balanced"
EPISODES = 6
"""How many a block has."""
BLOCKS = 12
"""How many pairs of blocks are measured: with and without, without and with, and so on."""
GOAL = 0.10

CHEAPER = {
    "name": "cheaper",
    "goal": "Buy the better product.",
    "factors": {"nudge": {"interventions": "cheaper.yaml"}},
}
PRICES = {"id": "cheap", "kind": "nudge", "family": "price", "direction": 1, "edits": [{"set_price": 3.21}]}


FOREIGN = ("german", "drawn-by-scripts")
"""Shops of the storefronts whose pages are not the embedded shop's; the second's are drawn by scripts."""


async def run() -> Result:
    """Measure the processor's time of all processes: those of the browser included."""
    taken: dict[str, list[tuple[str, float, float, float]]] = {"embedded": [], "foreign": [], "cards": []}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cheaper.yaml").write_text(yaml.safe_dump({"interventions": [PRICES]}))
        (Path(folder) / "e.yaml").write_text(yaml.safe_dump(CHEAPER))
        nudges = ShopDesign(experiment_source("nudges"))
        taken["embedded"].append(("`nudges`", *await measured(nudges)))
        cheaper = load_shop_design(f"{folder}/e.yaml", AGENT)
        name = "another price, whose old value may stand nowhere"
        taken["embedded"].append((name, *await measured(cheaper)))
        for shop in FOREIGN:
            async with running(shop) as base:
                cases()[shop].write_files(Path(folder), base)
                foreign = load_shop_design(f"{folder}/experiment.yaml", AGENT)
                name = f"a text, a price and a number of reviews in the hand-written shop `{shop}`"
                taken["foreign"].append((name, *await measured(foreign, base)))
        cards = ShopDesign(experiment_source("listing"))
        taken["cards"].append(("`listing`: nudges on the cards of a list", *await measured(cards)))
    dearest = {part: max(share for *_, share in shares) for part, shares in taken.items()}
    figures = " / ".join(f"{100 * share:.1f}" for share in dearest.values())
    return Result(
        what="the checks that an edit was seen and its old value stands nowhere",
        against="the same episodes without them",
        figure=f"{figures} % of an episode's processor time ({' / '.join(dearest)})",
        goal=f"under {100 * GOAL:.0f} %",
        reached=max(dearest.values()) < GOAL,
        times=tuple(
            (
                name,
                f"{1000 * whole:.0f} ms an episode, {1000 * without:.0f} ms without the checks; "
                f"{100 * share:.1f} %",
            )
            for shares in taken.values()
            for name, whole, without, share in shares
        ),
        how=(
            f"Episodes by `{AGENT}` in the embedded shop, in foreign ones, and on lists of the embedded "
            f"shop, whose cards carry the edits: {EPISODES} in a row with the checks and the same "
            f"{EPISODES} without them, in turn, {BLOCKS} times each; the medians, of times and "
            "of what the checks took of each two blocks that followed each other. Without the checks a look "
            "reads nothing but the observation, and the stored looks are not judged. Timed is the "
            "processor's time of all processes together: Souk's, Playwright's, the shop's and the browser's."
        ),
        notes=("Blocks with and without the checks take turns: what else the machine does hits both.",),
    )


async def measured(design: ShopDesign, base_url: str | None = None) -> tuple[float, float, float]:
    """Processor's seconds of an episode with the checks, and without, and what share of it the checks took.

    base_url: of a shop that runs.
    """
    slots = default_slots([AGENT])
    trials = list(itertools.islice(design.trials([AGENT]), EPISODES))
    taken: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        async with open_testbed(Path(folder), Shop(base_url)) as testbed:
            runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, slots)
            order = [
                side for pair in range(BLOCKS) for side in ((True, False) if pair % 2 else (False, True))
            ]
            for number, checks in enumerate([True, *order]):
                with ExitStack() as stack:
                    if not checks:
                        stack.enter_context(unchecked())
                    began = processor_seconds()
                    await all_ended(runner, design, trials, f"sqlite:///{folder}/{number}.db")
                    if number:  # the first block starts the browser
                        taken[checks].append((processor_seconds() - began) / EPISODES)
    pairs = zip(taken[True], taken[False], strict=True)
    share = statistics.median(1 - without / whole for whole, without in pairs)
    return statistics.median(taken[True]), statistics.median(taken[False]), share


@contextmanager
def unchecked() -> Iterator[None]:
    """Leave out what looks read besides the observation, and what is made of it."""
    with (
        mock.patch.object(shop_episode, "wanted_in_browser", lambda *_: NOTHING),
        mock.patch.object(shop_episode, "sights", lambda *_: []),
        mock.patch.object(page_record, "sights", lambda *_: []),
        mock.patch.object(shop_episode, "untreated", lambda *_: ""),
        mock.patch.object(page_record, "placed", lambda *_: []),
        mock.patch.object(page_record, "unchecked", lambda *_: []),
    ):
        yield


def processor_seconds() -> float:
    """Seconds of this process and all that it has started."""
    seconds, own = 0.0, psutil.Process()
    for each in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # what it took is in its parent's times
            seconds += sum(each.cpu_times()[:4])
    return seconds
