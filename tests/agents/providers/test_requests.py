"""What each provider is sent: limits, temperatures, schemas, images."""

import pytest

from agents.base import ChatMessage
from agents.providers.anthropic_messages import AnthropicMessages
from agents.providers.ollama_chat import OllamaChat
from agents.providers.openai_chat import CompatibleChat, OpenAIChat
from agents.providers.openai_responses import OpenAIResponses

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
TALK: list[ChatMessage] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "A or B?"},
    {"role": "assistant", "content": "B"},
    {"role": "user", "content": "Sure?"},
]
SCHEMA = {
    "type": "object",
    "properties": {"action": {"type": "string"}},
    "required": ["action"],
    "additionalProperties": False,
}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SEEN: list[ChatMessage] = [{"role": "user", "content": "What is this?", "images": [PNG]}]


@pytest.mark.parametrize("kind", [OpenAIChat, CompatibleChat])
@pytest.mark.parametrize(
    "model", ["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5-mini", "gpt-6-sol", "openai/o3"]
)
async def test_reasoning_models_are_sent_no_temperature(kind, model: str, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc")
    monkeypatch.setenv("COMPATIBLE_BASE_URL", "http://127.0.0.1:8000/v1")
    request = kind(model).request(HELLO, 0.1, 2_000, None)
    assert request == {"model": model, "messages": HELLO, "max_completion_tokens": 16_000}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "temperature", "max_tokens", "sent"),
    [
        ("gpt-4.1-mini", 0.1, 2_000, {"temperature": 0.1, "max_tokens": 2_000}),
        ("gpt-4.1-mini", 0.0, 2, {"temperature": 0.0, "max_tokens": 2}),
        ("gpt-4.1-mini", None, 2, {"max_tokens": 2}),
        ("o4-mini", 1.3, 2, {"max_completion_tokens": 14_002}),
    ],
)
async def test_chat_completions(provider, model, temperature, max_tokens, sent) -> None:
    provider.say("B")
    await OpenAIChat(model).ask(TALK, temperature=temperature, max_tokens=max_tokens)
    assert provider.requests == [{"model": model, "messages": TALK, **sent}]


async def test_chat_completions_by_a_schema_and_with_an_image(provider) -> None:
    provider.say("{}")
    await OpenAIChat("gpt-4.1-mini").ask(SEEN, schema=SCHEMA)
    (sent,) = provider.requests
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
    }
    text, image = sent["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}


@pytest.mark.parametrize("provider", ["openai-responses"], indirect=True)
@pytest.mark.parametrize(
    ("model", "temperature", "max_tokens", "sent"),
    [
        ("gpt-4.1-mini", 0.1, 2_000, {"temperature": 0.1, "max_output_tokens": 2_000}),
        ("gpt-4.1-mini", None, 2, {"max_output_tokens": 16}),
        ("gpt-5-mini", 1.3, 2, {"max_output_tokens": 14_002}),
    ],
)
async def test_responses(provider, model, temperature, max_tokens, sent) -> None:
    provider.say("B")
    await OpenAIResponses(model).ask(TALK, temperature=temperature, max_tokens=max_tokens)
    assert provider.requests == [{"model": model, "input": TALK, "store": False, **sent}]


@pytest.mark.parametrize("provider", ["openai-responses"], indirect=True)
async def test_responses_by_a_schema_and_with_an_image(provider) -> None:
    provider.say("{}")
    await OpenAIResponses("gpt-4.1-mini").ask(SEEN, schema=SCHEMA)
    (sent,) = provider.requests
    assert sent["text"]["format"] == {
        "type": "json_schema",
        "name": "answer",
        "schema": SCHEMA,
        "strict": True,
    }
    text, image = sent["input"][0]["content"]
    assert text == {"type": "input_text", "text": "What is this?"}
    assert image == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}


@pytest.mark.parametrize("provider", ["openai-responses"], indirect=True)
async def test_a_response_that_failed_is_a_failure_of_the_provider(provider) -> None:
    from agents.base import ProviderError

    provider.send(b'{"status": "failed", "output": []}')
    with pytest.raises(ProviderError, match="the provider's answer is failed"):
        await OpenAIResponses("gpt-4.1-mini", max_retries=0).ask(HELLO)


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("claude-3-haiku-20240307", {"temperature": 0.1, "max_tokens": 20}),
        ("claude-3-5-sonnet-20240620", {"temperature": 0.1, "max_tokens": 20}),
        ("claude-sonnet-4-20250514", {"temperature": 0.1, "max_tokens": 20}),
        ("claude-haiku-4-5", {"temperature": 0.1, "max_tokens": 20}),
        ("claude-opus-4-6", {"temperature": 0.1, "max_tokens": 20}),
        ("claude-opus-4-7", {"max_tokens": 20}),
        ("claude-opus-5", {"max_tokens": 20, "thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", {"max_tokens": 20, "thinking": {"type": "between_tools"}}),
        ("claude-haiku-5-5-20261007", {"max_tokens": 20, "thinking": {"type": "disabled"}}),
        ("claude-opus-5-5", {"max_tokens": 14_020}),
        ("claude-opus-7", {"max_tokens": 14_020}),
    ],
)
async def test_messages(provider, model: str, sent: dict) -> None:
    provider.say("B")
    await AnthropicMessages(model).ask(TALK, max_tokens=20)
    assert provider.requests == [{"model": model, "system": "Be brief.", "messages": TALK[1:], **sent}]
    assert provider.headers[0]["anthropic-version"] == "2023-06-01"


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
@pytest.mark.parametrize(
    ("model", "structured"),
    [
        ("claude-3-haiku-20240307", False),
        ("claude-opus-4-20250514", False),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-5-5", True),
    ],
)
async def test_messages_by_a_schema_and_with_an_image(provider, model: str, structured: bool) -> None:
    provider.say("{}")
    await AnthropicMessages(model).ask(SEEN, schema=SCHEMA)
    (sent,) = provider.requests
    wanted = {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert sent.get("output_config") == (wanted if structured else None)
    image, text = sent["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
async def test_thoughts_are_no_part_of_a_message(provider) -> None:
    provider.send(
        b'{"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "B"}],'
        b' "stop_reason": "end_turn"}'
    )
    assert (await AnthropicMessages("claude-opus-5-5").ask(HELLO)).text == "B"


@pytest.mark.parametrize("provider", ["ollama"], indirect=True)
async def test_ollama(provider) -> None:
    provider.say("B")
    await OllamaChat("llama3.2").ask(TALK, temperature=0.7, max_tokens=20, schema=SCHEMA)
    (sent,) = provider.requests
    assert sent["options"] == {"num_predict": 20, "num_ctx": 4_096, "temperature": 0.7}
    assert (sent["model"], sent["stream"], sent["think"]) == ("llama3.2", False, False)
    assert (sent["messages"], sent["format"]) == (TALK, SCHEMA)


@pytest.mark.parametrize("provider", ["ollama"], indirect=True)
async def test_ollama_is_given_room_for_the_prompt_the_answer_and_the_image(provider) -> None:
    provider.say("B")
    provider.say("B")
    page: list[ChatMessage] = [{"role": "user", "content": "<p>word</p> " * 4_000, "images": [PNG]}]
    await OllamaChat("gpt-oss:20b").ask(page, temperature=None)
    (sent,) = provider.requests
    assert "think" not in sent
    assert sent["options"]["num_predict"] == 16_000
    assert sent["options"]["num_ctx"] in (65_536, 131_072)
    assert sent["messages"][0]["images"] == [PNG]


@pytest.mark.parametrize("provider", ["ollama"], indirect=True)
async def test_an_image_is_never_taken_for_a_path(provider, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abcd").write_bytes(b"a secret")
    provider.say("B")
    await OllamaChat("llava").ask([{"role": "user", "content": "?", "images": ["abcd"]}])
    assert provider.requests[0]["messages"][0]["images"] == ["abcd"]
