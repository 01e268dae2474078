"""Choose the workers of an experiment: this process by default, several, or those of a cluster."""

import os
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from agents.base import is_command
from agents.simulated.own_profiles import own_profiles
from environments.shop.shop import Shop
from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign
from experiments.executors.browser import MOST_IN_A_BROWSER, default_slots
from experiments.executors.executor import Executor
from experiments.executors.pool import Say
from experiments.executors.processes import open_processes
from experiments.executors.ray_cluster import open_ray
from experiments.executors.setup import Setup, open_executor
from experiments.executors.text import SLOTS_OF_BATCHES, default_text_slots
from interventions.errors import UserError


@dataclass(frozen=True, slots=True)
class Workers:
    """The number of workers, the trials that each runs at once, and where the workers are.

    The number of trials is None where Souk chooses it. `ray`: the address of a Ray cluster; None: they are on
    this machine. `in_batches`: what models are asked goes in batches.
    """

    count: int = 1
    slots: int | None = None
    ray: str | None = None
    in_batches: bool = False

    def setup(self, design: AnyDesign, folder: Path, agents: Iterable[str]) -> Setup:
        """Make the setup that each worker needs for an experiment."""
        agents = tuple(agents)
        setup = Setup(
            design,
            folder,
            design.shop,
            0,
            shoppers=own_profiles(agents),
            programs=self.slots or self.cores_each if any(map(is_command, agents)) else 0,
            in_batches=self.in_batches,
        )
        return replace(
            setup,
            slots=self.slots_each(agents, is_text=setup.is_text),
            cores=self.cores_each,
            pictures=setup.is_text or needs_pictures(design, agents),
        )

    @property
    def cores_each(self) -> int:
        """The number of processors that each worker may keep busy."""
        return max(1, (os.cpu_count() or 1) // self.count) if self.ray is None else 1

    def slots_each(self, agents: Collection[str], *, is_text: bool) -> int:
        """Return the number of trials that each worker runs at once."""
        if self.slots:
            return self.slots
        if self.in_batches:
            return SLOTS_OF_BATCHES
        return (is_text and default_text_slots(agents)) or default_slots(agents, self.cores_each)

    def check_slots(self, design: AnyDesign) -> None:
        """Check that so many trials can run at once. Raises UserError."""
        if design.mode == "page" and (self.slots or 0) > MOST_IN_A_BROWSER:
            raise UserError(
                f"--slots {self.slots}: a browser has at most {MOST_IN_A_BROWSER} episodes at once, as each "
                "takes some 60 MB and its share of the cores; add --workers, or --mode text for cards"
            )


def needs_pictures(design: AnyDesign, agents: Iterable[str]) -> bool:
    """Return whether a page is another one for these agents without its shop's pictures.

    In the embedded shop each picture has its size, so that without them only what is drawn is another. What
    else a shop's pages do with their pictures nobody knows.
    """
    if design.shop.url is not None:
        return True
    blocks = (islice(design.trials([agent]), design.block_size(agent)) for agent in agents)
    return any(design.view(trial).screenshot for block in blocks for trial in block)


@asynccontextmanager
async def open_workers(workers: Workers, setup: Setup, say: Say) -> AsyncIterator[Executor[Trial]]:
    """Open the executor of an experiment, ready to run attempts.

    `say` is told, in a line, what happens to workers.

    Raises:
        UserError: something that it needs does not start.
    """
    if workers.ray:
        async with open_ray(setup, workers.count, workers.ray, say) as pool:
            yield pool
    elif workers.count == 1:
        async with open_executor(setup, say) as executor:
            yield executor
    else:
        async with (
            nullcontext() if setup.is_text else setup.shop.opened(say) as url,
            open_processes(replace(setup, shop=Shop(url)), workers.count, say) as pool,
        ):
            yield pool
