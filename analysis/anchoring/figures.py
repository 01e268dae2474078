"""Draw the figures of anchoring, each from the frame that its docstring names."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.anchoring.table import ANCHOR
from analysis.reporting.plots import (
    BLUE,
    FAINT,
    ORANGE,
    finish,
    heatmap,
    in_style,
    legend,
    letters,
    panels,
    rows_canvas,
    shorten,
    tidy_axes,
)

CONDITIONS = {"low": (BLUE, "v", "-"), "high": (ORANGE, "^", "--")}


def soft_ev(frame: pd.DataFrame, varied: str = ANCHOR) -> Figure:
    """Draw SoftEV by anchor with its band, a panel per agent and a line per stimulus.

    frame: that of `soft_ev`. varied: the field that differs; only an anchor has a place on the axis.
    """
    agents = list(frame["group"].unique())
    stimuli = list(frame["stimulus"].unique())
    columns = min(2, len(agents))
    with in_style():
        figure, grid = panels(len(agents), columns, 0.6 + 0.3 * len(stimuli))
        for number, (axes, agent) in enumerate(zip(grid, agents, strict=True)):
            own = frame[frame["group"] == agent]
            for condition, (color, marker, _) in CONDITIONS.items():
                rows = own[own["term"] == condition]
                offset = -0.16 if condition == "low" else 0.16
                y = np.array([stimuli.index(name) for name in rows["stimulus"]]) + offset
                axes.hlines(y, rows["band_low"], rows["band_high"], color=color, linewidth=1.5, alpha=0.7)
                style: Any = {"color": color, "markersize": 5, "label": f"{condition} {varied}"}
                axes.plot(rows["estimate"], y, marker, linestyle="none", **style)
                if varied == ANCHOR:
                    axes.plot(rows["anchor"], y, "|", color=color, markersize=6, alpha=0.7)
            if varied == ANCHOR:
                axes.plot([], [], "|", color=FAINT, markersize=6, label="the anchor itself")
            _lines(axes, stimuli, named=number % columns == 0)
            axes.set_title(
                shorten(str(agent), 56 // columns), fontsize=letters(10), loc="left", weight="bold"
            )
        shown = frame[["estimate", "band_low", "band_high", *[ANCHOR] * (varied == ANCHOR)]].to_numpy(float)
        if np.isfinite(shown).any():
            low, high = np.nanmin(shown), np.nanmax(shown)
            margin = 0.04 * (high - low) or 1.0
            for axes in grid:
                axes.set_xlim(low - margin, high + margin)
        figure.supxlabel(
            "Expected answer (SoftEV), with the 95 % band of the mean of 100 answers", fontsize=letters(10)
        )
        legend(figure, *grid)
    return figure


def distributions(frame: pd.DataFrame, varied: str = ANCHOR) -> Figure:
    """Draw the probability of each target under the low and the high anchor, a panel per stimulus.

    frame: rows of one agent of `distributions`.
    """
    stimuli = list(frame["stimulus"].unique())
    columns = min(3, len(stimuli))
    with in_style():
        figure, grid = panels(len(stimuli), columns, 1.55)
        for axes, stimulus in zip(grid, stimuli, strict=True):
            own = frame[frame["stimulus"] == stimulus]
            for condition, (color, _, line) in CONDITIONS.items():
                rows = own[own["condition"] == condition]
                style: Any = {"color": color, "linestyle": line, "label": f"{condition} {varied}"}
                axes.plot(rows["value"], 100 * rows["probability"], linewidth=1.3, alpha=0.9, **style)
            tidy_axes(axes)
            axes.set_ylim(bottom=0)
            axes.tick_params(labelsize=letters(8))
            axes.set_title(shorten(str(stimulus), 24), fontsize=letters(9), loc="left", weight="bold")
        figure.supxlabel("Answer", fontsize=letters(10))
        figure.supylabel("Probability (%)", fontsize=letters(10))
        legend(figure, *grid)
    return figure


def attributions(frame: pd.DataFrame) -> Figure:
    """Draw attributions of fields by stimuli, low above high, in nats.

    frame: rows of one agent and method of `attributions`.
    """
    rows = frame[frame["payoff"] == "logprob"]
    fields = list(rows["term"].unique())
    values = rows.pivot(index=["term", "condition"], columns="stimulus", values="estimate")
    order = [(field, condition) for field in fields for condition in CONDITIONS]
    values = values.reindex(index=order, columns=list(rows["stimulus"].unique()))
    values.index = pd.Index([f"{shorten(field, 22)}, {condition}" for field, condition in order])
    top = float(np.nanmax(values.abs().to_numpy(), initial=0.01))
    label = "Mean attribution over the targets (nats)"
    return heatmap(values, label, colormap="PuOr_r", limits=(-1.2 * top, 1.2 * top))


def scores(frame: pd.DataFrame, varied: str = ANCHOR) -> Figure:
    """Draw ABSS by agent and stimulus. frame: that of `scores`."""
    values = frame.pivot(index="group", columns="stimulus", values="estimate")
    values = values.reindex(index=frame["group"].unique(), columns=frame["stimulus"].unique())
    top = float(np.nanmax(values.abs().to_numpy(), initial=0.01))
    label = f"ABSS; above 0: pulled towards the {varied}"
    return heatmap(values, label, colormap="PuOr_r", limits=(-1.2 * top, 1.2 * top))


def ranking(frame: pd.DataFrame) -> Figure:
    """Draw the mean ABSS of each agent, highest first, over dots of its variations.

    frame: that of `models`.
    """
    with in_style():
        figure, axes = rows_canvas(rows=len(frame) + 1)
        axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
        ticks = []
        for y, row in enumerate(frame.to_dict("records")):
            ticks.append((float(y), shorten(str(row["group"]))))
            if np.isnan(row["mean"]):
                at: Any = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center"}
                axes.annotate("no score", (1, y), style="italic", color=FAINT, **at)
                continue
            whole = not row["n_missing"]
            fill: Any = {} if whole else {"facecolor": "white", "hatch": "///"}
            axes.barh(y, row["mean"], 0.62, **({"color": BLUE} | {"edgecolor": BLUE} | fill))
            sums = f"sum {row['estimate']:z.2f}" if whole else f"{row['n']} of {row['n'] + row['n_missing']}"
            place: Any = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(
                sums.replace("-", "−"), (max(row["mean"], 0), y), color=FAINT, fontsize=letters(9), **place
            )
        finish(axes, ticks)
        axes.margins(x=0.3)
        axes.set_xlabel("Mean ABSS over the variations")
    return figure


def _lines(axes: Axes, names: list[str], *, named: bool) -> None:
    tidy_axes(axes)
    axes.grid(axis="y", visible=False)
    axes.set_yticks(range(len(names)), [shorten(name, 24) if named else "" for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
