"""Figures for print and screen: effects with their intervals, attrition by condition.

Made without pyplot, so without global state. Colours are Okabe and Ito's (2008): safe for colour-blind eyes.
"""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.effects import TERMS

LABELS = {
    "viewed_first": "Viewed first",
    "higher_rated": "Higher rated",
    "cheaper": "Cheaper",
    "nudged": "Nudged",
}
HUMAN_BASELINE = {"viewed_first": 4.0, "higher_rated": 5.0, "cheaper": 9.4, "nudged": 9.9}
"""Effects on human shoppers in the study that these four features come from, in percentage points."""

BLUE, ORANGE, INK, FAINT = "#0072B2", "#D55E00", "#222222", "#767676"
OUTCOMES = {
    "choice": "#CFDCE6",  # pale, so that what went wrong stands out
    "no_choice": "#E69F00",
    "agent_limit": BLUE,
    "agent_error": "#CC79A7",
    "treatment_failed": ORANGE,
    "infra_error": INK,
}
OTHER = "#999999"

WIDTH = 7.2
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


def effects_figure(effects: pd.DataFrame) -> Figure:
    """Effects by term and agent with 95 % intervals, beside the human baseline.

    effects: the frame of `choice_effects`. A hollow mark has no interval; an undefined effect is named so.
    """
    agents = list(effects["group"].unique())
    with mpl.rc_context(STYLE):
        figure, axes = _figure(rows=len(TERMS) * (len(agents) + 1))
        axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
        ticks: list[tuple[float, str]] = []
        for block, term in enumerate(TERMS):
            top = block * (len(agents) + 1.4)
            ticks.append((top, LABELS[term]))
            rows = effects[effects["term"] == term].set_index("group")
            for y, agent in enumerate(agents, start=1):
                ticks.append((top + y, _shorten(str(agent))))
                _effect(axes, top + y, *rows.loc[agent, ["estimate", "conf_low", "conf_high"]].astype(float))
            ends = [top + 0.6, top + len(agents) + 0.4]
            axes.plot([HUMAN_BASELINE[term]] * 2, ends, color=ORANGE, linewidth=2, zorder=1)
        axes.plot([], [], "o-", color=BLUE, linewidth=2, label="estimate with 95 % interval")
        axes.plot([], [], "|", color=ORANGE, markersize=12, markeredgewidth=2, label="human baseline")
        _finish(axes, ticks)
        for heading in axes.get_yticklabels()[:: len(agents) + 1]:
            heading.set_fontweight("bold")
        axes.set_xlabel("Effect on the probability of being chosen (percentage points)")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:+.0f}".replace("-", "−") if value else "0")
        _legend(figure, axes)
    return figure


def attrition_figure(attrition: pd.DataFrame) -> Figure:
    """How the trials ended, as shares of each agent's conditions. attrition: the frame of that function."""
    agents = attrition.groupby("agent", sort=False)
    with mpl.rc_context(STYLE):
        figure, axes = _figure(rows=attrition.groupby(["agent", "condition"]).ngroups + len(agents))
        axes.text(101, 0, "trials", va="center", color=FAINT, fontsize=9)
        ticks: list[tuple[float, str]] = []
        y = 0.0
        for agent, conditions in agents:
            axes.text(0, y, _shorten(str(agent), 70), va="center", weight="bold")
            for condition, cell in conditions.groupby("condition", sort=False):
                y += 1
                ticks.append((y, _shorten(str(condition) or "all trials")))
                _stack(axes, y, cell)
            y += 1.3
        _finish(axes, ticks)
        axes.set_xlim(0, 100)
        axes.set_xlabel("Share of trials (%)")
        _legend(figure, axes)
    return figure


def to_svg(figure: Figure) -> str:
    """The figure as an SVG document."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    figure.set_layout_engine("none")  # laid out once: it takes a third of the time
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write the figure as `.png` (200 dots per inch) or `.svg`, as the suffix says."""
    path = Path(path)
    if path.suffix == ".svg":
        path.write_text(to_svg(figure), encoding="utf-8")
    else:
        figure.savefig(path, dpi=200)


def _figure(rows: int) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, 1.3 + 0.26 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _effect(axes: Axes, y: float, estimate: float, low: float, high: float) -> None:
    if pd.isna(estimate):
        at = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
        axes.annotate("not estimated", (1, y), style="italic", color=FAINT, **at)
    elif pd.isna(low):
        hollow: Any = {
            "markerfacecolor": "white",
            "markeredgewidth": 1.5,
            "label": "estimate without interval",
        }
        axes.plot(estimate, y, "o", color=BLUE, zorder=3, **hollow)
    else:
        axes.plot([low, high], [y, y], color=BLUE, linewidth=2, solid_capstyle="round", zorder=2)
        axes.plot(estimate, y, "o", color=BLUE, zorder=3)


def _stack(axes: Axes, y: float, cell: pd.DataFrame) -> None:
    """One bar of outcomes: the known ones in their order, then the rest."""
    shares = 100 * cell.set_index("outcome")["share"]
    rank = {outcome: i for i, outcome in enumerate(OUTCOMES)}
    left = 0.0
    for outcome, share in sorted(shares.items(), key=lambda item: rank.get(str(item[0]), len(rank))):
        name, color = str(outcome).replace("_", " "), OUTCOMES.get(str(outcome), OTHER)
        axes.barh(y, share, 0.7, left, color=color, edgecolor="white", linewidth=0.8, label=name)
        left += share
    axes.text(101, y, f"{cell['trials'].iloc[0]:,}", va="center", color=FAINT, fontsize=9)


def _finish(axes: Axes, ticks: list[tuple[float, str]]) -> None:
    axes.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
    axes.set_ylim(ticks[-1][0] + 0.7, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    place: Any = {"loc": "outside upper left", "ncols": 6, "frameon": False, "fontsize": 9}
    figure.legend(unique.values(), unique.keys(), handlelength=1.5, columnspacing=1.2, **place)


def _shorten(text: str, length: int = 32) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
