"""Draw the figures of willingness to pay."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.estimators.power import power_anova
from analysis.montecarlo.hypotheses import version_key
from analysis.reporting.human_values import ARIELY, HUMAN_CORRELATION
from analysis.reporting.plots import (
    BLUE,
    CYCLE,
    FAINT,
    GREEN,
    INK,
    MARKERS,
    ORANGE,
    ORANGE_LIGHT,
    estimates,
    finish,
    forest,
    heatmap,
    in_style,
    legend,
    letters,
    note,
    panels,
    rows_canvas,
    shorten,
    tidy_axes,
    titled_panels,
)

CONDITIONS = {"low": (BLUE, "v"), "control": (INK, "o"), "high": (ORANGE_LIGHT, "^")}


def coefficient_of_variation(variation: pd.DataFrame) -> Figure:
    """Draw the coefficient of variation by agent and product.

    variation: the frame of the function `variation`.
    """
    values = variation.pivot(index="group", columns="item", values="estimate")
    top = float(np.nanmax([0.5, *values.to_numpy(float).ravel()]))
    label = "Standard deviation over mean, control condition"
    # Single huge answers make a few values huge: beyond 1 all are as dark.
    return heatmap(values, label, colormap="Blues", limits=(0, min(top, 1.0)))


def csvr(shares: pd.DataFrame) -> Figure:
    """Draw the share of valid responses by agent with its interval for these prompts.

    shares: the frame of `valid_share`.
    """
    rows = shares[shares["interval"] == "stratified"]
    return estimates(rows, "Share of responses within the market range", limits=(-0.02, 1.02))


def mapd(deviations: pd.DataFrame, cells: pd.DataFrame, money: str = "") -> Figure:
    """Draw the mean absolute price deviation by agent, over the means of its prompts.

    The axis is logarithmic where needed. money: what follows its name, such as ` (EUR)`.
    """
    by_agent = [cells.loc[cells["group"] == agent, "mean_apd"] for agent in deviations["group"]]
    figure = estimates(
        deviations,
        f"Absolute deviation from the list price{money}",
        points=by_agent,
        points_label="mean of a prompt",
    )
    everything = cells["mean_apd"].dropna()
    if len(everything) and everything.max() > 20 * max(everything.median(), 1e-9):
        figure.axes[0].set_xscale("symlog", linthresh=float(everything.median()) or 1.0)
        figure.axes[0].xaxis.set_major_formatter(lambda value, _: f"{value:z,.0f}".replace("-", "−"))
    return figure


def wtp(cells: pd.DataFrame, money: str = "") -> Figure:
    """Draw the mean willingness to pay by condition, a panel per product. cells: the frame of `prompts`."""
    items = sorted(cells["item"].unique())
    agents = sorted(cells["group"].unique())
    with in_style():
        figure, grid = panels(len(items), min(2, len(items)), 0.6 + 0.27 * len(agents))
        for number, (axes, item) in enumerate(zip(grid, items, strict=True)):
            own = cells[cells["item"] == item]
            # All conditions of an item share one list price, which the mean deviation is against.
            price = (own["estimate"] - own["mean_deviation"]).median()
            if pd.notna(price):
                axes.axvline(price, color=FAINT, linewidth=1.5, linestyle="--", label="list price", zorder=0)
            for offset, (condition, (color, marker)) in zip(
                (-0.22, 0, 0.22), CONDITIONS.items(), strict=True
            ):
                rows = own[own["condition"] == condition]
                y = np.array([agents.index(agent) for agent in rows["group"]]) + offset
                style: Any = {"color": color, "label": condition.capitalize()}
                axes.plot(rows["estimate"], y, marker, markersize=5, **style)
                axes.hlines(y, rows["conf_low"], rows["conf_high"], color=color, linewidth=1.5)
            tidy_axes(axes)
            axes.grid(axis="y", visible=False)
            shown = [shorten(agent, 24) for agent in agents] if number % 2 == 0 else [""] * len(agents)
            axes.set_yticks(range(len(agents)), shown)
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(len(agents) - 0.5, -0.5)
            axes.set_title(shorten(str(item), 40), fontsize=letters(10), loc="left", weight="bold")
        figure.supxlabel(f"Mean willingness to pay{money}, 95 % intervals", fontsize=letters(10))
        legend(figure, *grid)
    return figure


def correlations(frame: pd.DataFrame) -> Figure:
    """Draw the correlation with the anchor: products faint, their mean bold, beside the human value."""
    means = frame[(frame["unit"] != "response")]
    products = frame[frame["unit"] == "response"]
    every = [products.loc[products["group"] == group, "estimate"] for group in means["group"]]
    figure = estimates(
        means,
        "Correlation of willingness to pay with the anchor",
        reference=(HUMAN_CORRELATION, f"human, {HUMAN_CORRELATION}"),
        points=every,
        points_label="one product",
        limits=(-1.05, 1.05),
    )
    note(figure, f"Human value: {ARIELY}")
    figure.axes[0].get_yticklabels()[-1].set_fontweight("bold")
    # Means of correlations have no interval; the hollow mark says nothing here.
    for text in figure.legends[0].get_texts():
        text.set_text(text.get_text().replace("estimate without interval", "mean over products (or agents)"))
    return figure


def contrasts(frame: pd.DataFrame, money: str = "") -> Figure:
    """Draw how much higher answers are at one level than at another, a panel for each agent."""
    return forest(frame, lambda row: f"{row['level']} − {row['less']}", f"Difference of answers{money}")


def power(frame: pd.DataFrame) -> Figure:
    """Draw the power by number of responses per cell for each effect, the smallest sufficient K marked.

    frame: that of `power_frame`.
    """
    with in_style():
        figure, (axes,) = panels(1, 1, 3.2)
        groups = int(str(frame["group"].iloc[0]).split()[0])
        reached = frame["estimate"].dropna()
        largest = int(max([10, *(1.5 * reached)]))
        counts = np.unique(np.geomspace(2, largest, 120).astype(int))
        for (_, row), color, marker in zip(frame.iterrows(), CYCLE, MARKERS, strict=False):
            curve = [power_anova(groups, int(k), row["effect"], row["alpha"]) for k in counts]
            label = f"f = {row['effect']:g}"
            if pd.notna(row["estimate"]):
                label += f": K = {int(row['estimate']):,}"
                axes.plot(row["estimate"], row["power_at_k"], marker, color=color, markersize=8, zorder=3)
            axes.plot(counts, curve, color=color, linewidth=2, label=label)
        axes.axhline(frame["target"].iloc[0], color=FAINT, linestyle="--", linewidth=1.2)
        if frame["n"].iloc[0] >= 2:
            axes.axvline(frame["n"].iloc[0], color=ORANGE, linewidth=1.2, linestyle=":", label="this study")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set(xlabel=f"Responses per cell ({groups} cells)", ylabel="Power", ylim=(0, 1.02))
        tidy_axes(axes)
        legend(figure, axes)
    return figure


def slopes(frame: pd.DataFrame, cells: pd.DataFrame, money: str = "") -> Figure:
    """Draw the deviation that the model of H5 expects by size, a panel per generation; marks are means.

    frame, cells: the simple slopes and the cells of `generation_model`.
    """
    names = sorted(cells["generation"].unique(), key=version_key)
    with in_style():
        figure, grid = titled_panels([shorten(name, 20) for name in names], 2.6)
        for axes, name in zip(grid, names, strict=True):
            for condition, (color, marker) in CONDITIONS.items():
                met = cells[(cells["generation"] == name) & (cells["condition"] == condition)]
                axes.plot(met["size"], met["mean"], marker, color=color, label=condition.capitalize())
                for row in frame[
                    (frame["generation"] == name) & (frame["condition"] == condition)
                ].itertuples():
                    ends = [row.expected_low, row.expected_high]
                    axes.plot([row.size_low, row.size_high], ends, color=color, linewidth=2)
            tidy_axes(axes)
        figure.supxlabel("Billions of parameters", fontsize=letters(10))
        figure.supylabel(f"Absolute deviation from the list price{money}", fontsize=letters(10))
        legend(figure, *grid)
    return figure


def generations(deviations: pd.DataFrame, versions: Mapping[str, str], money: str = "") -> Figure:
    """Draw the mean absolute price deviation by generation, oldest first.

    deviations: the frame of `price_deviation`.
    """
    dated = deviations[deviations["group"].isin(list(versions))]
    order = sorted(dated["group"], key=lambda agent: (version_key(versions[agent]), agent))
    rows = dated.set_index("group").loc[order]
    with in_style():
        figure, axes = rows_canvas(rows=len(rows) + 1)
        shown = list(dict.fromkeys(versions[agent] for agent in order))
        ticks: list[tuple[float, str]] = []
        for y, agent in enumerate(order):
            estimate, low, high = rows.loc[agent, ["estimate", "conf_low", "conf_high"]].astype(float)
            color = (BLUE, GREEN)[shown.index(versions[agent]) % 2]
            axes.plot([low, high], [y, y], color=color, linewidth=2, solid_capstyle="round")
            axes.plot(estimate, y, "o", color=color)
            ticks.append((y, f"{shorten(agent, 24)}  ({shorten(versions[agent], 10)})"))
        finish(axes, ticks or [(0, "")])
        axes.set_xlabel(f"Absolute deviation from the list price{money}; generation in brackets")
    return figure
