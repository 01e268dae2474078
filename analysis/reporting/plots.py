"""Draw what all figures share: style, colours, axes, files; and the figures that several studies use.

Made without pyplot, so without global state. Colours are Okabe and Ito's (2008): safe for colour-blind eyes.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text

BLUE, ORANGE, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#767676"
GREEN, ORANGE_LIGHT, SKY, PINK = "#009E73", "#E69F00", "#56B4E9", "#CC79A7"
CYCLE = (BLUE, ORANGE_LIGHT, GREEN, PINK, SKY, INK)
"""The colours of lines and marks of several kinds (Okabe and Ito 2008)."""
LEAST_ROWS_OF_A_SCALE = 4
SCORE_INTERVAL = "score interval, of these sets and texts only"
MARKERS = ("o", "s", "^", "D", "v", "P")

WIDTH = 7.2
PANELS_ABREAST = 3
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.parse_math": False,  # a label is never a formula: agents may be called "$x$"
    "svg.hashsalt": "souk",  # equal data give equal bytes
}


def to_svg(figure: Figure) -> str:
    """Return the figure as an SVG document."""
    buffer = io.StringIO()
    with in_style():
        _lay_out(figure)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _lay_out(figure: Figure) -> None:
    """Find the layout, once: each file would draw the figure a second time for it."""
    if figure.get_layout_engine():
        fit_titles(figure)
        figure.set_layout_engine(None)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the figure as `.png` (200 dots per inch) or `.svg`, as the suffix says."""
    path = Path(path)
    if path.suffix == ".svg":
        path.write_text(to_svg(figure), encoding="utf-8")
    else:
        with in_style():
            _lay_out(figure)
        # Packed a little less: the usual effort takes a quarter of the time that drawing takes.
        figure.savefig(path, dpi=200, pil_kwargs={"compress_level": 3})


@dataclass(frozen=True)
class Medium:
    """What figures are drawn for: a width in inches, and the share of their usual size that letters have."""

    width: float = WIDTH
    letters: float = 1.0


LEAST_PANEL = 2.2
"""The least width in inches of a panel with letters of the usual size."""
SCREEN = Medium()
_medium: ContextVar[Medium] = ContextVar("medium", default=SCREEN)


@contextmanager
def drawn_for(medium: Medium) -> Iterator[None]:
    """Draw figures within the block for a medium, with fewer panels abreast where it is narrow."""
    token = _medium.set(medium)
    try:
        yield
    finally:
        _medium.reset(token)


@contextmanager
def in_style() -> Iterator[None]:
    """Give what is drawn within the block the style of all figures."""
    with mpl.rc_context({**STYLE, "font.size": letters(STYLE["font.size"])}):
        yield


def letters(size: float) -> float:
    """Return the size in points that letters have here that usually have this one."""
    return size * _medium.get().letters


def _in_medium(width: float, height: float) -> tuple[float, float]:
    """The size that a figure of this usual size has here, in inches."""
    if (medium := _medium.get()) is SCREEN:
        return width, height
    return max(medium.width, width * medium.letters if width > WIDTH else 0), height * medium.letters


def canvas(height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return an empty figure of a size in inches.

    Use this within `in_style`, like all functions that draw.
    """
    figure = Figure(figsize=_in_medium(width, height), layout="constrained")
    return figure, figure.add_subplot()


def rows_canvas(rows: int) -> tuple[Figure, Axes]:
    """Return an empty figure with the height of `rows` lines of text."""
    return canvas(1.3 + 0.26 * rows)


def intervals(
    axes: Axes, y: Sequence[float], rows: pd.DataFrame, color: str = BLUE, *, size: float = 6
) -> None:
    """Draw estimates with their intervals, each at its height. A hollow mark has no interval.

    rows: estimate, conf_low, conf_high; exact_low, exact_high: a score interval for where there is no other.
    """
    heights = np.asarray(y, float)
    estimate, low, high = (rows[name].to_numpy(float) for name in ("estimate", "conf_low", "conf_high"))
    known, bounded = ~np.isnan(estimate), ~np.isnan(low)
    for height in heights[~known]:
        undefined(axes, height)
    if (hollow := known & ~bounded).any():
        white: Any = {
            "markerfacecolor": "white",
            "markeredgewidth": 1.5,
            "label": "estimate without interval",
        }
        axes.plot(estimate[hollow], heights[hollow], "o", color=color, markersize=size, zorder=3, **white)
        scored = hollow & rows["exact_low"].notna().to_numpy() if "exact_low" in rows else hollow[:0]
        if scored.any():
            ends = rows.loc[scored, ["exact_low", "exact_high"]].to_numpy(float).T
            thin: Any = {"color": color, "linewidth": 1, "linestyle": ":", "label": SCORE_INTERVAL}
            axes.hlines(heights[scored], *ends, zorder=2, **thin)
    if (full := known & bounded).any():
        line: Any = {"color": color, "linewidth": 2, "capstyle": "round", "zorder": 2}
        axes.hlines(heights[full], low[full], high[full], **line)
        axes.plot(estimate[full], heights[full], "o", color=color, markersize=size, zorder=3)


def undefined(axes: Axes, y: float) -> None:
    """Write that there is no estimate in this line."""
    at: Any = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
    axes.annotate("not estimated", (1, y), style="italic", color=FAINT, **at)


def finish(axes: Axes, ticks: Sequence[tuple[float, str]]) -> None:
    """Set up an axis of named lines, from the top down.

    Without `ticks` the lines have no names, since another panel names them.
    """
    if ticks:
        axes.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
        axes.set_ylim(ticks[-1][0] + 0.7, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)


def legend(figure: Figure, *axes: Axes) -> None:
    """Put one legend above all axes, with each label once."""
    found = [pair for one in axes for pair in zip(*one.get_legend_handles_labels(), strict=True)]
    unique = {label: handle for handle, label in found}
    place: Any = {"loc": "outside upper left", "ncols": 6, "frameon": False, "fontsize": letters(9)}
    if unique:
        figure.legend(unique.values(), unique.keys(), handlelength=1.5, columnspacing=1.2, **place)


def note(figure: Figure, text: str) -> None:
    """Write a line below all axes, such as the source of a value that is drawn."""
    figure.supxlabel(text, fontsize=letters(8), color=FAINT)


def shorten(text: str, length: int = 32) -> str:
    """Return a text without its middle where it is too long for a label: names may differ at both ends."""
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"


def fit_titles(figure: Figure) -> None:
    """Find the layout, and shorten titles of panels whose lines are wider than their panel."""
    texts = [(axes, each) for axes in figure.axes for each in axes.get_children() if isinstance(each, Text)]
    titles = {each: each.get_text() for axes, each in texts if each.get_text() and each not in axes.texts}
    for title, text in titles.items():
        title.set_text(re.sub(".+", "x", text))  # as high; a wide one would make its panel narrow
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    for title, text in titles.items():
        title.set_text(text)
        room = title.axes.bbox.width  # type: ignore[union-attr]
        share = room / title.get_window_extent().width
        most = max(5, int(share * max(map(len, text.split("\n")))))
        title.set_text("\n".join(shorten(line, most) for line in text.split("\n")))
        while most > 5 and title.get_window_extent().width > room:  # letters differ in width
            most -= 1
            title.set_text("\n".join(shorten(line, most) for line in text.split("\n")))


def heatmap(
    values: pd.DataFrame,
    label: str,
    *,
    colormap: str,
    limits: tuple[float, float],
) -> Figure:
    """Draw values by row and column, written in their cells.

    Undefined values are hatched. Colours end at `limits`.
    """
    rows, columns = values.shape
    with in_style():
        figure, axes = canvas(1.6 + 0.36 * rows, max(WIDTH, 2.6 + 0.75 * columns))
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
            axes.text(
                column, row, _two_decimals(value), ha="center", va="center", fontsize=letters(8), color=color
            )
        tilt: Any = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if columns > 3 else {}
        axes.set_xticks(range(columns), [shorten(str(name), 24) for name in values.columns], **tilt)
        axes.set_yticks(range(rows), [shorten(str(name)) for name in values.index])
        axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=2)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        hatched = "   (hatched: undefined)" if np.isnan(matrix).any() else ""
        axes.set_title(label + hatched, fontsize=letters(9), loc="left", color=FAINT)
        if rows >= LEAST_ROWS_OF_A_SCALE:
            bar = figure.colorbar(image, ax=axes, shrink=0.9, aspect=25, pad=0.02)
            bar.outline.set(visible=False)
    return figure


def _two_decimals(value: float) -> str:
    return f"{value:z.2f}".replace("-", "\N{MINUS SIGN}")


def estimates(
    rows: pd.DataFrame,
    xlabel: str,
    *,
    reference: tuple[float, str] | None = None,
    points: Sequence[pd.Series] | None = None,
    points_label: str = "",
    limits: tuple[float, float] | None = None,
) -> Figure:
    """Draw one line per group: its estimate with the 95 % interval.

    Faint points are drawn beneath where given. rows: group, estimate, conf_low, conf_high. points: one series
    per row. A hollow mark has no interval.
    """
    with in_style():
        figure, axes = rows_canvas(rows=len(rows) + 1)
        if reference:
            axes.axvline(reference[0], color=ORANGE_LIGHT, linewidth=2, zorder=1, label=reference[1])
        faint: Any = {"color": FAINT, "alpha": 0.45, "markersize": 4, "zorder": 2, "label": points_label}
        for y, given in enumerate(points or ()):
            own = given.dropna()
            axes.plot(own, [y] * len(own), "o", **faint)
        intervals(axes, range(len(rows)), rows)
        if rows["conf_low"].notna().any():
            axes.plot([], [], "o-", color=BLUE, linewidth=2, label="estimate with 95 % interval")
        if limits:
            axes.set_xlim(*limits)
        finish(axes, [(y, shorten(str(group))) for y, group in enumerate(rows["group"])])
        axes.set_xlabel(xlabel)
        legend(figure, axes)
    return figure


def forest(
    rows: pd.DataFrame, label: Callable[[pd.Series], str], xlabel: str, zero: bool = True, alike: bool = True
) -> Figure:
    """Draw estimates with 95 % intervals, one line per label and one panel per agent.

    rows: group, estimate, conf_low, conf_high and what `label` reads. Not estimated lines are named so. A
    hollow mark has no interval. alike: whether the panels share a scale.
    """
    labels = list(dict.fromkeys(label(row) for _, row in rows.iterrows()))
    at = {text: y for y, text in enumerate(labels)}
    groups = [(str(agent), own) for agent, own in rows.groupby("group", sort=False)]
    with in_style():
        figure, axes = titled_panels([agent for agent, _ in groups], 0.5 + 0.24 * len(labels), alike=alike)
        for axis, (_, own) in zip(axes, groups, strict=True):
            if zero:
                axis.axvline(0, color=FAINT, linewidth=1, zorder=0)
            intervals(axis, [at[label(row)] for _, row in own.iterrows()], own)
            finish(axis, [(y, shorten(text, 44)) for text, y in at.items()] if axis is axes[0] else [])
        figure.supxlabel(xlabel, fontsize=letters(10))
        legend(figure, *axes)  # of the hollow marks, where there are any
    return figure


def panels(
    count: int, columns: int, height: float, width: float = WIDTH, **share: Any
) -> tuple[Figure, list[Axes]]:
    """Return a grid of axes for small multiples; axes beyond `count` are removed.

    height: of each, in inches. share: which scales they have in common, as `Figure.subplots` takes it. Use
    this within `in_style`.
    """
    if (medium := _medium.get()) is not SCREEN:
        columns = max(1, min(columns, int(medium.width / medium.letters / LEAST_PANEL)))
    lines = -(-count // columns)
    figure = Figure(figsize=_in_medium(width, 0.9 + height * lines), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False, **share).ravel().tolist()
    for unused in grid[count:]:
        unused.remove()
    for lowest in grid[max(0, count - columns) : count]:
        lowest.tick_params(labelbottom=True)  # also where the one below it was removed
    return figure, grid[:count]


def titled_panels(titles: list[str], height: float, *, alike: bool = True) -> tuple[Figure, list[Axes]]:
    """Return a panel for each title; `height` of each in inches. Use within `in_style`.

    alike: whether the panels share a scale.
    """
    titles = [title.replace(" less ", "\nless ") for title in titles]  # of two agents
    across = min(len(titles), PANELS_ABREAST - any("\n" in title for title in titles))
    figure, grid = panels(len(titles), across, height, sharex=alike, sharey=True)
    for axis, title in zip(grid, titles, strict=False):
        axis.set_title(title, fontsize=letters(10), weight="bold", loc="left")
    return figure, grid


def tidy_axes(axes: Axes) -> None:
    """Show two spines, and a grid behind what is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
