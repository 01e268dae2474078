"""How an answer ended, by each provider's own word, through its own SDK."""

from typing import Any

import pytest
from starlette.responses import JSONResponse

from agents.base import Reply
from agents.language_model.agent import LanguageModelShopper
from agents.providers import make_model
from tests.agents.conftest import BODIES

MODELS = {
    "openai": "openai:gpt-4.1-mini",
    "openai-responses": "openai-responses:gpt-4.1-mini",
    "anthropic": "anthropic:claude-haiku-4-5",
    "ollama": "ollama:llama3.2",
    "gemini": "gemini:gemini-2.5-flash",
    "compatible": "compatible:local",
}
CALL = {"name": "choose", "arguments": '{"option": "B"}'}


def chat(word: str, **message: Any) -> dict[str, Any]:
    body = BODIES["openai"]("B", False, None)
    body["choices"][0]["finish_reason"] = word
    body["choices"][0]["message"] |= message
    return body


def response(status: str, reason: str | None = None, *items: dict[str, Any]) -> dict[str, Any]:
    body = BODIES["openai-responses"]("B", False, None)
    body["output"] += items
    return body | {"status": status, "incomplete_details": reason and {"reason": reason}}


def message(word: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    body = BODIES["anthropic"]("B", False, (1, 1))
    return body | {"stop_reason": word, "content": [*blocks, *body["content"]]}


def ollama(word: str, **said: Any) -> dict[str, Any]:
    body = BODIES["ollama"]("B", False, None)
    return body | {"done_reason": word, "message": body["message"] | said}


def gemini(word: str, *parts: dict[str, Any]) -> dict[str, Any]:
    body = BODIES["gemini"]("B", False, None)
    body["candidates"][0]["finishReason"] = word
    body["candidates"][0]["content"]["parts"] += parts
    return body


TOOL = {"id": "1", "type": "function", "function": CALL}
OF_CHAT = [
    (chat("stop"), ""),
    (chat("stop", reasoning_content="A is cheaper. Answer: A", reasoning="Answer: A"), ""),
    (chat("length"), "cut_off"),
    (chat("content_filter"), "refused"),
    (chat("stop", content=None, refusal="I cannot help with that."), "refused"),
    (chat("tool_calls", content=None, tool_calls=[TOOL]), "tool_call"),
]
ENDINGS: list[tuple[str, dict[str, Any], str]] = [
    *(("openai", body, how) for body, how in OF_CHAT),
    *(("compatible", body, how) for body, how in OF_CHAT),
    ("openai-responses", response("completed"), ""),
    ("openai-responses", response("incomplete", "max_output_tokens"), "cut_off"),
    ("openai-responses", response("incomplete", "content_filter"), "refused"),
    ("openai-responses", BODIES["openai-responses"](None, False, None), "refused"),
    (
        "openai-responses",
        response("completed", None, {"type": "function_call", "call_id": "1", **CALL}),
        "tool_call",
    ),
    ("anthropic", message("end_turn", {"type": "thinking", "thinking": "Answer: A", "signature": "x"}), ""),
    ("anthropic", message("max_tokens"), "cut_off"),
    ("anthropic", message("model_context_window_exceeded"), "cut_off"),
    ("anthropic", message("refusal"), "refused"),
    (
        "anthropic",
        message("tool_use", {"type": "tool_use", "id": "1", "name": "choose", "input": {}}),
        "tool_call",
    ),
    ("ollama", ollama("stop", thinking="Answer: A"), ""),
    ("ollama", ollama("length"), "cut_off"),
    ("ollama", ollama("stop", tool_calls=[{"function": {"name": "choose", "arguments": {}}}]), "tool_call"),
    ("gemini", gemini("STOP"), ""),
    ("gemini", gemini("MAX_TOKENS"), "cut_off"),
    ("gemini", gemini("SAFETY"), "refused"),
    ("gemini", BODIES["gemini"](None, False, None), "refused"),
    ("gemini", gemini("STOP", {"functionCall": {"name": "choose", "args": {}}}), "tool_call"),
]


async def asked(kind: str) -> Reply:
    shopper = LanguageModelShopper(make_model(MODELS[kind]))
    return await shopper.answer([{"role": "user", "content": "A or B?"}], temperature=None, max_tokens=16)


@pytest.mark.parametrize(("provider", "body", "how"), ENDINGS, indirect=["provider"])
async def test_how_an_answer_ended(provider, body: dict[str, Any], how: str) -> None:
    """Reasoning in a field of its own is no part of the answer; what came besides is kept."""
    provider.script.append(JSONResponse(body))
    reply = await asked(provider.kind)
    assert reply.ending.how == how
    assert "Answer: A" not in reply.raw
    if how == "tool_call":
        assert "choose" in reply.raw
    elif how == "":
        assert reply.raw == "B"
