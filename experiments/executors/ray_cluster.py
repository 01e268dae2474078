"""Run attempts on a Ray cluster: actors, each with its own proxy, browser and embedded shop."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from environments.browser.pulse import comes
from environments.launch.watchdog import watched
from experiments.designs.design import Trial
from experiments.executors.executor import Attempt, Executor, WorkerDied
from experiments.executors.pool import PATIENCE_SECONDS, STANDSTILL_SECONDS, Pool, Say, Worker, open_pool
from experiments.executors.setup import Setup, open_executor
from experiments.records.record import TrialRecord
from interventions.errors import UserError

ROOM_SECONDS: Final = 15
"""How long a worker may wait for a place before the user is told."""


class Actor:
    """The worker's part that runs on a node of the cluster."""

    async def open(self, setup: Setup) -> None:
        """Start the executor of this node. Raises UserError."""
        self._stack = AsyncExitStack()
        self._stack.enter_context(watched(signals=False))
        folder = self._stack.enter_context(TemporaryDirectory(prefix="souk-"))
        self._executor: Executor[Trial] = await self._stack.enter_async_context(
            open_executor(replace(setup, folder=Path(folder)))
        )

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Run one attempt. Raises UserError."""
        return await self._executor.run(attempt)

    async def beat(self) -> None:
        """Return: a sign of life."""

    async def close(self) -> None:
        """End the browser, the proxy and the shop."""
        await self._stack.aclose()


@asynccontextmanager
async def open_ray(setup: Setup, workers: int, address: str, say: Say) -> AsyncIterator[Pool]:
    """Open an executor of actors on the cluster at `address`, as `ray.init` takes it.

    Raises:
        UserError: Ray is not installed, or there is no such cluster.
    """
    await _connect(address)
    import ray  # noqa: PLC0415 - an extra

    try:
        async with open_pool(partial(ray_worker, setup, say), workers, setup.slots, say) as pool:
            yield pool
    finally:
        ray.shutdown()


async def _connect(address: str) -> None:
    try:
        import ray  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise UserError("--ray: Ray is not installed; install souk[ray]") from None
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():  # Ray itself would try for minutes
            async with asyncio.timeout(PATIENCE_SECONDS):
                _, writer = await asyncio.open_connection(host, int(port))
            writer.close()
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        cause = " ".join(str(error).split()).partition(". ")[0] or "no answer"
        raise UserError(
            f"--ray {address}: {cause}; start a cluster with `ray start --head`, or leave --ray out"
        ) from None


@asynccontextmanager
async def ray_worker(setup: Setup, say: Say, number: int) -> AsyncIterator[Worker]:
    """Start a worker and wait until it is ready. Raises WorkerDied, UserError."""
    import ray  # noqa: PLC0415 - an extra

    actor: Any = ray.remote(num_cpus=1)(Actor).remote()
    worker = _RayWorker(actor)
    try:
        await _opened(worker, setup, partial(say, f"worker {number} waits for a free CPU of the cluster"))
        watching = asyncio.create_task(worker.watch())
        try:
            yield worker
        finally:
            watching.cancel()
            if not worker.dead.is_set():
                with suppress(WorkerDied, TimeoutError):
                    await asyncio.wait_for(worker.call("close"), PATIENCE_SECONDS)
    finally:
        ray.kill(actor)


async def _opened(worker: "_RayWorker", setup: Setup, say_that_it_waits: Callable[[], None]) -> None:
    """Wait until a worker is ready. Raises WorkerDied; UserError: the cluster has no CPU at all."""
    import ray  # noqa: PLC0415 - an extra

    opening, waits = asyncio.ensure_future(worker.call("open", setup)), False
    try:
        while not await comes(opening, ROOM_SECONDS):
            if ray.cluster_resources().get("CPU", 0) < 1:
                raise UserError(
                    "--ray: no node of the cluster has a CPU (any more); start one with `ray start "
                    "--address ...`, and the same command goes on (what was stored is safe)"
                )
            if not waits:
                say_that_it_waits()
            waits = True
        await opening
    finally:
        opening.cancel()


class _RayWorker:
    """A worker on the cluster, as the process that started it sees it."""

    def __init__(self, actor: Any) -> None:
        self.dead = asyncio.Event()
        self._actor = actor

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Send an attempt to the actor and wait for its record. Raises WorkerDied, UserError."""
        record: TrialRecord = await self.call("run", attempt)
        return record

    async def watch(self) -> None:
        """Ask the actor every second for a sign of life until it is dead; kill one that stands still."""
        import ray  # noqa: PLC0415 - an extra

        with suppress(WorkerDied):
            while True:
                await asyncio.sleep(1)
                beating = asyncio.ensure_future(self.call("beat"))
                try:
                    if not await comes(beating, STANDSTILL_SECONDS):
                        ray.kill(self._actor)
                    await beating
                finally:
                    beating.cancel()

    async def call(self, method: str, *arguments: object) -> Any:
        """Call a method of the actor. Raises WorkerDied, and what the method raises."""
        from ray.exceptions import RayError, RayTaskError  # noqa: PLC0415 - an extra

        try:
            return await getattr(self._actor, method).remote(*arguments)
        except RayTaskError as error:
            raise error.cause from None
        except RayError as error:
            self.dead.set()
            raise WorkerDied(f"its worker died ({type(error).__name__})") from None
