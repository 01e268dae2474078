"""The parts of a report: sections with a text, tables and figures. Each kind of study makes its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
from matplotlib.figure import Figure

from analysis.reporting.plots import to_svg


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
    draw: Callable[[], Figure]

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


def named_tables(**named: tuple[str, pd.DataFrame]) -> tuple[NamedTable, ...]:
    """Make the tables of a section from name=(caption, frame); an empty frame is left out."""
    return tuple(
        NamedTable(name, caption, frame) for name, (caption, frame) in named.items() if not frame.empty
    )
