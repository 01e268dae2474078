"""Find the character encoding in which a browser reads a page (WHATWG Encoding and HTML standards)."""

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HEADER = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.I)
_META = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.I)

# A label names its superset in browsers: a page that says latin-1 is read as windows-1252.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_ASCII_SUPERSETS = frozenset(
    ["utf-8", "gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "koi8-r", "koi8-u", "cp866", "cp874"]
    + ["mac-roman", "mac-cyrillic", *(f"cp125{n}" for n in range(9))]
    + [f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)]
)
_WIDE = frozenset(["gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "euc_kr"])
_OTHERS = frozenset(["utf-16-le", "utf-16-be", "iso2022_jp"])


def detect(body: bytes, content_type: str) -> tuple[str, bool]:
    """Return Python's name of the page's encoding, and whether it is stated or a guess.

    A byte-order mark wins over the header, the header over `<meta>` in the first 1,024 bytes.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name, True
    if (found := _HEADER.search(content_type)) and (header := _codec(found[1])):
        return header, True
    if (meta := _META.search(body[:1024])) and (named := _codec(meta[1].decode("ascii", "replace"))):
        # A <meta> that can be read at all was not written in UTF-16.
        return ("utf-8" if named.startswith("utf-16") else named), True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252", False
    return "utf-8", False


def is_ascii_superset(codec: str) -> bool:
    """Return whether `<`, quotes and ASCII digits always stand for themselves at the start of a character."""
    return codec in _ASCII_SUPERSETS


def is_boundary(source: bytes, start: int, position: int, codec: str) -> bool:
    """Return whether a character begins at `position`, where one begins at `start`.

    In some encodings the second byte of a character may look like an ASCII letter.
    """
    if codec not in _WIDE:
        return True
    try:
        source[start:position].decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _codec(label: str) -> str | None:
    try:
        name = codecs.lookup(label.removeprefix("x-")).name
    except (LookupError, ValueError):
        return None
    name = _SUPERSETS.get(name, name)
    return name if name in _ASCII_SUPERSETS | _OTHERS else None
