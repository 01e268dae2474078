"""A product's page, the plan that treats it, and an upstream that answers with exactly the given bytes."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event, RequestReceived
from h2.settings import SettingCodes

from interventions.apply.plan import Plan, Treatment
from interventions.edits.insert_text import InsertText
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.session import Session
from tests.support import listening

SITE = load_site_map("onestopmarket")
NUDGE = "Best of all oats"
PLAN = Plan((Treatment("best", "oats", (InsertText(after="product.title", text=NUDGE),)),))

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>Oats</title>
<meta property="og:type" content="product"></head><body>
<div class="page-title-wrapper product"><h1 class="page-title"><span class="base">Oats £3</span></h1></div>
<p>All about oats.</p></body></html>"""
UNTREATABLE = PAGE.replace("page-title-wrapper", "renamed")
TARGET = (b":method", b":scheme", b":authority", b":path")
OTHER = "<!doctype html><title>About us</title><p>About us.</p>"


def session(url: str, plan: Plan = PLAN) -> Session:
    """A session that may reach this shop only."""
    return Session(plan, SITE, AllowList.of(url))


def message(body: bytes | str, *headers: str, status: str = "200 OK") -> bytes:
    """An HTTP/1.1 answer in bytes; HTML with a length, unless the headers say otherwise."""
    data = body.encode() if isinstance(body, str) else body
    names = {header.partition(":")[0].lower() for header in headers}
    lines = [f"HTTP/1.1 {status}", *headers]
    if "content-type" not in names:
        lines.append("Content-Type: text/html; charset=utf-8")
    if not names & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


@dataclass
class Upstream:
    """`requests` are the heads of those received; `answer` is sent once `may_answer` is set."""

    answer: bytes
    url: str = ""
    requests: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each request of a connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append(head.decode("latin-1").lower())
                self.arrived.set()
                await self.may_answer.wait()
                writer.write(self.answer)
                await writer.drain()
                if b"connection: close" in self.answer.partition(b"\r\n\r\n")[0].lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def upstream(
    answer: bytes | str, *, tls: ssl.SSLContext | None = None, waits: bool = False
) -> AsyncIterator[Upstream]:
    """Answer every request with these bytes, or this page; `waits`: not before `may_answer` is set."""
    server = Upstream(message(answer) if isinstance(answer, str) else answer)
    if not waits:
        server.may_answer.set()
    listener = await asyncio.start_server(server.converse, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/"
    try:
        yield server
    finally:
        server.may_answer.set()
        listener.close()


@asynccontextmanager
async def http_2_upstream(
    body: bytes | None,
    *headers: tuple[str, str],
    tls: ssl.SSLContext,
    pushes: str = "",
    hears: Callable[[Event], None] = lambda _: None,
) -> AsyncIterator[str]:
    """Answer every request over HTTP/2 with this body, or never; yields the base URL. It `hears` all events.

    With each answer it `pushes` the body as the page at this path too, whether the client allows that or not.
    """

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        left: dict[int, bytes] = {}
        writer.write(connection.data_to_send())
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                hears(event)
                if isinstance(event, RequestReceived) and body is not None:
                    assert event.stream_id is not None
                    if pushes:
                        connection.remote_settings[SettingCodes.ENABLE_PUSH] = 1
                        connection.remote_settings.acknowledge()
                        promised = connection.get_next_available_stream_id()
                        asked = {name: value for name, value in event.headers or () if name in TARGET}
                        connection.push_stream(
                            event.stream_id, promised, [*(asked | {b":path": pushes.encode()}).items()]
                        )
                        connection.send_headers(promised, [(":status", "200"), *headers])
                        left[promised] = body
                    connection.send_headers(event.stream_id, [(":status", "200"), *headers])
                    left[event.stream_id] = body
            for stream in list(left):
                # Whatever does not fit waits for the next window update.
                size = min(connection.local_flow_control_window(stream), connection.max_outbound_frame_size)
                connection.send_data(stream, left[stream][:size])
                left[stream] = left[stream][size:]
                if not left[stream]:
                    connection.end_stream(stream)
                    del left[stream]
            writer.write(connection.data_to_send())
        writer.close()

    tls.set_alpn_protocols(["h2"])
    async with listening(converse, "127.0.0.1", 0, ssl=tls) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
