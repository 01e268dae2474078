"""Pack the texts that are stored: each alone, or by what it shares with another one, its base.

A page that a shop sends again differs in a few bytes, and two pages of a shop in their products. So the first
page of a run is packed alone, the first one at each address with that as its base, and the later ones at the
address with the address's first. Data with a base begin with how many bases lead to a text that is packed
alone, a number that begins no frame of zstandard, and with the base's name.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import zstandard

from experiments.records.record import artifact_hash

HEAD: Final = 17
"""The bytes before the frame: the number of bases, and the base's hash."""
DEEPEST: Final = 2
"""The largest number of bases."""
_LEVEL: Final = 9
_MOST: Final = 2**18
"""The most bytes of a base that are used."""
_KEPT: Final = 256
"""How many bases are remembered."""
_ADDRESSES: Final = 10_000
"""Of how many addresses it is remembered which page came first."""


class _Base(NamedTuple):
    """A text that others are packed with, and the number of its own bases."""

    name: str
    text: str
    depth: int

    @property
    def dictionary(self) -> zstandard.ZstdCompressionDict:
        """The text as zstandard takes it."""
        content = self.text.encode()[:_MOST]
        return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class Packer:
    """Packs texts. Making one takes longer than compressing a page with it."""

    def __init__(self) -> None:
        self._alone = zstandard.ZstdCompressor(level=_LEVEL)

    def pack(self, text: str, base: _Base | None = None) -> bytes:
        """Return the data of a text."""
        if base is None:
            return self._alone.compress(text.encode())
        compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=base.dictionary)
        return bytes([base.depth + 1]) + bytes.fromhex(base.name) + compressor.compress(text.encode())


class Unpacker:
    """Unpacks what was packed; `fetch` gives the data of a base by its name, None where there is none."""

    def __init__(self, fetch: Callable[[str], object]) -> None:
        self._fetch = fetch
        self._bases: dict[str, _Base] = {}

    def text(self, name: str, data: object) -> str | None:
        """Return the text of an artifact; None if it is not the one of this name, or its base is lost."""
        if not data or not isinstance(data, bytes):
            return None
        dictionary = None
        if depth := depth_of(data):
            base = self.base(base_of(data), depth)
            if base is None:
                return None
            dictionary, data = base.dictionary, data[HEAD:]
        try:
            text = zstandard.ZstdDecompressor(dict_data=dictionary).decompress(data).decode()
        except (zstandard.ZstdError, UnicodeDecodeError, MemoryError):
            return None
        return text if artifact_hash(text) == name else None

    def base(self, name: str, below: int = DEEPEST) -> _Base | None:
        """Return a text that others are packed with; None: it is lost, or has no fewer bases than `below`."""
        known = self._bases.get(name)
        if known is None:
            data = self._fetch(name)
            depth = depth_of(data) if isinstance(data, bytes) else DEEPEST
            text = self.text(name, data) if depth < below else None
            if text is None:
                return None
            self.remember(known := _Base(name, text, depth))
        return known if known.depth < below else None

    def remember(self, base: _Base) -> None:
        """Remember a base, which may not be stored yet."""
        if len(self._bases) >= _KEPT:
            self._bases.clear()
        self._bases[base.name] = base


class StoredBases:
    """Which pages of a run are bases: the first one of all, and the first one at each address."""

    def __init__(self, stored: Iterable[tuple[str, str, bytes]]) -> None:
        """Take what is stored of the run: address, name and the head of the data of each page."""
        self._first: dict[str, str] = {}
        for url, name, head in stored:
            self._add(url, base_of(head) if depth_of(head) == DEEPEST else name)

    def pack(self, packer: Packer, unpacker: Unpacker, url: str, name: str, text: str) -> bytes:
        """Return the data of a page that is not stored yet."""
        known = self._first.get(url) or next(iter(self._first.values()), "")
        base = unpacker.base(known) if known else None
        if base is None:
            unpacker.remember(_Base(name, text, 0))
        elif base.depth + 1 < DEEPEST:
            unpacker.remember(_Base(name, text, base.depth + 1))
        if base is None or base.depth + 1 < DEEPEST:
            self._add(url, name)
        return packer.pack(text, base)

    def _add(self, url: str, name: str) -> None:
        if len(self._first) < _ADDRESSES:
            self._first.setdefault(url, name)


def depth_of(data: bytes) -> int:
    """Return the number of bases of an artifact's data."""
    return data[0] if len(data) >= HEAD and 1 <= data[0] <= DEEPEST else 0


def base_of(data: bytes) -> str:
    """Return the name of the base of an artifact's data; empty: it has none."""
    return data[1:HEAD].hex() if depth_of(data) else ""
