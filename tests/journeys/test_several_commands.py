"""Several commands on one run: they share its trials, and each trial is run and paid for once.

The model of these tests is a server on loopback that tells commands apart by their keys, so that it decides
which of them waits.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from rich.console import Console
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from agents.base import ProviderError
from experiments.executors import text as text_runner
from experiments.records import tables
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from tests.chat_completion import completion
from tests.experiments.chains import has_whole_chains
from tests.experiments.command_line import BaseProcess, start
from tests.experiments.postgres_server import PostgresServer, postgres_server
from tests.support import serve

TRIALS = 24
HOTELS = """\
name: shared-hotels
task: card
mode: text
cards: hotels
design: {conjoint: {pool: hotels, blocks: [{set_size: 2, sets: 12, repeats: 1}]}}
seed: 3
"""
AGENT = "openai:gpt-4.1-mini"
OF_CARDS = ("trials", "options", "attributes", "questions", "answers", "calls")

Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/shared.db"
    server: PostgresServer = request.getfixturevalue("server")
    return server.new_database()


class Model:
    """Chooses A, unless the key is one of the `silent`."""

    def __init__(self) -> None:
        self.requests = Counter[str]()
        self.silent: set[str] = set()
        """Keys that get no answer."""

    async def answer(self, request: Request) -> JSONResponse:
        key = request.headers["authorization"].removeprefix("Bearer ")
        self.requests[key] += 1
        if key in self.silent:
            await asyncio.Event().wait()
        return JSONResponse(completion("A", model="gpt-4.1-mini"))


class Commands:
    """Commands in folders of their own, with a model that answers them."""

    def __init__(self, folder: Path, url: str, model: Model) -> None:
        self._folder, self._url = folder, url
        self.model = model
        (folder / "x.yaml").write_text(HOTELS)

    def start(self, key: str, db: str, *options: str) -> BaseProcess:
        """A `souk run` with this key."""
        (self._folder / key).mkdir()
        env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{self._url}v1", "NO_PROXY": "*"}
        # With the usual slots the first would take all trials.
        arguments = ("run", "../x.yaml", "--agent", AGENT, "--db", db, "--slots", "8", *options)
        return start(*arguments, cwd=self._folder / key, env=env)

    def said(self, key: str) -> str:
        """What the command with this key has said so far."""
        file = self._folder / key / "err.txt"
        return file.read_text() if file.exists() else ""

    async def end(self, key: str, process: BaseProcess) -> None:
        """Wait for its end. Fails where that is none in good order."""
        await asyncio.to_thread(process.join)
        assert process.exitcode == 0, self.said(key)


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Commands]:
    async with a_model() as (url, model):
        yield Commands(tmp_path, url, model)


@asynccontextmanager
async def a_model() -> AsyncIterator[tuple[str, Model]]:
    model = Model()
    routes = [Route("/v1/chat/completions", model.answer, methods=["POST"])]
    async with serve(Starlette(routes=routes)) as url:
        yield url, model


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What one command stores that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    db = f"sqlite:///{folder}/t.db"

    async def run() -> None:
        async with a_model() as (url, model):
            commands = Commands(folder, url, model)
            await commands.end("alone", commands.start("alone", db))
            assert model.requests == {"alone": TRIALS}

    asyncio.run(run())
    return stored(db, *OF_CARDS)


def stored(url: str, *names: str) -> Rows:
    """What the tables hold, without times and seals, ports in pages, and the order in which pages came."""
    records, found = Records(url), {}
    for name in names:
        table = tables.metadata.tables[name]
        left_out = {"started_at", "seconds", "seal", "page_hash_before", "page_hash_after"}
        left_out |= {"number"} if name == "receipts" else set()
        columns = [each for each in table.c if each.name not in left_out]
        with records.engine.connect() as connection:
            found[name] = sorted(map(tuple, connection.execute(sql.select(*columns))), key=repr)
    records.close()
    return found


async def until(condition: Any, process: BaseProcess) -> None:
    """Return when it holds. Fails when the process ends before."""
    while not condition():
        await asyncio.to_thread(process.join, 0.02)
        assert process.is_alive()


@pytest.mark.thorough
async def test_what_a_killed_command_had_claimed_goes_to_the_other(
    commands: Commands, shared: str, alone: Rows
) -> None:
    model = commands.model
    model.silent = {"killed"}
    killed = commands.start("killed", shared)
    await until(lambda: model.requests["killed"], killed)
    refused = commands.start("refused", shared, "--budget", "5")
    await asyncio.to_thread(refused.join)
    assert refused.exitcode == 2
    last = commands.said("refused").splitlines()[-1]
    assert last.startswith(f"error: --budget: process {killed.pid} on "), last
    other = commands.start("other", shared)
    await until(lambda: f"that process {killed.pid} on " in commands.said("other"), other)
    held = model.requests["killed"]
    assert held > 0
    assert model.requests["other"] == TRIALS - len(stored(shared, "claims")["claims"]) < TRIALS
    os.killpg(killed.pid or 0, signal.SIGKILL)
    killed.join()
    await commands.end("other", other)
    assert model.requests["other"] == TRIALS
    assert stored(shared, *OF_CARDS) == alone
    assert stored(shared, "claims") == {"claims": []}
    assert has_whole_chains(shared)


async def test_a_second_command_whose_provider_fails_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS)

    def a_run() -> ExperimentRun:
        """Knows what had ended when it was made: nothing."""
        db, agents = f"sqlite:///{tmp_path}/t.db", ["simulated:balanced"]
        return ExperimentRun(str(tmp_path / "x.yaml"), agents=agents, limit=None, db=db, out=tmp_path)

    class Failing:
        async def answer(self, *_: object, **__: object) -> Any:
            raise ProviderError("HTTP 500 from the provider: down")

    healthy, failing = a_run(), a_run()
    await healthy.run(Console(quiet=True))
    monkeypatch.setattr("experiments.runs.outages.PAUSES", (0.0, 0.0))
    monkeypatch.setattr(text_runner, "make_respondent", lambda *_, **__: Failing())
    before = stored(f"sqlite:///{tmp_path}/t.db", *OF_CARDS)
    await failing.run(Console(quiet=True))
    assert failing.records.outcomes(failing.design.run_id) == {"choice": TRIALS}
    assert stored(f"sqlite:///{tmp_path}/t.db", *OF_CARDS) == before
    assert list(failing.complaints()) == []
