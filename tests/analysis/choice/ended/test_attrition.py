"""Attrition: counts, Wilson's intervals, and the test of equal attrition in its three forms."""

from itertools import chain, permutations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from agents.simulated.tab_shopper import shipped_taste
from analysis.choice import analyze_choice
from analysis.choice.ended.attrition import attrition, compare_by_factor, equal_attrition
from analysis.choice.report.report import report
from analysis.estimators.evenness import by_factor
from analysis.estimators.shares import share_interval
from analysis.tables.choice_table import check_table
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import simulated_trials
from tests.analysis.conftest import lose
from tests.simulated_choices import with_choices
from tests.support import size

Cells = dict[tuple[str, str, str], int]


def table_of(cells: Cells) -> pd.DataFrame:
    """Pairs with the given number of trials by agent, condition and outcome."""
    return pd.DataFrame(
        {"agent": agent, "trial": f"{condition}-{outcome}-{trial}", "set": "s", "option": option}
        | {"position": option, "condition": condition, "outcome": outcome}
        | {"chosen": 1 - option if outcome == "choice" else None}
        for (agent, condition, outcome), count in cells.items()
        for trial, option in product(range(count), (0, 1))
    )


def two_by(*counts: tuple[int, int]) -> pd.DataFrame:
    """One agent, conditions c0, c1 ... with (choices, missing) trials each."""
    cells: Cells = {}
    for i, (choices, missing) in enumerate(counts):
        cells |= {("a", f"c{i}", "choice"): choices, ("a", f"c{i}", "no_choice"): missing}
    return table_of(cells)


def test_counts_shares_and_intervals() -> None:
    found = attrition(
        table_of({("a", "none", "choice"): 8, ("a", "none", "agent_limit"): 2, ("b", "nudged", "choice"): 5})
    )
    columns = ["agent", "condition", "outcome", "count", "trials", "share"]
    assert found[columns].to_numpy().tolist() == [
        ["a", "none", "agent_limit", 2, 10, 0.2],
        ["a", "none", "choice", 8, 10, 0.8],
        ["b", "nudged", "agent_limit", 0, 5, 0.0],
        ["b", "nudged", "choice", 5, 5, 1.0],
    ]
    wilson = proportion_confint(2, 10, method="wilson")
    assert found.loc[0, ["conf_low", "conf_high"]].tolist() == pytest.approx(wilson)
    assert found.loc[2, "conf_low"] == 0 and found.loc[3, "conf_high"] == 1


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        ([(90, 10), (80, 20), (95, 25)], "chi-square, 2 df"),
        ([(10, 1), (5, 6)], "Fisher's exact test: small counts"),
    ],
)
def test_equal_attrition_is_scipys_test(counts: list[tuple[int, int]], note: str) -> None:
    row = equal_attrition(two_by(*counts)).iloc[0]
    large = note.startswith("chi-square")
    expected = stats.chi2_contingency(counts, correction=False) if large else stats.fisher_exact(counts)
    assert row["p_value"] == pytest.approx(expected.pvalue)
    assert row["statistic"] == pytest.approx(expected.statistic if large else np.nan, nan_ok=True)
    assert (row["n"], row["n_missing"]) == tuple(np.sum(counts, axis=0)) and row["note"] == note
    lost = [missing / (choices + missing) for choices, missing in counts]
    assert abs(row["estimate"]) == pytest.approx(100 * (max(lost) - min(lost)))


def test_small_counts_of_more_conditions_use_random_tables() -> None:
    counts = np.array([(6, 0), (5, 1), (2, 4)])
    row = equal_attrition(two_by(*map(tuple, counts))).iloc[0]

    def statistic(missing: tuple[int, ...]) -> float:
        observed = np.column_stack([6 - np.array(missing), missing])
        expected = np.outer([6, 6, 6], [13, 5]) / 18
        return float(((observed - expected) ** 2 / expected).sum())

    exact = sum(
        comb(6, i) * comb(6, j) * comb(6, k) / comb(18, 5)
        for i, j, k in product(range(6), repeat=3)
        if i + j + k == 5 and statistic((i, j, k)) >= statistic((0, 1, 4)) - 1e-9
    )
    assert row["statistic"] == pytest.approx(statistic((0, 1, 4)))
    assert row["p_value"] == pytest.approx(exact, abs=0.01)
    assert row["note"] == "chi-square, 9,999 random tables: small counts"


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ({("a", "only", "choice"): 3, ("a", "only", "no_choice"): 1}, "no test: one condition only"),
        ({("a", "c0", "choice"): 3, ("a", "c1", "choice"): 3}, "no test: no trial lacks a choice"),
        ({("a", "c0", "no_choice"): 3, ("a", "c1", "agent_error"): 3}, "no test: no trial has a choice"),
    ],
)
def test_an_undefined_test_is_empty_with_a_reason(cells: Cells, note: str) -> None:
    row = equal_attrition(table_of(cells)).iloc[0]
    assert pd.isna(row["statistic"]) and pd.isna(row["p_value"])
    assert row["note"] == note


def test_each_agent_is_tested_alone() -> None:
    table = pd.concat([two_by((90, 10), (80, 20)), two_by((50, 5), (50, 5)).assign(agent="b")])
    found = equal_attrition(table).set_index("group")
    assert found.loc["b", "statistic"] == pytest.approx(0)
    assert found.loc["a", "p_value"] < 0.06


@pytest.mark.slow
def test_each_factor_is_compared_where_choices_are_missing() -> None:
    """The order is uneven, the profile is not, the category is one only."""
    rng, table = np.random.default_rng(1), two_by((200, 0))
    number = table.groupby("trial", sort=False).ngroup()
    table = table.assign(
        trial=number.astype(str),
        ordering=np.where(number % 2, "forward", "reversed"),
        profile=np.where(number % 4 < 2, "none", "thrifty"),
        nudge_text="",
        category="c",
    )
    lost = (table["ordering"] == "forward") & table["trial"].isin(rng.permutation(200)[:80].astype(str))
    table = lose(table, lost)
    found = compare_by_factor(check_table(table)).set_index("factor")
    assert found.index.tolist() == ["ordering", "profile"]
    assert set(found["note"]) == {"Mantel-Haenszel within choice sets, 1 df"}
    assert found.loc["ordering", "p_adjusted"] == pytest.approx(2 * found.loc["ordering", "p_value"])
    assert found.loc["ordering", "p_adjusted"] < 0.001 and found.loc["profile", "p_adjusted"] > 0.05
    whole = analyze_choice(table)
    pd.testing.assert_frame_equal(whole.attrition_by_factor.set_index("factor")[[*found]], found)
    said = [each for each in report(whole).problems if "unevenly over ordering" in each]
    assert len(said) == 1 and "profile" not in said[0]
    kept = table.assign(chosen=(table["option"] == 0).astype(int), outcome="choice")
    assert compare_by_factor(check_table(kept)).empty


@pytest.mark.slow
def test_shares_have_the_interval_that_takes_questions_as_draws() -> None:
    """Each printed share, counted here question by question; those of positions set by set."""
    made = simulated_trials(load_shop_design("trios", ""), shipped_taste("balanced"), 600)
    table = with_choices(made, made.drawn(np.random.default_rng(0), 1)[:, 0])
    table = lose(table.drop(columns="trial_id"), table["trial"].isin(table["trial"].drop_duplicates()[::9]))
    trials = table.drop_duplicates("trial")
    carried = table[table["nudged"] == 1].set_index("trial")["option"].reindex(trials["trial"]).fillna("")
    words = trials["nudge"].where(carried.to_numpy() != "", "")
    trials = trials.assign(asked=carried.to_numpy() + words + trials["ordering"] + trials["condition"])
    judged = trials.loc[trials["outcome"] == "choice", ["trial", "agent"]].reset_index(drop=True)
    judged["factor"] = np.where(judged.index % 3, "nudge", "price")
    found = analyze_choice(table, None, judged.assign(judge="j", reason=""))

    def checked(row: dict[str, float], marks: "pd.Series[bool]", asked: pd.DataFrame, scale: float) -> None:
        cells = marks.astype(float).groupby([asked[name] for name in asked]).agg(["sum", "size"])
        strata = cells.index.get_level_values(0) if len(asked.columns) > 1 else None
        low, high, effective, _ = share_interval(cells["sum"], cells["size"], strata)
        assert row["clustered_low"] == pytest.approx(scale * low)
        assert row["clustered_high"] == pytest.approx(scale * high)
        assert row["effective_n"] == pytest.approx(effective)

    for row in found.attrition.to_dict("records"):
        own = trials[trials["condition"] == row["condition"]]
        checked(row, own["outcome"] == row["outcome"], own[["set", "asked"]], 1)
    chosen = table[table["chosen"].notna()]
    for row in found.positions.to_dict("records"):
        own = chosen[chosen["position"] == row["position"] - 1]
        checked(row, own["chosen"] == 1, own[["set"]], 100)
    named = judged.merge(trials[["trial", "set", "asked"]], on="trial")
    for row in found.factors.to_dict("records"):
        checked(row, named["factor"] == row["factor"], named[["set", "asked"]], 100)


def asked_again(lost: "list[tuple[str, str, tuple[int, ...]]]") -> pd.DataFrame:
    """Trials of one agent: by question its set, its condition, and a 1 for each time that it was lost."""
    return pd.DataFrame(
        {"agent": "a", "trial": f"{number}-{repeat}", "set": own, "option": option, "position": option}
        | {"condition": condition, "price": 10 + number}  # the price tells the questions apart
        | {"outcome": "no_choice" if gone else "choice", "chosen": None if gone else 1 - option}
        for number, (own, condition, ends) in enumerate(lost)
        for repeat, gone in enumerate(ends)
        for option in (0, 1)
    )


@settings(max_examples=size(25, 200))
@given(
    st.lists(
        st.tuples(
            st.sampled_from("st"), st.sampled_from(["control", "nudged"]), st.booleans(), st.integers(1, 4)
        ),
        min_size=2,
        max_size=7,
    )
)
def test_questions_are_exchanged_with_their_repeats(asked: list[tuple[str, str, bool, int]]) -> None:
    """Against every exchange there is."""
    table = asked_again([(own, condition, (int(gone),) * times) for own, condition, gone, times in asked])
    row = equal_attrition(table).iloc[0]
    if max(times for *_, times in asked) == 1 or pd.isna(row["p_value"]):
        return
    condition = np.array([each == "nudged" for _, each, _, _ in asked])
    gone = np.array([each for *_, each, _ in asked], float)
    sets = np.array([each for each, *_ in asked])
    if all(len(set(condition[sets == each])) == 1 for each in set(sets)):
        assert "exchanges of choice sets" in row["note"]
        return

    def more(lost: np.ndarray) -> float:
        return sum(
            float((lost[own] - lost[own].mean()) @ condition[own])
            for each in set(sets)
            if len(set(condition[own := sets == each])) == 2
        )

    orders = product(*(set(permutations(np.flatnonzero(sets == each))) for each in sorted(set(sets))))
    places = np.concatenate([np.flatnonzero(sets == each) for each in sorted(set(sets))])
    values = []
    for order in orders:
        lost = np.zeros(len(gone))
        lost[places] = gone[list(chain(*order))]
        values.append(abs(more(lost)))
    exact = np.mean(np.array(values) >= abs(more(gone)) - 1e-9)
    assert "questions, each with its repeats" in row["note"]
    assert row["p_value"] == pytest.approx(exact, abs=0.05)


def test_a_question_that_was_asked_again_counts_once() -> None:
    """An agent that answers alike: five questions of a set that it was asked twenty times are five."""
    lost = [("s", "control", (1,) * 20), *[("s", "control", (0,) * 20)] * 2, *[("s", "nudged", (0,))] * 30]
    row = equal_attrition(asked_again(lost)).iloc[0]
    assert row["estimate"] == pytest.approx(100 / 3)
    assert row["p_value"] == pytest.approx(3 / 33, abs=0.02)
    once = equal_attrition(asked_again([(own, condition, ends[:1]) for own, condition, ends in lost])).iloc[0]
    assert row["p_value"] == pytest.approx(once["p_value"], abs=0.02)


def test_an_agent_that_ends_alike_at_each_level_has_no_test() -> None:
    asked = pd.DataFrame({"agent": "a", "item": np.repeat(["x", "y", "z"], 50)})
    lost = asked["item"] == "x"
    (row,) = by_factor(asked, lost, ["item"], question=["item"]).to_dict("records")
    assert (
        np.isnan(row["p_value"])
        and row["note"] == "no test: one question for each item, and its repeats end alike"
    )
    lost[:25] = False  # it draws anew each time
    (row,) = by_factor(asked, lost, ["item"], question=["item"]).to_dict("records")
    assert row["p_value"] < 0.001
