"""Replacements in a source text, and their application in one go."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Owner = tuple[str, str, str]
"""The edit that wants a splice: intervention, edit and role."""


class Conflict(Exception):
    """Two splices change the same place."""

    def __init__(self, splice: "Splice", other: "Splice") -> None:
        super().__init__(f"{' '.join(other.owner)} changes the same place")
        self.owner = splice.owner


@dataclass(frozen=True)
class Splice:
    """A replacement of the source's bytes from `start` to `end` by `data`.

    Where the surroundings are irregular, `in_tree` makes the same edit in
    the tree, with a marker in place of `shown` (the data without the end tag that closes its predecessor).
    """

    start: int
    end: int
    data: bytes
    owner: Owner
    shown: bytes = b""
    in_tree: Callable[[str], object] | None = None


@dataclass(frozen=True)
class Arrangement:
    """Another order of pieces of the source, given as (start, end).

    The piece at the first of `order` shows at the first of `places`, and so on.
    """

    places: tuple[tuple[int, int], ...]
    order: tuple[tuple[int, int], ...]
    owner: Owner


def ordered(splices: Iterable[Splice]) -> list[Splice]:
    """Return the splices in source order. Raises Conflict.

    At one place insertions keep their order and come before a replacement.
    """
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


def arranged(source: bytes, splices: list[Splice], arrangements: Sequence[Arrangement]) -> list[Splice]:
    """Return the ordered splices, with those added that rearrange pieces of the source. Raises Conflict."""
    # What lies in a piece is arranged before the piece itself.
    for arrangement in sorted(arrangements, key=lambda a: a.places[-1][1] - a.places[0][0]):
        pieces: dict[tuple[int, int], bytes] = {}
        rest = splices
        for start, end in arrangement.places:
            # What is put at the edge of a piece stands beside it and stays.
            within = [s for s in rest if start <= s.start < end and start < s.end <= end]
            rest = [s for s in rest if s not in within]
            shifted = [Splice(s.start - start, s.end - start, s.data, s.owner) for s in within]
            pieces[start, end] = apply(source[start:end], shifted)
        moved = [
            Splice(*place, pieces[shown], arrangement.owner)
            for place, shown in zip(arrangement.places, arrangement.order, strict=True)
            if place != shown or pieces[shown] != source[slice(*shown)]
        ]
        splices = ordered([*rest, *moved])
    return splices


def apply(source: bytes, splices: Iterable[Splice]) -> bytes:
    """Return the source with the ordered splices made."""
    parts: list[bytes] = []
    last = 0
    for splice in splices:
        parts += source[last : splice.start], splice.data
        last = splice.end
    return b"".join([*parts, source[last:]])
