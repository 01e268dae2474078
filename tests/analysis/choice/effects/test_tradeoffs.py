"""Drawn attributes: the exact test against full enumeration, and trade-offs against a shopper's weights."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste
from analysis.choice import analyze_choice
from analysis.choice.effects.tradeoffs import MEASURES, tradeoffs
from analysis.choice.exact.exact import exact_tests
from analysis.choice.report.report import report
from analysis.choice.report.wording import tradeoff_clauses
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.clogit_few_data import PENALISED
from analysis.estimators.wtp import fieller
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.analysis.conftest import shown
from tests.lab.bench.validity.choice import true_tradeoffs
from tests.simulated_choices import with_choices
from tests.support import size

BALANCED = shipped_taste("balanced")


def studies(name: str, taste: Taste, trials: int) -> SimulatedTrials:
    return simulated_trials(load_shop_design(name, ""), taste, trials)


def table_of(made: SimulatedTrials, seed: int = 0) -> pd.DataFrame:
    return with_choices(made, made.drawn(np.random.default_rng(seed), 1)[:, 0])


def truth(made: SimulatedTrials, taste: Taste) -> dict[tuple[str, str], float]:
    worths = {
        "price": taste.log_price,
        "rating": taste.rating,
        "reviews": taste.log_reviews * np.log(2),
        "nudged": taste.nudge,
        "viewed_first": taste.position,
    }
    return true_tradeoffs(worths, 0.5, float(made.table["price"].median()))


def foreign(options: int, seed: int) -> pd.DataFrame:
    """A table of somebody else: each of four draws in all its moves, with levels that are amounts."""
    rng, rows = np.random.default_rng(seed), []
    for draw in range(4):
        levels = rng.permutation([10.0, 20.0, 30.0][:options])
        for moved in range(options):
            prices = {f"o{at}": levels[(at + moved) % options] for at in range(options)}
            chosen = f"o{rng.integers(options)}"
            rows += shown(
                f"{draw}/{moved}", [*prices], chosen, set=f"s{draw}", price=prices, randomised="price"
            )
    return check_table(pd.DataFrame(rows))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("options", "seed"), [(o, s) for o in (2, 3) for s in range(5)])
def test_the_exact_test_is_that_of_all_moves_of_the_levels(options: int, seed: int) -> None:
    table = foreign(options, seed)
    (row,) = exact_tests(table).query("term == 'price'").to_dict("records")

    def statistic(moves: tuple[int, ...]) -> float:
        """The effect of the highest price, had the levels of each draw been moved by so many places."""
        found = []
        for (_, own), by in zip(table.groupby("set", sort=False), moves, strict=True):
            values = []
            for _, trial in own.groupby("trial", sort=False):
                prices = np.roll(trial["price"].to_numpy(), by)
                chosen = trial["chosen"].to_numpy(float)
                top = prices == prices.max()
                values.append(chosen[top].mean() - chosen[~top].mean())
            found.append(np.mean(values))
        return float(np.mean(found))

    observed = statistic((0,) * 4)
    all_moves = [statistic(moves) for moves in product(range(options), repeat=4)]
    assert row["estimate"] == pytest.approx(100 * observed)
    extreme = np.mean([abs(each) >= abs(observed) - 1e-9 for each in all_moves])
    assert row["p_value"] == pytest.approx(extreme)
    assert row["strata"] == 4 and row["n"] == 4 * options


def test_fieller_holds_the_ratios_that_are_not_refuted() -> None:
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(600, 2)), columns=["good", "price"])
    label = np.repeat(np.arange(300), 2)
    utility = x @ np.array([0.8, -0.6]) + rng.gumbel(size=600)
    chosen = (utility == utility.groupby(label).transform("max")).to_numpy(float)
    fit = fit_clogit(x, chosen, label)
    ratio, low, high = fieller(fit, "good", "price")
    assert low < ratio < high
    for at, inside in ((low, None), (high, None), (ratio, True), (low - 0.1, False), (high + 0.1, False)):
        weights = np.array([1.0, at])
        z = abs(weights @ fit.estimate) / np.sqrt(weights @ fit.cov @ weights)
        if inside is None:
            assert z == pytest.approx(stats.norm.ppf(0.975))
        else:
            assert (z < stats.norm.ppf(0.975)) == inside


@pytest.mark.slow
def test_intervals_hold_the_weights_of_the_shopper() -> None:
    count, held, printed = size(16, 400), 0, 0
    made = studies("attributes", BALANCED, 240)
    known, chosen = truth(made, BALANCED), made.drawn(np.random.default_rng(5), count)
    for study in range(count):
        for row in tradeoffs(with_choices(made, chosen[:, study])).to_dict("records"):
            printed += 1
            if np.isnan(row["estimate"]):  # one of many small studies may not tell it
                assert row["note"], row
                held += 1
                continue
            assert np.sign(row["estimate"]) in (0, np.sign(row["statistic"])), row
            held += row["conf_low"] <= known[row["term"], row["measure"]] <= row["conf_high"]
    assert printed == count * 14 and held / printed > 0.93


@pytest.mark.slow
def test_what_is_not_told_is_undefined_and_said() -> None:
    random = studies("attributes", Taste(), 240)
    found = tradeoffs(table_of(random))
    worth = found[found["measure"].isin(["percent", "money"])]
    assert worth["estimate"].isna().all() and worth["conf_low"].isna().all()
    assert worth["note"].str.contains("not clearly below 0|a higher price attracts").all()
    few = analyze_choice(table_of(studies("attributes", BALANCED, 60)))
    assert few.tradeoffs["conf_low"].isna().all()
    assert "worth is not told" in report(few).answer[0]
    assert few.exact.set_index("term").loc[["price", "rating", "reviews"], "conf_low"].notna().all()
    always = table_of(studies("prices", BALANCED, 60))
    cheapest = always["attr_price_step"].eq(always.groupby("trial")["attr_price_step"].transform("min"))
    separated = tradeoffs(always.assign(chosen=cheapest.astype("Int64")))
    (elasticity,) = separated[separated["measure"] == "elasticity"].to_dict("records")
    (worth,) = separated[separated["measure"].eq("part_worth") & separated["term"].eq("price")].to_dict(
        "records"
    )
    assert elasticity["note"].startswith(PENALISED) and "separates the choices" in elasticity["note"]
    assert worth["conf_low"] < worth["estimate"] < worth["conf_high"] < 0 and worth["p_value"] < 0.01
    assert elasticity["estimate"] == pytest.approx(worth["estimate"] / 2)
    assert separated.loc[separated["measure"].eq("percent"), "estimate"].isna().all()


def test_only_studies_that_drew_attributes_have_trade_offs() -> None:
    made = studies("nudges", BALANCED, 60)
    assert tradeoffs(table_of(made)).empty
    drawn = tradeoffs(table_of(studies("prices", BALANCED, 120)))
    assert set(drawn["measure"]) == set(MEASURES) - {"interaction"} and set(drawn["term"]) == {
        "price",
        "viewed_first",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"randomised": "colour"}, "'colour' names 'colour'; write price, rating, reviews"),
        ({"randomised": "price+rating"}, "no rating; fill it in, or take it out of randomised"),
        ({"randomised": ["price", ""] * 4}, "randomised differs between its rows"),
    ],
)
def test_a_wrong_column_is_one_line(change: dict[str, object], said: str) -> None:
    table = foreign(2, 0).iloc[:8].drop(columns="trial_id")
    with pytest.raises(AnalysisError) as caught:
        check_table(table.assign(**change))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def in_grid(taste: Taste) -> SimulatedTrials:
    """The trials of badges-grid with the places of two rows of four."""
    made = studies("badges-grid", taste, 320)
    place = made.table["position"].astype(int)
    return replace(made, table=made.table.assign(attr_row=1 + place // 4, attr_column=1 + place % 4))


def test_one_place_that_moves_more_than_its_row_and_column_is_found() -> None:
    found = tradeoffs(table_of(in_grid(BALANCED.model_copy(update={"position": 3.0}))))
    (row,) = found[found["measure"] == "interaction"].to_dict("records")
    assert row["term"] == "row x column" and row["p_value"] < 0.001


@pytest.mark.slow
def test_badges_and_places_of_a_latin_square_are_weighed_with_the_price() -> None:
    """The shopper's weights are in their intervals; rows and columns, which it does not see, have none."""
    taste = BALANCED.model_copy(update={"position": 0.0})
    made = in_grid(taste)
    weights = {"price": taste.log_price, "rating": taste.rating, "badge_sponsored": -taste.nudge}
    weights |= dict.fromkeys(("badge_overall-pick", "badge_low-stock-2"), taste.nudge)
    weights |= dict.fromkeys(("row_1", "column_1", "column_2", "column_3"), 0.0)
    missed, number = Counter[str](), size(20, 200)
    for seed in range(number):
        found = tradeoffs(table_of(made, seed))
        missed["row x column"] += found.loc[found["measure"] == "interaction", "p_value"].item() < 0.05
        own = found[found["measure"] == "part_worth"].set_index("term")
        assert {*own.index} == {*weights, "reviews"}
        for term, weight in weights.items():
            missed[term] += not own.loc[term, "conf_low"] <= weight <= own.loc[term, "conf_high"]
    assert max(missed.values()) <= stats.binom.ppf(0.9995, number, 0.06), missed


def test_a_badge_is_tested_by_the_places_that_it_could_have_had() -> None:
    """A shopper who always takes the pick, and nothing else, is found; a badge that does nothing is not."""
    table = studies("badges-grid", BALANCED, 160).table
    chosen = table["attr_badge_overall-pick"].eq(1)
    rows = exact_tests(check_table(table.assign(chosen=chosen.astype(int)))).set_index("term")
    assert rows.loc["badge_overall-pick", "estimate"] == pytest.approx(100)
    assert rows.loc["badge_overall-pick", "p_value"] < 1e-6
    assert rows.loc["badge_sponsored", "p_value"] > 0.01


@pytest.mark.parametrize(
    "change, told",
    [
        ({"randomised": "badge_pick"}, "a row has no attr_badge_pick"),
        ({"randomised": "badge_pick", "attr_badge_pick": 2}, "is not 1 or 0"),
        ({"randomised": "colour"}, "write price, rating, reviews or badge_NAME"),
    ],
)
def test_a_badge_that_a_table_names_has_a_column_of_ones_and_zeros(change: dict, told: str) -> None:
    with pytest.raises(AnalysisError, match=told):
        check_table(foreign(2, 0).assign(**change))


def test_a_trial_that_failed_may_have_shown_nothing() -> None:
    table = table_of(in_grid(BALANCED))
    lost = table["trial"] == table["trial"].iloc[0]
    nothing = dict.fromkeys(("price", "rating", "reviews", "attr_row", "attr_column", "chosen"), np.nan)
    failed = table.drop(columns="trial_id").astype(dict.fromkeys(nothing, float)).copy()
    failed.loc[lost, [*nothing]] = np.nan
    failed.loc[lost, "outcome"] = "treatment_failed"
    whole, less = (tradeoffs(check_table(each)).set_index(["measure", "term"]) for each in (table, failed))
    assert [*less.index] == [*whole.index]
    assert less["n"].eq(whole["n"] - 1).all()


def test_trials_whose_places_are_not_known_are_left_out_of_the_grid() -> None:
    table = table_of(in_grid(BALANCED))
    unknown = table.assign(attr_row=table["attr_row"].where(table["trial"] != table["trial"].iloc[0]))
    found = tradeoffs(unknown)
    assert {"row_1", "column_3", "row x column"} <= {*found["term"]}
    assert found["n_missing"].eq(1).all()


def test_a_worth_without_end_is_said_as_one() -> None:
    row = {"measure": "percent", "term": "badge_pick", "estimate": 20.0, "conf_low": 12.5, "conf_high": 2e11}
    frame = pd.DataFrame([row | {"p_adjusted": 0.01, "p_value": 0.01, "note": ""}])
    assert tradeoff_clauses(frame) == [
        "worth in percent of the price: the badge pick 20.0 % (12.5 to more than 1,000)"
    ]
