"""The proxy as a server: its ports, its certificate authority, HTTPS, and how it ends."""

import asyncio
import base64
import hashlib
import shutil
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import certifi
import h2.connection
import h2.errors
import h2.events
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy.master import Master

from interventions.errors import UserError
from proxy.authority import KEY
from proxy.server import Proxy, Slot, run_proxy
from tests.proxy.upstream import OTHER, PAGE, http_2_upstream, message, session, upstream
from tests.support import listening


@pytest.fixture
async def proxy(ca_dir: Path) -> AsyncIterator[Proxy]:
    """One per test: some start their own, and there can be one at a time."""
    async with run_proxy(ca_dir) as proxy:
        yield proxy


def browser_tls(proxy: Proxy) -> ssl.SSLContext:
    """A client that trusts this run's authority and nobody else."""
    return ssl.create_default_context(cafile=proxy.certificate)


# HTTPS


async def test_a_client_without_the_authority_does_not_trust_the_proxy(slot: Slot, client, shop_tls) -> None:
    async with upstream(PAGE, tls=shop_tls) as shop:
        slot.session = session(shop.url)
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.get(shop.url)
    assert shop.requests == []


async def test_a_shop_with_a_bad_certificate_is_an_upstream_error(proxy: Proxy, slot: Slot, shop_tls) -> None:
    async with (
        upstream(PAGE, tls=shop_tls) as shop,
        httpx.AsyncClient(proxy=slot.url, verify=browser_tls(proxy), trust_env=False, timeout=60) as client,
    ):
        slot.session = session(shop.url)
        response = await client.get(shop.url + "oats.html", headers={"accept": "text/html"})
    assert response.status_code == 502
    assert shop.requests == []
    assert len(slot.session.upstream_errors) == 1
    assert "ertificate" in slot.session.upstream_errors[0]


async def test_an_https_host_that_is_not_allowed_is_not_contacted(proxy: Proxy, slot: Slot, shop_tls) -> None:
    connections = 0

    def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    async with (
        listening(count, "127.0.0.1", 0) as elsewhere,
        upstream(PAGE, tls=shop_tls) as shop,
        httpx.AsyncClient(proxy=slot.url, verify=browser_tls(proxy), trust_env=False, timeout=60) as client,
    ):
        slot.session = session(shop.url)
        with pytest.raises(httpx.ProxyError, match="403"):
            await client.get(f"https://127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}/")
    assert connections == 0


async def test_a_request_given_up_over_http_2_is_no_error(ca_dir: Path, shop_tls, shop_certificate) -> None:
    events: asyncio.Queue[h2.events.Event] = asyncio.Queue()

    async def heard(kind: type[h2.events.Event]) -> None:
        while not isinstance(await events.get(), kind):
            pass

    async with (
        http_2_upstream(None, tls=shop_tls, hears=events.put_nowait) as url,
        run_proxy(ca_dir, upstream_ca=shop_certificate) as proxy,
    ):
        tls = browser_tls(proxy)
        tls.set_alpn_protocols(["h2"])
        slot = await proxy.open_slot()
        place = url.removeprefix("https://").rstrip("/")
        slot.session = session(url)
        reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
        writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(tls, server_hostname="127.0.0.1")
        browser = h2.connection.H2Connection()
        browser.initiate_connection()
        address = [(":authority", place), (":scheme", "https"), (":path", "/oats.html")]
        browser.send_headers(1, [(":method", "GET"), *address, ("accept", "text/html")], end_stream=True)
        writer.write(browser.data_to_send())
        await heard(h2.events.RequestReceived)
        browser.reset_stream(1, h2.errors.ErrorCodes.CANCEL)
        writer.write(browser.data_to_send())
        await heard(h2.events.StreamReset)
        writer.close()
    assert slot.session.upstream_errors == slot.session.failures == []


@pytest.mark.parametrize(
    ("name", "cause"), [("empty.pem", "holds no certificates"), ("missing.pem", "cannot be read")]
)
async def test_a_file_without_certificates_is_one_line(ca_dir: Path, tmp_path, name: str, cause: str) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(UserError, match=cause):
        async with run_proxy(ca_dir, upstream_ca=tmp_path / name):
            pass


# The authority


async def test_the_authority_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "ca"
    async with run_proxy(folder) as proxy:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(folder.iterdir())
        assert proxy.certificate in files
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("linked", ["the folder", "a file"])
async def test_what_a_link_leads_to_is_left_alone(tmp_path: Path, linked: str) -> None:
    target, folder = tmp_path / "target", tmp_path / "ca"
    async with run_proxy(target):
        pass
    if linked == "the folder":
        folder.symlink_to(target)
    else:
        shutil.copytree(target, folder)
        (folder / "more.pem").symlink_to(target / KEY)
    target.chmod(0o755)
    (target / KEY).chmod(0o644)
    with pytest.raises(UserError, match=r"ca(/more.pem)?: is a link, .*; name a folder without links"):
        async with run_proxy(folder):
            pass
    assert [stat.S_IMODE(path.stat().st_mode) for path in (target, target / KEY)] == [0o755, 0o644]


async def test_each_folder_has_an_authority_of_its_own_that_stays(tmp_path: Path) -> None:
    keys = []
    for name in ("one", "two", "one"):
        async with run_proxy(tmp_path / name) as proxy:
            keys.append(proxy.spki)
            certificate = x509.load_pem_x509_certificate(proxy.certificate.read_bytes())
        subject = certificate.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        assert base64.b64decode(keys[-1]) == hashlib.sha256(subject).digest()
    assert keys[0] == keys[2] != keys[1]


async def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/ca: cannot be written \(.+\); choose another folder$"):
        async with run_proxy(tmp_path / "file" / "ca"):
            pass


# Ports


async def test_a_slot_listens_on_one_loopback_address_only(slot: Slot) -> None:
    assert slot.url == f"http://127.0.0.1:{slot.port}"
    # The port is still free on the next address, so no wildcard listener holds it.
    with socket.socket() as other:
        other.bind(("127.0.0.2", slot.port))
    if socket.has_ipv6:
        with socket.socket(socket.AF_INET6) as other:
            other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            other.bind(("::1", slot.port))


async def test_a_busy_port_is_one_line(proxy: Proxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(UserError) as caught:
            await proxy.open_slot(port)
    assert str(caught.value) == (
        f"port {port}: cannot listen on it (Address already in use); "
        "stop the program that uses it, or choose another with --port"
    )
    assert (await proxy.open_slot(port)).port == port


async def test_a_closed_proxy_leaves_nothing_behind(ca_dir: Path) -> None:
    before = asyncio.all_tasks()
    async with upstream(OTHER) as shop, upstream(message("never"), waits=True) as slow:
        async with run_proxy(ca_dir) as proxy:
            slot = await proxy.open_slot()
            slot.session = session(slow.url)
            idle = await asyncio.open_connection("127.0.0.1", slot.port)
            busy = await asyncio.open_connection("127.0.0.1", slot.port)
            busy[1].write(f"GET {slow.url} HTTP/1.1\r\nHost: slow\r\n\r\n".encode())
            await slow.arrived.wait()
        for reader, writer in (idle, busy):
            assert await reader.read() == b""
            writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", slot.port)
    assert shop.requests == []
    assert slot.session.upstream_errors == []
    left = [task for task in asyncio.all_tasks() - before if "mitmproxy" in repr(task.get_coro())]
    assert left == []


async def test_a_closed_slot_closes_its_connections_and_no_others(proxy: Proxy) -> None:
    async with upstream(message("never"), waits=True) as slow:
        closed, other = await proxy.open_slot(), await proxy.open_slot()
        closed.session = its = session(slow.url)
        idle = await asyncio.open_connection("127.0.0.1", closed.port)
        busy = await asyncio.open_connection("127.0.0.1", closed.port)
        stays = await asyncio.open_connection("127.0.0.1", other.port)
        request = f"GET {slow.url} HTTP/1.1\r\nHost: slow\r\n\r\n".encode()
        busy[1].write(request)
        await slow.arrived.wait()
        await proxy.close_slot(closed)
        for reader, writer in (idle, busy):
            assert await reader.read() == b""
            writer.close()
        stays[1].write(request)
        assert (await stays[0].readline()).startswith(b"HTTP/1.1 503")
        stays[1].close()
    assert its.upstream_errors == []


async def test_a_process_that_ends_while_it_makes_its_authority_leaves_a_folder_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each moment another process, or the next run, may look into the folder."""
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    folder = tmp_path / "ca"

    async def killed(_: Master) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(Master, "running", killed)
        with pytest.raises(InterruptedError):
            async with run_proxy(folder):
                pass
    async with run_proxy(folder):
        assert list(folder.glob("upstream-ca-*.pem"))
