"""Effects by profile and size of the set, against separate fits and pyfixest."""

import numpy as np
import pandas as pd
import pyfixest
import pytest

from analysis.choice.effects.effects import TERMS, choice_effects, main_effects
from analysis.choice.effects.groups import (
    PRODUCT_TYPES,
    position_shares,
    product_type_effects,
    profile_effects,
    set_size_effects,
)
from analysis.tables.choice_table import check_table
from environments.shop.market import MARKETS
from tests.analysis.conftest import lose, simulate_study


@pytest.fixture(scope="module")
def profiled() -> pd.DataFrame:
    """The same design twice; with the profile the cheaper is always taken."""
    table = simulate_study(3, sets=16, nudges_per_set=2, nudges=6, categories=6).table
    budget = table.assign(profile="budget", trial=table["trial"] + "/b")
    cheaper = budget["price"] == budget.groupby("trial")["price"].transform("min")
    rng = np.random.default_rng(0)
    keeps = budget["trial"].map(dict(zip(budget["trial"].unique(), rng.random(192) < 0.3, strict=True)))
    budget["chosen"] = budget["chosen"].where(keeps, cheaper.astype(int))
    return check_table(pd.concat([table.assign(profile=""), budget], ignore_index=True))


def test_effects_under_a_profile_are_those_of_its_trials(profiled: pd.DataFrame) -> None:
    effects, _ = profile_effects(profiled)
    assert effects["profile"].tolist() == ["none"] * 4 + ["budget"] * 4
    for profile, rows in effects.groupby("profile"):
        alone = choice_effects(profiled[profiled["profile"] == profile.replace("none", "")])
        assert rows["estimate"].tolist() == pytest.approx(alone["estimate"].tolist(), abs=1e-8)
        assert (rows["n"] == 192).all() and (rows["n_missing"] == 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["category", "set"])
def test_differences_agree_with_an_interaction_in_pyfixest(profiled: pd.DataFrame, way: str) -> None:
    """One feature only: the difference is the coefficient of its product with the profile."""
    table = profiled.assign(cheaper=0, higher_rated=0, nudged=0)
    table["category"] = table["set"].replace({"set15": "set14", "set13": "set12"})
    table["category"] = table["category"] if way == "category" else "one"
    effects, differences = profile_effects(table)
    row = differences.set_index("term").loc["viewed_first"]
    data = table.assign(
        y=table["chosen"].astype(float),
        x=table["viewed_first"].astype(float),
        b=(table["profile"] == "budget").astype(float),
        t=table.groupby("trial").ngroup(),
        group=pd.factorize(table[way])[0],
    )
    ssc = pyfixest.ssc(k_adj=False, G_adj=False)
    fit = pyfixest.feols("y ~ x + x:b | t", data, vcov={"CRV3": "group"}, ssc=ssc)
    count = data["group"].nunique()
    assert row["estimate"] == pytest.approx(100 * fit.coef()["x:b"], abs=1e-8)
    error = 100 * np.sqrt((count - 1) / count) * fit.se()["x:b"]  # the jackknife's factor, left out with ssc
    assert row["std_error"] == pytest.approx(error, abs=1e-8)
    assert effects.set_index(["profile", "term"])["estimate"]["none", "viewed_first"] == pytest.approx(
        100 * fit.coef()["x"], abs=1e-8
    )
    assert differences.set_index("term").loc["nudged", "note"] == (
        "nudged never differs between the options of a trial"
    )


def test_too_few_sets_give_counts_in_the_place_of_intervals(profiled: pd.DataFrame) -> None:
    few = profiled[profiled["set"].isin(["set0", "set1", "set2"])]
    effects, differences = profile_effects(check_table(few))
    for frame in (effects, differences):
        assert frame[["std_error", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)
        known = frame[frame["estimate"].notna()]
        assert set(known["note"]) == {"no interval: fewer than 12 choice sets"}
    budget = few[few["profile"] == "budget"]
    shares = budget.groupby(["set", "viewed_first"])["chosen"].mean().unstack()
    apart = shares[1] - shares[0]
    row = effects.set_index(["profile", "term"]).loc["budget", "viewed_first"]
    assert (row["sets_for"], row["sets_against"], row["sets"]) == ((apart > 0).sum(), (apart < 0).sum(), 3)
    plain = few[few["profile"] == ""].groupby(["set", "viewed_first"])["chosen"].mean().unstack()
    moved = apart - (plain[1] - plain[0])
    row = differences.set_index("term").loc["viewed_first"]
    assert (row["sets_for"], row["sets_against"], row["sets"]) == ((moved > 0).sum(), (moved < 0).sum(), 3)


def test_a_profile_that_works_shows(profiled: pd.DataFrame) -> None:
    _, differences = profile_effects(profiled)
    assert differences["term"].tolist() == list(TERMS)
    cheaper = differences.set_index("term").loc["cheaper"]
    assert cheaper["conf_low"] > 10
    assert cheaper["p_adjusted"] >= cheaper["p_value"]


def test_without_a_base_there_are_effects_but_no_differences(profiled: pd.DataFrame) -> None:
    renamed = profiled.assign(profile=profiled["profile"].replace("", "lavish"))
    effects, differences = profile_effects(renamed)
    assert effects["estimate"].notna().all()
    assert differences["estimate"].isna().all()
    assert set(differences["note"]) == {"no trial has the profile 'none' to compare with"}


def test_an_agent_without_choices_under_a_profile(profiled: pd.DataFrame) -> None:
    lost = profiled["profile"] == "budget"
    effects, differences = profile_effects(check_table(lose(profiled, lost)))
    assert set(effects.loc[effects["profile"] == "budget", "note"]) == {"no trial has a choice"}
    assert set(differences["note"]) == {"no trial has a choice"}
    assert (differences["n_missing"] == 192).all()


def test_one_profile_or_one_size_gives_no_rows() -> None:
    table = check_table(simulate_study(3, sets=4, nudges_per_set=1).table)
    assert all(
        frame.empty for frame in (*profile_effects(table), set_size_effects(table), position_shares(table))
    )


def test_sets_of_several_sizes() -> None:
    trios = simulate_study(4, sets=10, size=3, nudges_per_set=2, negative=(1,)).table
    pairs = simulate_study(4, sets=10, nudges_per_set=2).table.assign(run="r2")
    table = check_table(pd.concat([trios, pairs], ignore_index=True))
    effects = set_size_effects(table)
    assert effects["options"].tolist() == ["2"] * 4 + ["3"] * 4
    alone = main_effects(check_table(trios))
    assert effects.loc[4:, "estimate"].tolist() == pytest.approx(alone["estimate"].tolist(), abs=1e-8)
    shares = position_shares(table)
    assert list(zip(shares["options"], shares["position"], strict=True)) == [
        (2, 1), (2, 2), (3, 1), (3, 2), (3, 3),
    ]  # fmt: skip
    for size, cells in shares.groupby("options"):
        assert cells["estimate"].sum() == pytest.approx(100)
        assert (cells["chance"] == 100 / size).all()
    first = trios[(trios["viewed_first"] == 1)]
    assert shares["chosen"][2] == first["chosen"].sum() and shares["trials"][2] == len(first)


def test_effects_by_product_type_are_those_of_its_trials_alone() -> None:
    """Mixed sets are a type of their own, and trials without a type are left out."""
    table = simulate_study(3, sets=40, nudges_per_set=1, categories=4).table
    number = table["set"].str.removeprefix("set").astype(int)
    kinds = np.select([number < 15, number < 30, number < 33], ["consumable", "durable", ""], table["option"])
    typed = check_table(table.assign(attr_product_type=kinds))
    found = product_type_effects(typed)
    assert set(found["product_type"]) == {"consumable", "durable", "mixed"}
    for kind, rows in found.groupby("product_type"):
        own = number.between(0, 14) if kind == "consumable" else number.between(15, 29)
        own = number >= 33 if kind == "mixed" else own
        alone = main_effects(check_table(table[own])).set_index("term")["estimate"]
        assert rows.set_index("term")["estimate"].to_dict() == pytest.approx(alone.to_dict(), abs=1e-8)
    assert product_type_effects(check_table(table)).empty
    assert product_type_effects(check_table(table.assign(attr_product_type="durable"))).empty


def test_products_of_the_shipped_shop_have_their_types() -> None:
    assert set(MARKETS) == set(PRODUCT_TYPES)
    table = simulate_study(3, sets=24, nudges_per_set=1).table
    names = np.where(table["set"].str.removeprefix("set").astype(int) % 2, "Cheese", "Radios")
    found = product_type_effects(check_table(table.assign(category=names)))
    typed = table.assign(attr_product_type=np.where(names == "Cheese", "consumable", "durable"))
    pd.testing.assert_frame_equal(found, product_type_effects(check_table(typed)))
    own = np.where(names == "Cheese", "Tea", names)  # of one category nobody knows what it is
    assert product_type_effects(check_table(table.assign(category=own))).empty
