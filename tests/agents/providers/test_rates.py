"""Requests keep to the limits per minute of a key, whoever sends them."""

import asyncio
import json
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import ChatMessage, ProviderError
from agents.providers import make_model
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.pricing import Tokens
from agents.providers.rates import VARIABLE, Rates
from agents.providers.settings import SERVICES
from interventions.errors import UserError
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


async def test_the_users_own_limits_are_kept_where_they_are_lower(provider, monkeypatch) -> None:
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


def test_a_folder_that_cannot_be_trusted_is_one_line(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Rates(tmp_path / "file" / "of-key", {"requests": 60}).book(NOW)
    with monkeypatch.context() as patch, pytest.raises(UserError, match="it is another user's"):
        patch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
        Rates(tmp_path / "of-key", {"requests": 60}).book(NOW)
    tmp_path.chmod(0o777)
    with pytest.raises(UserError, match="other users can write it"):
        Rates(tmp_path / "of-key", {"requests": 60}).book(NOW)


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


def test_all_commands_share_the_pace_whatever_their_tmpdir(tmp_path: Path, monkeypatch) -> None:
    """A command gives its workers one of its own."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    before = Rates.of(SERVICES["openai"], "gpt-4.1-mini")._path
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert Rates.of(SERVICES["openai"], "gpt-4.1-mini")._path == before
