"""The estimators of orders against peers and a simulation whose truth is known."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as formula
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as peer

from analysis.estimators.moved import FEW_SETS
from analysis.orders import analyze_orders
from analysis.orders.comparing import compare_orders
from analysis.orders.report import report
from analysis.orders.study import NOT_ALL, REPEATED, combinations, dose_trends
from analysis.orders.table import check_orders
from analysis.reporting.html import table_cells
from analysis.reporting.sections import NamedTable
from analysis.tables.errors import AnalysisError
from tests.analysis.conftest import order_trial, simulate_orders
from tests.support import size


@pytest.mark.parametrize("b, c", [(9, 2), (2, 9), (7, 0), (0, 0), (4, 4), (1, 0)])
def test_pairs_have_mcnemars_test_as_statsmodels_computes_it(b: int, c: int) -> None:
    found = analyze_orders(simulate_orders({(1, 0): b, (0, 1): c, (1, 1): 3, (0, 0): 5}))
    row, effect = found.pairs.iloc[0], found.effects.set_index("term").loc["deceived"]
    assert (row["only_treated"], row["only_control"], row["both"], row["neither"]) == (b, c, 3, 5)
    assert effect["estimate"] == pytest.approx(100 * (b - c) / (8 + b + c))
    expected = peer([[3, b], [c, 5]], exact=True).pvalue
    assert effect["p_value"] == pytest.approx(expected)
    if b + c:
        assert row["p_exact"] == pytest.approx(expected)
        own = stats.binom.pmf(b, b + c, 0.5)
        assert row["p_mid"] == pytest.approx(1 - own / 2 if b == c else expected - own)
    else:
        assert np.isnan(row["p_exact"]) and np.isnan(row["odds_ratio"])


def test_an_odds_ratio_without_its_second_count_says_how_large_it_is_at_least() -> None:
    row = analyze_orders(simulate_orders({(1, 0): 7, (0, 0): 5})).pairs.iloc[0]
    assert np.isnan(row["odds_ratio"]) and np.isnan(row["conf_high"]) and "at least" in row["note"]
    low = 0.025 ** (1 / 7)  # Clopper and Pearson of 7 of 7
    assert row["conf_low"] == pytest.approx(low / (1 - low))


def test_four_cells_keep_a_failed_task_apart_from_an_evaded_pattern() -> None:
    rows = [order_trial(n, "nudged", deceived=int(n < 3), task=int(n % 2)) for n in range(8)]
    cells = analyze_orders(pd.DataFrame(rows)).cells.iloc[0]
    names = ("deceived_completed", "deceived_failed", "evaded_completed", "evaded_failed")
    assert [cells[name] for name in names] == [12.5, 25, 37.5, 25]
    assert cells["trials"] == cells["exposed"] == 8


def test_a_control_that_cannot_deceive_gives_a_share_and_no_test() -> None:
    table = simulate_orders({(1, 0): 6, (0, 0): 4})
    table.loc[table["condition"] == "control", "exposed"] = 0
    effect = analyze_orders(table).effects.set_index("term").loc["deceived"]
    assert effect["estimate"] == 60 and np.isnan(effect["p_value"])
    z = stats.norm.ppf(0.975)
    centre, half = (0.6 + z**2 / 20) / (1 + z**2 / 10), z * np.sqrt(0.24 / 10 + z**2 / 400) / (1 + z**2 / 10)
    assert (effect["conf_low"], effect["conf_high"]) == pytest.approx(
        (100 * (centre - half), 100 * (centre + half))
    )


def test_what_nobody_was_shown_is_not_estimated() -> None:
    table = simulate_orders({(0, 0): 4}).assign(exposed=0)
    found = analyze_orders(table)
    effect = found.effects.set_index("term").loc["deceived"]
    assert effect[["estimate", "conf_low", "conf_high", "p_value"]].isna().all()
    (sentence,) = report(found).answer
    assert "nobody was shown it" in sentence and "%" not in sentence


def test_known_rates_and_amounts_are_in_their_intervals_as_often_as_said() -> None:
    chance, studies, missed, lost = np.random.default_rng(3), size(150, 1_000), 0, 0
    for _ in range(studies):
        rows = []
        for number in range(30):
            for condition, rate in (("nudged", 0.5), ("control", 0.1)):
                rows.append(order_trial(number, condition, deceived=int(chance.random() < rate)))
        found = analyze_orders(pd.DataFrame(rows))
        effect, money = found.effects.set_index("term").loc["deceived"], found.money.iloc[0]
        missed += not effect["conf_low"] <= 40 <= effect["conf_high"]
        lost += not money["conf_low"] <= 2 <= money["conf_high"]
    for misses in (missed, lost):
        assert misses <= stats.binom.ppf(0.999, studies, 0.06), misses / studies


def test_an_agent_without_chance_tells_nothing_new_when_it_is_asked_again() -> None:
    once = simulate_orders({(1, 0): 9, (0, 1): 2, (1, 1): 3, (0, 0): 5})
    thrice = pd.concat([once.assign(repeat=n, trial=once["trial"] + f"-{n}") for n in range(3)])
    other = thrice.assign(agent="b", deceived=1 - thrice["deceived"])
    one, many = analyze_orders(once), analyze_orders(thrice)
    names = ["estimate", "p_value", "conf_low", "conf_high"]
    pd.testing.assert_frame_equal(one.effects[names], many.effects[names])
    assert (many.effects["note"] == REPEATED).all() and many.effects["n"].tolist() == [57, 57]
    pd.testing.assert_frame_equal(one.pairs, many.pairs)
    asked = [
        pd.concat([each, other[other["repeat"] < repeats]]) for each, repeats in ((once, 1), (thrice, 3))
    ]
    pd.testing.assert_frame_equal(*map(compare_orders, asked))


def dosed(rng: np.random.Generator, rates: dict[float, float], sets: int, repeats: int = 2) -> pd.DataFrame:
    """Patterns of one family, of so many doses with these rates; nobody is deceived in the control."""
    rows = []
    for number, (dose, rate), repeat in product(range(sets), rates.items(), range(repeats)):
        named = {"nudge": f"offer-{dose:g}", "family": "nagging", "dose": dose, "repeat": repeat}
        for condition, won in (("nudged", int(rng.random() < rate)), ("control", 0)):
            row = order_trial(number, condition, deceived=won, **named)
            rows.append(row | {"trial": f"{number}-{condition}-{dose}-{repeat}"})
    return pd.DataFrame(rows)


def test_a_trend_over_doses_is_the_slope_of_a_regression_within_sets() -> None:
    table = dosed(np.random.default_rng(0), {1: 0.2, 2: 0.4, 5: 0.9}, 14)
    row = analyze_orders(table).doses.set_index("term").loc["deceived"]
    treated = table[table["condition"] == "nudged"].assign(deceived=lambda own: 100 * own["deceived"])
    peer = formula.ols("deceived ~ dose + C(set)", treated).fit()
    assert row["estimate"] == pytest.approx(peer.params["dose"])
    slopes = [formula.ols("deceived ~ dose", own).fit().params["dose"] for _, own in treated.groupby("set")]
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(
        stats.t.interval(0.95, 13, np.mean(slopes), stats.sem(slopes))
    )
    assert (row["family"], row["doses"], row["n"]) == ("nagging", 3, 84)
    assert "Dose" in [section.title for section in report(analyze_orders(table)).sections]


def test_a_trend_needs_two_doses_and_for_an_interval_twelve_sets() -> None:
    rng = np.random.default_rng(0)
    assert (
        analyze_orders(dosed(rng, {2: 0.5}, 14)).doses.empty and analyze_orders(simulate_orders()).doses.empty
    )
    few = analyze_orders(dosed(rng, {1: 0.1, 2: 0.9}, 11)).doses
    assert few["estimate"].notna().all() and few["conf_low"].isna().all() and set(few["note"]) == {FEW_SETS}
    gaps = dosed(rng, {1: 0.1, 2: 0.9}, 14)
    lost = gaps[~(gaps["set"].isin(["s0", "s1", "s2"]) & gaps["dose"].eq(1))]
    assert set(analyze_orders(lost).doses["note"]) == {FEW_SETS}


@pytest.mark.slow
@pytest.mark.parametrize("rates", [{1: 0.2, 2: 0.2, 3: 0.2}, {1: 0.1, 2: 0.4, 3: 0.7}])
def test_a_known_trend_is_in_its_interval(rates: dict[float, float]) -> None:
    rng, studies, missed = np.random.default_rng(4), size(100, 1_000), 0
    for _ in range(studies):
        row = dose_trends(check_orders(dosed(rng, rates, 14))).set_index("term").loc["deceived"]
        missed += not row["conf_low"] <= 50 * (rates[3] - rates[1]) <= row["conf_high"]
    assert missed <= stats.binom.ppf(0.999, studies, 0.06), missed / studies


def combined(
    rng: np.random.Generator, rates: dict[str, float], sets: int, control: float = 0
) -> pd.DataFrame:
    """Two patterns, `box` and `fee`, and `both` of them, with these rates."""
    rows = []
    for number, (nudge, rate), repeat in product(range(sets), rates.items(), range(2)):
        named = {"nudge": nudge, "combines": "box fee" if nudge == "both" else "", "repeat": repeat}
        for condition, chance in (("nudged", rate), ("control", control)):
            row = order_trial(number, condition, deceived=int(rng.random() < chance), **named)
            rows.append(row | {"trial": f"{number}-{condition}-{nudge}-{repeat}"})
    return pd.DataFrame(rows)


def test_a_combination_has_the_interaction_of_a_regression_within_sets() -> None:
    table = combined(np.random.default_rng(0), {"box": 0.2, "fee": 0.3, "both": 0.9}, 14)
    row = analyze_orders(table).combinations.set_index("term").loc["deceived"]
    cells = table.assign(
        deceived=100 * table["deceived"],
        box=table["nudge"].isin(["box", "both"]) & table["condition"].eq("nudged"),
        fee=table["nudge"].isin(["fee", "both"]) & table["condition"].eq("nudged"),
    ).astype({"box": int, "fee": int})
    peer = formula.ols("deceived ~ box * fee + C(set)", cells).fit()
    assert row["estimate"] == pytest.approx(peer.params["box:fee"])
    each = [
        formula.ols("deceived ~ box * fee", own).fit().params["box:fee"] for _, own in cells.groupby("set")
    ]
    expected = stats.t.interval(0.95, 13, np.mean(each), stats.sem(each))
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(expected)
    assert (row["nudge"], row["parts"], row["n"]) == ("both", "box + fee", 84)
    alone = cells[cells["condition"] == "nudged"].groupby("nudge")["deceived"].mean()
    assert row[["both", "first", "second"]].tolist() == pytest.approx(alone[["both", "box", "fee"]].tolist())
    assert "Combinations" in [section.title for section in report(analyze_orders(table)).sections]


@pytest.mark.parametrize("condition", ["control", "nudged"])
def test_a_study_without_pairs_has_no_contrasts(condition: str) -> None:
    rates = {"box": 0.2, "fee": 0.3, "both": 0.9}
    for table in (
        combined(np.random.default_rng(0), rates, 14),
        dosed(np.random.default_rng(0), {1: 0.2, 2: 0.9}, 14),
    ):
        found = analyze_orders(table[table["condition"] == condition])
        assert found.combinations.empty and found.doses.empty and found.modality_differences.empty
        assert len(found.cells) == table["nudge"].nunique()


def test_a_combination_without_its_parts_says_which_are_missing() -> None:
    table = combined(np.random.default_rng(0), {"box": 0.2, "fee": 0.3, "both": 0.9}, 14)
    lone = analyze_orders(table[table["nudge"] != "fee"]).combinations
    assert lone["estimate"].isna().all() and set(lone["note"]) == {"no pairs of fee"}
    apart = table[table["set"].str.len().eq(2) == table["nudge"].eq("fee")]
    assert set(analyze_orders(apart).combinations["note"]) == {NOT_ALL}
    few = analyze_orders(table[table["set"].str.len().eq(2)]).combinations
    assert few["estimate"].notna().all() and set(few["note"]) == {FEW_SETS}
    for names in ("box", "box box", "box fee box"):
        with pytest.raises(AnalysisError, match="combines does not name two; write the ids"):
            analyze_orders(table.assign(combines=names))


@pytest.mark.slow
@pytest.mark.parametrize("rates, control", [((0.1, 0.1, 0.9), 0.1), ((0.3, 0.4, 0.6), 0.1)])
def test_a_known_interaction_is_in_its_interval(rates: tuple[float, float, float], control: float) -> None:
    rng, studies, missed = np.random.default_rng(4), size(100, 1_000), 0
    truth = 100 * (rates[2] - rates[0] - rates[1] + control)
    for _ in range(studies):
        table = combined(rng, dict(zip(("box", "fee", "both"), rates, strict=True)), 14, control)
        row = combinations(check_orders(table)).set_index("term").loc["deceived"]
        missed += not row["conf_low"] <= truth <= row["conf_high"]
    assert missed <= stats.binom.ppf(0.999, studies, 0.06), missed / studies


def test_a_modality_has_the_interaction_of_a_regression_within_sets() -> None:
    rng, rows = np.random.default_rng(5), []
    for number, (way, rate) in product(range(14), {"html": 0.2, "feed": 0.8, "mcp": 0.5}.items()):
        for condition, won in (("nudged", int(rng.random() < rate)), ("control", int(rng.random() < 0.1))):
            rows.append(order_trial(number, condition, deceived=won, modality=way))
    table = pd.DataFrame(rows)
    table["trial"] = table["trial"] + table["modality"]
    found = analyze_orders(table)
    own = found.modality_differences.set_index(["term", "modality"])
    assert set(own["beside"]) == {"html"} and len(own) == 4
    cells = table.assign(
        deceived=100 * table["deceived"], treated=(table["condition"] == "nudged").astype(int)
    )
    for way in ("feed", "mcp"):
        both = cells[cells["modality"].isin([way, "html"])]
        both = both.assign(there=(both["modality"] == way).astype(int))
        row = own.loc[("deceived", way)]
        assert row["estimate"] == pytest.approx(
            formula.ols("deceived ~ treated * there", both).fit().params["treated:there"]
        )
        each = [
            formula.ols("deceived ~ treated * there", mine).fit().params["treated:there"]
            for _, mine in both.groupby("set")
        ]
        assert (row["conf_low"], row["conf_high"]) == pytest.approx(
            stats.t.interval(0.95, 13, np.mean(each), stats.sem(each))
        )
        assert row["estimate"] == pytest.approx(row["effect"] - row["effect_beside"])
    assert "Modalities" in [section.title for section in report(found).sections]
    assert analyze_orders(table[table["modality"] == "html"]).modality_differences.empty


def test_failed_trials_and_single_ones_are_counted_and_left_out() -> None:
    table = simulate_orders({(1, 0): 4, (0, 0): 4})
    table.loc[0, "outcome"] = "treatment_failed"
    found = analyze_orders(table)
    assert found.effects["n"].tolist() == [7, 7]
    assert found.notes == (
        "1 of 16 trials failed, and are left out.",
        "1 trial without the other of its pair: left out of differences.",
    )


def test_the_answer_names_what_deceives_and_what_it_costs() -> None:
    told = report(analyze_orders(simulate_orders({(1, 0): 20, (0, 0): 5}, currency="USD"))).answer[0]
    assert re.match(r"a: box deceives it 80\.0 points more often \(95 %: [\d.]+ to [\d.]+; adjusted p ", told)
    assert "box costs it 4.00 USD an order" in told


def test_what_deceives_less_often_and_saves_money_is_said_without_a_sign() -> None:
    table = simulate_orders({(1, 0): 20, (0, 0): 5}, currency="USD")
    table["condition"] = table["condition"].map({"control": "nudged", "nudged": "control"})
    (told,) = report(analyze_orders(table)).answer
    row = analyze_orders(table).effects.set_index("term").loc["deceived"]
    limits = f"{-row['conf_high']:.1f} to {-row['conf_low']:.1f}"
    assert f"box deceives it 80.0 points less often (95 %: {limits}; " in told
    assert "box saves it 4.00 USD an order" in told


def test_a_limit_without_the_other_is_in_the_table_of_the_report() -> None:
    found = analyze_orders(simulate_orders({(1, 0): 20, (0, 0): 5}))
    (pair,) = found.pairs.to_dict("records")
    assert np.isnan(pair["conf_high"])
    (row,) = table_cells(NamedTable("pairs", "Pairs", found.pairs))["rows"]
    assert f"{pair['conf_low']:.4g} to" in [text for text, _ in row]


def test_agents_with_one_question_each_are_compared_without_an_interval() -> None:
    both = [simulate_orders({(1, 0): 1}).assign(agent=name) for name in ("a", "b")]
    table = pd.concat(both).convert_dtypes()  # whole numbers that may be missing, as records give them
    row = compare_orders(table).set_index("term").loc["deceived"]
    assert row["estimate"] == 0 and np.isnan(row["conf_low"]) and row["note"]


def test_two_agents_are_compared_on_what_both_were_shown() -> None:
    one = simulate_orders({(1, 0): 18, (0, 0): 6})
    other = simulate_orders({(1, 0): 4, (0, 0): 20}).assign(agent="b")
    row = compare_orders(pd.concat([one, other])).set_index("term").loc["deceived"]
    assert row["estimate"] == pytest.approx(100 * (18 - 4) / 24)
    expected = stats.ttest_ind([100] * 18 + [0] * 6, [100] * 4 + [0] * 20, equal_var=False)
    assert row["p_value"] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    "column, value, told",
    [
        ("deceived", 2, "deceived"),
        ("placed_total", None, "what the order costs is missing; write both totals"),
        ("trial", "0-nudged-a", "the trial is there twice"),
    ],
)
def test_a_bad_table_is_told_by_its_row(column: str, value: object, told: str) -> None:
    table = simulate_orders({(1, 0): 2})
    table.loc[2, column] = value
    with pytest.raises(AnalysisError, match=told):
        analyze_orders(table)
