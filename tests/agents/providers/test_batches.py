"""What goes in batches is answered as if it were asked at once, at half the price, and is not paid twice."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agents.base import AgentError, ChatMessage, ProviderError, Reply
from agents.providers import BATCHED, batches, make_model
from agents.providers.batches import BatchQueue
from agents.providers.network import close_connections
from interventions.errors import UserError
from tests.agents.batch_provider import BatchProvider, said, serving

MODELS = dict.fromkeys(BATCHED, "gpt-4.1-mini") | {
    "anthropic": "claude-haiku-4-5",
    "gemini": "gemini-2.5-flash",
}
COSTS = {"anthropic": (1_000 * 1.0 + 100 * 5.0) / 2e6, "gemini": (1_000 * 0.3 + 100 * 2.5) / 2e6}
OTHER_COST = (1_000 * 0.4 + 100 * 1.6) / 2e6
alike = pytest.mark.parametrize("kind", BATCHED)


def asked_text(request: dict[str, Any]) -> str:
    if "contents" in request:
        return str(request["contents"][-1]["parts"][0]["text"])
    return str((request.get("messages") or request["input"])[-1]["content"])


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(batches, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(batches, "backoff", lambda _: 0.001)


@pytest.fixture
async def taking(kind: str, at_once: None, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BatchProvider]:
    """A provider that repeats what it is asked."""
    provider = BatchProvider(lambda request: (200, said(kind, f"to {asked_text(request)}")))
    with serving(provider) as url:
        for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(variable, "k")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("GEMINI_BASE_URL", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield provider
        await close_connections()


class Asking:
    """Asks in conversations through one queue."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.said: list[str] = []
        self._kind = kind
        self._queue = BatchQueue(folder / "batches.jsonl", self.said.append)

    async def ask(self, trial: str, *texts: str) -> list[Reply]:
        model = make_model(f"{self._kind}:{MODELS[self._kind]}", way=self._queue.conversation(trial))
        replies = []
        for text in texts:
            question: list[ChatMessage] = [{"role": "user", "content": text}]
            replies.append(await model.ask(question, temperature=None, max_tokens=20))
        return replies

    async def close(self) -> None:
        await self._queue.close()


@pytest.fixture
async def asking(kind: str, taking: BatchProvider, tmp_path: Path) -> AsyncIterator[Asking]:
    found = Asking(kind, tmp_path)
    yield found
    await found.close()


@alike
async def test_each_is_given_its_own_answer_at_half_the_price(kind: str, taking, asking: Asking) -> None:
    found = await asyncio.gather(*(asking.ask(f"t{n}", f"first {n}", f"second {n}") for n in range(30)))
    assert [[reply.text for reply in replies] for replies in found] == [
        [f"to first {n}", f"to second {n}"] for n in range(30)
    ]
    calls = [reply.call for replies in found for reply in replies]
    assert {(call.tokens_in, call.tokens_out) for call in calls if call} == {(1_000, 100)}
    assert [call.cost for call in calls if call] == pytest.approx([COSTS.get(kind, OTHER_COST)] * 60)
    assert sum(taking.sizes) == 60
    assert len(taking.sizes) == len(asking.said) < 20


@alike
async def test_what_failed_for_the_moment_is_sent_again_and_what_was_refused_is_not(
    kind: str, taking: BatchProvider, asking: Asking
) -> None:
    again = {"429": 429, "500": 500, "expired": 0}
    usual = taking.answer

    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        status = again.pop(asked_text(request), 200)
        if asked_text(request) == "long":
            return 400, {"type": "invalid_request_error", "message": "the prompt is too long"}
        kinds = {429: "rate_limit_error", 500: "api_error"}
        return usual(request) if status == 200 else (status, {"type": kinds.get(status), "message": "later"})

    taking.answer = answer
    texts = ["429", "500", "expired", "long", "good"]
    found = await asyncio.gather(*(asking.ask(text, text) for text in texts), return_exceptions=True)
    retries = [
        (reply[0].text, reply[0].call.retries if reply[0].call else None)
        for reply in found
        if isinstance(reply, list)
    ]
    assert retries == [("to 429", 1), ("to 500", 1), ("to expired", 1), ("to good", 0)]
    assert isinstance(found[3], AgentError)
    assert "the prompt is too long" in str(found[3])
    assert taking.sizes == [5, 3]


@pytest.mark.thorough
@alike
async def test_failures_around_a_batch_are_waited_out(kind: str, taking, asking: Asking) -> None:
    taking.failing = [503, 0, 429, 0, 500, 529, 0, 503]
    (reply,) = await asking.ask("t", "hello")
    assert (reply.text, taking.sizes) == ("to hello", [1])


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("openai", {"status": "failed", "errors": {"data": [{"message": "too many tokens"}]}}, ": too many"),
        ("gemini", {"state": "BATCH_STATE_FAILED"}, ""),
    ],
)
async def test_a_batch_that_fails_as_a_whole_is_a_failure_of_the_provider(
    kind: str, facts: dict[str, Any], said: str, taking: BatchProvider, asking: Asking
) -> None:
    taking.open = False
    begun = asyncio.create_task(asking.ask("t", "hello"))
    await asyncio.to_thread(taking.sent.wait)
    taking.batches["batch_0"] |= facts
    with pytest.raises(ProviderError, match=f"the batch has failed{said}"):
        await begun
    taking.open = True
    assert (await asking.ask("t", "hello"))[0].text == "to hello"  # not from the batch that has failed


@alike
@pytest.mark.parametrize("status", [401, 402])
async def test_what_only_the_user_can_mend_ends_the_run(kind: str, taking, asking, status: int) -> None:
    taking.failing = [status]
    with pytest.raises(UserError, match=r"key|credit"):
        await asking.ask("t", "hello")


@alike
async def test_a_batch_that_is_gone_is_sent_again(kind: str, taking: BatchProvider, tmp_path: Path) -> None:
    first = Asking(kind, tmp_path)
    assert (await first.ask("t", "hello"))[0].text == "to hello"
    await first.close()
    with (tmp_path / "batches.jsonl").open("a") as journal:
        journal.write('{"provider": "openai", "bat')  # killed while it wrote
    taking.failing = [404]
    second = Asking(kind, tmp_path)
    assert (await second.ask("t", "hello"))[0].text == "to hello"
    await second.close()
    assert taking.sizes == [1, 1]


@pytest.mark.parametrize("kind", ["openai"])
@pytest.mark.parametrize(
    ("limit", "most", "lengths", "sizes"),
    [("MOST", 4, (1,) * 10, [2, 4, 4]), ("MOST_BYTES", 3_500, (150,) * 6 + (900,), [1, 3, 3])],
)
async def test_large_batches_and_batches_of_long_requests_are_split(
    taking: BatchProvider, asking: Asking, monkeypatch, limit: str, most: int, lengths, sizes: list[int]
) -> None:
    monkeypatch.setattr(batches, limit, most)
    await asyncio.gather(*(asking.ask(f"t{n}", "hello " * length) for n, length in enumerate(lengths)))
    assert sorted(taking.sizes) == sizes


def test_a_journal_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    journal = tmp_path / "batches.jsonl"
    journal.write_bytes(b"\xff")
    with pytest.raises(UserError, match="cannot be read as text"):
        BatchQueue(journal, print)
    for odd in ("[]", "3", json.dumps({"provider": "openai", "batch": "b", "requests": []})):
        journal.write_text(odd + "\n")
        assert BatchQueue(journal, print)._sent == {}


@alike
async def test_a_journal_that_cannot_be_written_is_one_line(kind: str, taking, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        BatchQueue(tmp_path / "file" / "batches.jsonl", print)
    asking = Asking(kind, tmp_path / "folder")
    (tmp_path / "folder" / "batches.jsonl").unlink()
    (tmp_path / "folder" / "batches.jsonl").mkdir()
    with pytest.raises(UserError, match="cannot be written"):
        await asking.ask("t", "hello")
    await asking.close()
