"""What breaks while a trial runs is put right: the trial is repeated, and nothing else changes."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from playwright.async_api import BrowserContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.base import Agent, Decision
from environments.protocol.observation import Observation
from environments.protocol.time_limit import NOBODY, Silent
from environments.shop.shop import USUAL, Shop
from experiments.designs.loading import load_design
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed, open_testbed
from experiments.executors.setup import Setup, open_executor
from experiments.records import tables
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.runs import outages
from experiments.runs.coordinator import with_calls_of
from experiments.treatment.trajectory import Trajectory
from proxy.session import Session
from tests.chat_completion import completion
from tests.experiments.command_line import ROOT, descendants
from tests.experiments.records.test_store import a_record
from tests.experiments.running import HOTELS, run_trials
from tests.support import serve

AGENT = "simulated:balanced"
TRIALS = 3
SLOTS = 2

Fault = Callable[[BrowserContext, Testbed, "ShopProcess"], Awaitable[None]]


class ShopProcess:
    """The embedded shop as a process that can be killed and started again at the same address."""

    url = ""
    _process: asyncio.subprocess.Process

    async def start(self) -> None:
        """Start it, at its former port if it had one, and wait until it is ready."""
        port = self.url.rstrip("/").rpartition(":")[2] or "0"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "environments.shop", "--port", port),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        self.url = (await self._process.stdout.readline()).decode().split()[-1]

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


class Disturbed(ShopTrialRunner):
    """In the first second step of all, something breaks."""

    disturbed = ""
    """The trial in which that was."""

    def __init__(self, design: Any, testbed: Testbed, fault: Fault, shop: ShopProcess) -> None:
        super().__init__(design, testbed.base_url)
        self._fault: Fault | None = fault
        self._testbed, self._shop = testbed, shop

    async def episode(
        self,
        trial: ShopTrial,
        agent: Agent,
        context: BrowserContext,
        session: Session,
        silent: Silent = NOBODY,
    ) -> Trajectory:
        class Saboteur:
            async def act(self, observation: Observation) -> Decision:
                if observation.step == 1 and (fault := episodes._fault):
                    episodes._fault, episodes.disturbed = None, trial.id
                    await fault(context, episodes._testbed, episodes._shop)
                return await agent.act(observation)

        episodes = self
        return await super().episode(trial, Saboteur(), context, session, silent)


async def kill_the_browser(*_: object) -> None:
    kill("chrom")


async def kill_playwright(*_: object) -> None:
    kill("run-driver")


def kill(program: str) -> None:
    for number, command in descendants(os.getpid()).items():
        if program in command:
            with suppress(ProcessLookupError):  # its parent has ended it
                os.kill(number, signal.SIGKILL)


async def crash_the_tab(context: BrowserContext, *_: object) -> None:
    page = context.pages[-1]
    crash = asyncio.ensure_future((await context.new_cdp_session(page)).send("Page.crash"))
    await page.wait_for_event("crash")
    crash.cancel()


async def close_the_proxys_ports(_: BrowserContext, testbed: Testbed, shop: ShopProcess) -> None:
    for listener in testbed.proxy._listeners.values():
        await listener.stop()


async def restart_the_shop(_: BrowserContext, testbed: Testbed, shop: ShopProcess) -> None:
    await shop.kill()
    await shop.start()


def rows(records: Records, *columns: sql.Column[Any]) -> list[tuple[Any, ...]]:
    with records.engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(sql.select(*columns)))


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    return Setup(load_design("nudges"), tmp_path_factory.mktemp("testbed"), USUAL, SLOTS)


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[ShopProcess]:
    shop = ShopProcess()
    await shop.start()
    yield shop
    await shop.kill()


@pytest.fixture(scope="module")
async def testbed(setup: Setup, shop: ShopProcess) -> AsyncIterator[Testbed]:
    async with open_testbed(setup.folder, Shop(shop.url)) as testbed:
        yield testbed


FAULTS = [kill_the_browser, crash_the_tab, close_the_proxys_ports, kill_playwright, restart_the_shop]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_breaks_amid_a_trial_costs_an_attempt(
    fault: Fault,
    setup: Setup,
    testbed: Testbed,
    shop: ShopProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if fault is kill_playwright:  # its pages seem to be there, but never settle
        monkeypatch.setattr("environments.observation.settling.SETTLE_SECONDS", 2)
    design: Any = setup.design
    finished: list[TrialRecord] = []
    episodes = Disturbed(design, testbed, fault, shop)
    trials = list(islice(design.trials([AGENT]), TRIALS))
    executor = BrowserExecutor(episodes, testbed, SLOTS)
    records = Records(f"sqlite:///{tmp_path}/t.db")
    await run_trials(executor, design, records, trials, finished.append)
    assert sorted(record.trial.trial for record in finished) == sorted(trial.id for trial in trials)
    columns = tables.trials.c
    ended = dict(rows(records, columns.trial, columns.outcome))
    assert ended == {trial.id: "choice" for trial in trials}
    attempts = dict(rows(records, columns.trial, columns.attempts))
    assert attempts[episodes.disturbed] == 2
    assert set(attempts.values()) <= {1, 2}
    assert dict(rows(records, columns.trial, columns.steps))[episodes.disturbed] == 3


@pytest.mark.thorough
async def test_a_shop_that_is_gone_for_good_ends_the_trials_as_infra_error(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.executors.shop_watch.OUTAGE_SECONDS", 0.5)
    design: Any = setup.design
    records, gone = Records(f"sqlite:///{tmp_path}/t.db"), ShopProcess()
    await gone.start()
    await gone.kill()
    async with open_testbed(tmp_path, Shop(gone.url)) as testbed:
        executor = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, SLOTS)
        await run_trials(executor, design, records, islice(design.trials([AGENT]), TRIALS))
    columns = tables.trials.c
    ended = rows(records, columns.outcome, columns.attempts)
    assert ended == [("infra_error", 3)] * TRIALS


class Provider:
    """Speaks the wire format of chat completions, once it is up."""

    def __init__(self) -> None:
        self.up = False
        self.refused = 0

    def answer(self, _: Request) -> Response:
        if not self.up:
            self.refused += 1
            return JSONResponse({"error": {"message": "down"}}, 503, headers={"retry-after-ms": "1"})
        return JSONResponse(completion("A", model="small"))


@pytest.fixture
async def provider(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Provider]:
    provider = Provider()
    route = Route("/v1/chat/completions", provider.answer, methods=["POST"])
    async with serve(Starlette(routes=[route])) as url:
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}v1")
        yield provider


@pytest.fixture
def hotels(tmp_path: Path) -> Setup:
    (tmp_path / "x.yaml").write_text(HOTELS.replace("sets: 8", "sets: 3"))
    return Setup(load_design(str(tmp_path / "x.yaml")), tmp_path, USUAL, 4)


async def test_a_provider_that_is_down_holds_back_its_own_trials_only(
    provider: Provider, hotels: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "PAUSES", (1.0, 100.0))
    trials = list(hotels.design.trials(["openai:small", AGENT]))
    order: list[str] = []

    def note(record: TrialRecord) -> None:
        order.append(record.trial.agent)
        # It stays down until all trials of the other agent are through.
        provider.up = order.count(AGENT) == len(trials) / 2

    records = Records(f"sqlite:///{tmp_path}/t.db")
    async with open_executor(hotels) as executor:
        await run_trials(executor, hotels.design, records, trials, note)
    assert provider.refused > 0
    half = len(trials) // 2
    assert order == [AGENT] * half + ["openai:small"] * half
    columns = tables.trials.c
    outcomes = rows(records, columns.trial, columns.outcome)
    assert outcomes == sorted((trial.id, "choice") for trial in trials)
    assert {attempts for _, attempts in rows(records, columns.agent, columns.attempts)} <= {1, 2}
    # What was asked in vain was asked: it stands in the records, and its cost counts.
    calls = rows(records, tables.calls.c.trial, tables.calls.c.number, tables.calls.c.error)
    vain = [error for *_, error in calls if error]
    assert vain
    assert len(calls) == len(vain) + half


async def test_a_provider_that_is_gone_for_good_ends_its_trials_as_infra_error(
    provider: Provider, hotels: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "PAUSES", (0.01, 0.01))
    records = Records(f"sqlite:///{tmp_path}/t.db")
    async with open_executor(hotels) as executor:
        await run_trials(executor, hotels.design, records, hotels.design.trials(["openai:small"]))
    columns = tables.trials.c
    ended = rows(records, columns.outcome, columns.attempts, columns.reason)
    assert {(outcome, attempts) for outcome, attempts, _ in ended} == {("infra_error", 3)}
    assert all(reason.startswith("provider: HTTP 503") for *_, reason in ended)


@pytest.mark.parametrize(
    ("costs", "total"),
    [((0.1, 0.2, 0.3), 0.6), ((None, 0.2, 0.3), None), ((0.1, None, 0.3), None), ((0.1, 0.2, None), None)],
)
def test_a_trial_costs_what_all_its_attempts_cost_if_that_is_known(
    costs: tuple[float | None, ...], total: float | None
) -> None:
    attempts = []
    for cost in costs:
        record = a_record("t1", "infra_error", cost=cost, tokens_in=7)
        record.calls.append({"number": 0, "model": "m", "cost": cost})
        attempts.append(record)
    *failed, last = attempts
    whole = with_calls_of(failed, last)
    assert whole.trial.cost == (None if total is None else pytest.approx(total))
    assert whole.trial.tokens_in == 21
    assert [(call["number"], call["cost"]) for call in whole.calls] == list(enumerate(costs))
