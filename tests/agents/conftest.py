"""A provider on loopback that speaks the wire format of chat completions, as a test scripts it."""

import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.registry import close_agents
from environments.observation import Observation, Tab

KEY = "sk-proj-0123456789abcdef0123456789abcdef"


class Provider:
    """Answers each request with the next of `script`; keeps the bodies of the requests in `requests`."""

    def __init__(self) -> None:
        self.script: list[Response | None] = []
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str] = []

    def say(self, text: str | None, *, finish_reason: str = "stop", usage: object = (1_000, 100)) -> None:
        """Script a completion; `usage` is (tokens in, tokens out), or None for a server that counts none."""
        body: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "gpt-4.1-mini",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": text},
                }
            ],
        }
        if isinstance(usage, tuple):
            body["usage"] = {
                "prompt_tokens": usage[0],
                "completion_tokens": usage[1],
                "total_tokens": sum(usage),
            }
        self.script.append(JSONResponse(body))

    def fail(self, status: int, message: str = "try later") -> None:
        """Script an error in OpenAI's form; a client that retries is asked to do so at once."""
        self.script.append(
            JSONResponse(
                {"error": {"message": message, "type": "error", "code": None}},
                status_code=status,
                headers={"retry-after-ms": "1"},
            )
        )

    def send(self, body: bytes, content_type: str = "application/json") -> None:
        """Script a 200 with any bytes."""
        self.script.append(Response(body, media_type=content_type))

    def hang(self) -> None:
        """Script a request that is never answered."""
        self.script.append(None)

    async def handle(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.authorization.append(request.headers["authorization"])
        response = self.script.pop(0)
        if response is None:
            await request.receive()  # comes back when the client has hung up
            return Response(status_code=503)
        return response


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[Starlette, str]]:
    """A server whose `app.state.provider` answers, and its base URL."""
    app = Starlette(routes=[Route("/v1/chat/completions", _handle, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        yield app, f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        running.should_exit = True
        thread.join()


async def _handle(request: Request) -> Response:
    provider: Provider = request.app.state.provider
    return await provider.handle(request)


@pytest.fixture
async def provider(server: tuple[Starlette, str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Provider]:
    """A provider with an empty script, which the environment variables point to."""
    app, base_url = server
    app.state.provider = Provider()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield app.state.provider
    await close_agents()


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
