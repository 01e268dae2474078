"""Damage for fuzzers: a real sample whose bytes, or whose values, are no longer what they were."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

DEEP: Any = 1
for _ in range(40):
    DEEP = [DEEP]
STRANGE: Sequence[Any] = (
    *(None, True, False, 0, -1, 1, 0.5, 2**31, 2**63, 10**12, 10**400, 1e16, 1e308, -1e308, 5e-324),
    *(float("inf"), float("-inf"), float("nan"), "", "0", "nan", "text", "x" * 300, "y" * 100_000),
    *("\0", "\x1b[31m", "a\nb", "\u2028", "\udc80", "\ud800", "\ufeff", "\u0663", "\U0001f600"),
    *("http://[", "//[", [], {}, [[]], [None], {"": None}, {"\udc80": 1}, DEEP),
    *(list(range(5_000)), {f"k{i}": i for i in range(2_000)}),
)
"""Values that hardly anybody expects where they stand."""

_BYTES = st.sampled_from(
    [
        *(b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
        *(b"\r", b"\n", b"\n\n", b"\x1b[31m", b"\x85"),
        *(b'"', b"'", b",", b":", b"{", b"}", b"[", b"]", b"-", b"&a ", b"*a", b"!!x ", b"%"),
        *(b"NaN", b"1e999", b"9" * 5_000, b"[" * 5_000, b"x" * 9_000),
    ]
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values of which a document is made."""
    if path:
        yield path
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


@st.composite
def changed(draw: st.DrawFn, data: Any, strange: Sequence[Any] = STRANGE, keys: Sequence[str] = ()) -> Any:
    """The values of a JSON document, or of YAML, one to three of them strange, missing, or others'.

    `keys`: names under which a strange value may be put beside the one that was chosen.
    """
    root = [copy.deepcopy(data)]
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(root))))
        holder: Any = root
        for key in path:
            holder = holder[key]
        how = draw(st.sampled_from(["strange", "strange", "strange", "gone", "moved", "in a list"]))
        if how == "gone" and path:
            del holder[last]
        elif how == "moved":
            value: Any = root
            for key in draw(st.sampled_from(list(places(root)))):
                value = value[key]
            holder[last] = copy.deepcopy(value)
        elif how == "in a list":
            holder[last] = [holder[last], holder[last]]
        else:
            if isinstance(holder, dict) and keys and draw(st.booleans()):
                last = draw(st.sampled_from(keys))
            holder[last] = copy.deepcopy(draw(st.sampled_from(strange)))
    return root[0]


def as_json(data: Any) -> bytes:
    """A document as JSON, also where it holds what JSON has no form for: NaN, halves of characters."""
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn, sample: bytes) -> bytes:
    """The bytes of a sample, some of them flipped, deleted, doubled, exchanged, cut off, or put in."""
    content = bytearray(sample)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(1, 8) | st.integers(1, 400)))
        piece = bytes(content[start:end])
        match draw(st.sampled_from(["flip", "delete", "double", "insert", "move", "noise", "cut"])):
            case "flip":
                content[start:end] = bytes(each ^ draw(st.integers(1, 255)) for each in piece[:4]) + piece[4:]
            case "delete":
                del content[start:end]
            case "double":
                content[start:start] = piece
            case "insert":
                content[start:start] = draw(_BYTES)
            case "move":
                del content[start:end]
                at = draw(st.integers(0, len(content)))
                content[at:at] = piece
            case "noise":
                content[start:end] = draw(st.binary(max_size=40))
            case "cut":
                del content[start:]
    return bytes(content)
