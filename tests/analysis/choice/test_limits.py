"""No percentage of a probability leaves -100 to 100, however few and extreme the choices are."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.choice import analyze_choice
from analysis.choice.effects.effects import LESS_PLACEBO
from analysis.choice.report.report import report
from tests.analysis.conftest import lose, simulate_study
from tests.support import size

SHARES = {"attrition", "positions", "curves", "difference_curves", "factors", "step_counts"}
"""Tables of shares, in percent, or of 1: from 0 to 100. Of the others a percentage is from -100 to 100."""
DIFFERENCES = {"profile_differences", "modality_differences"}
"""Tables of differences of two changes: from -200 to 200."""
NO_PROBABILITIES = {"tradeoffs", "logit_agreement", "steps", "treatment", "outcomes"}
"""Tables of other things: part-worths and prices, a correlation, numbers of steps, counts of receipts and of
outcomes (whose shares are in `attrition`)."""
NO_PERCENTAGES = {
    "std_error", "statistic", "n", "n_missing", "count", "trials", "chosen", "options", "position", "steps",
    "effective_n", "value", "level", "rank", "named", "rejected", "unreadable", "most", "repeated",
    "incomplete", "waiting", "strata_for", "strata_against", "strata", "sets_for", "sets_against", "sets",
    "ratio", "ratio_low", "ratio_high",
}  # fmt: skip
"""Columns of other things than percentages: errors, counts, and the difference that a curve is over."""

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
def studies(draw: st.DrawFn, agents: Sequence[str] = ("one",)) -> pd.DataFrame:
    """A few sets, prices hardly or far apart, each agent's answers as `answered`."""
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
        again = table.assign(profile="hurried", modality="tree", trial=table["trial"] + "-hurried")
        first = table.assign(profile="none", modality=draw(st.sampled_from(["html", "tree"])))
        table = pd.concat([first, again], ignore_index=True)
    return pd.concat([answered(draw, table).assign(agent=agent) for agent in agents], ignore_index=True)


def answered(draw: st.DrawFn, table: pd.DataFrame) -> pd.DataFrame:
    """A rule in each half of the trials, some without a choice."""
    trial = pd.factorize(table["trial"])[0]
    half = trial % draw(st.sampled_from([2, len(trial)])) == 0
    rules = [RULES[draw(st.sampled_from([*RULES]))](table) for _ in range(2)]
    value = np.where(half, *(pd.Series(each, table.index).rank() for each in rules))
    best = pd.Series(value).groupby(table["trial"]).transform(lambda own: own.index == own.idxmax())
    lost = trial % 5 == draw(st.integers(0, 9))
    return lose(table.assign(chosen=best, steps=4), lost, "agent_limit")


def out_of_range(name: str, rows: Sequence[dict[str, Any]]) -> list[Any]:
    """What leaves its range in a table: in any of its numbers that is not known to be none of these."""
    low, high = (0, 100) if name in SHARES else (-200, 200) if name in DIFFERENCES else (-100, 100)
    return [
        (name, column, value, row)
        for row in rows
        for column, value in row.items()
        if isinstance(value, int | float) and pd.notna(value) and column not in NO_PERCENTAGES
        for scale in [2 if row.get("term") == LESS_PLACEBO else 1]
        if not scale * low <= value <= scale * high
    ]


def sequence_of(table: pd.DataFrame) -> pd.DataFrame:
    """The trials in their order, two of them a stratum, of a rule that could have stopped them."""
    trials = table[["agent", "trial", "outcome"]].drop_duplicates(["agent", "trial"])
    place = trials.groupby("agent").cumcount()
    won = (place % 3 > 0).astype(int).astype(str).where(trials["outcome"] == "choice", "")
    return pd.DataFrame(
        {"agent": trials["agent"], "place": place, "stratum": (place // 2).astype(str), "won": won}
        | {"question": place.astype(str), "effect": "nudge", "alpha": 0.05, "margin": "", "most": len(place)}
    )


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(5, 40), deadline=None)
@given(studies(("one", "two")), st.booleans())
def test_no_table_and_no_json_holds_an_impossible_percentage(table: pd.DataFrame, could_stop: bool) -> None:
    """Of all tables that the analysis has, also of those that will come."""
    found = analyze_choice(table, margin=4, sequence=sequence_of(table) if could_stop else None)
    frames = {name: each for name, each in vars(found).items() if isinstance(each, pd.DataFrame)}
    tables = {each.name: each.frame for section in report(found).sections for each in section.tables}
    records = [{name: frame.to_dict("records") for name, frame in each.items()} for each in (frames, tables)]
    stored = {name: rows for name, rows in json.loads(found.to_json()).items() if name != "notes"}
    assert stored.keys() >= frames.keys(), "tables that there are not are null"
    for each in (*records, stored):
        for name in each.keys() - NO_PROBABILITIES:
            assert out_of_range(name, each[name] or ()) == []


def test_agents_that_answer_in_opposite_ways_have_no_impossible_mean() -> None:
    """One takes what is nudged, one what is first: a normal distribution of both reaches far beyond 100."""
    table = simulate_study(1, sets=14, nudges=3, nudges_per_set=1, categories=5).table
    both = [table.assign(agent=name, chosen=table[name]) for name in ("nudged", "viewed_first")]
    both[0]["chosen"] = both[0]["chosen"].where(table["condition"] == "nudged", table["viewed_first"])
    found = analyze_choice(pd.concat(both, ignore_index=True))
    row = found.heterogeneity.set_index(["part", "term"]).loc[("agent", "nudged")]
    assert row["estimate"] == pytest.approx(50, abs=0.1)
    assert [row[name] for name in ("conf_low", "conf_high", "predict_low", "predict_high", "sd_high")] == [
        -100, 100, -100, 100, 100,
    ]  # fmt: skip


@pytest.mark.thorough
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


@pytest.mark.thorough
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
