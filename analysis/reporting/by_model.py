"""Set what a study found of each agent beside facts of its model: release, parameters, scores."""

from collections.abc import Mapping
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from analysis.reporting.plots import BLUE, FAINT, WIDTH, in_style, letters, shorten
from analysis.reporting.sections import NamedFigure, NamedTable, Section
from analysis.tables.errors import AnalysisError
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats, join_notes, label, result_frame
from analysis.tables.table_file import RowPlaces, read_frame

AGENT: Final = "agent"
LEAST_AGENTS: Final = 4
"""The fewest agents for a rank correlation: with fewer no order of theirs would be rare."""
RESAMPLES: Final = 9_999
"""The orders that are tried; of seven agents or fewer these are all."""
EXTRA: Final = ("covariate", "slope", "slope_low", "slope_high")
EVERY_ORDER, FEWER = 7, 2_000
"""The most agents whose orders are all tried for a slope's interval, and how many orders of more agents."""
_FEW_SLOPES: Final = "no interval of the slope: too few agents, or different values"
ABREAST, NAMED = 3, 12
"""The panels of a figure beside each other, and the agents that a panel has room to name."""
_DATE: Final = r"\d{4}-\d{2}(-\d{2})?"


def read_models(path: str | Path) -> pd.DataFrame:
    """Read a table of models: the column `agent`, and for each covariate a column of numbers or dates.

    Returns float covariates (models x covariates), indexed by agent. A date, YYYY-MM or YYYY-MM-DD, is the
    year with its part. Empty is not known. Columns of words are left out, and `attrs["words"]` names them.

    Raises AnalysisError for a file that `read_frame` refuses, without agents or covariates, for an agent that
    has two rows, and for a cell that is neither number nor date beside others that are.
    """
    table = read_frame(path, str)
    places = RowPlaces(table)
    if AGENT not in table or table.empty:
        raise AnalysisError(f"{places}: no column {AGENT!r} with rows; name the agents as in the study")
    table[AGENT] = table[AGENT].fillna("").str.strip()
    repeated = table[AGENT].duplicated() | (table[AGENT] == "")
    if repeated.any():
        row = int(np.flatnonzero(repeated)[0])
        raise AnalysisError(
            f"{places.of(row, AGENT)}: {AGENT}: empty, or named before; give each agent one row"
        )
    read = {str(name): _numbers(table[name], places) for name in table if name != AGENT}
    known = {name: values for name, values in read.items() if values is not None}
    if not known:
        raise AnalysisError(
            f"{places}: no column of numbers or dates; add one, such as release or parameters"
        )
    found = pd.DataFrame(known, dtype=float).set_axis(table[AGENT].to_list())
    found.attrs["source"] = str(places)
    found.attrs["words"] = [name for name in read if name not in known]
    return found


def _numbers(texts: "pd.Series[str]", places: RowPlaces) -> Floats | None:
    """The values of a column; None where none is a number or date."""
    texts = texts.fillna("").astype(str).str.strip()
    dated = texts.str.fullmatch(_DATE)
    dates = pd.to_datetime(texts.where(dated, None), format="ISO8601", errors="coerce")
    years = dates.dt.year + (dates.dt.dayofyear - 1) / 365.25
    numbers = pd.to_numeric(texts.where(~dated, None), errors="coerce").where(np.isfinite)
    found = numbers.fillna(years)
    wrong = found.isna() & (texts != "")
    if found.notna().any() and wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        place, name = places.of(row, str(texts.name)), texts.name
        raise AnalysisError(f"{place}: {name}: {shorten(texts[row])!r} is no number and no date; correct it")
    return found.to_numpy(float) if found.notna().any() else None


def by_model(
    frames: Mapping[str, pd.DataFrame | None], measured: Mapping[str, str], models: pd.DataFrame
) -> Section:
    """Make the section of a study's measures by covariates of the models.

    frames: of the analysis. measured: the column of each table of which a row is an agent's measure. models:
    of `read_models`.

    Raises AnalysisError where no agent of the study is in `models`.
    """
    values = _measures(frames, measured)
    agents = sorted(values["group"].unique())
    if not set(agents) & set(models.index):
        source, some = models.attrs.get("source", "models"), ", ".join(agents[:5])
        raise AnalysisError(f"{source}: none of its agents is in the study; name them so: {some}")
    unknown = ", ".join(agent for agent in agents if agent not in models.index)
    text = (
        "Does what an agent does go with what its model is? Rank correlations over agents (Spearman), with"
        " p values of permuted agents; slopes are Theil and Sen's, per unit of the covariate. Models that"
        " differ in one fact differ in others: this is no effect of the fact."
    )
    more = f"\n\nNot in the table of models, and so left out: {unknown}." if unknown else ""
    if words := ", ".join(models.attrs.get("words", ())):
        more += f"\n\nColumns without a number or date, and so left out: {words}."
    table = correlations(values, models)
    drawn = [
        NamedFigure(
            f"by_model_{number}",
            f"Each agent's estimates by {name.replace('_', ' ')}, with their 95 % intervals.",
            partial(_figure, values, models[name].rename(name.replace("_", " "))),
        )
        for number, name in enumerate(map(str, models), 1)
    ]
    caption = "Rank correlation of each measure with each covariate over agents"
    return Section("By model", text + more, (NamedTable("by_model", caption, table),), tuple(drawn))


def _measures(frames: Mapping[str, pd.DataFrame | None], measured: Mapping[str, str]) -> pd.DataFrame:
    """The measures of all agents: term, group, estimate, conf_low, conf_high."""
    found = []
    for name, column in measured.items():
        frame = frames.get(name)
        if frame is None or frame.empty:
            continue
        ends = ("conf_low", "conf_high")
        own = frame[["term", "group"]].assign(
            estimate=frame[column], **{end: frame[end] if column == "estimate" else np.nan for end in ends}
        )
        found.append(own if column == "estimate" else own.assign(term=column))
    columns = ["term", "group", "estimate", "conf_low", "conf_high"]
    every = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)
    return every[every["estimate"].notna() & ~every["group"].str.startswith("all ")]


def correlations(values: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlation of each measure with each covariate, over agents.

    values: term, group (the agent) and estimate. `estimate` is Spearman's, `p_value` that of exchanging
    agents (all orders, or 9,999 drawn ones), adjusted over the table. Extra columns: `covariate`; `slope`
    with its 95 % interval `slope_low`, `slope_high` (Theil 1950, Sen 1968), of the measure per unit of
    covariate. It is that of the same orders, and empty where the slopes of too few pairs are known.
    """
    rows = []
    for (term,), own in values.groupby(["term"], sort=False):
        measure = own.drop_duplicates("group").set_index("group")["estimate"].astype(float)
        for covariate in models:
            both = pd.concat([measure, models[covariate]], axis=1, join="inner").dropna().to_numpy(float)
            row = {
                "term": term,
                "group": "all agents",
                "covariate": covariate,
                "n": len(both),
                "n_missing": len(measure) - len(both),
            }
            rows.append(row | _correlated(both))
    return adjusted(result_frame(rows, *EXTRA))


def _correlated(both: Floats) -> dict[str, Any]:
    if len(both) < LEAST_AGENTS:
        return {"note": f"undefined: {len(both)} agents with both values, needs {LEAST_AGENTS}"}
    if (np.ptp(both, axis=0) == 0).any():
        return {"note": "undefined: all agents have the same value"}
    measure, covariate = stats.rankdata(both, axis=0).T - (len(both) + 1) / 2
    scale = np.sqrt((measure**2).sum() * (covariate**2).sum())
    test = stats.permutation_test(
        (measure,),
        lambda permuted, axis: (permuted * covariate).sum(axis=axis) / scale,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    slopes, ends = _slopes(*both.T)
    return {
        "estimate": float(test.statistic),
        "p_value": float(test.pvalue),
        "slope": float(np.median(slopes)),
        "slope_low": ends[0],
        "slope_high": ends[1],
        "note": join_notes("permutation test; no standard error", _FEW_SLOPES if np.isnan(ends[0]) else ""),
    }


def _slopes(measure: Floats, covariate: Floats) -> tuple[Floats, tuple[float, float]]:
    """The slopes of all pairs in order, and the ends of the 95 % interval of their median.

    Of agents without a slope, the number of rising pairs has the distribution over exchanged agents.
    """
    count = len(covariate)
    less, more = np.nonzero(covariate[:, None] < covariate)
    slopes = np.sort((measure[more] - measure[less]) / (covariate[more] - covariate[less]))
    rng, small = np.random.default_rng(0), count <= EVERY_ORDER
    orders = (
        np.array(list(permutations(range(count))))
        if small
        else rng.permuted(np.tile(np.arange(count), (FEWER, 1)), axis=1)
    )
    rising = np.sort((orders[:, less] < orders[:, more]).sum(axis=1))
    least = int(rising[int(0.025 * len(rising))])
    return slopes, (float(slopes[least - 1]), float(slopes[-least])) if least else (np.nan, np.nan)


def _figure(values: pd.DataFrame, covariate: "pd.Series[float]") -> Figure:
    """A panel for each measure: the agents' estimates over the covariate."""
    terms = list(values["term"].unique())
    columns = min(ABREAST, len(terms))
    rows = -(-len(terms) // columns)
    with in_style():
        figure = Figure(figsize=(WIDTH, 0.6 + 2.1 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, term in zip(panels, terms, strict=False):
            own = values[values["term"] == term].drop_duplicates("group").set_index("group")
            own = own.assign(x=covariate.reindex(own.index)).dropna(subset=["x"])
            panel.vlines(own["x"], own["conf_low"], own["conf_high"], color=BLUE, alpha=0.4)
            panel.plot(own["x"], own["estimate"], "o", color=BLUE, markersize=4)
            for agent, row in own.iterrows() if len(own) <= NAMED else ():
                right = row["x"] > own["x"].min() + 0.5 * np.ptp(own["x"])  # written towards the middle
                panel.annotate(
                    shorten(str(agent).partition(":")[2] or str(agent), 16),
                    (row["x"], row["estimate"]),
                    xytext=(-3 if right else 3, 3),
                    ha="right" if right else "left",
                    textcoords="offset points",
                    fontsize=letters(6),
                    color=FAINT,
                )
            panel.set_title(shorten(label(term), 30), fontsize=letters(8), loc="left")
            panel.tick_params(labelsize=letters(7))
            panel.spines[["top", "right"]].set_visible(False)
            panel.margins(0.15)
        for panel in panels[len(terms) :]:
            panel.set_axis_off()
        figure.supxlabel(str(covariate.name), fontsize=letters(9))
    return figure
