"""Record the shop's answers, and replay them without the shop.

A recording is a folder: `index.jsonl` has one line per answer (method, URL, hash of the request's body,
status, headers, hash and size of the answer's body), `bodies/` each body once, as it came, compressed with
zstd and named by its hash (BLAKE2b, 128 bits). Nothing of a request but method, URL and that hash is kept.
"""

import json
import logging
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import zstandard
from mitmproxy import http

from interventions.errors import UserError
from proxy.addon import RANGES, SESSION, VALIDATORS, respond
from proxy.decoding import Undecodable, codings, decode
from proxy.error_page import NOT_RECORDED
from proxy.session import Session

logger = logging.getLogger(__name__)

INDEX = "index.jsonl"
BODIES = "bodies"
WRITER, HEADERS = "souk_recording", "souk_recorded_headers"
MAX_REPLAYED_BYTES = 1 << 30
CONNECTION = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "trailer", "upgrade")
"""Headers of the connection on which the answer came."""

_BOUNDARY = re.compile(r'multipart/form-data;.*?boundary="?([^";,\s]+)', re.IGNORECASE)
_ENDS_A_LINE = re.compile(r"[\0\r\n]")
_FOLD = re.compile(rb"[ \t]*\r\n[ \t]+")
"""Where a header goes on in the next line (RFC 9112, section 5.2)."""

RequestKey = tuple[str, str, str]


@dataclass(frozen=True)
class _RecordedAnswer:
    """A recorded answer, and the request that it answered. `body` and `request_body` are hashes, or empty.

    Raises ValueError for what no answer has, or what would be more than one header when it is replayed.
    """

    method: str
    url: str
    request_body: str
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: str
    size: int
    """The size of the body as it came, in bytes."""

    def __post_init__(self) -> None:
        texts = (self.method, self.url, self.request_body, self.reason, self.body, *sum(self.headers, ()))
        if not all(isinstance(text, str) and not _ENDS_A_LINE.search(text) for text in texts):
            raise ValueError("a header or another text of it holds the end of a line, or is no text")
        if not re.fullmatch(r"([0-9a-f]{32})?", self.body):
            raise ValueError("the hash of the body is none")
        if type(self.status) is not int or not 200 <= self.status <= 999:
            raise ValueError(f"its status is {self.status}, and those of answers are 200 to 999")
        if type(self.size) is not int or self.size < 0:
            raise ValueError("the size is none")

    @property
    def request(self) -> RequestKey:
        """The key of the requests that get this answer."""
        return self.method, self.url, self.request_body


def _request_key(request: http.Request) -> RequestKey:
    """Return what tells one request from another: method, URL without fragment, hash of the body.

    What separates the parts of a form is random, and different each time that the same form is sent.
    """
    body = request.raw_content
    boundary = _BOUNDARY.search(request.headers.get("content-type", ""))
    if body and boundary:
        body = body.replace(boundary[1].encode("latin-1", "replace"), b"")
    return request.method, request.url.partition("#")[0], _digest(body) if body else ""


class Recording:
    """A folder with recorded answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self) -> None:
        """Make the folder, or prepare to add to it. The folder is private: answers hold cookies.

        Raises UserError when it cannot be written or holds something else.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (self.folder / INDEX).exists() and any(self.folder.iterdir()):
                raise UserError(f"{self.folder}: holds something else than a recording; name another folder")
            (self.folder / BODIES).mkdir(exist_ok=True)
            self._append(b"")
        except OSError as error:
            why = f"cannot be written ({error.strerror}); choose another folder"
            raise UserError(f"{self.folder}: {why}") from None

    def answers(self) -> list[_RecordedAnswer]:
        """Return all answers, in the order in which they were recorded. Raises UserError."""
        path = self.folder / INDEX
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeError):
            why = f"not a recording; make one with `souk proxy serve --record {self.folder}`"
            raise UserError(f"{self.folder}: {why}") from None
        return [self._parse(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]

    def add(self, answer: _RecordedAnswer) -> None:
        """Append a line to the index, in one write: a line is there as a whole or not at all."""
        self._append(json.dumps(asdict(answer), ensure_ascii=True).encode() + b"\n")

    def read(self, answer: _RecordedAnswer) -> bytes:
        """Return the body of an answer. Raises OSError or ValueError when it is lost or damaged."""
        if not answer.body:
            return b""
        with self.path(answer.body).open("rb") as file:
            reader = zstandard.ZstdDecompressor().stream_reader(file)
            body = bytes(reader.read(min(answer.size, MAX_REPLAYED_BYTES) + 1))
        if _digest(body) != answer.body:
            raise ValueError("the body is not the one that was recorded")
        return body

    def path(self, digest: str) -> Path:
        """Return the path of the body with this hash."""
        return self.folder / BODIES / f"{digest}.zst"

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self.folder / INDEX, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    @staticmethod
    def _parse(line: str, where: str) -> _RecordedAnswer:
        try:
            data: Any = json.loads(line)
            headers = tuple((str(name), str(value)) for name, value in data.pop("headers"))
            return _RecordedAnswer(headers=headers, **data)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise UserError(f"{where}: not an answer of a recording; remove this line") from None


class _BodyWriter:
    """Writes one body, piece by piece, beside the others, and at the end names it by its hash."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._path = recording.folder / BODIES / f".{secrets.token_hex(8)}"
        self._file: BinaryIO | None = None
        self._packer = zstandard.ZstdCompressor().compressobj()
        self._hash = blake2b(digest_size=16)
        self._error: OSError | None = None
        self.size = 0

    def __call__(self, piece: bytes) -> bytes:
        """Write a piece and return it, as a stream of mitmproxy requires.

        An error is kept for `close`: the body has to reach the client whatever becomes of the recording.
        """
        if piece and self._error is None:
            self.size += len(piece)
            self._hash.update(piece)
            try:
                self._file = self._file or self._path.open("xb")
                self._file.write(self._packer.compress(piece))
            except OSError as error:
                self._error = error
        return piece

    @property
    def digest(self) -> str:
        """The hash of what has passed; empty for an empty body."""
        return self._hash.hexdigest() if self.size else ""

    def close(self) -> None:
        """Put the body in its place. Raises OSError."""
        if self._error is not None:
            raise self._error
        if self._file is not None:
            self._file.write(self._packer.flush())
            self._file.close()
            self._path.replace(self._recording.path(self.digest))

    def abort(self) -> None:
        """Remove the unfinished body."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._path.unlink(missing_ok=True)


class Recorder:
    """Records each answer before anything is changed in it.

    It comes before the addons that change answers.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Ask for the whole answer.

        `Not modified`, or a part, could not be replayed to another browser.
        """
        for name in (*VALIDATORS, *RANGES):
            flow.request.headers.pop(name, None)

    def request(self, flow: http.HTTPFlow) -> None:
        """Prepare to record the answer to a request that goes to the shop.

        What the proxy itself answers is not recorded.
        """
        if flow.response is None:
            flow.metadata[WRITER] = _BodyWriter(self.recording)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Copy the body as it passes, and keep the headers as they are now."""
        response = flow.response
        if response is None or WRITER not in flow.metadata:
            return
        if response.status_code < 200:  # the start of a WebSocket
            del flow.metadata[WRITER]
            return
        response.stream = flow.metadata[WRITER]
        flow.metadata[HEADERS] = response.headers.fields

    def response(self, flow: http.HTTPFlow) -> None:
        """Add an answer that is complete to the recording."""
        response = flow.response
        writer: _BodyWriter | None = flow.metadata.pop(WRITER, None)
        if writer is None or response is None:
            return
        if response.stream is not writer:  # it was held, not streamed
            writer(response.raw_content or b"")
        method, url, request_body = _request_key(flow.request)
        try:
            answer = _RecordedAnswer(
                method=method,
                url=url,
                request_body=request_body,
                status=response.status_code,
                reason=response.reason,
                headers=_as_text(flow.metadata.pop(HEADERS)),
                body=writer.digest,
                size=writer.size,
            )
            writer.close()
            self.recording.add(answer)
        except (OSError, ValueError) as error:
            writer.abort()
            why = error.strerror if isinstance(error, OSError) else error
            logger.error("%s: %s is not recorded: %s", self.recording.folder, url, why)

    def error(self, flow: http.HTTPFlow) -> None:
        """Remove the body of an answer that broke off."""
        if WRITER in flow.metadata:
            flow.metadata.pop(WRITER).abort()


class Replayer:
    """Answers from a recording, never from the network. It comes after the addon that binds sessions.

    Each session gets the answers to a request in the order in which they were recorded, and then the last one
    again and again.
    """

    def __init__(self, recording: Recording, answers: Iterable[_RecordedAnswer]) -> None:
        self.recording = recording
        self._answers: dict[RequestKey, list[_RecordedAnswer]] = {}
        for answer in answers:
            self._answers.setdefault(answer.request, []).append(answer)

    def request(self, flow: http.HTTPFlow) -> None:
        """Answer a recorded request; refuse one that was not recorded."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or flow.response is not None:
            return
        key = _request_key(flow.request)
        answers = self._answers.get(key, [])
        turn = session.replayed.get(key, 0)
        session.replayed[key] = turn + 1
        reason = NOT_RECORDED
        if answers:
            try:
                flow.response = self.answer(answers[min(turn, len(answers) - 1)], flow.request)
                return
            except (OSError, ValueError, TypeError, zstandard.ZstdError) as error:
                reason = f"its recording is damaged: {error}"
        response = respond(flow, 504, "Not recorded", f"{flow.request.method} {flow.request.url}: {reason}.")
        response.reason = reason  # for the session's list of errors

    def answer(self, recorded: _RecordedAnswer, request: http.Request) -> http.Response:
        """Return a recorded answer for a new connection. Raises OSError, ValueError."""
        body = self.recording.read(recorded)
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers]
        headers = http.Headers(fields)
        for name in CONNECTION:
            headers.pop(name, None)
        used = codings(headers.get("content-encoding", ""))
        if not all(coding in request.headers.get("accept-encoding", "") for coding in used):
            try:
                body = decode(body, headers.pop("content-encoding"), MAX_REPLAYED_BYTES)
            except Undecodable as error:
                raise ValueError(str(error)) from None
        if request.method != "HEAD" and recorded.status not in (204, 304):
            headers["content-length"] = str(len(body))
        response = http.Response.make(recorded.status)
        response.reason, response.headers, response.raw_content = recorded.reason, headers, body
        return response


def _as_text(fields: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), _FOLD.sub(b" ", value).decode("latin-1")) for name, value in fields)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
