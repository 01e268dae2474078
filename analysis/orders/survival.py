"""Estimate for how many steps what nobody asked for is kept, until it is refused."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from statsmodels.duration.survfunc import SurvfuncRight

from analysis.orders.table import CONTROL
from analysis.reporting.plots import CYCLE, in_style, legend, letters, tidy_axes, titled_panels

KEY: Final = ["agent", "nudge", "condition"]
_COLUMNS: Final = ["group", "nudge", "condition", "step", "at_risk", "events", "survival"]
_Z: Final = float(stats.norm.isf(0.025))


def survival(table: pd.DataFrame) -> pd.DataFrame:
    """Return Kaplan and Meier's (1958) estimate of what is still kept after so many steps, in percent.

    By agent, intervention and condition, of the trials that were shown something that can be refused and that
    nobody asked for. A step counts from the first look at it, so that what is refused at once is refused at
    step 1; a trial in which it is never refused ends as a censored one. Rows: step 0, each step with refusals
    (events), and the last step of any trial; at_risk: the trials that were at work until then and kept it.
    The interval has Greenwood's variance on the scale of log(-log) (Kalbfleisch and Prentice 1980), and takes
    trials as independent; where all or none is kept there is none.
    """
    rows: list[dict[str, Any]] = []
    if {"shown_at", "resisted_at", "steps"} <= {*table}:
        shown = table.dropna(subset=["shown_at", "steps"])
        until = (shown["resisted_at"] + 1).fillna(shown["steps"]) - shown["shown_at"]
        shown = shown.assign(time=until.astype(float), event=shown["resisted_at"].notna().astype(int))
        for key, own in shown[shown["time"].ge(1)].groupby(KEY, sort=True):
            named = dict(zip(("group", "nudge", "condition"), key, strict=True))
            rows += [named | row for row in _curve(own)]
    return pd.DataFrame(rows, columns=[*_COLUMNS, "conf_low", "conf_high"])


def _curve(own: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of one curve."""
    found, last = SurvfuncRight(own["time"], own["event"]), int(own["time"].max())
    row: dict[str, Any] = {"step": 0, "at_risk": len(own), "events": 0, "survival": 100.0}
    yield row
    for step, at_risk, events, share, error in zip(
        found.surv_times, found.n_risk, found.n_events, found.surv_prob, found.surv_prob_se, strict=True
    ):
        row = {"step": int(step), "at_risk": int(at_risk), "events": int(events), "survival": 100 * share}
        if 0 < share < 1:
            factor = np.exp(_Z * error / (share * np.log(share)))
            row |= {"conf_low": 100 * share ** (1 / factor), "conf_high": 100 * share**factor}
        yield row
    if row["step"] < last:
        yield row | {"step": last, "at_risk": int(own["time"].eq(last).sum()), "events": 0}


def survival_figure(found: pd.DataFrame) -> Figure:
    """Draw a panel for each intervention with a curve for each agent; that of the control is dashed.

    found: the frame of `survival`.
    """
    panels = [(str(nudge), rows) for nudge, rows in found.groupby("nudge", sort=False)]
    colors = {agent: CYCLE[number % len(CYCLE)] for number, agent in enumerate(found["group"].unique())}
    with in_style():
        figure, axes = titled_panels([nudge for nudge, _ in panels], 2.3)
        for axis, (_, rows) in zip(axes, panels, strict=True):
            for (agent, condition), own in rows.groupby(["group", "condition"], sort=False):
                is_control, color = condition == CONTROL, colors[str(agent)]
                label = f"{agent}, control" if is_control else str(agent)
                dashes: Any = {"linestyle": "--"} if is_control else {}
                axis.step(own["step"], own["survival"], where="post", color=color, label=label, **dashes)
                if not is_control:
                    band: Any = {"color": color, "alpha": 0.15, "linewidth": 0, "step": "post"}
                    axis.fill_between(own["step"], own["conf_low"], own["conf_high"], **band)
            tidy_axes(axis)
            axis.set_ylim(0, 105)
        figure.supxlabel("Steps since it was first shown", fontsize=letters(10))
        figure.supylabel("Still kept (% of trials)", fontsize=letters(10))
        legend(figure, *axes)
    return figure
