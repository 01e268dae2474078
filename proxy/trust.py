"""Trust shops with certificates of authorities that are not public: a file's, or those of SSL_CERT_FILE."""

import asyncio
import os
import ssl
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from warnings import catch_warnings

import certifi
from cryptography import x509

from interventions.errors import UserError
from proxy.authority import spki_of

OPTION: Final = "--upstream-ca"
VARIABLE: Final = "SSL_CERT_FILE"
ADVICE: Final = f"its certificate is not trusted; name its authority's with {OPTION} FILE, or in {VARIABLE}"
"""What is wrong, and what to do, where `is_untrusted`."""


def bundle(upstream_ca: Path | None) -> bytes | None:
    """Return the public authorities, those of a file and those of SSL_CERT_FILE, in PEM format.

    Returns None where the public ones are all. Raises UserError.
    """
    named = os.environ.get(VARIABLE)
    added = [_read(path, name) for path, name in ((upstream_ca, OPTION), (named, VARIABLE)) if path]
    return b"\n".join([Path(certifi.where()).read_bytes(), *added]) if added else None


def trusting(upstream_ca: Path | None) -> ssl.SSLContext:
    """Return a context for connections to shops, which trusts what `bundle` returns. Raises UserError."""
    return _trusting(bundle(upstream_ca))


@lru_cache(maxsize=8)
def _trusting(authorities: bytes | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certifi.where())
    if authorities:
        context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
    return context


def is_untrusted(error: BaseException) -> bool:
    """Return whether a connection failed because no trusted authority has signed the shop's certificate."""
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


async def keys_of(urls: Iterable[str], upstream_ca: Path | None) -> tuple[str, ...]:
    """Return the keys of the shops' certificates, once verified, as Chromium's SPKI flag takes them.

    A browser knows the public authorities only. Where nothing but these is trusted, the result is empty.
    Raises UserError.
    """
    if bundle(upstream_ca) is None:
        return ()
    context, keys = trusting(upstream_ca), list[str]()
    secure = [parts for parts in map(urlsplit, urls) if parts.scheme == "https"]
    for host, port in dict.fromkeys((parts.hostname, parts.port or 443) for parts in secure):
        with suppress(OSError):  # what cannot be reached or verified is told where it is fetched
            _, writer = await asyncio.open_connection(host, port, ssl=context)
            found: ssl.SSLObject = writer.get_extra_info("ssl_object")
            certificate = x509.load_der_x509_certificate(found.getpeercert(binary_form=True) or b"")
            keys.append(spki_of(certificate))
            writer.close()
    return tuple(keys)


def _read(path: Path | str, name: str) -> bytes:
    try:
        added = Path(path).read_bytes()
        with catch_warnings(action="ignore"):  # old authorities may have serial numbers of 0
            x509.load_pem_x509_certificates(added)
    except OSError as error:
        why = f"cannot be read ({error.strerror}); give a file of certificates"
        raise UserError(f"{name} {path}: {why}") from None
    except ValueError:
        raise UserError(f"{name} {path}: holds no certificates; give a file in PEM format") from None
    return added
