"""What providers say of their caches is recorded and priced; Anthropic is asked to keep what comes again."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.base import ChatMessage
from agents.computer.openai_computer import OpenAIComputer
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.openai_chat import CompatibleChat, OpenAIChat
from agents.providers.openai_responses import OpenAIResponses
from agents.providers.settings import COMPUTERS, SERVICES

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
OF_OPENAI = {"cached_tokens": 600_000, "cache_write_tokens": 300_000}
CHAT_USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "prompt_tokens_details": OF_OPENAI}
CHAT = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}], "usage": CHAT_USAGE}
RESPONSE = {
    "status": "completed",
    "output": [],
    "usage": {"input_tokens": 1_000_000, "output_tokens": 100_000, "input_tokens_details": OF_OPENAI},
}
MESSAGE = {
    "content": [{"type": "text", "text": "B"}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 100_000,
        "output_tokens": 100_000,
        "cache_read_input_tokens": 600_000,
        "cache_creation_input_tokens": 300_000,
    },
}


@pytest.mark.parametrize(
    ("provider", "model", "body", "cost"),
    [
        # Per million: 0.20 for input, a tenth of it from the cache, a quarter more into it; 1.20 for output.
        ("openai", OpenAIChat("gpt-5.6-luna"), CHAT, 0.1 * 0.2 + 0.6 * 0.02 + 0.3 * 0.25 + 0.1 * 1.2),
        ("openai-responses", OpenAIResponses("gpt-5.6-luna"), RESPONSE, 0.02 + 0.012 + 0.075 + 0.12),
        # 0.40, of which a quarter from the cache, and no more into it; 1.60.
        ("openai", OpenAIChat("gpt-4.1-mini"), CHAT, 0.4 * 0.4 + 0.6 * 0.1 + 0.1 * 1.6),
        # No price for the cache: all is input.
        ("openai", OpenAIChat("computer-use-preview"), CHAT, 3.0 + 0.1 * 12),
        ("anthropic", AnthropicMessages("claude-haiku-4-5"), MESSAGE, 0.1 + 0.06 + 0.3 * 1.25 + 0.5),
    ],
    indirect=["provider"],
)
async def test_tokens_of_the_cache_are_recorded_and_priced(
    provider, model: Any, body: dict[str, Any], cost: float
) -> None:
    provider.send(json.dumps(body).encode())
    call = (await model.ask(HELLO)).call
    assert (call.tokens_in, call.tokens_out, call.tokens_cached) == (1_000_000, 100_000, 600_000)
    assert call.cost == pytest.approx(cost)


@pytest.mark.parametrize("provider", ["compatible"], indirect=True)
@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}, {"audio_tokens": 3}])
async def test_servers_may_say_nothing_of_a_cache(provider, details: Any) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": details}
    provider.send(json.dumps(CHAT | {"usage": usage}).encode())
    call = (await CompatibleChat("m").ask(HELLO)).call
    assert (call.tokens_in, call.tokens_out, call.tokens_cached) == (10, 2, 0)


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
async def test_anthropic_is_asked_to_keep_a_long_system_message(provider) -> None:
    long = "Buy what is best. " * 400
    for system in (long, "Be brief."):
        provider.say("B")
        await AnthropicMessages("claude-haiku-4-5").ask([{"role": "system", "content": system}, *HELLO])
    kept = [{"type": "text", "text": long, "cache_control": {"type": "ephemeral"}}]
    assert [request["system"] for request in provider.requests] == [kept, "Be brief."]


OPENAI = [("openai", OpenAIChat, "messages", CHAT), ("openai-responses", OpenAIResponses, "input", RESPONSE)]


@pytest.mark.parametrize(("provider", "kind", "where", "body"), OPENAI, indirect=["provider"])
async def test_openai_is_told_which_prompts_begin_alike(
    provider, kind: Any, where: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SERVICES[provider.kind]
    monkeypatch.setitem(SERVICES, provider.kind, replace(service, url=service.base_url))
    calls = []
    for system, question in (("Be brief.", "A or B?"), ("Be brief.", "C or D?"), ("Be long.", "A or B?")):
        provider.send(json.dumps(body).encode())
        asked: list[ChatMessage] = [{"role": "system", "content": system}]
        calls.append((await kind("m").ask([*asked, {"role": "user", "content": question}])).call)
    first, second, other = (request["prompt_cache_key"] for request in provider.requests)
    assert first == second != other
    assert (len(first), len(other)) == (32, 32)
    monkeypatch.setitem(SERVICES, provider.kind, service)  # another server at the same address
    provider.send(json.dumps(body).encode())
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A or B?"}]
    elsewhere = (await kind("m").ask(asked)).call
    assert "prompt_cache_key" not in provider.requests[-1]
    assert elsewhere.request_digest == calls[0].request_digest, "the key says nothing of what is asked"


@pytest.mark.parametrize("provider", ["openai-responses"], indirect=True)
async def test_a_conversation_with_pictures_has_a_key_of_its_own(provider, monkeypatch) -> None:
    service = COMPUTERS["openai-computer"]
    monkeypatch.setitem(COMPUTERS, "openai-computer", replace(service, url=service.base_url))
    for items in (["one"], ["one", "and more"], ["two"]):
        provider.send(json.dumps(RESPONSE).encode())
        content = [{"role": "user", "content": item} for item in items]
        await OpenAIComputer("gpt-5.5").exchange({"model": "gpt-5.5", "input": content})
    first, second, other = (request["prompt_cache_key"] for request in provider.requests)
    assert first == second != other
