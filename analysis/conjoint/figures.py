"""Draw the figures of the study, each from the table of its name.

An undefined value is named as such, and not drawn as 0.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.conjoint.frames import ALL_AGENTS
from analysis.reporting.plots import (
    BLUE,
    FAINT,
    INK,
    ORANGE,
    WIDTH,
    canvas,
    finish,
    in_style,
    intervals,
    letters,
    panels,
    shorten,
    undefined,
)

NAMES = {
    "stars": "Stars",
    "bed_rank": "Bed",
    "cancel": "Free\ncancellation",
    "breakfast": "Breakfast",
    "review_score": "Review\nscore",
    "review_count_100": "100\nreviews",
}
"""Short headings of the controls."""

UNITS = "units of the price"
"""The money of a table whose currency is not known."""

LABELLED = 12
"""The most points that are labelled with the agent's name; with more, each has a number and a key."""

CURVES = {"log_curve": (BLUE, "-", "log price"), "linear_curve": (ORANGE, "--", "linear price")}


def triage_figure(triage: pd.DataFrame) -> Figure:
    """Draw first-shown rates with Wilson intervals, and the band in which an agent counts as engaged."""
    with in_style():
        figure, axes = canvas(1.6 + 0.26 * len(triage))
        axes.axvspan(15, 85, color="#eef2f5", zorder=0)
        axes.axvline(50, color=FAINT, linewidth=1)
        rows = triage.sort_values("estimate", ascending=False, ignore_index=True)
        percent = 100 * rows[["estimate", "conf_low", "conf_high"]]
        for color, own in ((BLUE, rows["verdict"] == "engaged"), (ORANGE, rows["verdict"] != "engaged")):
            intervals(axes, rows.index[own].to_list(), percent[own], color)
        _names(axes, rows["group"])
        axes.set_xlim(-3, 103)
        axes.set_xlabel("Choices of the option shown first (%)")
        _key(figure, [(BLUE, "o", "engaged"), (ORANGE, "o", "position-locked")], "shaded: 15 to 85 %")
    return figure


def price_figure(deciles: pd.DataFrame, unit: str = UNITS) -> Figure:
    """Draw utility by price decile for each agent, with the fitted log and linear curves."""
    agents = list(deciles["group"].unique())
    columns = min(4, max(1, len(agents)))
    with in_style():
        width = WIDTH * (1 if columns > 1 else 0.7)
        figure, grid = panels(len(agents) or 1, columns, 2.1, width, sharex=True)
        for axes, agent in zip(grid, agents, strict=False):
            rows = deciles[deciles["group"] == agent]
            axes.set_title(shorten(str(agent), 20), fontsize=letters(8))
            _curves(axes, rows)
        _price_axis(grid[0], deciles["median_price"])
        figure.supxlabel(f"Median price of the decile ({unit}, logarithmic)", fontsize=letters(10))
        figure.supylabel("Utility against\nthe cheapest decile", fontsize=letters(10))
        lines_of = [(color, style, name) for color, style, name in CURVES.values()]
        _key(figure, [(INK, "o", "decile, 95 % interval"), *lines_of])
    return figure


def form_figure(form: pd.DataFrame) -> Figure:
    """Draw the AIC of the linear less that of the log price by agent.

    To the left the linear form fits better.
    """
    rows = form.drop_duplicates("group").sort_values("estimate")
    with in_style():
        figure, axes = canvas(1.5 + 0.26 * len(rows))
        axes.axvline(0, color=FAINT, linewidth=1)
        for y, value in enumerate(rows["estimate"]):
            if np.isnan(value):
                undefined(axes, y)
            else:
                axes.barh(y, value, 0.65, color=ORANGE if value < 0 else BLUE)
        _names(axes, rows["group"])
        axes.set_xlabel("AIC of the linear less AIC of the log price")
        _key(figure, [(ORANGE, "s", "linear fits better"), (BLUE, "s", "log fits better")])
    return figure


def block_figure(sizes: pd.DataFrame) -> Figure:
    """Draw log-price coefficients of pairs against those of larger sets."""
    own = sizes[sizes["term"] == "log_price"]
    blocks = list(own["block"].unique())
    if len(blocks) < 2:
        return _nothing("Sets of one size only: nothing to compare")
    points = _pairs(own, "block", blocks[0], blocks[1])
    figure = _scatter(points, f"Log-price coefficient, {blocks[0]} sets", f"{blocks[1]} sets")
    axes = figure.axes[0]
    low = min(axes.get_xlim()[0], axes.get_ylim()[0])
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot([low, high], [low, high], color=FAINT, linewidth=1, linestyle=":", zorder=0)
    return figure


def size_figure(sizes: pd.DataFrame) -> Figure:
    """Draw price sensitivity against the number of parameters."""
    own = sizes[(sizes["group"] != ALL_AGENTS) & sizes["size"].notna()]
    if own.empty:
        return _nothing("No agent's size is known")
    points = pd.DataFrame(
        {
            "x": own["size"],
            "x_low": np.nan,
            "x_high": np.nan,
            "y": own["estimate"],
            "y_low": own["conf_low"],
            "y_high": own["conf_high"],
        }
    ).set_axis(own["group"], axis=0)
    figure = _scatter(points, "Parameters (billions, logarithmic)", "Price sensitivity (log price)")
    axes = figure.axes[0]
    axes.set_xscale("log")
    low, high = own["size"].min() / 2.5, own["size"].max() * 2.5
    axes.set_xlim(low, high)
    ticks = [tick for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    return figure


def personality_figure(personality: pd.DataFrame) -> Figure:
    """Draw the map of agents: price sensitivity to the right, weight of the review score upwards."""
    points = _pairs(personality, "term", "price_sensitivity", "review_score")
    return _scatter(points, "Price sensitivity (log price, turned)", "Weight of one point of review score")


def quality_figure(quality: pd.DataFrame) -> Figure:
    """Draw a heatmap of the quality coefficients.

    Colours are relative to each column's largest.
    """
    headings = {name: NAMES.get(name, name) for name in quality["term"].unique()}
    return _heatmap(quality, headings, "Change of utility for one unit")


def brand_figure(brands: pd.DataFrame) -> Figure:
    """Draw a heatmap of the chain coefficients."""
    headings = {name: shorten(str(name).removeprefix("chain_"), 14) for name in brands["term"].unique()}
    return _heatmap(brands, headings, "Utility against the base", common=True)


def variant_figure(table: pd.DataFrame) -> Figure:
    """Draw a heatmap of the z of each agent and variant against base."""
    more = {"log_price": "Log\nprice", "pseudo_r2": "R²", "first_shown": "First\nshown"}
    headings = {name: (more | NAMES).get(name, str(name)) for name in table["term"].unique()}
    rows = table["variant"] if table["group"].nunique() == 1 else table["group"] + ", " + table["variant"]
    return _heatmap(table.assign(group=rows, estimate=table["z"]), headings, "z against base", common=True)


def money_figure(money: pd.DataFrame, unit: str = UNITS, valued_at: str = "the median price") -> Figure:
    """Draw what the attributes are worth by agent; chains and the order are in the table."""
    money = money[~money["term"].str.startswith(("chain_", "shown_first"))]
    terms, agents = list(money["term"].unique()), list(money["group"].unique())
    if not terms:
        return _nothing("No attribute has a value")
    with in_style():
        width = max(WIDTH, 1.4 + 1.25 * len(terms))
        figure, grid = panels(len(terms), len(terms), 0.5 + 0.26 * len(agents), width, sharey=True)
        for axes, term in zip(grid, terms, strict=True):
            own = money[money["term"] == term].set_index("group").loc[agents].reset_index()
            axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
            defined = own["estimate"].notna()
            place: Any = {"xycoords": ("axes fraction", "data"), "ha": "center", "va": "center"}
            for y in own.index[~defined]:
                axes.annotate("none", (0.5, y), fontsize=letters(8), style="italic", color=FAINT, **place)
            intervals(axes, own.index[defined].to_list(), own[defined], size=4)
            _names(axes, agents)
            axes.set_title(NAMES.get(term, str(term)).replace("\n", " "), fontsize=letters(9))
            axes.tick_params(axis="x", labelsize=letters(8))
            axes.locator_params(axis="x", nbins=3)
        figure.supxlabel(f"{unit[:1].upper()}{unit[1:]} for one unit, at {valued_at}", fontsize=letters(10))
    return figure


def booked_figure(booked: pd.DataFrame, unit: str = UNITS) -> Figure:
    """Draw the mean price of the booked options beside that of the offered ones."""
    rows = booked[booked["term"] == "mean_price"].sort_values("estimate")
    with in_style():
        figure, axes = canvas(1.5 + 0.26 * len(rows))
        intervals(axes, range(len(rows)), rows)
        axes.plot(rows["offered"], range(len(rows)), "|", color=ORANGE, markersize=11, markeredgewidth=2)
        _names(axes, rows["group"])
        axes.set_xlabel(f"Price ({unit})")
        _key(figure, [(BLUE, "o", "booked, mean with 95 % interval"), (ORANGE, "|", "offered, mean")])
    return figure


def _nothing(reason: str) -> Figure:
    with in_style():
        figure, axes = canvas(1.2)
        axes.set_axis_off()
        axes.text(0.5, 0.5, reason, ha="center", va="center", style="italic", color=FAINT)
    return figure


def _names(axes: Axes, agents: "pd.Series[str] | list[str]") -> None:
    finish(axes, [(float(y), shorten(str(agent))) for y, agent in enumerate(agents)] or [(0.0, "")])


def _key(figure: Figure, entries: list[tuple[str, str, str]], extra: str = "") -> None:
    handles = []
    for color, mark, _ in entries:
        line = mark.startswith("-")
        look: Any = {"linestyle": mark} if line else {"linestyle": "none", "marker": mark}
        handles.append(Line2D([], [], color=color, markeredgewidth=2 if mark == "|" else 1, **look))
    names = [name for _, _, name in entries]
    if extra:
        handles.append(Line2D([], [], linestyle="none"))
        names.append(extra)
    place: Any = {"loc": "outside upper left", "ncols": 4, "frameon": False, "fontsize": letters(9)}
    figure.legend(handles, names, handlelength=1.5, columnspacing=1.2, **place)


def _curves(axes: Axes, rows: pd.DataFrame) -> None:
    known = rows[rows["estimate"].notna()]
    axes.plot(known["median_price"], known["estimate"], "o", color=INK, markersize=3.5, zorder=3)
    axes.vlines(known["median_price"], known["conf_low"], known["conf_high"], color=INK, linewidth=1.2)
    shown = rows.loc[rows["median_price"] > 0, "median_price"]  # the axis is logarithmic
    if shown.empty:
        return
    first, last = shown.min(), shown.max()
    grid = np.geomspace(first, last, 60)
    for name, (color, style, _) in CURVES.items():
        x = grid if name == "linear_curve" else np.array([first, last])
        at = np.log(rows["median_price"]) if name == "log_curve" else rows["median_price"]
        usable = np.isfinite(rows[name].astype(float))
        if usable.sum() > 1:
            # Both curves are straight in their own scale, so two of their points tell the rest.
            slope = (rows[name] / (at - at.iloc[0])).iloc[-1]
            axes.plot(x, slope * ((np.log(x) if name == "log_curve" else x) - at.iloc[0]), style, color=color)
    axes.tick_params(labelsize=letters(8))
    axes.spines[["top", "right"]].set_visible(False)


def _price_axis(axes: Axes, prices: "pd.Series[float]") -> None:
    """Set up the price axis, which all panels share: so it is set once."""
    low, high = prices[prices > 0].min() / 1.2, prices.max() * 1.2
    if low > 0:
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        ticks = [tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if low <= tick <= high]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()


def _pairs(frame: pd.DataFrame, column: str, first: str, second: str) -> pd.DataFrame:
    """x and y with intervals, by agent; agents that lack one are left out."""
    sides = []
    for prefix, value in (("x", first), ("y", second)):
        own = frame[frame[column] == value].set_index("group")[["estimate", "conf_low", "conf_high"]]
        sides.append(own.set_axis([prefix, f"{prefix}_low", f"{prefix}_high"], axis=1))
    return pd.concat(sides, axis=1).astype(float).dropna(subset=["x", "y"])


def _scatter(points: pd.DataFrame, x_label: str, y_label: str) -> Figure:
    if points.empty:
        return _nothing("No agent has both estimates")
    numbered = len(points) > LABELLED
    with in_style():
        figure, axes = canvas(4.6)
        for number, (agent, row) in enumerate(points.iterrows(), start=1):
            if not np.isnan(row["x_low"]):
                axes.plot(
                    [row["x_low"], row["x_high"]], [row["y"]] * 2, color=BLUE, alpha=0.35, linewidth=1.5
                )
            if not np.isnan(row["y_low"]):
                axes.plot(
                    [row["x"]] * 2, [row["y_low"], row["y_high"]], color=BLUE, alpha=0.35, linewidth=1.5
                )
            axes.plot(row["x"], row["y"], "o", color=BLUE, markersize=11 if numbered else 7, zorder=3)
            if numbered:
                axes.annotate(str(number), (row["x"], row["y"]), ha="center", va="center", color="white",
                              fontsize=letters(6.5), zorder=4)  # fmt: skip
            else:
                axes.annotate(shorten(str(agent), 24), (row["x"], row["y"]), xytext=(6, 6),
                              fontsize=letters(9), textcoords="offset points", zorder=4)  # fmt: skip
        if numbered:
            handles = [Line2D([], [], linestyle="none")] * len(points)
            names = [f"{number}  {shorten(str(agent), 24)}" for number, agent in enumerate(points.index, 1)]
            place: Any = {"loc": "outside right center", "frameon": False, "fontsize": letters(7.5)}
            figure.legend(handles, names, handlelength=0, handletextpad=0, labelspacing=0.35, **place)
        axes.margins(0.12)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e5e5e5", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure


def _heatmap(frame: pd.DataFrame, headings: dict[str, str], label: str, *, common: bool = False) -> Figure:
    """Rows are agents. A hollow cell is undefined; a number in grey has an interval that holds 0."""
    if frame.empty:
        return _nothing("Nothing is estimated")
    agents = list(frame["group"].unique())
    cells = frame.set_index(["group", "term"])
    values = cells["estimate"].unstack().reindex(index=agents, columns=list(headings)).astype(float)
    p_value = cells["p_value"].unstack().reindex_like(values).to_numpy(float)
    top = values.abs().max(axis=0)
    scaled = values / (top.max() if common else top.where(top > 0, 1))
    with in_style():
        figure, axes = canvas(1.2 + 0.28 * len(agents))
        axes.imshow(scaled, cmap="PuOr_r", vmin=-1.4, vmax=1.4, aspect="auto")
        for (y, x), value in np.ndenumerate(values.to_numpy()):
            clear = p_value[y, x] < 0.05
            text = "–" if np.isnan(value) else f"{value:z.2g}" if abs(value) < 0.1 else f"{value:.2f}"
            axes.text(x, y, text.replace("-", "−"), ha="center", va="center", fontsize=letters(8.5),
                      color=INK if clear else FAINT, style="normal" if clear else "italic")  # fmt: skip
        axes.set_xticks(range(len(headings)), list(headings.values()), fontsize=letters(9))
        axes.set_yticks(range(len(agents)), [shorten(str(agent)) for agent in agents])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(f"{label}; grey italics: not different from 0 at 5 %", fontsize=letters(9))
    return figure
