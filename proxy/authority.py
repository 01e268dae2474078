"""The certificate authority in a folder: its private files, and what others need to trust it."""

import base64
import hashlib
import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from interventions.errors import UserError

CERTIFICATE = "mitmproxy-ca-cert.pem"
KEY = "mitmproxy-ca.pem"


@dataclass(frozen=True)
class Authority:
    """The identity of an authority; `spki` is the Base64 SHA-256 of its public key, as Chromium takes it."""

    certificate: Path
    fingerprint: str
    spki: str
    expires: datetime

    @classmethod
    def read(cls, folder: Path) -> "Authority":
        """Read the authority of a folder. Raises UserError where there is none."""
        path = folder / CERTIFICATE
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
        except OSError:
            why = f"{folder}: no certificate authority there; `souk proxy serve --ca {folder}` makes one"
            raise UserError(why) from None
        except ValueError:
            why = f"{path}: not a certificate; remove the folder, and let --ca make it anew"
            raise UserError(why) from None
        fingerprint = certificate.fingerprint(SHA256()).hex(":").upper()
        return cls(path.resolve(), fingerprint, spki_of(certificate), certificate.not_valid_after_utc)


def spki_of(certificate: x509.Certificate) -> str:
    """Return the Base64 SHA-256 of a certificate's public key, as Chromium takes it."""
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def make_private(folder: Path) -> None:
    """Make a folder for an authority: only its owner can enter it or read its files.

    Raises:
        UserError: it cannot be written, is or holds a link, or holds something else.
    """
    try:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        files = list(folder.iterdir())
        if files and not (folder / KEY).exists():
            raise UserError(f"{folder}: holds something else than an authority; name a folder of its own")
        if link := next((path for path in (folder, *files) if path.is_symlink()), None):
            why = "is a link, and what it leads to would be made private; name a folder without links"
            raise UserError(f"{link}: {why}")
        folder.chmod(stat.S_IRWXU)
        for file in files:
            if file.is_file():
                file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UserError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
