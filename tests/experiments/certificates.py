"""A private certificate authority, as many firms have one."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PEM = serialization.Encoding.PEM


def certificates(folder: Path) -> tuple[Path, Path]:
    """The files of an authority, which no shop sends, and of a shop's certificate with its key."""
    keys = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    names = [
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("Authority", "Shop")
    ]
    now = datetime.now(UTC)
    paths = folder / "authority.pem", folder / "shop.pem"
    for number, path in enumerate(paths):
        builder = (
            x509.CertificateBuilder(names[0], names[number], keys[number].public_key(), number + 1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=number == 0, path_length=None), critical=True)
        )
        if number:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        path.write_bytes(builder.sign(keys[0], hashes.SHA256()).public_bytes(PEM))
    private = keys[1].private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    paths[1].write_bytes(paths[1].read_bytes() + private)
    return paths
