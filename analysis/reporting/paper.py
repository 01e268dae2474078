"""Draw figures for a journal: of its column's width, with letters of a size for print."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.reporting.plots import STYLE, Medium, drawn_for, fit_titles, in_style

SCREEN_POINTS: Final = STYLE["font.size"]
"""The size of letters in points for which figures are made."""
PAPER_POINTS: Final = 7.0
"""The size of letters in points in print."""
DOTS: Final = 600
"""Dots per inch of a picture for print."""
FORMATS: Final = ("pdf", "svg", "png")

_NEAR: Final = 0.02
"""Inches by which the box of a text may be larger than its letters."""
_MOST_ABREAST: Final = 5
"""Entries of a legend in a line, if it has been too wide."""
_SMALLER: Final = (1.0, 0.85, 0.7)
"""By how much letters are made smaller, until everything has room."""


def sized(draw: Callable[[], Figure], width: float, points: float) -> tuple[Figure, str]:
    """Return a figure of a width in inches, and what is wrong with it; empty: all has room.

    points: the size of its letters; they are smaller where not all has room with it.
    """
    fault = ""
    for smaller in _SMALLER:
        with drawn_for(Medium(width, points * smaller / SCREEN_POINTS)), in_style():
            figure = draw()
            fault = _laid_out(figure)
        if not fault:
            break
    if figure.get_figwidth() > width + 0.01:
        fault = f"needs {25.4 * figure.get_figwidth():.0f} mm for its many columns"
    return figure, fault


def save_sized(figure: Figure, path: Path) -> None:
    """Write a figure as `.pdf`, `.svg` or `.png`, as the suffix says; equal data give equal bytes."""
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix)
    # Type 42: letters stay letters in a PDF, as journals ask for.
    with mpl.rc_context({**STYLE, "pdf.fonttype": 42}):
        figure.savefig(path, dpi=DOTS, metadata=undated)


def _laid_out(figure: Figure) -> str:
    """Break long lines and legends, and fix the places of all parts. Returns what has no room."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit_titles(figure)
        _broken(figure)
        told.clear()
        figure.draw_without_rendering()
    if told:
        return "has no room for its labels"
    figure.set_layout_engine(None)
    box, width = figure.get_tightbbox(), figure.get_figwidth()
    if box.x0 < -_NEAR or box.x1 > width + _NEAR:
        return "has labels that are cut"
    return "has labels that overlap" if any(map(_overlap, figure.axes)) else ""


def _broken(figure: Figure) -> None:
    """Break lines of text, and the lines of legends, that are wider than the figure."""
    for text in [*figure.texts, *(axes.xaxis.label for axes in figure.axes)]:
        text.set_wrap(text.get_rotation() == 0)
    figure.draw_without_rendering()
    for legend in [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]:
        for columns in range(_MOST_ABREAST, 0, -1):
            if legend.get_window_extent().width <= figure.bbox.width:
                break
            legend.set_ncols(columns)
            figure.draw_without_rendering()


def _overlap(axes: Axes) -> bool:
    """Whether two names of ticks below an axis run into each other."""
    labels = [label for label in axes.get_xticklabels() if label.get_text() and label.get_rotation() == 0]
    boxes = sorted((box.x0, box.x1) for box in (label.get_window_extent() for label in labels))
    return any(end > begin for (_, end), (begin, _) in pairwise(boxes))
