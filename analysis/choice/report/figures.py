"""Draw the figures of the choice analysis."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.choice.effects.differences import FITTED, OBSERVED
from analysis.choice.effects.effects import TERMS
from analysis.reporting.human_values import CHEREP, HUMAN_EFFECTS
from analysis.reporting.plots import (
    BLUE,
    CYCLE,
    FAINT,
    INK,
    MARKERS,
    ORANGE,
    WIDTH,
    canvas,
    finish,
    in_style,
    intervals,
    legend,
    letters,
    note,
    rows_canvas,
    shorten,
    tidy_axes,
    titled_panels,
)
from analysis.tables.frame import LABELS
from analysis.tables.outcomes import OUTCOMES, outcome_facts

POINTS = "percentage points"
DIFFERENCES = {"price": "Price difference (%)", "rating": "Rating difference (points)"}
TAKEN = {"price": "Cheaper one chosen (%)", "rating": "Higher rated one chosen (%)"}


def effects_figure(effects: pd.DataFrame, people: bool = False) -> Figure:
    """Draw effects by term and agent with 95 % intervals; people: beside those on human shoppers.

    effects: the frame of `choice_effects`. A hollow mark has no interval for new sets and texts; an undefined
    effect is named so.
    """
    terms = list(effects["term"].unique())
    with in_style():
        figure, axes = rows_canvas(rows=len(effects) + len(terms))
        axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
        ticks: list[tuple[float, str]] = []
        headings = []
        top = 0.0
        for term in terms:
            headings.append(len(ticks))
            ticks.append((top, LABELS[term]))
            rows = effects[effects["term"] == term]
            heights = [top + y for y in range(1, len(rows) + 1)]
            ticks += zip(heights, (shorten(str(agent)) for agent in rows["group"]), strict=True)
            intervals(axes, heights, rows)
            if people and term in HUMAN_EFFECTS:
                ends = [top + 0.6, top + len(rows) + 0.4]
                axes.plot([HUMAN_EFFECTS[term]] * 2, ends, color=ORANGE, linewidth=2, zorder=1)
            top += len(rows) + 1.4
        if effects["conf_low"].notna().any():
            axes.plot([], [], "o-", color=BLUE, linewidth=2, label="estimate with 95 % interval")
        if people:
            axes.plot([], [], "|", color=ORANGE, markersize=12, markeredgewidth=2, label="human shoppers")
            note(figure, f"Human shoppers: {CHEREP}")
        finish(axes, ticks)
        for at in headings:
            axes.get_yticklabels()[at].set_fontweight("bold")
        axes.set_xlabel(f"Effect on the probability of being chosen ({POINTS})")
        axes.xaxis.set_major_formatter(lambda value, _: _signed(round(value, 6)))
        legend(figure, axes)
    return figure


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\N{MINUS SIGN}") if value else "0"


def sequence_figure(path: pd.DataFrame, sequence: pd.DataFrame) -> Figure:
    """Draw how each agent's estimate and its interval went with the trials, and where its rule stopped it.

    path, sequence: the frames of `analysis.choice.stopping`.
    """
    groups = [(str(agent), rows) for agent, rows in path.groupby("group", sort=False)]
    margins = dict(zip(sequence["group"], sequence["margin"].astype(float), strict=True))
    stopped = set(sequence.loc[sequence["decision"] != "", "group"])
    with in_style():
        figure, axes = titled_panels([agent for agent, _ in groups], 2.3)
        for axis, (agent, rows) in zip(axes, groups, strict=True):
            end, margin = rows.iloc[-1], margins[agent]
            axis.axhline(0, color=FAINT, linewidth=1, zorder=0)
            if margin > 0:
                own: Any = {"color": ORANGE, "linewidth": 0, "alpha": 0.2, "zorder": 0}
                axis.axhspan(-margin, margin, **own, label=f"margin: ±{margin:g} points")
            band: Any = {"color": BLUE, "alpha": 0.18, "linewidth": 0, "label": "interval at any time"}
            axis.fill_between(rows["trials"], rows["conf_low"], rows["conf_high"], **band)
            axis.plot(rows["trials"], rows["estimate"], color=BLUE, linewidth=2, label="estimate")
            if agent in stopped:
                axis.plot(end["trials"], end["estimate"], "o", color=INK, label="stopped by its rule")
            tidy_axes(axis)
            axis.set_ylim(-100, 100)
        figure.supxlabel("Trials", fontsize=letters(10))
        figure.supylabel("Effect (percentage points)", fontsize=letters(10))
        legend(figure, *axes)
    return figure


def attrition_figure(attrition: pd.DataFrame) -> Figure:
    """Draw how the trials ended, as shares of each agent's conditions.

    attrition: the frame of the function of that name.
    """
    agents = attrition.groupby("agent", sort=False)
    with in_style():
        figure, axes = rows_canvas(rows=attrition.groupby(["agent", "condition"]).ngroups + len(agents))
        axes.text(101, 0, "trials", va="center", color=FAINT, fontsize=letters(9))
        ticks: list[tuple[float, str]] = []
        y = 0.0
        for agent, conditions in agents:
            axes.text(0, y, shorten(str(agent), 70), va="center", weight="bold")
            for condition, cell in conditions.groupby("condition", sort=False):
                y += 1
                ticks.append((y, shorten(str(condition) or "all trials")))
                _stack(axes, y, cell)
            y += 1.3
        finish(axes, ticks)
        axes.set_xlim(0, 100)
        axes.set_xlabel("Share of trials (%)")
        legend(figure, axes)
    return figure


def bounds_figure(effects: pd.DataFrame, bounds: pd.DataFrame) -> Figure:
    """Draw effects with their intervals, over the range that trials without a choice leave open."""
    both = bounds.merge(effects[["term", "group", "estimate", "conf_low", "conf_high"]], on=["term", "group"])
    with in_style():
        figure, axes = rows_canvas(rows=len(both) + both["group"].nunique())
        axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
        ticks: list[tuple[float, str]] = []
        y = 0.0
        for agent, own in both.groupby("group", sort=False):
            ticks.append((y, shorten(str(agent))))
            for row in own.to_dict("records"):
                y += 1
                ticks.append((y, LABELS[row["term"]]))
                axes.barh(
                    y, row["high"] - row["low"], 0.7, row["low"], color="#F3D9A4", label="worst-case bounds"
                )
            intervals(axes, [height for height, _ in ticks[-len(own) :]], own)
            y += 1.4
        axes.plot([], [], "o-", color=BLUE, linewidth=2, label="estimate with 95 % interval")
        finish(axes, ticks)
        for heading in [text for text in axes.get_yticklabels() if text.get_text() not in LABELS.values()]:
            heading.set_fontweight("bold")
        axes.set_xlabel(f"Effect on the probability of being chosen ({POINTS})")
        legend(figure, axes)
    return figure


def difference_figure(curves: pd.DataFrame, feature: str) -> Figure:
    """Draw how often the cheaper, or higher rated, option is taken by the size of the difference.

    curves: of `difference_effects`. A panel for each agent, with a curve for each mean price, or rating.
    """
    own = curves[curves["feature"] == feature]
    groups = [(str(agent), rows) for agent, rows in own.groupby("group", sort=False)]
    with in_style():
        figure, axes = titled_panels([agent for agent, _ in groups], 2.3)
        for axis, (_, rows) in zip(axes, groups, strict=True):
            levels = rows[(rows["model"] == FITTED) & rows["estimate"].notna()].groupby("level")
            for color, (level, line) in zip(CYCLE, levels, strict=False):
                _curve(axis, line, color, f"mean {feature} {level:,.1f}")
            _dots(axis, rows[rows["model"] == OBSERVED])
            tidy_axes(axis)
            axis.set_ylim(-2, 102)
        figure.supxlabel(DIFFERENCES[feature], fontsize=letters(10))
        figure.supylabel(TAKEN[feature], fontsize=letters(10))
        legend(figure, *axes)
    return figure


def price_figure(curves: pd.DataFrame) -> Figure:
    """Draw the observed shares of each agent, and its fourth-order price response where that has a band.

    Where it has none, its choice sets are too few for a curve of this order.
    """
    own = curves[curves["advantage"] == "price"]
    groups = [(str(agent), rows) for agent, rows in own.groupby("group", sort=False)]
    with in_style():
        figure, axes = titled_panels([agent for agent, _ in groups], 2.3)
        for axis, (_, rows) in zip(axes, groups, strict=True):
            curve, seen = rows[rows["model"] == "quartic"], rows[rows["model"] == "observed"]
            if known(curve):
                _curve(axis, curve, BLUE, "fourth-order polynomial")
            _dots(axis, seen)
            tidy_axes(axis)
            axis.set_ylim(max(-5, axis.get_ylim()[0]), min(105, axis.get_ylim()[1]))
        figure.supxlabel("Price advantage (%)", fontsize=letters(10))
        figure.supylabel("Chosen (%)", fontsize=letters(10))
        legend(figure, *axes)
    return figure


def _curve(axis: Axes, rows: pd.DataFrame, color: str, name: str) -> None:
    band: Any = {"color": color, "alpha": 0.15, "linewidth": 0}
    axis.fill_between(rows["value"], rows["conf_low"], rows["conf_high"], **band, label="95 % interval")
    axis.plot(rows["value"], rows["estimate"], color=color, linewidth=2, label=name)


def _dots(axis: Axes, rows: pd.DataFrame) -> None:
    axis.plot(rows["value"], rows["estimate"], "o", color=INK, markersize=4, label="observed, by tenths")


def known(curve: pd.DataFrame) -> bool:
    """Return whether the rows of a fourth-order price response have a band; at 0 all have one."""
    own = curve[(curve["model"] == "quartic") & (curve["value"] != 0)]
    return bool(own["conf_low"].notna().any())


def logit_figure(both: pd.DataFrame) -> Figure:
    """Draw linear against logit effects; on the dotted line they are equal."""
    with in_style():
        figure, axes = canvas(3.9, WIDTH * 0.62)
        ends = [both[["linear", "logit"]].min().min(), both[["linear", "logit"]].max().max()]
        axes.plot(ends, ends, ":", color=FAINT, linewidth=1)
        for color, marker, term in zip(CYCLE, MARKERS, TERMS, strict=False):
            own = both[both["term"] == term]
            axes.plot(own["linear"], own["logit"], marker, color=color, label=LABELS[term])
        tidy_axes(axes)
        axes.set_xlabel(f"Linear model ({POINTS})")
        axes.set_ylabel(f"Logit ({POINTS})")
        axes.legend(frameon=False, fontsize=letters(9))
    return figure


def steps_figure(counts: pd.DataFrame) -> Figure:
    """Draw the share of each agent's trials by number of steps."""
    groups = [(str(agent), rows) for agent, rows in counts.groupby("group", sort=False)]
    with in_style():
        figure, axes = titled_panels([agent for agent, _ in groups], 1.7)
        for axis, (_, rows) in zip(axes, groups, strict=True):
            axis.bar(rows["steps"], rows["share"], 0.8, color=BLUE)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            tidy_axes(axis)
        figure.supxlabel("Steps", fontsize=letters(10))
        figure.supylabel("Trials (%)", fontsize=letters(10))
    return figure


def _stack(axes: Axes, y: float, cell: pd.DataFrame) -> None:
    """One bar of outcomes: the known ones in their order, then the rest."""
    shares = 100 * cell.set_index("outcome")["share"]
    rank: dict[str, int] = {outcome: i for i, outcome in enumerate(OUTCOMES)}
    left = 0.0
    for outcome, share in sorted(shares.items(), key=lambda item: rank.get(str(item[0]), len(rank))):
        name, color = str(outcome).replace("_", " "), outcome_facts(str(outcome)).colour
        axes.barh(y, share, 0.7, left, color=color, edgecolor="white", linewidth=0.8, label=name)
        left += share
    axes.text(101, y, f"{cell['trials'].iloc[0]:,}", va="center", color=FAINT, fontsize=letters(9))
