"""Draw the figures of the bias batteries."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from analysis.estimators.effect_size import HOMOGENEOUS
from analysis.reporting.plots import (
    BLUE,
    CYCLE,
    FAINT,
    MARKERS,
    finish,
    in_style,
    legend,
    letters,
    panels,
    rows_canvas,
    shorten,
    tidy_axes,
)
from analysis.reporting.plots import heatmap as _heatmap

SHOWN = 3.0
"""The largest effect drawn; larger ones stand at the edge, since one of 30 would flatten all others."""


def heatmap(index: pd.DataFrame) -> Figure:
    """Draw the mean bias detected, before the cap, by agent and bias. index: the frame of `bias_index`."""
    values = index.pivot(index="group", columns="term", values="mean")
    return _heatmap(
        values.rename(columns=_words),
        "Mean bias detected (d), before the cap; colours end at ±1",
        colormap="PuOr_r",
        limits=(-1, 1),
    )


def detections(effects: pd.DataFrame) -> Figure:
    """Draw a histogram of the bias detected, a panel per bias. effects: the frame of `experiments`."""
    biases = sorted(effects["term"].unique())
    bins = np.linspace(-SHOWN, SHOWN, 25).tolist()
    with in_style():
        figure, grid = panels(len(biases), min(4, len(biases)), 1.4)
        for axes, bias in zip(grid, biases, strict=True):
            own = effects.loc[effects["term"] == bias, "bias_detected"].dropna().astype(float)
            axes.hist(own.clip(-SHOWN, SHOWN), bins=bins, color=BLUE)
            axes.axvline(0, color=FAINT, linewidth=1)
            axes.set_title(_words(bias), fontsize=letters(9), loc="left", weight="bold")
            tidy_axes(axes)
        figure.supxlabel(f"Bias detected (d, drawn within ±{SHOWN:g})", fontsize=letters(10))
        figure.supylabel("Experiments", fontsize=letters(10))
    return figure


def homogeneity(index: pd.DataFrame) -> Figure:
    """Draw the homogeneity ratio by agent and bias. index: the frame of `bias_index`."""
    values = index.pivot(index="group", columns="term", values="homogeneity")
    label = f"Sampling over observed variance of d; homogeneous from {HOMOGENEOUS}"
    return _heatmap(values.rename(columns=_words), label, colormap="Blues", limits=(0, 1))


def scenarios(effects: pd.DataFrame) -> Figure:
    """Draw the mean d over agents by temperature, a line per scenario, a panel per bias.

    effects: the frame of `experiments`.
    """
    biases = sorted(effects["term"].unique())
    names = sorted(effects["scenario"].unique(), key=lambda name: (name != "base", name))
    means = (
        effects.groupby(["term", "scenario", "temperature"], dropna=False)["estimate"].mean().reset_index()
    )
    with in_style():
        figure, grid = panels(len(biases), min(2, len(biases)), 1.75)
        for axes, bias in zip(grid, biases, strict=True):
            axes.axhline(0, color=FAINT, linewidth=1, zorder=0)
            for i, scenario in enumerate(names):
                own = means[(means["term"] == bias) & (means["scenario"] == scenario)]
                # Without a temperature all stands at one place.
                x = own["temperature"].fillna(0.0)
                style: Any = {
                    "color": CYCLE[i % len(CYCLE)],
                    "marker": MARKERS[i % len(MARKERS)],
                    "markersize": 5,
                }
                axes.plot(x, own["estimate"].clip(-SHOWN, SHOWN), label=shorten(scenario, 20), **style)
            drawn = means.loc[means["term"] == bias, "estimate"].abs().max()
            reach = 1.15 * min(SHOWN, float(np.nanmax([0.5, drawn])))
            axes.set_ylim(-reach, reach)
            axes.set_title(_words(bias), fontsize=letters(10), loc="left", weight="bold")
            if means["temperature"].isna().all():
                axes.set_xticks([])
            if means.loc[means["term"] == bias, "estimate"].isna().all():
                place: Any = {"transform": axes.transAxes, "ha": "center", "va": "center"}
                axes.text(0.5, 0.6, "undefined in every experiment", style="italic", color=FAINT, **place)
            tidy_axes(axes)
        if means["temperature"].notna().any():
            figure.supxlabel("Temperature", fontsize=letters(10))
        figure.supylabel(f"Mean d over agents (drawn within ±{SHOWN:g})", fontsize=letters(10))
        legend(figure, *grid)
    return figure


def by_scenario(effects: pd.DataFrame) -> Figure:
    """Draw the bias detected in each experiment by scenario, with quartiles. effects: of `experiments`."""
    known = effects[effects["bias_detected"].notna()]
    names = sorted(known["scenario"].unique(), key=lambda name: (name != "base", name))
    with in_style():
        figure, axes = rows_canvas(rows=len(names))
        for y, name in enumerate(names):
            own = known.loc[known["scenario"] == name, "bias_detected"].astype(float).clip(-SHOWN, SHOWN)
            spread = 0.3 * np.linspace(-1, 1, len(own)) if len(own) > 1 else [0.0]
            axes.plot(own, y + np.asarray(spread), ".", color=BLUE, alpha=0.35, markersize=4, zorder=1)
            axes.boxplot(own, positions=[y], orientation="horizontal", widths=0.5, showfliers=False, zorder=2)
        axes.axvline(0, color=FAINT, linewidth=1)
        finish(axes, [(y, shorten(str(name), 28)) for y, name in enumerate(names)] or [(0, "")])
        axes.set_xlabel(f"Bias detected (d, drawn within ±{SHOWN:g}); boxes are quartiles")
    return figure


def residuals(frame: pd.DataFrame) -> Figure:
    """Draw the studentised residuals against the expected capped bias, and against normal quantiles.

    frame: that of `residuals`.
    """
    known = frame[np.isfinite(frame["statistic"])].sort_values("statistic")
    normal = stats.norm.ppf((np.arange(len(known)) + 0.5) / max(len(known), 1))
    with in_style():
        figure, grid = panels(2, 2, 2.6)
        for axes, x, label in zip(
            grid, (known["expected"], normal), ("Expected capped bias", "Normal quantile"), strict=True
        ):
            axes.plot(x, known["statistic"], "o", color=BLUE, alpha=0.5, markersize=4)
            axes.set_xlabel(label)
            tidy_axes(axes)
        grid[0].axhline(0, color=FAINT, linewidth=1)
        grid[1].axline((0, 0), slope=1, color=FAINT, linewidth=1)
        grid[0].set_ylabel("Studentised residual")
    return figure


def importances(frame: pd.DataFrame) -> Figure:
    """Draw the increase of the prediction error by feature. frame: of `feature_importances`."""
    rows = frame.sort_values("estimate", ascending=False, na_position="last")
    with in_style():
        figure, axes = rows_canvas(rows=len(rows))
        for y, estimate in enumerate(rows["estimate"]):
            if np.isnan(estimate):
                axes.text(0, y, " not estimated", style="italic", color=FAINT, va="center")
            else:
                axes.barh(y, estimate, 0.6, color=BLUE)
        axes.axvline(0, color=FAINT, linewidth=1)
        finish(axes, [(y, str(name).capitalize()) for y, name in enumerate(rows["term"])])
        axes.set_xlabel("Increase of the held-out error when shuffled (units of the capped bias)")
        if rows["estimate"].isna().all():
            axes.set_xticks([])
    return figure


def _words(name: object) -> str:
    return shorten(str(name).replace("-", " ").capitalize(), 28)
