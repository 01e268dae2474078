"""Texts and categories in one model, against statsmodels and a known truth."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from analysis.choice.effects.effects import TERMS, regressors
from analysis.choice.effects.joint import OTHERS, joint_effects
from analysis.choice.effects.nudges import nudge_effects
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import lose, simulate_study
from tests.support import size


def nudged(table: pd.DataFrame) -> pd.DataFrame:
    carried = table.groupby("trial")["nudged"].transform("max") == 1
    text = table.groupby("trial")["nudge_text"].transform("max")
    return table[carried & table["chosen"].notna()].assign(text=text)


def levels(rows: pd.DataFrame) -> "pd.Series[str]":
    sets = rows.groupby("category")["set"].nunique()
    alone = [name for name in sets.index if sets[name] < 2]
    if len(alone) == 1:
        alone = list(sets.sort_values(kind="stable").index[:2])
    return rows["category"].where(~rows["category"].isin(alone), OTHERS)


def fitted(rows: pd.DataFrame, level: "pd.Series[str]") -> dict[Any, float]:
    """The coefficients by least squares with a column for each trial."""
    x, texts, own = regressors(rows)[list(TERMS)], sorted(set(rows["text"])), sorted(set(level))[1:]
    names = [(text, term) for text in texts for term in TERMS]
    columns = [x[term].where(rows["text"] == text, 0.0) for text, term in names]
    columns += [x["nudged"].where(level == each, 0.0) for each in own]
    trials = pd.get_dummies(rows["trial"]).to_numpy(float)
    fit = sm.OLS(rows["chosen"].astype(float).to_numpy(), np.column_stack([*columns, trials])).fit()
    return dict(zip([*names, *own], fit.params, strict=False))


def by_hand(found: dict[Any, float], rows: pd.DataFrame, level: "pd.Series[str]") -> "pd.Series[float]":
    """The effects that follow: a mean over the trials' categories, or texts."""
    first = ~rows["trial"].duplicated()
    of_level, of_text = (each[first].value_counts(normalize=True) for each in (level, rows["text"]))
    mean = sum(share * found.get(each, 0.0) for each, share in of_level.items())
    overall = sum(share * found[each, "nudged"] for each, share in of_text.items())
    texts = {("nudge_text", each): 100 * (found[each, "nudged"] + mean) for each in of_text.index}
    return pd.Series(
        texts | {("category", each): 100 * (found.get(each, 0.0) + overall) for each in of_level.index}
    )


@pytest.mark.parametrize("options", [2, 3])
def test_effects_are_those_of_statsmodels_with_the_errors_of_leaving_out_sets(options: int) -> None:
    made = simulate_study(3, sets=26, size=options, nudges=3, nudges_per_set=2, categories=16, negative=(1,))
    table = check_table(lose(made.table, made.table["trial"].eq("balanced/0/0/1/0")))
    frame = joint_effects(table).set_index(["part", "level"])
    rows = nudged(table)
    level = levels(rows)
    assert OTHERS in set(level) and level.nunique() > 3
    expected = by_hand(fitted(rows, level), rows, level)
    assert frame["estimate"].sort_index().to_numpy() == pytest.approx(
        expected.sort_index().to_numpy(), abs=1e-8
    )
    moves = []
    for left_out in sorted(set(rows["set"])):
        kept = rows["set"] != left_out
        moves.append(by_hand(fitted(rows[kept], level[kept]), rows, level) - expected)
    error = np.sqrt(25 / 26 * (np.array(moves) ** 2).sum(axis=0))
    known = frame["std_error"].notna()
    assert known["nudge_text"].any()
    for key in frame.index[known]:
        assert frame.loc[key, "std_error"] == pytest.approx(error[expected.index.get_loc(key)], abs=1e-8)
    assert frame.loc["nudge_text", "n_missing"].sum() == frame.loc["category", "n_missing"].sum() == 1
    assert frame.loc["category", "note"].str.contains("fewer than 12 choice sets").all()


def test_texts_are_compared_as_if_they_had_been_seen_in_the_same_categories() -> None:
    """A text moves nothing but was seen where every nudge works: alone it seems to work best."""
    made = simulate_study(4, sets=200, nudges=2, nudges_per_set=2, categories=2).table
    number = made["trial"].str.split("/").str[1].astype(int)
    text = made.groupby("trial")["nudge_text"].transform("max")
    table = made[
        ~((text != "") & (((text == "text 0") == (made["category"] == "category0")) & (number % 4 > 0)))
    ]
    chance = 0.5 + 0.2 * (table["category"] == "category1") * (2 * table["nudged"] - 1)
    first = ~table.duplicated("trial")
    wins = dict(
        zip(table.loc[first, "trial"], np.random.default_rng(2).random(int(first.sum())), strict=True)
    )
    taken = table["trial"].map(wins) < chance.where(first).groupby(table["trial"]).transform("max")
    table = check_table(table.assign(chosen=(taken == first).astype(int)))
    apart = nudge_effects(table)[0].set_index("nudge_text")["estimate"]
    joint = joint_effects(table).set_index("level")
    assert abs(apart["text 0"] - apart["text 1"]) > 15
    assert abs(joint.loc["text 0", "estimate"] - joint.loc["text 1", "estimate"]) < 8
    assert joint.loc["category1", "estimate"] == pytest.approx(40, abs=8)


@pytest.mark.slow
@pytest.mark.parametrize("alike", [False, True])
def test_a_true_0_is_seldom_rejected(alike: bool) -> None:
    """Nudges that do nothing, of an agent that draws each answer, or each set's answer once."""
    rng, made = (
        np.random.default_rng(3),
        simulate_study(5, sets=40, nudges=4, nudges_per_set=2, categories=12).table,
    )
    table = check_table(made)
    first, rejected = ~table.duplicated("trial"), []
    for _ in range(size(60, 400)):
        unit = table["set"] if alike else table["trial"]
        wins = dict(zip(unit.unique(), rng.random(unit.nunique()) < 0.5, strict=True))
        own = table.assign(chosen=(unit.map(wins) == first).astype("Int64"))
        rejected += list(joint_effects(own)["p_value"].dropna() < 0.05)
    assert np.mean(rejected or [0.0]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / size(60, 400))


def test_without_two_levels_there_are_no_rows() -> None:
    table = simulate_study(3, sets=4, nudges=1, nudges_per_set=1, categories=1).table
    assert joint_effects(check_table(table)).empty
    assert joint_effects(check_table(table[table["condition"] == "none"])).empty
    lost = simulate_study(3, sets=4, nudges=2, nudges_per_set=2).table
    assert joint_effects(check_table(lose(lost, lost["trial"] != ""))).empty


def test_little_data_give_the_other_features_one_coefficient_and_say_so() -> None:
    table = check_table(simulate_study(3, sets=14, nudges=5, nudges_per_set=1, categories=3).table)
    assert joint_effects(table)["note"].str.contains("one coefficient for all texts: too little data").all()
