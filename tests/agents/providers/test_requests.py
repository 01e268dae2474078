"""What each provider is sent: limits, temperatures, schemas, images."""

import base64
import json

import pytest

from agents.base import ChatMessage, ProviderError
from agents.providers import make_model
from agents.providers.ollama_chat import OllamaChat
from agents.providers.openai_chat import CompatibleChat, OpenAIChat
from agents.providers.openai_responses import OpenAIResponses
from interventions.cards.reply import InvalidAnswer
from interventions.files.battery import load_battery
from tests.agents.conftest import BODIES

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


CHAT, RESPONSES, MESSAGES = "openai", "openai-responses", "anthropic"
TALKS: dict[str, dict] = {
    CHAT: {"messages": TALK},
    RESPONSES: {"input": TALK, "store": False},
    MESSAGES: {"system": "Be brief.", "messages": TALK[1:]},
}
DISABLED, BETWEEN = {"thinking": {"type": "disabled"}}, {"thinking": {"type": "between_tools"}}


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("provider", "model", "temperature", "most", "sent"),
    [
        (CHAT, "gpt-4.1-mini", 0.1, 2_000, {"temperature": 0.1, "max_tokens": 2_000}),
        (CHAT, "gpt-4.1-mini", 0.0, 2, {"temperature": 0.0, "max_tokens": 2}),
        (CHAT, "gpt-4.1-mini", None, 2, {"max_tokens": 2}),
        (CHAT, "o4-mini", 1.3, 2, {"max_completion_tokens": 14_002}),
        (RESPONSES, "gpt-4.1-mini", 0.1, 2_000, {"temperature": 0.1, "max_output_tokens": 2_000}),
        (RESPONSES, "gpt-4.1-mini", None, 2, {"max_output_tokens": 16}),
        (RESPONSES, "gpt-5-mini", 1.3, 2, {"max_output_tokens": 14_002}),
        (MESSAGES, "claude-3-haiku-20240307", 0.1, 20, {"temperature": 0.1, "max_tokens": 20}),
        (MESSAGES, "claude-3-5-sonnet-20240620", 0.1, 20, {"temperature": 0.1, "max_tokens": 20}),
        (MESSAGES, "claude-sonnet-4-20250514", 0.1, 20, {"temperature": 0.1, "max_tokens": 20}),
        (MESSAGES, "claude-haiku-4-5", 0.1, 20, {"temperature": 0.1, "max_tokens": 20}),
        (MESSAGES, "claude-opus-4-6", 0.1, 20, {"temperature": 0.1, "max_tokens": 20}),
        (MESSAGES, "claude-opus-4-7", 0.1, 20, {"max_tokens": 20}),
        (MESSAGES, "claude-opus-5", 0.1, 20, {"max_tokens": 20, **DISABLED}),
        (MESSAGES, "claude-sonnet-5-5", 0.1, 20, {"max_tokens": 20, **BETWEEN}),
        (MESSAGES, "claude-haiku-5-5-20261007", 0.1, 20, {"max_tokens": 20, **DISABLED}),
        (MESSAGES, "claude-opus-5-5", 0.1, 20, {"max_tokens": 14_020}),
        (MESSAGES, "claude-opus-7", 0.1, 20, {"max_tokens": 14_020}),
    ],
    indirect=["provider"],
)
async def test_what_is_sent(provider, model: str, temperature: float | None, most: int, sent: dict) -> None:
    provider.say("B")
    await make_model(f"{provider.kind}:{model}").ask(TALK, temperature=temperature, max_tokens=most)
    assert provider.requests == [{"model": model, **TALKS[provider.kind], **sent}]
    if provider.kind == MESSAGES:
        assert provider.headers[0]["anthropic-version"] == "2023-06-01"


OF_SCHEMA = {"type": "json_schema", "name": "answer", "schema": SCHEMA, "strict": True}
URL = f"data:image/png;base64,{PNG}"
OF_CHAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
OF_MESSAGES = {"format": {"type": "json_schema", "schema": SCHEMA}}
BLOCK = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
SEES = {
    CHAT: (
        "messages",
        [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": URL}}],
    ),
    RESPONSES: (
        "input",
        [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": URL}],
    ),
    MESSAGES: ("messages", [BLOCK, {"type": "text", "text": "What is this?"}]),
}


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("provider", "model", "key", "wanted"),
    [
        (CHAT, "gpt-4.1-mini", "response_format", OF_CHAT),
        (RESPONSES, "gpt-4.1-mini", "text", {"format": OF_SCHEMA}),
        (MESSAGES, "claude-3-haiku-20240307", "output_config", None),
        (MESSAGES, "claude-opus-4-20250514", "output_config", None),
        (MESSAGES, "claude-haiku-4-5-20251001", "output_config", OF_MESSAGES),
        (MESSAGES, "claude-opus-5-5", "output_config", OF_MESSAGES),
    ],
    indirect=["provider"],
)
async def test_a_schema_and_an_image(provider, model: str, key: str, wanted: dict | None) -> None:
    provider.say("{}")
    await make_model(f"{provider.kind}:{model}").ask(SEEN, schema=SCHEMA)
    (sent,) = provider.requests
    assert sent.get(key) == wanted
    where, content = SEES[provider.kind]
    assert sent[where][0]["content"] == content


@pytest.mark.parametrize("provider", ["gemini"], indirect=True)
@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("gemini-2.5-flash", {"maxOutputTokens": 20, "thinkingConfig": {"thinkingBudget": 0}}),
        ("gemini-2.0-flash", {"maxOutputTokens": 20}),
        ("gemini-2.5-pro", {"maxOutputTokens": 14_020}),
        ("gemini-3.5-flash", {"maxOutputTokens": 14_020}),
    ],
)
async def test_gemini(provider, model: str, config: dict) -> None:
    body = BODIES["gemini"]("B", False, (1_000, 100))
    body["usageMetadata"] |= {"thoughtsTokenCount": 50, "cachedContentTokenCount": 600}
    provider.send(json.dumps(body).encode())
    talk: list[ChatMessage] = [*TALK[:-1], *SEEN]
    call = (await make_model(f"gemini:{model}").ask(talk, temperature=0.5, max_tokens=20, schema=SCHEMA)).call
    assert (call.tokens_in, call.tokens_out, call.tokens_cached) == (1_000, 150, 600)
    sent = json.loads(json.dumps(provider.requests[0]).replace("thinking_budget", "thinkingBudget"))
    by_schema = {"temperature": 0.5, "responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert sent["generationConfig"] == config | by_schema
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
    text, image = sent["contents"][2]["parts"]
    assert text == {"text": "What is this?"}
    assert base64.urlsafe_b64decode(image["inlineData"]["data"]) == base64.b64decode(PNG)


@pytest.mark.parametrize("provider", ["openai-responses"], indirect=True)
async def test_a_response_that_failed_is_a_failure_of_the_provider(provider) -> None:
    provider.send(b'{"status": "failed", "output": []}')
    with pytest.raises(ProviderError, match="the provider's answer is failed"):
        await OpenAIResponses("gpt-4.1-mini", max_retries=0).ask(HELLO)


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


def _parts(value: object) -> list[object]:
    """All that is in a request."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(part for each in inner for part in _parts(each))]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        (CHAT, "gpt-6-luna"),
        (RESPONSES, "gpt-6-sol"),
        (MESSAGES, "claude-haiku-5-5"),
        ("gemini", "gemini-3.6-flash"),
        ("ollama", "llama3.2"),
        ("compatible", "m"),
    ],
    indirect=["provider"],
)
async def test_a_reason_beside_the_answer_is_asked_for_by_a_schema(provider, model: str) -> None:
    card = load_battery().card("sunk-cost", "control").model_copy(update={"rationale": True})
    said = '{"answer": "B", "reason": "The money is spent."}'
    provider.say(said)
    reply = await make_model(f"{provider.kind}:{model}").ask(HELLO, schema=card.answer_schema)
    assert card.read(reply.text, reply.ending) == ("B", "json")
    assert card.answer_schema in _parts(provider.requests[0])
    provider.say(said[:-4], finish_reason="length")
    cut = await make_model(f"{provider.kind}:{model}").ask(HELLO, schema=card.answer_schema)
    with pytest.raises(InvalidAnswer, match="ends before its end"):
        card.read(cut.text, cut.ending)
