"""The kinds of figure that both studies share: heatmaps and rows of estimates, styled as all figures."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from analysis.figures import BLUE, FAINT, INK, STYLE, WIDTH, _effect, _figure, _finish, _legend, _shorten

GREEN, ORANGE_LIGHT, SKY, PINK = "#009E73", "#E69F00", "#56B4E9", "#CC79A7"
CYCLE = (BLUE, ORANGE_LIGHT, GREEN, PINK, SKY, INK)
"""Okabe and Ito's colours (2008), for lines and marks of several kinds."""
LEAST_ROWS_OF_A_SCALE = 4
MARKERS = ("o", "s", "^", "D", "v", "P")


def heatmap(
    values: pd.DataFrame,
    label: str,
    *,
    colormap: str,
    limits: tuple[float, float],
) -> Figure:
    """Values by row and column, written in their cells; undefined ones hatched. Colours end at `limits`."""
    rows, columns = values.shape
    with mpl.rc_context(STYLE):
        width = max(WIDTH, 2.6 + 0.75 * columns)
        figure = Figure(figsize=(width, 1.6 + 0.36 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        shade = Normalize(*limits, clip=True)
        matrix = values.to_numpy(float)
        image = axes.imshow(np.ma.masked_invalid(matrix), cmap=colormap, norm=shade, aspect="auto")
        for (row, column), value in np.ndenumerate(matrix):
            if np.isnan(value):
                patch: Any = {"facecolor": "#f2f2f2", "edgecolor": "#bdbdbd", "hatch": "///", "linewidth": 0}
                axes.add_patch(mpl.patches.Rectangle((column - 0.5, row - 0.5), 1, 1, **patch))
                continue
            red, green, blue, _ = image.cmap(shade(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            color = "white" if dark else INK
            axes.text(column, row, _two_decimals(value), ha="center", va="center", fontsize=8, color=color)
        tilt: Any = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if columns > 3 else {}
        axes.set_xticks(range(columns), [_shorten(str(name), 24) for name in values.columns], **tilt)
        axes.set_yticks(range(rows), [_shorten(str(name)) for name in values.index])
        axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=2)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        hatched = "   (hatched: undefined)" if np.isnan(matrix).any() else ""
        axes.set_title(label + hatched, fontsize=9, loc="left", color=FAINT)
        if rows >= LEAST_ROWS_OF_A_SCALE:
            bar = figure.colorbar(image, ax=axes, shrink=0.9, aspect=25, pad=0.02)
            bar.outline.set(visible=False)
    return figure


def _two_decimals(value: float) -> str:
    rounded = round(value, 2)
    return f"{rounded:.2f}".replace("-", "\N{MINUS SIGN}") if rounded else "0.00"


def estimates(
    rows: pd.DataFrame,
    xlabel: str,
    *,
    reference: tuple[float, str] | None = None,
    points: Sequence[pd.Series] | None = None,
    points_label: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """One line per group: its estimate with the 95 % interval; faint points beneath where given.

    rows: group, estimate, conf_low, conf_high. points: one series per row. A hollow mark has no interval.
    """
    with mpl.rc_context(STYLE):
        figure, axes = _figure(rows=len(rows) + 1)
        if reference:
            axes.axvline(reference[0], color=ORANGE_LIGHT, linewidth=2, zorder=1, label=reference[1])
        for y, (_, row) in enumerate(rows.iterrows()):
            if points is not None:
                own = points[y].dropna()
                axes.plot(
                    own,
                    [y] * len(own),
                    "o",
                    color=FAINT,
                    alpha=0.45,
                    markersize=4,
                    zorder=2,
                    label=points_label,
                )
            _effect(axes, y, float(row["estimate"]), float(row["conf_low"]), float(row["conf_high"]))
        if rows["conf_low"].notna().any():
            axes.plot([], [], "o-", color=BLUE, linewidth=2, label="estimate with 95 % interval")
        if limits:
            axes.set_xlim(*limits)
        _finish(axes, [(y, _shorten(str(group))) for y, group in enumerate(rows["group"])])
        axes.set_xlabel(xlabel)
        _legend(figure, axes)
    return figure


def panels(count: int, columns: int, height: float, width: float = WIDTH) -> tuple[Figure, list[Axes]]:
    """A grid of axes for small multiples; those beyond `count` are removed. Use within `STYLE`."""
    lines = -(-count // columns)
    figure = Figure(figsize=(width, 0.9 + height * lines), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for unused in grid[count:]:
        unused.remove()
    return figure, grid[:count]


def tidy_axes(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)


def shared_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend above all panels."""
    found = [pair for one in axes for pair in zip(*one.get_legend_handles_labels(), strict=True)]
    unique = {label: handle for handle, label in found}
    place: Any = {"loc": "outside upper left", "ncols": 6, "frameon": False, "fontsize": 9}
    if unique:
        figure.legend(unique.values(), unique.keys(), handlelength=1.5, columnspacing=1.2, **place)
