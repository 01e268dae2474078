"""What a report is made of: sections with a text, tables and figures. Each kind of study gives its own."""

from dataclasses import dataclass, field

import pandas as pd
from matplotlib.figure import Figure


@dataclass(frozen=True)
class NamedTable:
    """`name` is its file's stem and its key in JSON; `caption` is for readers."""

    name: str
    caption: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class NamedFigure:
    """`name` is its file's stem; `caption` says what it shows, also to those who cannot see it."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """One question and its answer. `text` is one paragraph in plain words: the method, and how to read it."""

    title: str
    text: str
    tables: tuple[NamedTable, ...] = ()
    figures: tuple[NamedFigure, ...] = field(default=())
