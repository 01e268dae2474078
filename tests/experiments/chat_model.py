"""A model on loopback that the real SDK of chat completions asks; each test says what it replies."""

from collections.abc import AsyncIterator, Callable

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.agents.batch_provider import chat
from tests.support import serve


class ChatModel:
    """Answers the last message of each request as `reply` says: with a text, or a status that is an error."""

    def __init__(self) -> None:
        self.reply: Callable[[str], str | int] = lambda _: 500
        self.asked: list[list[dict[str, str]]] = []
        """The messages of each request."""

    async def handle(self, request: Request) -> JSONResponse:
        body = await request.json()
        self.asked.append(body["messages"])
        said = self.reply(body["messages"][-1]["content"])
        if isinstance(said, int):
            error = {"error": {"message": "no", "type": "error", "code": None}}
            return JSONResponse(error, status_code=said, headers={"retry-after-ms": "1"})
        return JSONResponse({"id": "1", "object": "chat.completion", "model": body["model"], **chat(said)})


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatModel]:
    made = ChatModel()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with serve(Starlette(routes=[Route("/v1/chat/completions", made.handle, methods=["POST"])])) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}v1")
        yield made
