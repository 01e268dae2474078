"""A model's server on loopback that answers a prompt always alike, and fails when it is told to."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Literal

from tests.chat_completion import completion

LATENCY_SECONDS: Final = 0.4
OPTION: Final = re.compile(r"^Option ([A-Z]):", re.MULTILINE)

Way = Literal["refuses", "is overloaded", "sends garbage", "cuts its answers", "does not answer"]
"""A way to fail. What is not answered is answered in the end, late."""


class ModelServer:
    """The server; its choice is a digest of the prompt."""

    def __init__(self) -> None:
        self._way: Way | None = None
        self._answers = threading.Event()
        self._answers.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead an agent `compatible:NAME` here."""
        return {
            "COMPATIBLE_BASE_URL": f"http://127.0.0.1:{self._server.server_port}/v1",
            "NO_PROXY": "*",
            "no_proxy": "*",
        }

    @contextmanager
    def failing(self, way: Way) -> Iterator[None]:
        """Fail in this way while the block lasts."""
        self._way = way
        if way == "does not answer":
            self._answers.clear()
        try:
            yield
        finally:
            self._way = None
            self._answers.set()

    def close(self) -> None:
        """Stop it."""
        self._answers.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                time.sleep(LATENCY_SECONDS)
                server._answers.wait()
                status, body, length = server._answer(asked["messages"][-1]["content"])
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(length))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = length != len(body)

            def handle(self) -> None:
                with suppress(OSError):  # the other side may have gone
                    super().handle()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _answer(self, prompt: str) -> tuple[int, bytes, int]:
        """The status (0: no answer), the body, and the length that is told of it."""
        if self._way == "refuses":
            return 0, b"", 0
        if self._way == "is overloaded":
            body = b'{"error": {"message": "too many requests", "type": "error"}}'
            return 529, body, len(body)
        if self._way == "sends garbage":
            body = b'<html>{"choices": [[[\xff\x00'
            return 200, body, len(body)
        letters = OPTION.findall(prompt)
        letter = letters[int(sha256(prompt.encode()).hexdigest(), 16) % len(letters)]
        body = json.dumps(completion(letter, tokens_in=100, model="lab")).encode()
        return 200, body[:50] if self._way == "cuts its answers" else body, len(body)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server for the time of the block."""
    server = ModelServer()
    try:
        yield server
    finally:
        server.close()
