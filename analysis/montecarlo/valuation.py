"""Measure willingness to pay by response, prompt and agent.

A prompt is one product in one condition, asked many times. References: the spread, validity and deviation
measures of Monte-Carlo evaluation of language models.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.shares import ShareInterval, share_interval
from analysis.estimators.t_tests import one_sample_t, summarize, wald_interval, wilson_interval
from analysis.tables.choice_table import refuse
from analysis.tables.frame import counted, join_notes, result_frame
from analysis.tables.responses_table import check_words
from analysis.tables.table_file import RowPlaces

CONTROL, LOW, HIGH = "control", "low", "high"
PRECISION: Final = 0.02
"""The share of the mean that its standard error, or half its interval, is wanted to be."""


def measures(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with `deviation` (response - reference), `apd` (its absolute value) and `valid`.

    table: as `check_responses` returns it. valid: 1 if low <= response <= high, else 0; NaN where one of the
    three is missing. Values are never clipped.

    Raises AnalysisError for a response below 0, another condition than control, low and high, or a product
    with several list prices or market ranges.
    """
    places = RowPlaces(table)
    below = "response is below 0, which no willingness to pay is; leave it empty and give the reason"
    refuse(table, table["response"] < 0, places, "response", below)
    check_words(table, "condition", (CONTROL, LOW, HIGH))
    for name in ("reference", "low", "high"):
        differs = table[name] != table.groupby("item")[name].transform("first")
        problem = f"{name} differs between rows of the same item; use one"
        refuse(table, table[name].notna() & differs, places, name, problem)
    deviation = table["response"] - table["reference"]
    inside = table["response"].between(table["low"], table["high"]).astype(float)
    known = table[["response", "low", "high"]].notna().all(axis=1)
    return table.assign(deviation=deviation, apd=deviation.abs(), valid=inside.where(known))


def prompts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean willingness to pay by agent, product and condition, with its t interval.

    Extra columns: item, condition, unit, side, std_dev, mean_deviation, mean_apd, valid_share, ranged (the
    responses that have a market range), valid_count.
    """
    rows = []
    for (agent, item, condition), cell in table.groupby(["agent", "item", "condition"], sort=True):
        sample = summarize(cell["response"])
        test = one_sample_t(sample)
        row = test.row() | {
            "term": "wtp",
            "group": agent,
            # That a price differs from nothing is no finding.
            "statistic": np.nan,
            "p_value": np.nan,
            "n": sample.n,
            "n_missing": len(cell) - sample.n,
            "item": item,
            "condition": condition,
            "unit": "response",
            "std_dev": sample.sd,
            "mean_deviation": summarize(cell["deviation"]).mean,
            "mean_apd": summarize(cell["apd"]).mean,
            "valid_share": summarize(cell["valid"]).mean,
            "ranged": int(cell["valid"].notna().sum()),
            "valid_count": int(cell["valid"].sum()),
        }
        if test.std_error == 0:
            row["note"] = "all responses are equal: no interval"
        rows.append(row)
    extra = ("std_dev", "mean_deviation", "mean_apd", "valid_share", "ranged", "valid_count")
    return result_frame(rows, "item", "condition", "unit", "side", *extra)


def variation(table: pd.DataFrame) -> pd.DataFrame:
    """Return the coefficient of variation, sd / mean, by agent and product in the control condition.

    Extra columns: `answers_error`, `answers_interval`: the answers that a question needs, so that the
    standard error of its mean, or half its 95 % interval, is `PRECISION` of the mean: (cv / precision)^2, and
    times the squared normal quantile; item, condition, unit.
    """
    rows = []
    for (agent, item), cell in table.groupby(["agent", "item"], sort=True):
        asked = cell[cell["condition"] == CONTROL]
        sample = summarize(asked["response"])
        estimate, note = np.nan, ""
        if sample.n < 2:
            note = f"undefined: {counted(sample.n, 'response')} in the control condition"
        elif sample.mean == 0:
            note = "undefined: the mean is 0"
        else:
            estimate = sample.sd / sample.mean
        rows.append(
            {
                "term": "coefficient_of_variation",
                "group": agent,
                "estimate": estimate,
                "n": sample.n,
                "n_missing": len(asked) - sample.n,
                "note": note,
                "item": item,
                "condition": CONTROL,
                "unit": "response",
                "answers_error": np.ceil((estimate / PRECISION) ** 2),
                "answers_interval": np.ceil((stats.norm.ppf(0.975) * estimate / PRECISION) ** 2),
            }
        )
    return result_frame(rows, "item", "condition", "unit", "answers_error", "answers_interval")


def valid_share(cells: pd.DataFrame) -> pd.DataFrame:
    """Return CSVR, the unweighted mean over prompts of the share of valid responses, with three intervals.

    cells: the frame of `prompts`. The row `wilson` has Wilson's score interval of the pooled counts (unit:
    response), the row `wald` the published Wald interval over the number of prompts, clipped to [0, 1], which
    takes a prompt for one answer and is many times too wide. After the rows of all agents, `stratified` is
    the interval about these prompts: what they differ in is no chance (see `share_interval`). Extra column
    pooled: valid / responses, the centre that Wilson's interval belongs to.
    """
    rows: list[dict[str, object]] = []
    stratified: list[dict[str, object]] = []
    for agent, own in cells.groupby("group", sort=True):
        used = own[own["ranged"] > 0]
        share = summarize(used["valid_share"]).mean
        n, valid = int(used["ranged"].sum()), int(used["valid_count"].sum())
        asked = int(own["n"].sum() + own["n_missing"].sum())
        left_out = len(own) - len(used)
        note = "" if n else "undefined: no response with a market range"
        if n and left_out:
            note = f"{counted(left_out, 'prompt')} left out: no response with a market range"
        pooled = valid / n if n else np.nan
        if n and abs(pooled - share) > 1e-9:
            unequal = f"prompts differ in their number of responses: the interval is that of {pooled:.3f}"
        else:
            unequal = ""
        intervals = {
            "wilson": ("response", wilson_interval(valid, n), join_notes(note, unequal)),
            "wald": (
                "prompt",
                wald_interval(share, len(used)),
                join_notes(note, "clipped to [0, 1]" * bool(n)),
            ),
        }
        low, high, _, rare = _stratified(used)
        intervals["stratified"] = ("response", (low, high), join_notes(note, rare))
        for interval, (unit, (low, high), remark) in intervals.items():
            (stratified if interval == "stratified" else rows).append(
                {
                    "term": "csvr",
                    "group": agent,
                    "estimate": share,
                    "conf_low": low,
                    "conf_high": high,
                    "n": n,
                    "n_missing": asked - n,
                    "note": remark,
                    "interval": interval,
                    "unit": unit,
                    "pooled": pooled,
                    "prompts": len(used),
                }
            )
    return result_frame([*rows, *stratified], "interval", "unit", "pooled", "prompts")


def _stratified(used: pd.DataFrame) -> ShareInterval:
    """The interval for these prompts; used: rows of `prompts` with responses that have a market range."""
    n, valid = used["ranged"].to_numpy(int), used["valid_count"].to_numpy(int)
    prompt, number = np.repeat(np.arange(n.size), n), np.concatenate([[], *map(np.arange, n)])
    return share_interval(number < valid[prompt], np.ones(prompt.size), prompt, 1 / n[prompt])


def price_deviation(cells: pd.DataFrame) -> pd.DataFrame:
    """Return MAPD, the mean over prompts of the mean absolute price deviation, with its t interval.

    cells: the frame of `prompts`. The interval is over prompts, so it is about new prompts like these. Extra
    columns: unit, std_dev (over prompts), prompts.
    """
    rows = []
    for agent, own in cells.groupby("group", sort=True):
        sample = summarize(own["mean_apd"])
        test = one_sample_t(sample)
        used = own[own["mean_apd"].notna()]
        note = {0: "undefined: no response with a list price", 1: "one prompt: no interval"}.get(sample.n, "")
        if sample.n and sample.n < len(own):
            left_out = f"{counted(len(own) - sample.n, 'prompt')} left out: no response with a list price"
            note = join_notes(note, left_out)
        if test.std_error == 0:
            note = join_notes(note, "all prompts are equal: no interval")
        asked = int(own["n"].sum() + own["n_missing"].sum())
        rows.append(
            {
                "term": "mapd",
                "group": agent,
                "estimate": sample.mean,
                "std_error": test.std_error,
                "conf_low": test.conf_low,
                "conf_high": test.conf_high,
                "n": int(used["n"].sum()),
                "n_missing": asked - int(used["n"].sum()),
                "note": note,
                "unit": "prompt",
                "std_dev": sample.sd,
                "prompts": sample.n,
            }
        )
    return result_frame(rows, "unit", "std_dev", "prompts")


def anchor_correlation(low: pd.DataFrame, high: pd.DataFrame) -> tuple[float, float, str]:
    """Compute Pearson's r of response and anchor, its two-sided p, and why it is undefined.

    The correlation is over both conditions. Without anchors in the table two codes stand for them: any two
    distinct ones give the same r.
    """
    if low.empty or high.empty:
        return np.nan, np.nan, f"undefined: no response in the {'low' if low.empty else 'high'} condition"
    both = pd.concat([low.assign(code=0.0), high.assign(code=1.0)])
    anchors = both["anchor"] if both["anchor"].notna().all() else both["code"]
    if both["response"].nunique() == 1:
        return np.nan, np.nan, "undefined: all responses are equal"
    if anchors.nunique() == 1:
        return np.nan, np.nan, "undefined: the anchors are equal"
    if both.groupby(anchors)["response"].nunique().eq(1).all() and anchors.nunique() == 2:
        # Rounding must not keep a perfect correlation from 1.
        means = both.groupby(anchors)["response"].first()
        perfect = float(np.sign(means.iloc[1] - means.iloc[0]))
        if len(both) == 2:
            return perfect, np.nan, "two responses: no test"
        return perfect, 0.0, "degenerate: no variance within the conditions, so t is infinite"
    found = stats.pearsonr(anchors, both["response"])
    return float(found.statistic), float(found.pvalue), ""


def anchor_correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Return correlations of willingness to pay with the anchor: by agent and product, by agent, overall.

    An agent's value is the arithmetic mean over its products, the overall one that over the agents; what is
    undefined is left out and counted in the note. Extra columns: item, unit, side.
    """
    rows = list(_product_correlations(table))
    products = pd.DataFrame(rows)
    agents = [
        _mean_correlation(str(agent), own, "product") for agent, own in products.groupby("group", sort=True)
    ]
    overall = _mean_correlation("all agents", pd.DataFrame(agents), "agent")
    return result_frame([*rows, *agents, overall], "item", "unit", "side")


def _product_correlations(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    for (agent, item), cell in table.groupby(["agent", "item"], sort=True):
        asked = cell[cell["condition"].isin([LOW, HIGH])]
        given = asked[asked["response"].notna()]
        low, high = (given[given["condition"] == condition] for condition in (LOW, HIGH))
        r, p_value, note = anchor_correlation(low, high)
        yield {
            "term": "anchor_correlation",
            "group": agent,
            "estimate": r,
            "p_value": p_value,
            "n": len(given),
            "n_missing": len(asked) - len(given),
            "note": note,
            "item": item,
            "unit": "response",
            "side": "two-sided",
        }


def _mean_correlation(group: str, parts: pd.DataFrame, noun: str) -> dict[str, object]:
    defined = parts["estimate"].notna()
    left_out = int((~defined).sum())
    note = (
        f"mean over {counted(int(defined.sum()), noun)}" if defined.any() else f"undefined for every {noun}"
    )
    return {
        "term": "anchor_correlation",
        "group": group,
        "estimate": parts["estimate"].mean(),
        "n": int(parts["n"].sum()),
        "n_missing": int(parts["n_missing"].sum()),
        "note": join_notes(note, f"{left_out} left out: undefined" if left_out else ""),
        "item": f"all {'products' if noun == 'product' else 'agents and products'}",
        "unit": noun,
    }
