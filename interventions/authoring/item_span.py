"""Find the lines of an intervention in its file."""

from collections.abc import Sequence

from interventions.yaml.yaml_source import Source


def item_span(source: Source, lines: Sequence[str], index: int) -> tuple[int, int]:
    """Return the first and last line, from 1, of intervention `index` without the comments after it."""
    first, _ = source.place(("interventions", index))
    count = len(source.data["interventions"])
    starts = [source.place(("interventions", index + 1))[0]] if index + 1 < count else []
    starts += [source.place((key,))[0] for key in source.data]
    end = min((line for line in starts if line > first), default=len(lines) + 1) - 1
    while end > first and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return first, end
