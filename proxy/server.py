"""mitmproxy inside the running event loop, with one listening port per episode slot."""

import asyncio
import base64
import hashlib
import logging
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mitmproxy import options
from mitmproxy.addons import core, dns_resolver, next_layer, proxyserver, tlsconfig, upstream_auth
from mitmproxy.connection import ConnectionState
from mitmproxy.master import Master
from mitmproxy.proxy.mode_servers import ServerInstance

from interventions.errors import UserError
from proxy.addon import Rewriter
from proxy.session import Session

HOST = "127.0.0.1"
BODY_SIZE_LIMIT = "64m"
CA_FILE = "mitmproxy-ca-cert.pem"


class Slot:
    """One listening port. At most one session is bound to it at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.session: Session | None = None

    @property
    def url(self) -> str:
        """The address to give to a browser as its proxy."""
        return f"http://{HOST}:{self.port}"


class Proxy:
    """A running proxy. There can be one per process: mitmproxy keeps its master in a global."""

    def __init__(self, ca_dir: Path, master: Master, server: proxyserver.Proxyserver) -> None:
        self.ca_dir = ca_dir
        self._master = master
        self._server = server
        self._slots: dict[int, Slot] = {}
        self._listeners: list[ServerInstance[Any]] = []

    async def open_slot(self, port: int = 0) -> Slot:
        """Listen on one more port (0: any free one).

        Raises:
            UserError: the port is taken.
        """
        listener: ServerInstance[Any] = ServerInstance.make(f"regular@{HOST}:{port}", self._server)
        try:
            await listener.start()
        except OSError as error:
            raise UserError(
                f"port {port}: cannot listen on it ({os.strerror(error.errno or 0)}); "
                "stop the program that uses it, or choose another with --port"
            ) from None
        self._listeners.append(listener)
        slot = Slot(listener.listen_addrs[0][1])
        self._slots[slot.port] = slot
        return slot

    def session_of(self, port: int) -> Session | None:
        """The session bound to a port."""
        slot = self._slots.get(port)
        return slot.session if slot else None

    @property
    def certificate(self) -> Path:
        """The certificate of this run's own certificate authority."""
        return self.ca_dir / CA_FILE

    @property
    def spki(self) -> str:
        """Base64 SHA-256 of the authority's public key, as Chromium's SPKI flag takes it."""
        certificate = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(hashlib.sha256(key).digest()).decode()

    async def close(self) -> None:
        """Stop listening, drop open connections and wait until they have ended."""
        for listener in self._listeners:
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
async def run_proxy(ca_dir: Path) -> AsyncIterator[Proxy]:
    """Run the proxy in the current event loop; its certificate authority lives in `ca_dir` (mode 0700).

    Raises:
        UserError: the folder cannot be written.
    """
    make_private(ca_dir)
    # Only the addons that carry traffic: each further one costs time at every request.
    master = Master(options.Options(confdir=str(ca_dir)), event_loop=asyncio.get_running_loop())
    server = proxyserver.Proxyserver()
    proxy = Proxy(ca_dir, master, server)
    master.addons.add(
        core.Core(),
        server,
        dns_resolver.DnsResolver(),
        next_layer.NextLayer(),
        tlsconfig.TlsConfig(),
        upstream_auth.UpstreamAuth(),
        Rewriter(proxy.session_of),
    )
    master.options.update(body_size_limit=BODY_SIZE_LIMIT, connection_strategy="lazy", mode=[], server=False)
    logging.getLogger("mitmproxy").setLevel(logging.ERROR)
    await master.running()
    try:
        make_private(ca_dir)  # once more: the authority's files are there now
        yield proxy
    finally:
        await proxy.close()


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter, and its files readable by nobody else.

    Raises:
        UserError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(stat.S_IRWXU)
        for file in folder.iterdir():
            file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
