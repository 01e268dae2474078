"""Judge hypotheses that were registered before the data: one row of a table each, for each agent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.multitest import multipletests

from analysis.reporting.answer import number_text
from analysis.reporting.sections import NamedTable, Report, Section
from analysis.tables.frame import join_notes

SUPPORTED, AGAINST, UNDECIDED = "supported", "not supported", "undecided"
METHODS: Final = {"holm": "holm", "bonferroni": "bonferroni", "benjamini-hochberg": "fdr_bh"}
COLUMNS: Final = (
    "hypothesis", "group", "expected", "estimate", "conf_low", "conf_high", "p_value", "p_adjusted",
    "verdict", "alpha", "family", "estimand", "n", "note",
)  # fmt: skip
EXACT: Final = ("margin", "p_equivalent")
"""Columns of an exact test of a margin."""
HONEST: Final = (
    {"estimate": "blocked", "conf_low": "blocked_low", "conf_high": "blocked_high", "p_value": "p_blocked"},
    {"conf_low": "by_set_low", "conf_high": "by_set_high", "p_value": "p_by_set"},
)
"""Columns beside those of a published method, in which repeats of a question count once."""
TAIL: Final = 0.025
"""The share beyond each end of a 95 % interval."""
DECIMALS: Final = 2
_SKEW: Final = 1e-6
"""How far, relative to its length, an interval may be off its middle and still be of Student's t."""


@dataclass(frozen=True)
class DeclaredHypothesis:
    """A hypothesis: the row of a table that it is about, and what is expected there.

    row: the values of the columns that tell the row; where they do not name `group`, it is tested for each
    agent. expect: above, below or different (than 0), or equal (within `margin` around 0).
    """

    name: str
    table: str
    row: Mapping[str, Any]
    expect: str = "different"
    margin: float | None = None
    alpha: float = 0.05
    family: str = "main"


@dataclass(frozen=True)
class Registration:
    """What is known of a run's plan: its hypotheses, and how far the run kept to it."""

    hash: str
    registered_at: str
    hypotheses: Sequence[DeclaredHypothesis]
    agents: Sequence[str]
    correction: str = "holm"
    deviations: tuple[str, ...] = field(default=())


def judged(frames: Mapping[str, Any], plan: Registration) -> pd.DataFrame:
    """Return a row for each hypothesis and agent, in `COLUMNS`.

    frames: the tables of the analysis, in the columns of every estimator; `exact, margin 5.0` is the table
    `exact` with the tests of this margin. Of a published method the columns by block, or by leaving out each
    choice set, count, as in the sentences of the report. p_value: two-sided; of `equal` that
    of two one-sided tests (Schuirmann 1987), see `equality_p`. p_adjusted: over all tests that the plan
    declares in a family; one without a p value counts as 1, so that no family shrinks.

    A hypothesis is supported where the adjusted p value is at most alpha and the sign is the expected one;
    not supported where it is so and the sign is the other, or where the 95 % interval of `equal` lies outside
    of the margin; else undecided.
    """
    rows = [row for each in plan.hypotheses for row in _tests(frames, each, plan.agents)]
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = ["estimate", "conf_low", "conf_high", "p_value", "p_adjusted", "alpha"]
    found = found.astype(dict.fromkeys(numbers, float) | {"n": "Int64"})
    for _, family in found.groupby("family"):
        found.loc[family.index, "p_adjusted"] = adjusted(family["p_value"], plan.correction)
    found["p_adjusted"] = found["p_adjusted"].where(found["p_value"].notna())
    margins = {each.name: each.margin for each in plan.hypotheses}
    found["verdict"] = [_verdict(row, margins[row["hypothesis"]]) for row in found.to_dict("records")]
    return found


def adjusted(p_values: "pd.Series[float]", correction: str) -> Any:
    """Return the adjusted p values of a family; an undefined one counts as 1."""
    p = p_values.fillna(1.0).to_numpy(float)
    return multipletests(p, method=METHODS[correction])[1] if correction in METHODS and len(p) else p


def equality_p(row: Mapping[str, Any], margin: float) -> float:
    """Return the p value of two one-sided tests that an estimate lies within the margin around 0.

    An exact test of this margin counts (`margin`, `p_equivalent`). Else, where the 95 % interval is
    Student's, its degrees of freedom follow from its length and the standard error. An interval of another
    kind shows only whether p is at most .025: then that bound is returned, else 1, so that the test keeps its
    level.
    """
    estimate, low, high = (float(row[name]) for name in ("estimate", "conf_low", "conf_high"))
    if not np.isfinite([estimate, low, high]).all():
        return float("nan")
    if row.get("margin") == margin and pd.notna(row.get("p_equivalent")):
        return float(row["p_equivalent"])
    error = float(row.get("std_error", float("nan")))
    if np.isfinite(error) and error > 0 and abs(high + low - 2 * estimate) <= _SKEW * (high - low):
        times = (high - low) / 2 / error
        df = _degrees(times)
        distance = (margin - abs(estimate)) / error
        return float(stats.norm.sf(distance) if df is None else stats.t.sf(distance, df))
    return TAIL if -margin < low and high < margin else 1.0


def _degrees(times: float) -> float | None:
    """The degrees of freedom whose 97.5 % quantile is so large; None: those of a normal distribution."""
    if times <= stats.t.ppf(1 - TAIL, 1e6):
        return None
    return float(brentq(lambda df: stats.t.ppf(1 - TAIL, df) - times, 0.5, 1e6))


def _tests(
    frames: Mapping[str, Any], each: DeclaredHypothesis, agents: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """What a hypothesis is tested on: one row of its table for each agent."""
    found = frames.get(each.table)
    frame = found if isinstance(found, pd.DataFrame) else None
    whole = "group" in each.row or (frame is not None and "group" not in frame)
    for agent in [""] if whole else agents:
        wanted = dict(each.row) if whole else {**each.row, "group": agent}
        said = {
            "hypothesis": each.name,
            "group": agent or str(each.row.get("group", "")),
            "expected": each.expect if each.margin is None else f"within ±{number_text(each.margin)}",
            "alpha": each.alpha,
            "family": each.family,
            "estimand": _estimand(each),
        }
        rows = [] if frame is None else _matching(frame, wanted)
        if len(rows) != 1:
            why = "no row" if not rows else f"{len(rows):,} rows"
            yield {**said, "note": f"the table {each.table} has {why} of this hypothesis"}
            continue
        row = _honest(rows[0])
        if (tested := frames.get(f"{each.table}, margin {each.margin}")) is not None:
            row |= next(({name: own[name] for name in EXACT} for own in _matching(tested, wanted)), {})
        p_value = row.get("p_value") if each.margin is None else equality_p(row, each.margin)
        result = {name: row.get(name) for name in ("estimate", "conf_low", "conf_high", "n")}
        note = "" if p_value is not None and pd.notna(p_value) else "no p value, counted as 1 in its family"
        if each.margin is not None and p_value in (TAIL, 1.0) and row.get("margin") != each.margin:
            note = "p is a bound, at most .025 where the interval lies within the margin"
        yield {**said, **result, "p_value": p_value, "note": join_notes(note, str(row.get("note") or ""))}


def _honest(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the columns that the sentences of a report say, where it has such."""
    for names in HONEST:
        if set(names.values()) <= set(row) and ("blocked" in row or pd.notna(row[names["p_value"]])):
            return row | {name: row[own] for name, own in names.items()} | {"std_error": np.nan}
    return row


def _estimand(each: DeclaredHypothesis) -> str:
    """The table of a hypothesis and its row in words."""
    return f"{each.table}: {', '.join(str(value) for value in each.row.values() if value != '')}"


def _matching(frame: pd.DataFrame, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not wanted.keys() <= set(frame):
        return []
    rows = frame
    for name, value in wanted.items():
        rows = rows[rows[name].astype(str) == str(value)]
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def _verdict(row: Mapping[Any, Any], margin: float | None) -> str:
    sure = bool(row["p_adjusted"] <= row["alpha"])
    if margin is not None:
        outside = row["conf_low"] > margin or row["conf_high"] < -margin
        return SUPPORTED if sure else AGAINST if outside else UNDECIDED
    if not sure or not row["estimate"]:
        return UNDECIDED
    right = {"above": row["estimate"] > 0, "below": row["estimate"] < 0, "different": True}
    return SUPPORTED if right[row["expected"]] else AGAINST


def sentences(found: pd.DataFrame) -> tuple[str, ...]:
    """Say the verdicts in a sentence for each agent."""
    said = []
    for agent, rows in found.groupby("group", sort=False):
        parts = [
            f"{verdict}: {', '.join(names)}"
            for verdict in (SUPPORTED, AGAINST, UNDECIDED)
            if (names := list(rows.loc[rows["verdict"] == verdict, "hypothesis"]))
        ]
        said.append(f"Registered: {f'{agent!s}: ' if agent else ''}{'; '.join(parts)}.")
    return tuple(said)


def with_plan(report: Report, plan: Registration, found: pd.DataFrame) -> Report:
    """Return the report with the registered results first; deviations from the plan are problems.

    found: of `judged`.
    """
    kept = "The run kept to its plan." if not plan.deviations else "Deviations from the plan:"
    known = f"Plan {plan.hash}, registered at {plan.registered_at}, before the first trial."
    explained = (
        "Each hypothesis was declared, with its row of a table, before there were data. A test that is not"
        " significant does not show that there is no effect: it is undecided. p values are adjusted within a"
        f" family of declared tests ({plan.correction}); a test without a p value counts as 1."
    )
    problems = (*(f"Deviation from the plan: {each}" for each in plan.deviations), *report.problems)
    listed = [f"{number}. {each}" for number, each in enumerate(plan.deviations, 1)]
    if found.empty:
        text = "\n\n".join([known, "No hypothesis was declared: all results are exploratory.", kept, *listed])
        sections = (*report.sections, Section("Plan", text))
        note = "Registered without a hypothesis: all results are exploratory."
        return Report(sections, (note, *report.answer), report.checked, problems)
    caption = "Registered results, with 95 % intervals"
    table = NamedTable("registered", caption, found.drop(columns="estimand"), decimals=DECIMALS)
    told = [f"{each.name}: {_estimand(each)}" for each in plan.hypotheses]
    about = f"The row of each hypothesis: {'; '.join(told)}."
    first = Section("Registered results", "\n\n".join([explained, about, known, kept, *listed]), (table,))
    then = Section("Exploratory results", "What follows was not declared in the plan: no claim rests on it.")
    answer = (*sentences(found), *(f"Exploratory: {each}" for each in report.answer))
    return Report((first, then, *report.sections), answer, report.checked, problems)
