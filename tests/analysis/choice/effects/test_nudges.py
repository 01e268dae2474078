"""The trials with a nudge: by nudge text, and by category."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyfixest
import pytest
from scipy import stats

from analysis.choice.effects.nudges import nudge_effects
from analysis.tables.choice_table import check_table
from tests.analysis.estimators.test_jackknife import clustered_df

Simulate = Callable[..., Any]


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("categories", "sets"), [(12, 120), (1, 40)])
def test_each_text_and_category_is_a_fit_of_its_own(simulate: Simulate, categories: int, sets: int) -> None:
    """Without features other than nudge and order; errors are pyfixest's jackknife."""
    table = check_table(
        simulate(3, sets=sets, nudges=3, nudges_per_set=3, categories=categories).table.assign(
            cheaper=0, higher_rated=0
        )
    )
    table["nudge_text"] = table["nudge_text"].where(table["nudge"] == "", "text " + table["nudge"].str[-1])
    by_text, by_category = nudge_effects(table)
    nudged = table[table.groupby("trial")["nudged"].transform("max") == 1]
    nudged = nudged.assign(
        y=nudged["chosen"].astype(float),
        x=nudged["nudged"].astype(float),
        z=nudged["viewed_first"].astype(float),
        nudge_text=nudged.groupby("trial")["nudge_text"].transform("max"),
    )
    ssc = pyfixest.ssc(k_adj=False, G_adj=False)
    checked = 0
    for frame, name in ((by_text, "nudge_text"), (by_category, "category")):
        assert frame[name].tolist() == sorted(nudged[name].unique())
        for row in frame.to_dict("records"):
            own = nudged[nudged[name] == row[name]]
            assert row["n"] == own["trial"].nunique()
            way = "category" if name == "nudge_text" and own["category"].nunique() >= 12 else "set"
            count = own[way].nunique()
            if count < 12:
                assert np.isnan(row["std_error"]) and row["note"] == "no interval: fewer than 12 choice sets"
                continue
            own = own.assign(t=pd.factorize(own["trial"])[0], g=pd.factorize(own[way])[0])
            fit = pyfixest.feols("y ~ x + z | t", own, vcov={"CRV3": "g"}, ssc=ssc)
            error = np.sqrt((count - 1) / count) * fit.se()["x"]
            assert row["estimate"] == pytest.approx(100 * fit.coef()["x"], abs=1e-8)
            assert row["std_error"] == pytest.approx(100 * error, abs=1e-8)
            t = row["estimate"] / row["std_error"]
            columns, weights = own[["x", "z"]].to_numpy(), np.array([1.0, 0.0])
            df = clustered_df(columns, own["t"].to_numpy(), own["g"].to_numpy(), weights)
            assert df <= count - 1 + 1e-9
            assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-10)
            checked += 1
    assert checked > 3


def test_strata_are_counted_as_mcnemar_counts_them(simulate: Simulate) -> None:
    """By hand, in pairs and trios; one text pushes away, and a stratum that lost a trial does not count."""
    for size in (2, 3):
        table = simulate(4, sets=12, size=size, nudges=4, nudges_per_set=2, negative=(1,), categories=3).table
        lost = table["trial"].eq("balanced/0/0/1/0")
        table = table.assign(
            chosen=table["chosen"].astype("Int64").mask(lost),
            outcome=table["outcome"].mask(lost, "no_choice"),
        )
        assert lost.any()
        by_text, by_category = nudge_effects(check_table(table))
        cells = (
            table["trial"].str.split("/", expand=True).set_axis(["a", "set", "nudge", "on", "first"], axis=1)
        )
        carried = table.assign(**cells)[(table["nudged"] == 1)]
        signs = []
        for (_, nudge, _), own in carried.groupby(["set", "nudge", "first"]):
            if own["chosen"].isna().any():
                continue
            won = np.sign(own["chosen"].sum() - 1) * (-1 if nudge == "1" else 1)
            signs.append((f"text {nudge}", own["category"].iloc[0], won))
        expected = pd.DataFrame(signs, columns=["nudge_text", "category", "won"])
        for frame, name in ((by_text, "nudge_text"), (by_category, "category")):
            for row in frame.to_dict("records"):
                won = expected.loc[expected[name] == row[name], "won"]
                counts = row["strata_for"], row["strata_against"], row["strata"]
                assert counts == ((won > 0).sum(), (won < 0).sum(), len(won))
        assert by_text["strata_for"].sum() > by_text["strata_against"].sum() > 0
        if size == 2:
            # The estimate of complete pairs is the balance of the strata.
            whole = by_text[by_text["n_missing"] == 0]
            balance = 100 * (whole["strata_for"] - whole["strata_against"]) / whole["strata"]
            assert whole["estimate"].to_numpy() == pytest.approx(balance.to_numpy(), abs=1e-8)


def test_a_text_that_works_better_shows(simulate: Simulate) -> None:
    """All nudges are negative, and one of them always drives away."""
    table = simulate(5, sets=40, nudges=4, nudges_per_set=4, negative=(0, 1, 2, 3), categories=8).table
    strong = table.groupby("trial")["nudge_text"].transform("max") == "text 2"
    table["chosen"] = table["chosen"].where(~strong, 1 - table["nudged"])
    by_text, _ = nudge_effects(check_table(table))
    effects = by_text.set_index("nudge_text")
    assert effects.loc["text 2", "estimate"] == pytest.approx(100)
    assert (effects.drop("text 2")["conf_high"] < 80).all()


def test_little_data_leave_interactions_out_and_say_so(simulate: Simulate) -> None:
    table = simulate(6, sets=45, nudges=3, nudges_per_set=1, categories=14).table
    one_order = table["trial"].str[-1].astype(int) == table["set"].str[3:].astype(int) % 2
    table = check_table(table[one_order])
    by_text, by_category = nudge_effects(table)
    assert by_text["note"].str.contains("features left out: too little data").all()
    assert by_text["std_error"].gt(0).all()
    assert by_category["n"].sum() == by_text["n"].sum()


def test_a_design_without_whole_strata_has_none_to_count(simulate: Simulate) -> None:
    """Only the first option is ever nudged."""
    table = simulate(7, sets=20, nudges=4, nudges_per_set=4, categories=2).table
    carried = table["nudged"].where(table["option"] == "product1", 0).groupby(table["trial"]).transform("max")
    for frame in nudge_effects(check_table(table[carried == 0])):
        assert (frame[["strata_for", "strata_against", "strata"]] == 0).all(axis=None)


def test_few_choice_sets_carry_no_interval(simulate: Simulate) -> None:
    table = simulate(7, sets=40, nudges=4, nudges_per_set=4, categories=2).table
    table.loc[table["set"] == "set0", "category"] = "rare"
    _, by_category = nudge_effects(check_table(table))
    effects = by_category.set_index("category")
    assert effects.loc["rare", "note"] == "no interval: fewer than 12 choice sets"
    assert effects.loc["rare", ["std_error", "p_value", "conf_low", "conf_high"]].isna().all()
    assert effects.loc["rare", "strata"] == 8
    assert effects.drop("rare")["p_value"].notna().all()


def test_without_nudges_there_are_no_rows(simulate: Simulate) -> None:
    table = simulate(3, sets=4, nudges_per_set=1).table
    assert all(frame.empty for frame in nudge_effects(check_table(table[table["nudge"] == ""])))


@pytest.mark.slow
def test_missing_choices_are_counted_by_text(simulate: Simulate) -> None:
    table = simulate(8, sets=20, nudges=4, nudges_per_set=2).table
    lost = (table["nudge_text"] != "").groupby(table["trial"]).transform("any") & (table["set"] == "set0")
    table = table.assign(
        chosen=table["chosen"].astype("Int64").mask(lost), outcome=table["outcome"].mask(lost, "x")
    )
    by_text, by_category = nudge_effects(check_table(table))
    assert by_text["n_missing"].sum() == by_category["n_missing"].sum() == 8
    gone = by_category[by_category["n"] == 0]
    assert gone["note"].tolist() == ["no trial has a choice"] * len(gone)
    never = table.assign(chosen=pd.NA, outcome="x")
    for frame in nudge_effects(check_table(never)):
        assert frame["estimate"].isna().all() and set(frame["note"]) == {"no trial has a choice"}
