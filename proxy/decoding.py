"""Undo the content codings of a body with bounded memory: a body that unpacks to more is refused."""

import re
import zlib
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
import zstandard

MAX_CODINGS = 4
"""Longest chain, such as `gzip, gzip`. Servers use one coding, by accident two."""
MAX_MEMBERS = 64
"""Most parts that a gzip or zstd body is put together from."""
ZSTD_WINDOW = 8 * 1024 * 1024
"""Largest window of zstd in HTTP (RFC 9659)."""


class Undecodable(ValueError):
    """The body cannot be decoded, or not within the limit; the message is the reason."""


class _Brotli:
    """A brotli decoder with the interface of zlib's."""

    def __init__(self) -> None:
        self._decoder = brotli.Decompressor()
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        return bool(self._decoder.is_finished())

    def decompress(self, data: bytes) -> bytes:
        return bytes(self._decoder.process(data))


def _inflater(body: bytes) -> Any:
    # "deflate" is zlib's format; some servers send the bare stream, which all browsers accept.
    wrapped = len(body) > 1 and body[0] & 15 == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


# A new decoder, and how much it is fed at once: so little that what one piece unpacks to fits into memory.
# At most: deflate 1:1032; zstd 128 KB from 4 bytes; brotli 16 MB from 13 bytes.
_DECODERS: dict[str, tuple[Callable[[bytes], Any], int]] = {
    "gzip": (lambda _: zlib.decompressobj(zlib.MAX_WBITS | 16), 16384),
    "deflate": (_inflater, 16384),
    "zstd": (lambda _: zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj(), 512),
    "br": (lambda _: _Brotli(), 32),
}
_ALIASES = {"x-gzip": "gzip", "identity": "", "none": ""}
_SEVERAL = frozenset(["gzip", "zstd"])


def codings(value: str) -> list[str]:
    """Return the codings that a Content-Encoding header names, in the order in which they were applied."""
    names = (name.strip().lower() for name in value.split(","))
    return [name for name in (_ALIASES.get(name, name) for name in names) if name]


def decode(body: bytes, content_encoding: str, limit: int) -> bytes:
    """Return the body without its content codings.

    Raises Undecodable: an unknown coding, damaged data, or more than `limit` bytes at any stage.
    """
    names = codings(content_encoding)
    if len(names) > MAX_CODINGS:
        raise Undecodable(f"encoded {len(names)} times; at most {MAX_CODINGS} are accepted")
    for name in reversed(names):
        if name not in _DECODERS:
            raise Undecodable(f'unknown content encoding "{re.sub("[^!-~]", "?", name)[:40]}"')
        body = _decode(body, name, limit) if body else body
    if len(body) > limit:
        raise Undecodable(f"too large: more than {limit:,} bytes")
    return body


def _decode(body: bytes, name: str, limit: int) -> bytes:
    new, piece = _DECODERS[name]
    unpacked, size, position = [], 0, 0
    for _ in range(MAX_MEMBERS if name in _SEVERAL else 1):
        decoder = new(body[position : position + 2])
        while position < len(body) and not decoder.eof:
            try:
                unpacked.append(decoder.decompress(body[position : position + piece]))
            except (zlib.error, brotli.error, zstandard.ZstdError) as error:
                raise Undecodable(f"not valid {name}: {error}") from None
            position += piece
            size += len(unpacked[-1])
            if size > limit:
                raise Undecodable(f"too large: {name} unpacks to more than {limit:,} bytes")
        if not decoder.eof:
            raise Undecodable(f"not valid {name}: it is cut off")
        position = min(position, len(body)) - len(decoder.unused_data)
        if not body[position:].strip(b"\0"):  # archivers pad with zeros
            return b"".join(unpacked)
    raise Undecodable(f"not valid {name}: something follows its end")
