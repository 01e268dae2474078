"""Pack the texts that are stored: each alone, or by what it shares with another one, its base.

Pages that a shop sends are much alike. So the first one of a run is packed alone, and is the base of all
others. Data with a base begin with a byte that begins no frame of zstandard, and with the base's name.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import zstandard

from experiments.records.record import artifact_hash

MARK: Final = b"\1"
"""The first byte of data with a base."""
HEAD: Final = 17
"""The bytes before the frame: the mark, and the base's hash."""
_LEVEL: Final = 9
_MOST: Final = 2**18
"""The most bytes of a base that are used."""
_KEPT: Final = 256
"""How many bases are remembered."""


class Base(NamedTuple):
    """A text that others are packed with."""

    name: str
    text: str

    @property
    def dictionary(self) -> zstandard.ZstdCompressionDict:
        """The text as zstandard takes it."""
        content = self.text.encode()[:_MOST]
        return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class Packer:
    """Packs texts. Making one takes longer than compressing a page with it."""

    def __init__(self) -> None:
        self._alone = zstandard.ZstdCompressor(level=_LEVEL)

    def pack(self, text: str, base: Base | None = None) -> bytes:
        """Return the data of a text."""
        if base is None:
            return self._alone.compress(text.encode())
        compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=base.dictionary)
        return MARK + bytes.fromhex(base.name) + compressor.compress(text.encode())


class Unpacker:
    """Unpacks what was packed; `fetch` gives the data of a base by its name, None where there is none."""

    def __init__(self, fetch: Callable[[str], object]) -> None:
        self._fetch = fetch
        self._bases: dict[str, Base] = {}

    def text(self, name: str, data: object) -> str | None:
        """Return the text of an artifact; None if it is not the one of this name, or its base is lost."""
        if not data or not isinstance(data, bytes):
            return None
        dictionary = None
        if base_name := base_of(data):
            base = self.base(base_name)
            if base is None:
                return None
            dictionary, data = base.dictionary, data[HEAD:]
        try:
            text = zstandard.ZstdDecompressor(dict_data=dictionary).decompress(data).decode()
        except (zstandard.ZstdError, UnicodeDecodeError, MemoryError):
            return None
        return text if artifact_hash(text) == name else None

    def base(self, name: str) -> Base | None:
        """Return a text that others are packed with; None: it is lost, or has a base itself."""
        if name not in self._bases:
            data = self._fetch(name)
            text = None if isinstance(data, bytes) and base_of(data) else self.text(name, data)
            if text is None:
                return None
            if len(self._bases) >= _KEPT:
                self._bases.clear()
            self._bases[name] = Base(name, text)
        return self._bases[name]


def base_of(data: bytes) -> str:
    """Return the name of the base of an artifact's data; empty: it has none."""
    return data[1:HEAD].hex() if len(data) >= HEAD and data.startswith(MARK) else ""
