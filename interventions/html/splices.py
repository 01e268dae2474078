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
            pieces[start, end] = cut(source, rest, start, end)
            rest = [s for s in rest if not _is_within(s, start, end)]
        moved = [
            Splice(*place, pieces[shown], arrangement.owner)
            for place, shown in zip(arrangement.places, arrangement.order, strict=True)
            if place != shown or pieces[shown] != source[slice(*shown)]
        ]
        splices = ordered([*rest, *moved])
    return splices


def cut(source: bytes, splices: Sequence[Splice], start: int, end: int) -> bytes:
    """Return a piece of the source with the ordered splices in it made."""
    within = [each for each in splices if _is_within(each, start, end)]
    shifted = [Splice(each.start - start, each.end - start, each.data, each.owner) for each in within]
    return apply(source[start:end], shifted)


def _is_within(splice: Splice, start: int, end: int) -> bool:
    """Whether a splice is made in a piece; what is put at its edge stands beside it and stays."""
    return start <= splice.start < end and start < splice.end <= end


def apply(source: bytes, splices: Iterable[Splice]) -> bytes:
    """Return the source with the ordered splices made."""
    parts: list[bytes] = []
    last = 0
    for splice in splices:
        parts += source[last : splice.start], splice.data
        last = splice.end
    return b"".join([*parts, source[last:]])
