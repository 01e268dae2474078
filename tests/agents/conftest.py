"""Providers on loopback that speak each wire format, as a test scripts them."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agents.providers import rates
from agents.providers.network import close_connections
from agents.providers.settings import SERVICES
from environments.protocol.observation import Observation, Tab

KEY = "sk-proj-0123456789abcdef0123456789abcdef"

PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "ollama": "/api/chat",
    "gemini": "/v1beta/models/{model}",
    "compatible": "/v1/chat/completions",
}
"""The providers that are reached by network, and where each takes requests."""


class Provider:
    """Answers each request with the next of `script`; keeps what was sent in `requests` and `headers`.

    `asked` is set when a request has come. Nobody is answered before `together` requests have come.
    """

    def __init__(self, kind: str = "openai") -> None:
        self.kind = kind
        self.loop = asyncio.get_running_loop()
        self.script: list[Response | None] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.asked = asyncio.Event()
        self.together = 0
        self._all = asyncio.Event()

    @property
    def keys(self) -> list[str]:
        """The keys that were sent."""
        return [
            headers.get("authorization", "").removeprefix("Bearer ")
            or headers.get("x-api-key", "")
            or headers.get("x-goog-api-key", "")
            for headers in self.headers
        ]

    def say(
        self,
        text: str | None,
        *,
        finish_reason: str = "stop",
        usage: object = (1_000, 100),
        headers: dict[str, str] | None = None,
    ) -> None:
        """Script an answer; `usage` is (tokens in, tokens out), or None for a server that counts none."""
        tokens = usage if isinstance(usage, tuple) else None
        body = BODIES[self.kind](text, finish_reason == "length", tokens)
        self.script.append(JSONResponse(body, headers=headers))

    def call(self, *calls: tuple[str, object], text: str = "", finish_reason: str = "") -> None:
        """Script an answer with calls of tools; arguments that are a text are sent as they are."""
        body = BODIES[self.kind](text, finish_reason == "length", (1_000, 100))
        begun = 10 * len(self.script) + 100 * len(self.requests)
        _with_calls(self.kind, body, [(f"call_{begun + at}", *each) for at, each in enumerate(calls)], text)
        self.script.append(JSONResponse(body))

    def fail(self, status: int, message: str = "try later", headers: dict[str, str] | None = None) -> None:
        """Script an error in the provider's form; a client that retries is asked to do so at once."""
        error: object = {
            "message": message,
            "type": "error",
            "code": status if self.kind == "gemini" else None,
        }
        body = {"error": message} if self.kind == "ollama" else {"type": "error", "error": error}
        self.script.append(JSONResponse(body, status_code=status, headers=headers or {"retry-after-ms": "1"}))

    def send(self, body: bytes, content_type: str = "application/json") -> None:
        """Script a 200 with any bytes."""
        self.script.append(Response(body, media_type=content_type))

    def cut(self) -> None:
        """Script a body that ends before its stated length, with the connection."""
        self.script.append(Response(b'{"cho', headers={"content-length": "1000"}))

    def hang(self) -> None:
        """Script a request that is never answered."""
        self.script.append(None)

    def drip(self) -> None:
        """Script an answer that goes on for ever, a blank at a time."""

        async def blanks() -> AsyncIterator[bytes]:
            while True:
                yield b" "
                await asyncio.sleep(0.01)

        self.script.append(StreamingResponse(blanks(), media_type="application/json"))

    async def handle(self, request: Request) -> Response:
        self.requests.append(json.loads(await request.body()))
        self.headers.append(dict(request.headers))
        self.loop.call_soon_threadsafe(self.asked.set)
        response = self.script.pop(0)
        if len(self.requests) >= self.together:
            self._all.set()
        await self._all.wait()
        if response is None:
            await request.receive()  # comes back when the client has hung up
            return Response(status_code=503)
        return response


def _chat(text: str | None, cut_off: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "length" if cut_off else "stop", "message": message}
    counts = usage and {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m"}
    return body | {"choices": [choice]} | ({"usage": counts} if counts else {})


def _response(text: str | None, cut_off: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    thoughts = {"type": "reasoning", "id": "rs-1", "summary": []}
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    if text is None:
        part = {"type": "refusal", "refusal": "no"}
    message = {"type": "message", "id": "msg-1", "role": "assistant", "content": [part]}
    return {
        "id": "resp-1",
        "object": "response",
        "status": "incomplete" if cut_off else "completed",
        "output": [thoughts, message],
        "usage": usage and {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


def _message(text: str | None, cut_off: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    return {
        "id": "msg-1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [] if text is None else [{"type": "text", "text": text}],
        "stop_reason": "max_tokens" if cut_off else "end_turn",
        "usage": usage and {"input_tokens": usage[0], "output_tokens": usage[1]},
    }


def _ollama(text: str | None, cut_off: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    counts = {"prompt_eval_count": usage[0], "eval_count": usage[1]} if usage else {}
    message = {"role": "assistant", "content": text or ""}
    reason = "length" if cut_off else "stop"
    return {"model": "m", "message": message, "done": True, "done_reason": reason, **counts}


def _generated(text: str | None, cut_off: bool, usage: tuple[int, int] | None) -> dict[str, Any]:
    if text is None:
        return {"promptFeedback": {"blockReason": "SAFETY"}}
    content = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": text}]}
    body = {"candidates": [{"content": content, "finishReason": "MAX_TOKENS" if cut_off else "STOP"}]}
    counts = usage and {"promptTokenCount": usage[0], "candidatesTokenCount": usage[1]}
    return body | ({"usageMetadata": counts} if counts else {})


def _with_calls(kind: str, body: dict[str, Any], calls: list[tuple[str, str, Any]], text: str) -> None:
    """Add calls of tools, each with its id, to an answer of the text alone."""
    written = [
        (number, name, given if isinstance(given, str) else json.dumps(given))
        for number, name, given in calls
    ]
    match kind:
        case "openai" | "compatible":
            choice = body["choices"][0]
            choice["message"]["content"] = text or None
            choice["message"]["tool_calls"] = [
                {"id": number, "type": "function", "function": {"name": name, "arguments": given}}
                for number, name, given in written
            ]
            if choice["finish_reason"] == "stop":
                choice["finish_reason"] = "tool_calls"
        case "openai-responses":
            thoughts, message = body["output"]
            body["output"] = [thoughts | {"encrypted_content": "signed"}, *([message] if text else [])] + [
                {
                    "type": "function_call",
                    "id": f"fc_{number}",
                    "call_id": number,
                    "name": name,
                    "arguments": given,
                    "status": "completed",
                }
                for number, name, given in written
            ]
        case "anthropic":
            body["content"] = (body["content"] if text else []) + [
                {"type": "tool_use", "id": number, "name": name, "input": given}
                for number, name, given in calls
            ]
            if body["stop_reason"] == "end_turn":
                body["stop_reason"] = "tool_use"
        case "ollama":
            body["message"]["tool_calls"] = [
                {"function": {"name": name, "arguments": given}} for _, name, given in calls
            ]
        case "gemini":
            said = [{"text": text}] if text else []
            asked = [{"functionCall": {"id": n, "name": name, "args": given}} for n, name, given in calls]
            asked[0]["thoughtSignature"] = "c2lnbmVk"
            body["candidates"][0]["content"]["parts"] = [*said, *asked]


BODIES = {
    "openai": _chat,
    "openai-responses": _response,
    "anthropic": _message,
    "ollama": _ollama,
    "gemini": _generated,
    "compatible": _chat,
}


@contextmanager
def in_a_thread(app: Starlette) -> Iterator[str]:
    """Serve an application in a thread of its own; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[dict[str, Provider], str]]:
    """The providers that answer, each by its number below the root URL, and that URL.

    So a request that a test has given up reaches its own provider, and not that of the next test.
    """
    providers: dict[str, Provider] = {}

    async def handle(request: Request) -> Response:
        return await providers[request.path_params["number"]].handle(request)

    routes = [Route(f"/{{number}}{path}", handle, methods=["POST"]) for path in set(PATHS.values())]
    with in_a_thread(Starlette(routes=routes)) as url:
        yield providers, url


@pytest.fixture
async def provider(
    request: pytest.FixtureRequest,
    server: tuple[dict[str, Provider], str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> AsyncIterator[Provider]:
    """A provider with an empty script, which the environment variables point to; OpenAI's chat by default."""
    providers, root = server
    number = str(len(providers))
    provider = providers[number] = Provider(getattr(request, "param", "openai"))
    root = f"{root}/{number}"
    for name, service in SERVICES.items():
        monkeypatch.setenv(service.key_variable, KEY)
        own = f"{root}/v1" if PATHS[name].startswith("/v1/chat") or name == "openai-responses" else root
        monkeypatch.setenv(service.url_variable, own)
    monkeypatch.setenv(rates.VARIABLE, str(tmp_path / "rates"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield provider
    await close_connections()


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def observe() -> Callable[..., Observation]:
    """Makes an observation of two open tabs."""

    def make(html: str = "<h1>Desk lamp</h1>", *, active: int = 1, error: str = "") -> Observation:
        tabs = tuple(Tab(f"Page {i}", f"http://shop.test/{i}.html", i == active) for i in range(2))
        return Observation("Add the best product to the cart.", html, tabs, error)

    return make
