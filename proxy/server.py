"""Run mitmproxy inside the current event loop, with one listening port per episode slot."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mitmproxy import http, options
from mitmproxy.addons import core, dns_resolver, next_layer, proxyserver, tlsconfig, upstream_auth
from mitmproxy.connection import ConnectionState
from mitmproxy.master import Master
from mitmproxy.proxy.mode_servers import ServerInstance

from interventions.errors import UserError
from proxy import hardening
from proxy.addon import Rewriter
from proxy.authority import Authority, make_private
from proxy.cards import CardsAddon
from proxy.choices import ChoiceWatch
from proxy.drawing import Drawing
from proxy.guard import PageScript
from proxy.guests import SHOP_NAME, Guests
from proxy.listeners import Listeners
from proxy.orders import OrderWatch
from proxy.recording import Recorder, Recording, Replayer
from proxy.reverse import Inbound, Origin, Outbound
from proxy.session import Session
from proxy.trust import bundle

HOST = "127.0.0.1"


class Slot:
    """One listening port, to which at most one session is bound at a time.

    `reverse` is the shop that the port stands for; None: the port is a usual proxy. `named` is the shop that
    is reached through it under a name of the testbed. `public` is the origin under which a front server
    brings browsers here; None: this port's own.
    """

    def __init__(
        self, port: int, reverse: Origin | None = None, named: Origin | None = None, public: str | None = None
    ) -> None:
        self.port = port
        self.reverse, self.named, self.public = reverse, named, public
        self.session: Session | None = None

    @property
    def url(self) -> str:
        """The address to give to a browser as its proxy.

        Where the port stands for a shop, it is the address to open in the browser.
        """
        return f"http://{HOST}:{self.port}"


class Proxy:
    """A running proxy. A process can have only one: mitmproxy keeps its master in a global."""

    def __init__(self, ca_dir: Path, master: Master, server: proxyserver.Proxyserver, mode: str) -> None:
        self.ca_dir = ca_dir
        self._master = master
        self._server = server
        self._mode = mode
        self._slots: dict[int, Slot] = {}
        self._listeners: dict[int, ServerInstance[Any]] = {}

    async def open_slot(
        self,
        port: int = 0,
        reverse: str | None = None,
        named: Origin | None = None,
        public: str | None = None,
    ) -> Slot:
        """Listen on one more port (0: any free one), as a proxy or in place of the shop `reverse`.

        `named`: the shop that guests of this port reach as SHOP_NAME.

        Raises:
            UserError: the port is taken, or `reverse` is not the origin of a shop.
        """
        origin = Origin.of(reverse) if reverse else None
        listener: ServerInstance[Any] = ServerInstance.make(f"{self._mode}@{HOST}:{port}", self._server)
        try:
            await listener.start()
        except OSError as error:
            raise UserError(
                f"port {port}: cannot listen on it ({os.strerror(error.errno or 0)}); "
                "stop the program that uses it, or choose another with --port"
            ) from None
        slot = Slot(listener.listen_addrs[0][1], origin, named, public)
        self._listeners[slot.port] = listener
        self._slots[slot.port] = slot
        return slot

    async def close_slot(self, slot: Slot) -> None:
        """Listen on a port no longer, and close its connections: the port may be another slot's next."""
        slot.session = None
        del self._slots[slot.port]
        await self._listeners.pop(slot.port).stop()
        for connection in list(self._server.connections.values()):
            client = connection.transports.get(connection.client)
            if connection.client.sockname[1] == slot.port and client and client.handler:
                client.handler.cancel("its port is closed")

    def listens(self, slot: Slot) -> bool:
        """Return whether the slot's port is still open."""
        return self._slots[slot.port] is slot and bool(self._listeners[slot.port].listen_addrs)

    def slot_of(self, flow: http.HTTPFlow) -> Slot | None:
        """Return the slot at whose port a request came in."""
        return self._slots.get(flow.client_conn.sockname[1])

    def session_of(self, flow: http.HTTPFlow) -> Session | None:
        """Return the session bound to the port at which a request came in."""
        slot = self.slot_of(flow)
        return slot.session if slot else None

    def reverse_of(self, flow: http.HTTPFlow) -> Origin | None:
        """Return the shop that the request's port stands for, or its name; None where it is a usual proxy."""
        slot = self.slot_of(flow)
        if slot is None:
            return None
        return slot.named if flow.request.host == SHOP_NAME and slot.named else slot.reverse

    def public_of(self, flow: http.HTTPFlow) -> str | None:
        """Return the origin under which the request's browser reaches the port; None: as it asks."""
        slot = self.slot_of(flow)
        return slot.public if slot else None

    @property
    def certificate(self) -> Path:
        """The file with the certificate of this run's own certificate authority."""
        return Authority.read(self.ca_dir).certificate

    @property
    def spki(self) -> str:
        """The Base64 SHA-256 of the authority's public key, as Chromium's SPKI flag takes it."""
        return Authority.read(self.ca_dir).spki

    async def close(self) -> None:
        """Stop listening, drop open connections and wait until they have ended."""
        for listener in self._listeners.values():
            if listener.is_running:
                await listener.stop()
        while connections := list(self._server.connections.values()):
            for connection in connections:
                transport = connection.transports.get(connection.client)
                # One that is just being accepted has no handler yet, one that is ending is left alone.
                if transport and transport.handler and connection.client.state is not ConnectionState.CLOSED:
                    connection.close_connection(connection.client)
            await asyncio.sleep(0.01)
        await self._master.done()


@asynccontextmanager
async def run_proxy(
    ca_dir: Path,
    *,
    guests: Guests | None = None,
    upstream_ca: Path | None = None,
    upstream_proxy: str | None = None,
    record: Path | None = None,
    replay: Path | None = None,
) -> AsyncIterator[Proxy]:
    """Run the proxy in the current event loop; its certificate authority lives in `ca_dir` (mode 0700).

    `guests` gives sessions to whoever connects; the others are bound to slots. Shops are reached
    through the proxy `upstream_proxy`, and may have certificates of `upstream_ca` besides those of public
    authorities and of SSL_CERT_FILE. `record` is a folder for what shops answer; `replay` is one that answers
    in their place.

    Raises:
        UserError: a folder cannot be written, or an argument is not what it should be.
    """
    make_private(ca_dir)
    mode, credentials = _upstream_mode(upstream_proxy)
    # Only the addons that carry traffic: each further one costs time at every request.
    master = Master(options.Options(confdir=str(ca_dir)), event_loop=asyncio.get_running_loop())
    addons = master.addons = Listeners(master)
    server = proxyserver.Proxyserver()
    proxy = Proxy(ca_dir, master, server, mode)
    addons.add(  # type: ignore[no-untyped-call]
        core.Core(),
        server,
        dns_resolver.DnsResolver(),
        next_layer.NextLayer(),
        tlsconfig.TlsConfig(),
        upstream_auth.UpstreamAuth(),
        *_ours(proxy, guests, record, replay),
    )
    hardening.install()
    # Raw connections could carry pages that are not looked at.
    master.options.update(
        connection_strategy="lazy",
        rawtcp=False,
        body_size_limit=hardening.BODY_SIZE_LIMIT,
        upstream_auth=credentials,
        mode=[],
        server=False,
    )
    authorities = bundle(upstream_ca)
    logging.getLogger("mitmproxy").setLevel(logging.ERROR)
    await master.running()
    try:
        if authorities is not None:
            # Named by what it holds: other proxies that share the folder may trust others. It comes after the
            # authority's key: a folder that holds anything but not the key is taken for somebody else's.
            trusted = ca_dir / f"upstream-ca-{sha256(authorities).hexdigest()[:16]}.pem"
            trusted.write_bytes(authorities)
            master.options.update(ssl_verify_upstream_trusted_ca=str(trusted))
        make_private(ca_dir)  # once more: the authority's files are there now
        yield proxy
    finally:
        await proxy.close()


def _ours(proxy: Proxy, guests: Guests | None, record: Path | None, replay: Path | None) -> list[object]:
    """Our own addons, in the order in which a request and its answer pass them."""
    drawing = Drawing()
    addons: list[object] = [Inbound(proxy.reverse_of, proxy.public_of), CardsAddon(), drawing]
    if record is not None:
        recording = Recording(record)
        recording.create()
        addons.append(Recorder(recording))
    guest = guests.session_of if guests else nobody
    addons.append(ChoiceWatch(reads_messages=lambda flow: guest(flow) is not None))
    if guests is not None:
        addons.append(guests)
    addons.append(Rewriter(lambda flow: guest(flow) or proxy.session_of(flow)))
    addons.append(OrderWatch())
    addons.append(PageScript(lambda each: ";\n".join(filter(None, (drawing.script_of(each), each.script)))))
    if replay is not None:
        recording = Recording(replay)
        addons.append(Replayer(recording, recording.answers()))
    return [*addons, Outbound()]


def nobody(flow: http.HTTPFlow) -> None:
    """Return the session of a guest, where there are no guests."""


def _upstream_mode(url: str | None) -> tuple[str, str | None]:
    """mitmproxy's mode, and the credentials for the proxy in front of us. Raises UserError."""
    if url is None:
        return "regular", None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        shown = url.rpartition("@")[2]  # without a password
        raise UserError(f"{shown}: not the address of a proxy; write it like http://proxy.example:3128")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    return f"upstream:{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}", credentials
