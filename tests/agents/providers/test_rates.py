"""Requests keep to the limits per minute of a key, whoever sends them."""

import asyncio
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from agents.base import ChatMessage, ProviderError
from agents.providers import make_model
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.pricing import Tokens
from agents.providers.rates import VARIABLE, Rates
from agents.providers.settings import SERVICES
from experiments.executors.workers import Workers
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from tests.experiments.running import HOTELS
from tests.held_provider import held_provider
from tests.support import size

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
NOW = 1_800_000_000.0
OF_OPENAI = {
    "x-ratelimit-limit-requests": "600",
    "x-ratelimit-limit-tokens": "60000",
    "x-ratelimit-remaining-requests": "599",
    "x-ratelimit-remaining-tokens": "59000",
    "x-ratelimit-reset-requests": "100ms",
    "x-ratelimit-reset-tokens": "1s",
}
OF_ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "600",
    "anthropic-ratelimit-requests-remaining": "599",
    "anthropic-ratelimit-requests-reset": "2026-11-24T00:00:00Z",
    "anthropic-ratelimit-input-tokens-limit": "27000",
    "anthropic-ratelimit-input-tokens-remaining": "26000",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-24T00:00:00Z",
    "anthropic-ratelimit-output-tokens-limit": "8000",
}


def most_in_a_minute(starts: list[float]) -> int:
    """The most starts in any minute that begins with one of them; the last moment is not part of it."""
    return max(sum(0 <= each - first < 60 - 1e-3 for each in starts) for first in starts)


@settings(max_examples=size(40, 400), deadline=None)
@given(st.integers(1, 40), st.lists(st.floats(0, 30), min_size=1, max_size=120))
def test_no_minute_has_more_requests_than_the_limit(limit: int, pauses: list[float]) -> None:
    with TemporaryDirectory() as folder:
        now, starts = NOW, []
        for number, pause in enumerate(pauses):
            now += pause
            wait, _ = Rates(Path(folder) / "of-key", {"requests": limit}).book(now)
            assert wait >= 0
            starts.append(now + wait)
            if number == 0:
                assert wait == 0
        assert most_in_a_minute(starts) <= limit


def _book(path: Path) -> list[float]:
    rates = Rates(path, {"requests": 60})
    return [NOW + rates.book(NOW)[0] for _ in range(25)]


@pytest.mark.slow
def test_processes_share_the_pace(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        starts = sorted(start for part in pool.map(_book, [tmp_path / "of-key"] * 4) for start in part)
    assert starts == pytest.approx([NOW + number for number in range(100)])


def test_tokens_are_paced_by_what_requests_have_taken(tmp_path: Path) -> None:
    rates = Rates(tmp_path / "of-key", {"tokens": 6_000})
    now = time.monotonic()
    wait, taken = rates.book(now)
    assert (wait, taken) == (0.0, {"tokens": 0.0})
    rates.settle(taken, Tokens(900, 100))  # a sixth of a minute's
    wait, taken = rates.book(now)
    assert (wait, taken) == (pytest.approx(10), {"tokens": 1_000.0})
    assert rates.book(now)[0] == pytest.approx(20)
    rates.settle(taken, Tokens(0, 0))  # it took none after all
    assert rates.book(now)[0] == pytest.approx(20)


@pytest.mark.parametrize(
    ("provider", "model", "headers", "told", "gap"),
    [
        # A request takes a tenth of a second, 1,000 of 60,000 tokens one.
        ("openai", "gpt-4.1-mini", OF_OPENAI, {"requests": 600, "tokens": 60_000}, 1.0),
        ("openai-responses", "gpt-5", {"x-ratelimit-limit-requests": "600"}, {"requests": 600}, 0.1),
        ("openai", "gpt-5", {"x-ratelimit-limit-requests": "0", "x-ratelimit-limit-tokens": "many"}, None, 0),
        # 900 of 27,000 tokens in take 2 s, 100 of 8,000 out 0.75 s.
        (
            "anthropic",
            "claude-haiku-4-5",
            OF_ANTHROPIC,
            {"requests": 600, "input-tokens": 27_000, "output-tokens": 8_000},
            2.0,
        ),
    ],
    indirect=["provider"],
)
async def test_limits_are_learned_from_answers(
    provider, model: str, headers: dict[str, str], told: dict[str, float] | None, gap: float
) -> None:
    provider.say("one", usage=(900, 100), headers=headers)
    await make_model(f"{provider.kind}:{model}").ask(HELLO)
    rates = Rates.of(SERVICES[provider.kind], model)
    assert rates._path.exists() == (told is not None)
    if told:
        assert json.loads(rates._path.read_text())["told"] == told
    now = time.monotonic()
    first, _ = rates.book(now)
    assert rates.book(now)[0] - first == pytest.approx(gap)


@pytest.mark.parametrize("provider", ["openai", "anthropic"], indirect=True)
async def test_what_is_used_up_is_waited_for_by_all(provider) -> None:
    headers = {"x-ratelimit-limit-requests": "600", "x-ratelimit-remaining-requests": "0"}
    headers["x-ratelimit-reset-requests"] = "45s"
    model = "gpt-4.1-mini"
    if provider.kind == "anthropic":
        model = "claude-haiku-4-5"
        provider.fail(429, headers={"retry-after": "45"})
        with pytest.raises(ProviderError):
            await AnthropicMessages(model, max_retries=0).ask(HELLO)
    else:
        provider.say("one", headers=headers)
        await make_model(f"openai:{model}").ask(HELLO)
    assert 30 < Rates.of(SERVICES[provider.kind], model).book(time.monotonic())[0] < 47
    assert Rates.of(SERVICES[provider.kind], "another").book(time.monotonic())[0] == 0


async def test_the_users_own_limits_are_kept_where_they_are_lower(
    provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.say("one", headers=OF_OPENAI)
    monkeypatch.setenv("OPENAI_REQUESTS_PER_MINUTE", "60")
    monkeypatch.setenv("OPENAI_TOKENS_PER_MINUTE", "600000")
    await make_model("openai:gpt-4.1-mini").ask(HELLO)
    rates = Rates.of(SERVICES["openai"], "gpt-4.1-mini")
    now = time.monotonic() + 100
    first, taken = rates.book(now)
    assert rates.book(now)[0] - first == pytest.approx(1.1)  # 1,100 of 60,000 tokens
    assert taken == {"requests": 1.0, "tokens": 1_100.0}


@pytest.mark.parametrize("wrong", ["0", "-3", "many", "1.5", "9" * 13])
def test_a_wrong_limit_is_one_line(provider, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("OPENAI_TOKENS_PER_MINUTE", wrong)
    with pytest.raises(UserError, match="OPENAI_TOKENS_PER_MINUTE is no whole number from 1"):
        make_model("openai:gpt-4.1-mini")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": 3', '{"odd": {}}'])
def test_a_file_that_was_cut_off_is_begun_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "of-key").write_text(text)
    rates = Rates(tmp_path / "of-key", {"requests": 60})
    assert [rates.book(time.monotonic() + 1)[0] for _ in range(2)] == pytest.approx([0, 1], abs=0.5)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Rates(tmp_path / "file" / "of-key", {"requests": 60}).book(NOW)


def test_what_was_written_before_the_machine_started_is_forgotten(tmp_path: Path) -> None:
    rates = Rates(tmp_path / "of-key", {"requests": 60})
    rates.book(NOW)
    assert rates.book(100.0)[0] == 0


async def test_no_date_moves_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates(tmp_path / "of-key", {"requests": 6_000})
    for moved in (0.0, -3_600.0, 3e8, -3e8):
        date = time.time() + moved
        monkeypatch.setattr(time, "time", lambda date=date: date)
        async with asyncio.timeout(5):
            await rates.turn()
        rates.settle({}, Tokens(10, 10))


def test_a_folder_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UserError, match="it is another user's"):
        Rates(tmp_path / "of-key", {"requests": 60}).book(NOW)


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UserError, match="other users can write it"):
        Rates(tmp_path / "of-key", {"requests": 60}).book(NOW)


@pytest.mark.slow
def test_workers_and_single_processes_share_the_pace(
    short_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their TMPDIR: a command gives its workers one of its own."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    monkeypatch.setenv("OPENAI_REQUESTS_PER_MINUTE", "60000")
    (tmp_path / "x.yaml").write_text(HOTELS)
    free = [time.monotonic()]
    with held_provider("A") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        path = Rates.of(SERVICES["openai"], "gpt-4.1-mini")._path
        try:
            for workers in (2, 1):
                monkeypatch.setenv("TMPDIR", str(short_folder if workers == 2 else tmp_path))
                run = ExperimentRun(
                    str(tmp_path / "x.yaml"),
                    agents=["openai:gpt-4.1-mini"],
                    limit=4,
                    db=f"sqlite:///{tmp_path}/{workers}.db",
                    out=tmp_path,
                )
                asyncio.run(run.run(Console(quiet=True), Workers(workers, slots=2)))
                assert run.records.outcomes(run.design.run_id) == {"choice": 4}
                free.append(json.loads(path.read_text())["free"]["requests"])
        finally:
            path.unlink(missing_ok=True)
    assert free == sorted(set(free))  # each has booked turns there
