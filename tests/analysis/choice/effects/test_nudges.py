"""The trials with a nudge: by nudge text, and by category."""

import numpy as np
import pandas as pd
import pytest

from analysis.choice.effects.effects import main_effects
from analysis.choice.effects.nudges import nudge_effects, texts_by_category
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import lose, simulate_study


def test_each_text_and_category_is_a_fit_of_its_own() -> None:
    """The estimates are those of the trials that carry the text, or are of the category, alone."""
    table = check_table(simulate_study(3, sets=40, nudges=3, nudges_per_set=3, categories=2).table)
    carried = table.groupby("trial")["nudge_text"].transform("max")
    by_text, by_category = nudge_effects(table)
    for frame, labels in ((by_text, carried), (by_category, table["category"])):
        assert len(frame) == labels[carried != ""].nunique()
        for row in frame.to_dict("records"):
            own = table[(labels == row[str(labels.name)]) & (carried != "")]
            alone = main_effects(own).set_index("term").loc["nudged"]
            assert (row["estimate"], row["n"]) == pytest.approx((alone["estimate"], alone["n"]))


def test_texts_by_category_are_shares_of_the_nudged_option() -> None:
    made = simulate_study(3, sets=40, size=3, nudges=3, nudges_per_set=3, categories=2).table
    table = check_table(lose(made, made["trial"].isin(made.loc[made["nudged"] == 1, "trial"].unique()[:5])))
    found = texts_by_category(table)
    shown = table[table["nudged"] == 1]
    for row in found.to_dict("records"):
        own = shown[(shown["nudge"] != "") & (shown["category"] == row["category"])]
        own = own[own["nudge_text"] == row["nudge_text"]]
        assert row["estimate"] == pytest.approx(100 * own["chosen"].dropna().mean())
        assert (row["n"], row["n_missing"]) == (own["chosen"].notna().sum(), own["chosen"].isna().sum())
        assert row["chance"] == pytest.approx(100 / 3)
    assert found[["n", "n_missing"]].sum().sum() == len(shown) and found["n_missing"].sum() == 5
    assert texts_by_category(table.assign(category="one")).empty


def test_strata_are_counted_as_mcnemar_counts_them() -> None:
    """By hand, in pairs and trios; one text pushes away, and a stratum that lost a trial does not count."""
    for size in (2, 3):
        table = simulate_study(
            4, sets=12, size=size, nudges=4, nudges_per_set=2, negative=(1,), categories=3
        ).table
        lost = table["trial"].eq("balanced/0/0/1/0")
        table = lose(table, lost)
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


def test_a_text_that_works_better_shows() -> None:
    """All nudges are negative, and one of them always drives away."""
    table = simulate_study(5, sets=40, nudges=4, nudges_per_set=4, negative=(0, 1, 2, 3), categories=8).table
    strong = table.groupby("trial")["nudge_text"].transform("max") == "text 2"
    table["chosen"] = table["chosen"].where(~strong, 1 - table["nudged"])
    by_text, _ = nudge_effects(check_table(table))
    effects = by_text.set_index("nudge_text")
    assert effects.loc["text 2", "estimate"] == pytest.approx(100)
    assert (effects.drop("text 2")["conf_high"] < 80).all()


def test_little_data_leave_interactions_out_and_say_so() -> None:
    table = simulate_study(6, sets=45, nudges=3, nudges_per_set=1, categories=14).table
    one_order = table["trial"].str[-1].astype(int) == table["set"].str[3:].astype(int) % 2
    table = check_table(table[one_order])
    by_text, by_category = nudge_effects(table)
    assert by_text["note"].str.contains("features left out: too little data").all()
    assert by_text["std_error"].gt(0).all()
    assert by_category["n"].sum() == by_text["n"].sum()


def test_a_design_without_whole_strata_has_none_to_count() -> None:
    """Only the first option is ever nudged."""
    table = simulate_study(7, sets=20, nudges=4, nudges_per_set=4, categories=2).table
    carried = table["nudged"].where(table["option"] == "product1", 0).groupby(table["trial"]).transform("max")
    for frame in nudge_effects(check_table(table[carried == 0])):
        assert (frame[["strata_for", "strata_against", "strata"]] == 0).all(axis=None)


def test_few_choice_sets_carry_no_interval() -> None:
    table = simulate_study(7, sets=40, nudges=4, nudges_per_set=4, categories=2).table
    table.loc[table["set"] == "set0", "category"] = "rare"
    _, by_category = nudge_effects(check_table(table))
    effects = by_category.set_index("category")
    assert effects.loc["rare", "note"] == "no interval: fewer than 12 choice sets"
    assert effects.loc["rare", ["std_error", "p_value", "conf_low", "conf_high"]].isna().all()
    assert effects.loc["rare", "strata"] == 8
    assert effects.drop("rare")["p_value"].notna().all()


def test_without_nudges_there_are_no_rows() -> None:
    table = simulate_study(3, sets=4, nudges_per_set=1).table
    assert all(frame.empty for frame in nudge_effects(check_table(table[table["nudge"] == ""])))


@pytest.mark.slow
def test_missing_choices_are_counted_by_text() -> None:
    table = simulate_study(8, sets=20, nudges=4, nudges_per_set=2).table
    lost = (table["nudge_text"] != "").groupby(table["trial"]).transform("any") & (table["set"] == "set0")
    by_text, by_category = nudge_effects(check_table(lose(table, lost)))
    assert by_text["n_missing"].sum() == by_category["n_missing"].sum() == 8
    gone = by_category[by_category["n"] == 0]
    assert gone["note"].tolist() == ["no trial has a choice"] * len(gone)
