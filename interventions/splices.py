"""Replacements in a source text, and their application in one go."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Owner = tuple[str, str, str]
"""Who wants a splice: intervention, edit and role."""


class Conflict(Exception):
    """Two splices change the same place."""

    def __init__(self, splice: "Splice", other: "Splice") -> None:
        super().__init__(f"{' '.join(other.owner)} changes the same place")
        self.owner = splice.owner


@dataclass(frozen=True)
class Splice:
    """Replace the source's `start` .. `end` by `data`.

    Where the surroundings are irregular, `in_tree` makes the same edit in
    the tree, with a marker in place of `shown` (the data without the end tag that closes its predecessor).
    """

    start: int
    end: int
    data: bytes
    owner: Owner
    shown: bytes = b""
    in_tree: Callable[[str], object] | None = None


def ordered(splices: Iterable[Splice]) -> list[Splice]:
    """In source order; at one place insertions keep theirs and precede a replacement. Raises Conflict."""
    result: list[Splice] = []
    for splice in sorted(splices, key=lambda s: (s.start, s.end > s.start)):
        last = result[-1] if result else None
        if last and last.start < last.end:
            if (last.start, last.end, last.data) == (splice.start, splice.end, splice.data):
                continue
            if splice.start < last.end:
                raise Conflict(splice, last)
        result.append(splice)
    return result


def apply(source: bytes, splices: Iterable[Splice]) -> bytes:
    """The source with the ordered splices made."""
    parts: list[bytes] = []
    last = 0
    for splice in splices:
        parts += source[last : splice.start], splice.data
        last = splice.end
    return b"".join([*parts, source[last:]])
