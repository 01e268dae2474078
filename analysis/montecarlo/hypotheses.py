"""Test hypotheses on willingness to pay: against the list price, between conditions, agents, generations."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from analysis.estimators.blocked import BlockedTest, blocks_of, term_contrasts
from analysis.estimators.linear_models import (
    INESTIMABLE,
    INTERCEPT,
    Coding,
    LinearFit,
    empty_cells,
    fit_cells,
    full_factorial,
    group_cells,
)
from analysis.estimators.t_tests import Summary, one_sample_t, student, summarize, two_sample_t
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import join_notes, result_frame

ALL_AGENTS, ALL_ITEMS, ALL_CONDITIONS = "all agents", "all products", "all"
CODINGS: tuple[Coding, ...] = ("treatment", "sum")
OUTCOMES = {"wtp": "response", "apd": "apd"}

ANOVA_EXTRA = ("hypothesis", "outcome", "coding", "reference", "sum_sq", "df", "df_residual", "unit", "side")
COEFFICIENT_EXTRA = ("hypothesis", "outcome", "coding", "reference", "df", "unit", "side")
SLOPE_ENDS = ("low", "high")
SLOPE_EXTRA = (
    *(*COEFFICIENT_EXTRA[:4], "generation", "condition", *COEFFICIENT_EXTRA[4:]),
    *(f"{name}_{end}" for name in ("size", "expected") for end in SLOPE_ENDS),
)
BLOCKED_TEST = ("statistic_blocked", "df_blocked", "p_blocked")
BLOCKED_ESTIMATE = ("blocked", "blocked_low", "blocked_high", "p_blocked", "p_blocked_adjusted")


def list_price_tests(table: pd.DataFrame, condition: str = "control") -> pd.DataFrame:
    """Test H1: the mean of response - list price against 0, by agent, product and over all.

    The effect size is Cohen's d = mean / sd. table: as `measures` returns it. condition: which responses are
    tested, or "all" of them. `p_adjusted` is over the products of an agent; the row over all products is a
    family of its own. Extra columns: item, condition, unit, side, df, effect_size; and over all products
    `blocked`, the mean over products (of an agent), with its interval `blocked_low` to `blocked_high`,
    `p_blocked`, and `p_blocked_adjusted` over all agents.

    Raises AnalysisError for a condition that the table does not have.
    """
    if condition != ALL_CONDITIONS and condition not in set(table["condition"]):
        present = ", ".join(sorted(set(table["condition"])))
        raise AnalysisError(f"condition: {condition!r} is not in the table; use all or one of: {present}")
    asked = table if condition == ALL_CONDITIONS else table[table["condition"] == condition]
    rows = []
    agents = [str(agent) for agent in sorted(asked["agent"].unique())]
    items = [str(item) for item in sorted(asked["item"].unique())]
    for agent in [*([ALL_AGENTS] if len(agents) > 1 else []), *agents]:
        own = asked if agent == ALL_AGENTS else asked[asked["agent"] == agent]
        for item in [*([ALL_ITEMS] if len(items) > 1 else []), *items]:
            cell = own if item == ALL_ITEMS else own[own["item"] == item]
            sample = summarize(cell["deviation"])
            row: dict[str, object] = one_sample_t(sample).row()
            if item == ALL_ITEMS or len(items) == 1:
                blocked, _ = blocks_of(cell.assign(all=""), ["all"], ["item", "agent"], "deviation")
                row = _with_note(row, _by_block(blocked.test(np.ones((1, 1)))))
            rows.append(
                row
                | {
                    "term": "deviation",
                    "group": agent,
                    "n": sample.n,
                    "n_missing": len(cell) - sample.n,
                    "item": item,
                    "condition": condition,
                    "unit": "response",
                }
            )
    frame = result_frame(rows, "item", "condition", "unit", "side", "df", "effect_size", *BLOCKED_ESTIMATE)
    frame = frame.astype(dict.fromkeys(BLOCKED_ESTIMATE, float))
    by_family = frame.groupby(["group", frame["item"] == ALL_ITEMS])["p_value"]
    frame["p_adjusted"] = by_family.transform(benjamini_hochberg)
    of_agents = frame["p_blocked"].where(frame["group"] != ALL_AGENTS)
    return frame.assign(p_blocked_adjusted=benjamini_hochberg(of_agents))


def _by_block(test: BlockedTest) -> dict[str, object]:
    return {
        "blocked": test.estimate,
        "blocked_low": test.conf_low,
        "blocked_high": test.conf_high,
        "p_blocked": test.p_value,
        "note": test.note,
    }


def anovas(table: pd.DataFrame) -> pd.DataFrame:
    """Test H2, H3 and H4 by type III analyses of variance, with treatment and with sum coding.

    H2: absolute deviation by agent, all conditions. H3: willingness to pay by condition, over all agents and
    for each. H4: condition x agent, for willingness to pay and for the absolute deviation.

    With treatment coding the reference is the alphabetically first level, so that the intercept row tests the
    mean of the reference cell, and a main effect beside an interaction is the simple effect at the reference
    of the other factor. Sum coding gives the usual main effects.

    Pooled over products, the differences of products count as noise, and the test has hardly any power. Extra
    columns statistic_blocked (F), df_blocked (of its denominator), p_blocked: the same hypothesis about the
    means over blocks, with variances of their own. A block is a product (H4), with an agent (H3), or a
    prompt (H2).
    """
    rows = []
    for coding in CODINGS:
        rows += _anova_rows(table, "H2", ["agent"], "apd", coding)
        rows += _anova_rows(table, "H3", ["condition"], "wtp", coding)
        if table["agent"].nunique() > 1:
            for agent, own in table.groupby("agent", sort=True):
                rows += _anova_rows(own, "H3", ["condition"], "wtp", coding, str(agent))
        for outcome in OUTCOMES:
            rows += _anova_rows(table, "H4", ["condition", "agent"], outcome, coding)
    return result_frame(rows, *ANOVA_EXTRA, *BLOCKED_TEST)


def condition_coefficients(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate H3: willingness to pay on dummies of the condition, reference control.

    The estimates are over all agents and for each. The intercept is the control mean, the coefficients are
    differences from it; standard errors come from the pooled residual variance, with N - rank degrees of
    freedom. `p_adjusted` is over the differences of an agent.

    Extra columns: `blocked`, the mean or difference within products (of an agent), averaged over these, with
    its interval `blocked_low` to `blocked_high`, `p_blocked`, and `p_blocked_adjusted` over all differences.
    It is about products like these: each counts once, however often it was asked about.
    """
    groups = {ALL_AGENTS: table} if table["agent"].nunique() > 1 else {}
    groups |= {str(agent): own for agent, own in table.groupby("agent", sort=True)}
    rows = []
    for group, own in groups.items():
        base = _labels("H3", group, own, "response", "wtp") | {"coding": "treatment"}
        cells = group_cells(own, ["condition"], "response")
        # The reference is the control even where another condition's name comes before it.
        levels = sorted(set(cells["condition"]), key=lambda name: (name != "control", name))
        if len(levels) < 2 or levels[0] != "control":
            rows.append(
                base | {"term": "condition", "note": "undefined: needs control and another condition"}
            )
            continue
        cells["condition"] = pd.Categorical(cells["condition"], categories=levels)
        fit = fit_cells(full_factorial(cells, ["condition"]), cells)
        blocked = _blocked_differences(own)
        rows += [
            _with_note(base | row | {"reference": "control"}, blocked.get(str(row["term"]), {}))
            for row in fit.coefficient_rows()
        ]
    frame = result_frame(rows, *COEFFICIENT_EXTRA, *BLOCKED_ESTIMATE)
    frame = frame.astype(dict.fromkeys(BLOCKED_ESTIMATE, float))
    difference = frame["term"] != "Intercept"
    by_group = frame["p_value"].where(difference).groupby(frame["group"])
    frame["p_adjusted"] = by_group.transform(benjamini_hochberg)
    frame["p_blocked_adjusted"] = benjamini_hochberg(frame["p_blocked"].where(difference))
    return frame


def _blocked_differences(own: pd.DataFrame) -> dict[str, dict[str, object]]:
    """The columns by block of the control mean, and of each condition's difference from it."""
    cells, conditions = blocks_of(own, ["condition"], ["item", "agent"], "response")
    names = conditions["condition"].tolist()
    found = dict[str, dict[str, object]]()
    for name in names:
        differs = name != "control"
        weights = [float(each == name) - float(differs and each == "control") for each in names]
        test = cells.test(np.array([weights]))
        found[f"condition[{name}]" if differs else INTERCEPT] = _by_block(test)
    found.get(INTERCEPT, {}).update(p_blocked=np.nan)  # that a price differs from nothing is no finding
    return found


def _with_note(row: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    """The row with more columns; their note comes after its own."""
    return row | more | {"note": join_notes(str(row.get("note", "")), str(more.get("note", "")))}


def agent_comparisons(
    table: pd.DataFrame, cells: pd.DataFrame, generations: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Test H5: the absolute price deviation of two agents, second minus first, by four methods.

    cells: the frame of `prompts`. Methods: Welch's t over prompts (the means by prompt are the data),
    Welch's t over responses, Student's t over responses; and, after the rows of all pairs, the paired t over
    prompts that both agents answered: what a prompt does to both is no chance. With generations, older is
    compared with newer, within a family where the table names families; without, every pair in
    alphabetical order. The sign is the same in all columns, that of percent_change; Algorithm 5 of the
    method has t and d of the first minus the second. Extra columns: first, second, method, unit, side,
    df, effect_size, percent_change (of the first's mean).
    """
    family = table.groupby("agent")["family"].first()
    asked = table.groupby("agent").size()
    by_response = {str(agent): summarize(own) for agent, own in table.groupby("agent")["apd"]}
    by_prompt = {str(agent): summarize(own) for agent, own in cells.groupby("group")["mean_apd"]}
    rows = []
    for first, second in _pairs(sorted(asked.index), generations, family):
        n = by_response[first].n + by_response[second].n
        shared = {
            "term": f"{second} - {first}",
            "group": "agents",
            "n": n,
            "n_missing": int(asked[first] + asked[second]) - n,
            "first": first,
            "second": second,
        }
        methods: list[tuple[str, str, dict[str, Summary], bool]] = [
            ("Welch", "prompt", by_prompt, False),
            ("Welch", "response", by_response, False),
            ("Student", "response", by_response, True),
        ]
        for method, unit, samples, pooled in methods:
            older, newer = samples[first], samples[second]
            test = two_sample_t(older, newer, pooled=pooled)
            change = 100 * (newer.mean - older.mean) / older.mean if older.mean else np.nan
            rows.append(
                shared
                | test.row()
                | {
                    "method": method,
                    "unit": unit,
                    "percent_change": change,
                    "note": join_notes(test.note, "no percentage of 0" if older.mean == 0 else ""),
                }
            )
    rows += [_paired(cells, row) for row in rows if (row["method"], row["unit"]) == ("Welch", "prompt")]
    extra = ("first", "second", "method", "unit", "side", "df", "effect_size", "percent_change")
    return result_frame(rows, *extra)


def _paired(cells: pd.DataFrame, unpaired: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the paired t test of two agents over their prompts; d is the mean over sd of differences."""
    first, second = unpaired["first"], unpaired["second"]
    means = cells.pivot(index=["item", "condition"], columns="group", values="mean_apd")
    both = means.reindex(columns=[first, second]).dropna()
    found = one_sample_t(summarize(both[second] - both[first]))
    base = float(both[first].mean())
    change = 100 * found.estimate / base if base else np.nan
    note = join_notes(found.note, "no percentage of 0" if base == 0 else "")
    return dict(unpaired) | found.row() | {"method": "paired", "percent_change": change, "note": note}


def generation_model(
    table: pd.DataFrame, generations: Mapping[str, str], sizes: Mapping[str, float]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Fit H5: the absolute deviation on generation x condition x size (billions).

    The fit is by least squares with treatment coding. Returns the type III tests, the coefficients, the cells
    that exist (generation, size, condition, n, mean), and the simple slopes: the change of the deviation per
    billion parameters in each generation and condition (Aiken and West 1991), and the deviation that the fit
    expects at the generation's least and largest size. What the design does not identify, as with one size
    per generation, is refused with the reason, and the true rank gives the degrees of freedom. Agents without
    generation or size are left out.
    """
    known = table[table["agent"].isin(set(generations) & set(sizes))]
    data = known.assign(
        generation=known["agent"].map(generations).astype(str), size=known["agent"].map(sizes).astype(float)
    )
    factors = ["generation", "condition", "size"]
    base = _labels("H5", "agents of known size", table, "apd", "apd") | {"coding": "treatment"}
    base |= {"n": int(data["apd"].notna().sum()), "n_missing": len(table) - int(data["apd"].notna().sum())}
    cells = group_cells(data, factors, "apd")
    shown = cells.drop(columns="ss")
    constant = [name for name in factors if cells.empty or cells[name].nunique() < 2]
    if constant:
        note = f"undefined: {' and '.join(constant)} does not vary over agents of known generation and size"
        empty = [base | {"term": ":".join(factors), "note": note}]
        none = result_frame([], *SLOPE_EXTRA)
        return result_frame(empty, *ANOVA_EXTRA), result_frame(empty, *COEFFICIENT_EXTRA), shown, none
    fit = fit_cells(full_factorial(cells, factors), cells)
    base["reference"] = ", ".join(str(cells[name].min()) for name in factors[:2])
    tests = [base | row | {"df_residual": fit.df_residual} for row in fit.anova_rows()]
    coefficients = [base | row for row in fit.coefficient_rows()]
    slopes = [base | row for row in _simple_slopes(fit, cells, factors)]
    return (
        result_frame(tests, *ANOVA_EXTRA),
        result_frame(coefficients, *COEFFICIENT_EXTRA),
        shown,
        result_frame(slopes, *SLOPE_EXTRA),
    )


def _simple_slopes(fit: LinearFit, cells: pd.DataFrame, factors: list[str]) -> Iterator[dict[str, object]]:
    """The slope over the last factor, a number, in each combination of the others."""
    *groups, number = factors
    levels = [sorted(cells[name].unique()) for name in groups]
    every = pd.DataFrame(list(product(*levels)), columns=groups)
    one, zero = (full_factorial(every.assign(**{number: value}), factors).matrix for value in (1.0, 0.0))
    sizes = cells.groupby(groups[0])[number].agg(["min", "max"])
    for row, contrast, start in zip(every.to_dict("records"), one - zero, zero, strict=True):
        told: dict[str, object] = {"term": f"slope of {number}", **{str(key): row[key] for key in row}}
        if not fit.is_estimable(contrast):
            yield told | {"note": INESTIMABLE}
            continue
        for end, at in zip(SLOPE_ENDS, sizes.loc[row[groups[0]]], strict=True):
            point = start + at * contrast
            expected = float(point @ fit.solution) if fit.is_estimable(point) else np.nan
            told |= {f"size_{end}": at, f"expected_{end}": expected}
        estimate = float(contrast @ fit.solution)
        error = float(np.sqrt(fit.variance * (contrast @ fit.covariance @ contrast)))
        if not error > 0:
            yield told | {"estimate": estimate, "note": "no residual variance: no test"}
            continue
        test = student(estimate, error, fit.df_residual)
        yield told | {"estimate": estimate, **test, "df": fit.df_residual}


def version_key(label: str) -> tuple[tuple[int, float, str], ...]:
    """Return a key that sorts generations with numbers as numbers, so that 3.1 < 3.3 < 4 < 10."""
    parts = re.findall(r"\d+(?:\.\d+)?|\D+", label)
    return tuple((0, float(part), "") if part[0].isdigit() else (1, 0.0, part) for part in parts)


def _anova_rows(
    table: pd.DataFrame,
    hypothesis: str,
    factors: list[str],
    outcome: str,
    coding: Coding,
    group: str = ALL_AGENTS,
) -> list[dict[str, object]]:
    if table["agent"].nunique() == 1:
        group = str(table["agent"].iloc[0])
    base = _labels(hypothesis, group, table, OUTCOMES[outcome], outcome) | {"coding": coding}
    cells = group_cells(table, factors, OUTCOMES[outcome])
    single = [factor for factor in factors if cells.empty or cells[factor].nunique() < 2]
    if single:
        note = f"undefined: needs two or more levels of {' and '.join(single)}"
        return [base | {"term": ":".join(factors), "note": note}]
    absent = empty_cells(cells, factors)
    fit: LinearFit = fit_cells(full_factorial(cells, factors, coding), cells)
    if coding == "treatment":
        base["reference"] = ", ".join(str(cells[factor].min()) for factor in factors)
    missing = f"empty cells: {', '.join(absent)}" if absent else ""
    rows = [base | row | {"df_residual": fit.df_residual} for row in fit.anova_rows()]
    blocked = _blocked_tests(table, factors, BLOCKS[hypothesis], OUTCOMES[outcome], coding)
    return [_with_note(_with_note(row, {"note": missing}), blocked.get(str(row["term"]), {})) for row in rows]


BLOCKS = {"H2": ["item", "condition"], "H3": ["item", "agent"], "H4": ["item"]}
"""What is held in the tests by block: what differs between answers and is no factor of the hypothesis."""


def _blocked_tests(
    table: pd.DataFrame, factors: list[str], blocks: list[str], column: str, coding: Coding
) -> dict[str, dict[str, object]]:
    """The columns of the test by block, of each term but the intercept."""
    cells, conditions = blocks_of(table, factors, blocks, column)
    contrasts = term_contrasts(full_factorial(conditions, factors, coding))
    found = {}
    for term, contrast in (contrasts or {}).items():
        test = cells.test(contrast) if term != INTERCEPT else BlockedTest()
        found[term] = {
            "statistic_blocked": test.statistic,
            "df_blocked": test.df,
            "p_blocked": test.p_value,
            "note": test.note,
        }
    return found


def _labels(hypothesis: str, group: str, table: pd.DataFrame, column: str, outcome: str) -> dict[str, object]:
    n = int(table[column].notna().sum())
    return {
        "group": group,
        "n": n,
        "n_missing": len(table) - n,
        "hypothesis": hypothesis,
        "outcome": outcome,
        "unit": "response",
    }


def _pairs(
    agents: list[str], generations: Mapping[str, str] | None, family: "pd.Series[str]"
) -> list[tuple[str, str]]:
    if generations is None:
        return list(combinations(agents, 2))
    dated = sorted((a for a in agents if a in generations), key=lambda a: (version_key(generations[a]), a))
    return [
        (older, newer)
        for older, newer in combinations(dated, 2)
        if generations[older] != generations[newer] and family[older] == family[newer]
    ]
