"""souk run --batch: half the price, and a run that was killed goes on with the batches that it sent."""

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path

import pytest

from experiments.designs.loading import load_design
from experiments.executors.expected_use import most_cost_in_a_batch
from tests.agents.batch_provider import BatchProvider, chat, serving
from tests.experiments.command_line import forked_souk, start

pytestmark = pytest.mark.slow

MODEL = "openai:gpt-4.1-mini"
RUN = ("run", "hotels", "--mode", "text", "--agent", MODEL, "--limit", "12", "--batch")
COST = (1_000 * 0.4 + 100 * 1.6) / 2e6  # of a request


@pytest.fixture
def provider() -> Iterator[tuple[BatchProvider, dict[str, str | None]]]:
    """A provider of batches that answers A, and the environment that leads there."""
    found = BatchProvider(lambda _: (200, chat("A")))
    found.polls = 0
    with serving(found) as url:
        yield found, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1", "NO_PROXY": "127.0.0.1"}


def test_a_killed_run_goes_on_with_the_batches_that_were_sent(
    provider: tuple[BatchProvider, dict[str, str | None]], tmp_path: Path
) -> None:
    batches, env = provider
    batches.open = False
    db = tmp_path / "t.db"
    command = (*RUN, "--db", f"sqlite:///{db}")
    killed = start(*command, cwd=tmp_path, env=env)
    assert batches.looked.wait(120)
    os.killpg(killed.pid or 0, signal.SIGKILL)
    killed.join()
    sizes = list(batches.sizes)
    batches.open = True
    ended = forked_souk(*command, cwd=tmp_path, env=env)
    assert ended.status == 0, ended.err
    assert batches.sizes[: len(sizes)] == sizes
    assert sum(batches.sizes) == 12
    with sqlite3.connect(db) as connection:
        rows = connection.execute("SELECT outcome, choice IS NOT NULL, cost FROM trials").fetchall()
    assert [row[:2] for row in rows] == [("choice", 1)] * 12
    assert [row[2] for row in rows] == pytest.approx([COST] * 12)


def test_half_the_price_is_forecast(
    provider: tuple[BatchProvider, dict[str, str | None]], tmp_path: Path
) -> None:
    batches, env = provider
    (half,), (whole,) = (
        json.loads(forked_souk(*arguments, "--dry-run", "--json", cwd=tmp_path, env=env).out)["forecast"]
        for arguments in (RUN, RUN[:-1])
    )
    assert half["cost"] == pytest.approx(whole["cost"] / 2)
    assert (half["requests"], half["seconds"]) == (12, None)
    assert "in batches, at half the price" in half["basis"]
    assert batches.sizes == []


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_budget_sends_what_it_can_pay_for(
    provider: tuple[BatchProvider, dict[str, str | None]], tmp_path: Path, share: float
) -> None:
    batches, env = provider
    trials = islice(load_design("hotels", "text").trials([MODEL]), 12)
    most = [cost for trial in trials if (cost := most_cost_in_a_batch(trial))]
    tokens = int(share * min(most) * 2e6 / 0.4)
    usage = {"prompt_tokens": tokens, "completion_tokens": 0}  # what a trial may cost, or a share of it
    batches.answer = lambda _: (200, {**chat("A"), "usage": usage})
    budget = 2.5 * max(most)
    command = (*RUN, "--db", f"sqlite:///{tmp_path}/t.db", "--budget")
    ended = forked_souk(*command, str(budget), cwd=tmp_path, env=env)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        (spent, count) = connection.execute("SELECT sum(cost), count(*) FROM trials").fetchone()
    assert spent <= budget < spent + max(most)
    assert batches.sizes[0] == sum(total <= budget for total in accumulate(most))
    assert sum(batches.sizes) == count < 12
    assert (ended.status, f"{12 - count} of 12 trials were left out" in ended.err) == (1, True), ended.err
    ended = forked_souk(*command, "1", cwd=tmp_path, env=env)
    assert (ended.status, sum(batches.sizes)) == (0, 12), ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nudges", "--agent", MODEL, "--batch"), "only cards as text go in batches"),
        ((*RUN, "--workers", "2"), "one process collects all requests"),
        ((*RUN, "--agent", "simulated:balanced"), "simulated:balanced takes no batches"),
    ],
)
def test_what_takes_no_batches_is_one_line(
    provider: tuple[BatchProvider, dict[str, str | None]],
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    ended = forked_souk(*arguments, cwd=tmp_path, env=provider[1])
    assert (ended.status, said in ended.err) == (2, True), ended.err
