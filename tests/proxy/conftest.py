import ipaddress
import os
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from proxy.server import Proxy, Slot, run_proxy


@pytest.fixture(scope="package")
def ca_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One authority for all tests: its key takes long to make."""
    return tmp_path_factory.mktemp("ca")


@pytest.fixture(scope="package")
def shop_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of 127.0.0.1 and localhost, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address, x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = tmp_path_factory.mktemp("shop") / "shop.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(certificate.public_bytes(pem) + private)
    return path


@pytest.fixture
def shop_tls(shop_certificate: Path) -> ssl.SSLContext:
    """What a shop with this certificate serves HTTPS with."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(shop_certificate)
    return context


@pytest.fixture(scope="module")
async def proxy(ca_dir: Path, shop_certificate: Path) -> AsyncIterator[Proxy]:
    async with run_proxy(ca_dir, upstream_ca=shop_certificate) as proxy:
        yield proxy


@pytest.fixture
async def slot(proxy: Proxy) -> Slot:
    return await proxy.open_slot()


@pytest.fixture
async def client(slot: Slot) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture
def resident() -> Callable[[], int]:
    """How much memory this process has, in bytes."""
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("needs /proc")
    return lambda: int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
