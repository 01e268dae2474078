"""No percentage of a probability leaves -100 to 100, however few and extreme the choices are."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.choice import analyze_choice
from analysis.choice.effects import LESS_PLACEBO
from analysis.choice.report import report
from tests.analysis.conftest import simulate_study
from tests.support import size

CHANGES = {
    **dict.fromkeys(
        ("effects", "nudge_texts", "categories", "profiles", "set_sizes", "slopes"),
        ("estimate", "conf_low", "conf_high"),
    ),
    "equal_attrition": ("estimate",),
    "bounds": ("low", "high"),
    "logit": ("linear", "logit"),
}
"""Columns of changes of a probability, in percentage points: from -100 to 100."""
SHARES = {
    **dict.fromkeys(("positions", "curves", "factors"), ("estimate", "conf_low", "conf_high")),
    "attrition": ("share", "conf_low", "conf_high"),
    "step_counts": ("share",),
}
"""Columns of shares, in percent, or of 1: from 0 to 100."""
DIFFERENCES = {"profile_differences": ("estimate", "conf_low", "conf_high")}
"""Columns of differences of two changes: from -200 to 200."""

RULES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "first": lambda table: table["position"] == 0,
    "last": lambda table: table["position"] == table.groupby("trial")["position"].transform("max"),
    "nudged": lambda table: table["nudged"] + 0.1 * (table["position"] == 0),
    "not nudged": lambda table: -table["nudged"] + 0.1 * (table["position"] == 0),
    "cheapest": lambda table: -table["price"],
    "dearest": lambda table: table["price"],
    "by name": lambda table: table["option"],
}


LEVELS = ("nudge_texts", "categories", "profiles", "profile_differences", "set_sizes")
"""The tables of effects by level: they have their counts in columns of their own."""


@st.composite
def studies(draw: st.DrawFn) -> pd.DataFrame:
    """A few sets, prices hardly or far apart, a rule in each half of the trials, some without a choice."""
    table = simulate_study(
        draw(st.integers(0, 99)),
        sets=draw(st.integers(1, 14)),
        size=draw(st.integers(2, 3)),
        nudges=draw(st.integers(1, 3)),
        nudges_per_set=1,
        categories=draw(st.integers(1, 14)),
    ).table
    table["price"] = 100 + draw(st.sampled_from([0.001, 1, 90])) * (table["price"].rank(pct=True) - 0.5)
    if draw(st.booleans()):
        again = table.assign(profile="hurried", trial=table["trial"] + "-hurried")
        table = pd.concat([table, again], ignore_index=True)
    trial = pd.factorize(table["trial"])[0]
    half = trial % draw(st.sampled_from([2, len(trial)])) == 0
    rules = [RULES[draw(st.sampled_from([*RULES]))](table) for _ in range(2)]
    value = np.where(half, *(pd.Series(each, table.index).rank() for each in rules))
    best = pd.Series(value).groupby(table["trial"]).transform(lambda own: own.index == own.idxmax())
    lost = trial % 5 == draw(st.integers(0, 9))
    return table.assign(
        chosen=best.astype("Int64").mask(lost), outcome=np.where(lost, "agent_limit", "choice"), steps=4
    )


@pytest.mark.slow
@settings(max_examples=size(8, 40), deadline=None)
@given(studies())
def test_no_table_and_no_json_holds_an_impossible_percentage(table: pd.DataFrame) -> None:
    found = analyze_choice(table)
    tables = {each.name: each.frame for section in report(found).sections for each in section.tables}
    printed = {name: frame.to_dict("records") for name, frame in tables.items()}
    for frames in (printed, json.loads(found.to_json())):
        for columns, low, high in ((CHANGES, -100, 100), (SHARES, 0, 100), (DIFFERENCES, -200, 200)):
            for name in columns:
                for row in frames.get(name) or ():
                    scale = 2 if row.get("term") == LESS_PLACEBO else 1
                    known = [row[column] for column in columns[name] if pd.notna(row[column])]
                    assert all(scale * low <= value <= scale * high for value in known), (name, row)


@pytest.mark.slow
@settings(max_examples=size(4, 60), deadline=None)
@given(table=studies(), few=st.sampled_from([1, 2, 3, 12]), texts=st.sampled_from([1, 3]))
def test_each_row_has_an_honest_error_or_counts_and_a_reason(
    table: pd.DataFrame, few: int, texts: int
) -> None:
    """Of one set, of one text, of sets that are all alike, of agents that follow a rule: also then."""
    sets = table["set"].isin(table["set"].unique()[:few])
    carried = table.groupby("trial")["nudge_text"].transform("max")
    kept = table[sets & carried.isin(["", *sorted(set(carried) - {""})[:texts]])]
    found = analyze_choice(kept)
    for name in ("effects", "slopes", *LEVELS):
        for row in getattr(found, name).to_dict("records"):
            known = [pd.notna(row[each]) for each in ("std_error", "p_value", "conf_low", "conf_high")]
            assert all(known) or not any(known), (name, row)
            if any(known):
                assert row["std_error"] > 0 and pd.notna(row["estimate"]), (name, row)
                continue
            assert row["note"], (name, row)
            if pd.notna(row["estimate"]):
                counts = {key for key in row if key in ("strata", "sets")}
                assert counts or "choice sets for " in row["note"], (name, row)


@pytest.mark.slow
def test_the_counts_of_a_row_without_an_error_are_those_of_its_sets() -> None:
    """Six sets, of which the cheaper product is always chosen in four, and never in the other two."""
    table = simulate_study(sets=6, nudges=1, nudges_per_set=1).table
    cheapest = table.groupby("trial")["price"].transform("min") == table["price"]
    against = table["set"].isin(["set1", "set4"])
    found = analyze_choice(table.assign(chosen=(cheapest ^ against).astype(int)))
    counts = "no interval: fewer than 12 choice sets; choice sets for 4, against 2, of 6"
    assert found.effects.set_index("term").loc["cheaper", "note"] == counts
    assert found.slopes.set_index("term").loc["price_advantage", "note"] == counts


@pytest.mark.slow
def test_a_slope_beyond_any_probability_is_empty_with_its_reason() -> None:
    """Prices that differ by a thousandth decide every choice: 10 % would change a probability by far more."""
    table = simulate_study(sets=14, nudges_per_set=1).table
    table["price"] = 100 + 0.001 * table["price"].rank()
    cheapest = table.groupby("trial")["price"].transform("min") == table["price"]
    slopes = analyze_choice(table.assign(chosen=cheapest.astype(int))).slopes.set_index("term")
    row = slopes.loc["price_advantage"]
    assert row[["estimate", "conf_low", "conf_high", "p_value"]].isna().all()
    assert row["note"].endswith("can change: the differences are smaller than the unit of this slope")
