"""`python -m tests.lab.bench.soak`: a day of `souk trials serve` with 200 guests; nothing grows or fails.

The guests think between two pages, so that their connections stand idle and the shop closes them. The day
passes faster than others: where everybody waits, the clock is put forward. It fails when the process has
grown by more than 10 % after two fifths of the requests (until then guests fill their first trials), when
connections or tasks are left, when an answer is not the right one, or when a trial does not end as a choice.
"""

import argparse
import asyncio
import collections
import gc
import io
import os
import random
import re
import socket
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from environments.shop.app import create_app
from environments.shop.catalogue import generate
from experiments.designs.loading import load_shop_design
from experiments.records.integrity.check import check_database
from experiments.records.store import Records
from experiments.subjects.guests import GuestSettings, serve_guests
from tests.lab.bench.fast_clock import FastClock
from tests.support import serve

PAGES = 28
"""How many pages a guest looks at in a trial, on average; further requests begin the trial, buy, and ask."""
REQUESTS = PAGES + 5
EXPERIMENT = """\
name: soak
goal: Buy one of the two.
options: {sets: 60}
factors: {nudge: {interventions: nudges}}
limits: {seconds: 86400}
"""
JSON = {"accept": "application/json"}
FIELD = re.compile(r'<input[^>]*name="(form_key|product)"[^>]*value="([^"]*)"')
ACTION = re.compile(r'action="([^"]*checkout/cart/add[^"]*)"')
MARKS = (0.02, 0.2, 0.4, 0.6, 0.8, 1.0)
LIMIT = 1.10


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def main() -> int:
    """Run it, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench.soak", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--guests", type=int, default=200)
    parser.add_argument("--hours", type=float, default=24.0)
    day = Day(**vars(parser.parse_args()))
    with FastClock() as clock, asyncio.Runner(loop_factory=clock.loop) as runner:
        return runner.run(day.run())


@dataclass
class Day:
    """So many requests of so many guests in so many hours."""

    requests: int
    guests: int
    hours: float
    asked: int = 0
    ended: collections.Counter[str] = field(default_factory=collections.Counter)
    problems: list[str] = field(default_factory=list)

    async def run(self) -> int:
        """Return 0 when all went well, else 1."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            measured = await self._serve(folder)
            self._check(folder, measured)
        for problem in self.problems[:9]:
            sys.stdout.write(f"failed: {problem}\n")
        return int(bool(self.problems))

    async def _serve(self, folder: Path) -> list["Load"]:
        began, real = time.monotonic(), time.perf_counter()
        (folder / "soak.yaml").write_text(EXPERIMENT)
        said = io.StringIO()
        async with serve(create_app(generate(0))) as shop:
            options = GuestSettings(
                experiment=str(folder / "soak.yaml"),
                label="guests",
                db=f"sqlite:///{folder}/t.db",
                port=free_port(),
                reverse=shop,
                observe="off",
            )
            with redirect_stdout(said), redirect_stderr(said):
                serving = asyncio.create_task(serve_guests(options))
                url = f"http://127.0.0.1:{options.port}"
                async with httpx.AsyncClient(verify=False) as client:
                    while not serving.done():
                        with suppress(httpx.ConnectError):
                            await client.get(f"{url}/.souk/")
                            break
                        await asyncio.sleep(0.1)
                guests = [asyncio.create_task(self._guest(url, number)) for number in range(self.guests)]
                measured = []
                for mark in MARKS:
                    while self.asked < mark * self.requests and self._goes_on(serving):  # noqa: ASYNC110
                        await asyncio.sleep(1)  # of the day
                    gc.collect()
                    measured.append(Load.now(self.asked, time.monotonic() - began))
                    print(measured[-1], file=sys.__stdout__, flush=True)
                await asyncio.gather(*guests)
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving
        seconds = time.perf_counter() - real
        sys.stdout.write(f"{self.asked:,} requests in {seconds:.0f} s; trials: {dict(self.ended)}\n")
        return measured

    def _goes_on(self, serving: asyncio.Task[None]) -> bool:
        return not self.problems and not serving.done()

    async def _guest(self, url: str, number: int) -> None:
        """Carry out trials, one after another, until there are enough requests."""
        chance = random.Random(number)
        pause = self.hours * 3600 * self.guests / self.requests
        async with httpx.AsyncClient(base_url=url, follow_redirects=True, timeout=60, verify=False) as client:
            try:
                await asyncio.sleep(chance.uniform(0, pause))
                while self.asked < self.requests and not self.problems:
                    await self._trial(client, chance, pause)
            except Exception as error:
                self.problems.append(f"guest {number}: {error!r}")

    async def _trial(self, client: httpx.AsyncClient, chance: random.Random, pause: float) -> None:
        told = (await self._ask(client, "POST", "/.souk/next", headers=JSON)).json()
        for _ in range(round(chance.uniform(0.5, 1.5) * PAGES)):
            await asyncio.sleep(chance.expovariate(1 / pause))
            page = await self._ask(client, "GET", chance.choice([*told["urls"], "/"]))
        await asyncio.sleep(chance.expovariate(1 / pause))
        page = await self._ask(client, "GET", chance.choice(told["urls"]))
        form, action = dict(FIELD.findall(page.text)), ACTION.search(page.text)
        assert action, page.text
        await self._ask(client, "POST", action[1], data=form | {"qty": "1"})
        ended = (await self._ask(client, "GET", "/.souk/trial")).json()
        self.ended[ended["outcome"]] += 1
        if ended["outcome"] != "choice":
            self.problems.append(f"{told['trial']}: {ended}")

    async def _ask(self, client: httpx.AsyncClient, method: str, url: str, **more: object) -> httpx.Response:
        answer = await client.request(method, url, **more)
        self.asked += 1 + len(answer.history)
        if answer.status_code != 200:
            self.problems.append(f"{method} {url}: {answer.status_code} {answer.text[:300]}")
        return answer

    def _check(self, folder: Path, measured: list["Load"]) -> None:
        """What was stored, and whether anything has grown."""
        url = f"sqlite:///{folder}/t.db"
        stored = Records(url).outcomes(load_shop_design(str(folder / "soak.yaml"), "guests").run_id)
        if stored != dict(self.ended):
            self.problems.append(f"ended: {dict(self.ended)}, stored: {stored}")
        self.problems += [f"db: {each}" for each in check_database(url, lambda *_: None) if not each.ok]
        full, last = measured[MARKS.index(0.4)], measured[-1]
        sys.stdout.write(f"memory {last.memory / full.memory - 1:+.1%} after two fifths of the requests\n")
        if last.memory > LIMIT * full.memory:
            self.problems.append("the process has grown")
        for name in ("descriptors", "tasks"):
            if getattr(last, name) > max(getattr(each, name) for each in measured[:3]) + self.guests:
                self.problems.append(f"{name} have grown")


@dataclass(frozen=True)
class Load:
    """What the process holds after so many requests."""

    asked: int
    seconds: float
    memory: int
    descriptors: int
    tasks: int

    @classmethod
    def now(cls, asked: int, seconds: float) -> "Load":
        """Measure it."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            asked,
            seconds,
            pages * os.sysconf("SC_PAGE_SIZE"),
            len(list(Path("/proc/self/fd").iterdir())),
            len(asyncio.all_tasks()),
        )

    def __str__(self) -> str:
        return (
            f"{self.seconds / 3600:5.1f} h {self.asked:>8,} requests {self.memory / 1e6:>7.1f} MB "
            f"{self.descriptors:>5} descriptors {self.tasks:>5} tasks"
        )


if __name__ == "__main__":
    sys.exit(main())
