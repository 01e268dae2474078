"""A provider on loopback that takes batches, in the wire formats of OpenAI, Anthropic and Google."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.agents.conftest import BODIES, in_a_thread

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
"""From a request to the status and body of its response; status 0: it expires."""


def said(kind: str, text: str) -> dict[str, Any]:
    """The body of an answer of such a provider."""
    return BODIES[kind](text, False, (1_000, 100))


def chat(text: str) -> dict[str, Any]:
    """The body of a chat completion."""
    return said("openai", text)


class BatchProvider:
    """Keeps batches; each ends after `polls` looks at it. `answer` tells what becomes of each request."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.polls = 1
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.requests: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self.failing: list[int] = []
        """The statuses of the next answers, whatever is asked."""
        self.open = True
        """Whether batches may end."""
        self.sent = threading.Event()
        self.looked = threading.Event()
        """Set once somebody has asked how a batch is: then its name is known, and written down."""

    @property
    def sizes(self) -> list[int]:
        """How many requests each batch had."""
        return [len(requests) for requests in self.requests.values()]

    def app(self) -> Starlette:
        """The server."""
        return Starlette(
            routes=[
                Route("/v1/files", self._guarded(self._upload), methods=["POST"]),
                Route("/v1/files/{name}/content", self._guarded(self._download)),
                Route("/v1/batches", self._guarded(self._begin), methods=["POST"]),
                Route("/v1/batches/{name}", self._guarded(self._look)),
                Route("/v1/messages/batches", self._guarded(self._begin_messages), methods=["POST"]),
                Route("/v1/messages/batches/{name}", self._guarded(self._look_at_messages)),
                Route("/v1/messages/batches/{name}/results", self._guarded(self._results)),
                Route(
                    "/v1beta/models/{model}:batchGenerateContent",
                    self._guarded(self._begin_contents),
                    methods=["POST"],
                ),
                Route("/v1beta/batches/{name}", self._guarded(self._look_at_contents)),
            ]
        )

    def _guarded(self, handle: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(request: Request) -> Response:
            if self.failing and (status := self.failing.pop(0)):
                error = {"type": "error", "error": {"type": "api_error", "message": "try later"}}
                return JSONResponse(error, status, headers={"retry-after-ms": "1"})
            found: Response = await handle(request)
            return found

        return guarded

    async def _upload(self, request: Request) -> Response:
        form = await request.form()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = await form["file"].read()  # type: ignore[union-attr]
        return JSONResponse({"id": name, "object": "file"})

    async def _download(self, request: Request) -> Response:
        return Response(self.files[request.path_params["name"]])

    def _new(self, requests: list[tuple[str, dict[str, Any]]], **facts: Any) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        self.requests[name] = requests
        self.batches[name] = {"id": name, "left": self.polls, **facts}
        self.sent.set()
        return self.batches[name]

    async def _begin(self, request: Request) -> Response:
        asked = await request.json()
        assert asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {asked["endpoint"]}
        assert {line["method"] for line in lines} == {"POST"}
        assert len({line["body"]["model"] for line in lines}) == 1
        requests = [(line["custom_id"], line["body"]) for line in lines]
        return JSONResponse(self._new(requests, object="batch", status="validating"))

    def _is_over(self, batch: dict[str, Any]) -> bool:
        self.looked.set()
        batch["left"] -= 1
        return self.open and batch["left"] < 0

    async def _look(self, request: Request) -> Response:
        batch = self.batches[request.path_params["name"]]
        if batch["status"] == "validating" and self._is_over(batch):
            good, bad = [], []
            for name, asked in self.requests[batch["id"]]:
                status, body = self.answer(asked)
                told = {"status_code": status, "request_id": "r", "body": body} if status else None
                error = None if status else {"code": "batch_expired", "message": "it expired"}
                line = json.dumps({"id": "x", "custom_id": name, "response": told, "error": error})
                (good if status == 200 else bad).append(line)
            for kind, lines in (("output_file_id", good), ("error_file_id", bad)):
                if lines:
                    batch[kind] = f"file-{len(self.files)}"
                    self.files[batch[kind]] = "\n".join(lines).encode()
            batch["status"] = "expired" if any('"batch_expired"' in line for line in bad) else "completed"
        return JSONResponse(batch)

    async def _begin_messages(self, request: Request) -> Response:
        asked = await request.json()
        requests = [(each["custom_id"], each["params"]) for each in asked["requests"]]
        return JSONResponse(self._new(requests, type="message_batch", processing_status="in_progress"))

    async def _look_at_messages(self, request: Request) -> Response:
        batch = self.batches[request.path_params["name"]]
        if self._is_over(batch):
            # Whoever follows this address gives the key away.
            batch |= {"processing_status": "ended", "results_url": "http://elsewhere.test/results"}
        return JSONResponse(batch)

    async def _results(self, request: Request) -> Response:
        lines = []
        for name, asked in self.requests[request.path_params["name"]]:
            status, body = self.answer(asked)
            result: dict[str, Any] = {"type": "succeeded", "message": body}
            if not status:
                result = {"type": "expired"}
            elif status != 200:
                result = {"type": "errored", "error": {"type": "error", "error": body}}
            lines.append(json.dumps({"custom_id": name, "result": result}))
        return Response("\n".join(reversed(lines)), media_type="application/x-jsonl")

    async def _begin_contents(self, request: Request) -> Response:
        asked = (await request.json())["batch"]["inputConfig"]["requests"]["requests"]
        models = {each["request"]["model"] for each in asked}
        assert models == {f"models/{request.path_params['model']}"}
        batch = self._new([(each["metadata"]["key"], each["request"]) for each in asked])
        return JSONResponse(_operation(batch, "BATCH_STATE_PENDING"))

    async def _look_at_contents(self, request: Request) -> Response:
        batch = self.batches[request.path_params["name"]]
        if "output" not in batch and self._is_over(batch):
            told = []
            for name, asked in self.requests[batch["id"]]:
                status, body = self.answer(asked)
                error = {"code": _CODES.get(status, 13), "message": (body or {}).get("message", "expired")}
                outcome = {"response": body} if status == 200 else {"error": error}
                told.append({"metadata": {"key": name}, **outcome})
            batch["output"] = {"inlinedResponses": {"inlinedResponses": list(reversed(told))}}
        running = "BATCH_STATE_SUCCEEDED" if "output" in batch else "BATCH_STATE_RUNNING"
        return JSONResponse(_operation(batch, batch.get("state", running)))


_CODES = {400: 3, 429: 8}


def _operation(batch: dict[str, Any], state: str) -> dict[str, Any]:
    facts = {key: batch[key] for key in ("output",) if key in batch}
    return {"name": f"batches/{batch['id']}", "metadata": {"state": state, **facts}}


@contextmanager
def serving(provider: BatchProvider) -> Iterator[str]:
    """Serve a provider; yield its address."""
    with in_a_thread(provider.app()) as url:
        yield url
