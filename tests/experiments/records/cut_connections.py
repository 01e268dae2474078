"""A network that breaks: between a program and its PostgreSQL server, at a message that a test chooses."""

import socket
import threading
from contextlib import suppress
from typing import Self

from sqlalchemy.engine import make_url

_ENCRYPTED = (bytes.fromhex("04d2162f"), bytes.fromhex("04d21630"))
"""The codes of requests for TLS and for GSSAPI."""


class CuttingProxy:
    """Passes connections on to a server's socket until it is told to cut them at a message."""

    def __init__(self, url: str) -> None:
        self._server = make_url(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = self._server.set(host="127.0.0.1", port=port, query={}).render_as_string(
            hide_password=False
        )
        self.cuts = 0
        """How many connections were cut."""
        self._left: int | None = None
        self._after = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def cut(self, number: int, *, after: bool) -> None:
        """Cut at the message with this number from now on: before or after the server has got it."""
        self._left, self._after = number, after

    def mend(self) -> None:
        """Cut no more."""
        self._left = None

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            folder = str(self._server.query["host"])
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{folder}/.s.PGSQL.5432")
            for pass_on in (self._to_server, self._to_client):
                threading.Thread(target=pass_on, args=(client, server), daemon=True).start()

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while data := server.recv(65_536):
                client.sendall(data)
        except OSError:
            pass
        finally:
            _end(client, server)

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while (first := _message(client, b""))[4:8] in _ENCRYPTED:  # first messages have no kind
                client.sendall(b"N")
            server.sendall(first)
            while kind := client.recv(1):
                message = _message(client, kind)
                if kind[0] in b"QS" and self._is_cut():  # a statement, or the end of several messages
                    if self._after:
                        server.sendall(message)
                    return
                server.sendall(message)
        except OSError:
            pass
        finally:
            _end(client, server)

    def _is_cut(self) -> bool:
        with self._lock:
            if self._left is None:
                return False
            self._left -= 1
            if self._left == 0:
                self._left = None
                self.cuts += 1
                return True
            return False


def _message(client: socket.socket, kind: bytes) -> bytes:
    length = _exactly(client, 4)
    return kind + length + _exactly(client, int.from_bytes(length) - 4)


def _exactly(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        if not (more := client.recv(count - len(data))):
            raise OSError("closed")
        data += more
    return data


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
