"""The parts of a report: sections with a text, tables and figures.

Each kind of study makes its own; their words are in its `report.yaml`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import jinja2
import pandas as pd
from matplotlib.figure import Figure

from analysis.reporting.plots import to_svg
from analysis.tables.yaml_data import read_data

Draw = Callable[[], Figure]


@dataclass(frozen=True)
class NamedTable:
    """A table of a report. `name` is its file's stem and its key in JSON; `caption` is for readers.

    decimals: of its numbers where people read it, or None for four significant digits. detail: the table
    stands behind a figure or another table, and so is not printed in the terminal.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    decimals: int | None = None
    detail: bool = False


@dataclass(frozen=True)
class NamedFigure:
    """A figure of a report, drawn when it is first asked for.

    `name` is its file's stem; `caption` says what it shows, also to those who cannot see it.
    """

    name: str
    caption: str
    draw: Draw

    @cached_property
    def figure(self) -> Figure:
        """The figure, drawn once."""
        return self.draw()

    @cached_property
    def svg(self) -> str:
        """The figure as an SVG document, made once."""
        return to_svg(self.figure)


@dataclass(frozen=True)
class Section:
    """One question and its answer.

    `text` says in plain words how the answer was found, and how to read it. Its paragraphs are separated by
    empty lines.
    """

    title: str
    text: str
    tables: tuple[NamedTable, ...] = ()
    figures: tuple[NamedFigure, ...] = field(default=())


@dataclass(frozen=True)
class Report:
    """What a study says, from its answer down. Every kind of study gives one.

    answer: sentences, one for each agent (see `analysis.reporting.answer`). checked: one sentence on what the
    data are like also where all is well. problems: what went wrong, a sentence each. sections: the first has
    the study's main table as its first table, and the answer's figure as its first figure.
    """

    sections: tuple[Section, ...]
    answer: tuple[str, ...] = ()
    checked: str = ""
    problems: tuple[str, ...] = ()


def with_rows(frames: Mapping[str, object]) -> dict[str, pd.DataFrame | None]:
    """Return the frames with rows by name, and None in the place of other values."""
    return {
        name: each if isinstance(each, pd.DataFrame) and len(each) else None for name, each in frames.items()
    }


def written_sections(
    file: Path,
    tables: Mapping[str, pd.DataFrame | None],
    figures: Mapping[str, Draw | Sequence[NamedFigure] | None],
    **words: object,
) -> list[Section]:
    """Make sections from a YAML file with their words, and the study's tables and figures by name.

    A section has a `title`, a `text` of paragraphs, `tables` and `figures`: captions by name, or for a table
    a mapping of what `NamedTable` has. Texts and captions are Jinja templates of `words`. A table or figure
    that is None is left out, and so is a section that `needs` it. Figures that are made already stand in the
    place of their name.
    """
    made = []
    for section in read_data(file):
        if "needs" in section and tables[section["needs"]] is None:
            continue
        own_tables: list[NamedTable] = []
        for name, told in section.get("tables", {}).items():
            if (frame := tables[name]) is not None:
                facts = dict(told) if isinstance(told, dict) else {"caption": told}
                caption = _filled(facts.pop("caption"), words)
                own_tables.append(NamedTable(name, caption, frame, **facts))
        own_figures: list[NamedFigure] = []
        for name, caption in section.get("figures", {}).items():
            drawn = figures[name]
            if callable(drawn):
                own_figures.append(NamedFigure(name, _filled(caption, words), drawn))
            else:
                own_figures += drawn or ()
        text = _filled(section["text"], words)
        paragraphs = [re.sub(r"[ \n]+", " ", each).strip() for each in text.split("\n\n")]
        text = "\n\n".join(filter(None, paragraphs))
        made.append(Section(section["title"], text, tuple(own_tables), tuple(own_figures)))
    return made


_PLAIN: Final = jinja2.Environment(  # noqa: S701 - plain text, which pages escape
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def _filled(text: str, words: Mapping[str, object]) -> str:
    return _PLAIN.from_string(text).render(words) if "{" in text else text
