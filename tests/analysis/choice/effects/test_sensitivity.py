"""Sensitivity to the size of a difference in price or rating."""

import numpy as np
import pandas as pd
import pyfixest
import pytest

from analysis.choice.effects.effects import regressors
from analysis.choice.effects.sensitivity import advantages, sensitivity
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import simulate_study
from tests.support import size


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return check_table(simulate_study(3, sets=40, nudges=8, nudges_per_set=3, categories=12).table)


def test_advantages_by_hand() -> None:
    options = [(10, 80.0), (20, 70.0), (30, 90.0), (15, 50.0), (45, 60.0), (5, None), (7, 40.0)]
    table = pd.DataFrame(options, columns=["price", "rating"])
    table = table.assign(trial_id=[0] * 3 + [1] * 2 + [2] * 2)
    found = advantages(table)
    assert found["price_advantage"].tolist()[:5] == pytest.approx([75, 0, -75, 100, -100])
    assert found["rating_advantage"].tolist()[:5] == pytest.approx([0, -15, 15, -10, 10])
    assert found["rating_advantage"][5:].isna().all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_slopes_agree_with_pyfixest(table: pd.DataFrame) -> None:
    slopes, _ = sensitivity(table)
    data = regressors(table)[["viewed_first", "nudged"]].join(advantages(table))
    data["y"], data["t"] = table["chosen"].astype(float), table.groupby("trial").ngroup()
    data["text"] = pd.factorize(table.groupby("trial")["nudge_text"].transform("max"))[0]
    data["cat"] = pd.factorize(table["category"])[0]
    terms = ["price_advantage", "rating_advantage"]
    fit = pyfixest.feols(
        f"y ~ {' + '.join(terms)} + viewed_first + nudged | t", data, vcov={"CRV1": "text+cat"}
    )
    errors = [fit.se(), *(fit.vcov({"CRV1": way}).se() for way in ("text", "cat"))]
    data["group"] = pd.factorize(table["set"])[0]
    ssc, count = pyfixest.ssc(k_adj=False, G_adj=False), table["set"].nunique()
    by_set = pyfixest.feols(
        f"y ~ {' + '.join(terms)} + viewed_first + nudged | t", data, vcov={"CRV3": "group"}, ssc=ssc
    )
    errors.append(np.sqrt((count - 1) / count) * by_set.se())
    for term, row in slopes.set_index("term").iterrows():
        assert row["estimate"] == pytest.approx(1000 * fit.coef()[term], abs=1e-7)
        assert row["std_error"] == pytest.approx(1000 * max(each[term] for each in errors), abs=1e-7)
    assert slopes["term"].tolist() == terms


def test_curves_pass_through_chance_and_mirror(table: pd.DataFrame) -> None:
    slopes, curves = sensitivity(table)
    slope = slopes.set_index("term")["estimate"]
    for (side, model), curve in curves[curves["model"] != "observed"].groupby(["advantage", "model"]):
        values, chances = curve["value"].to_numpy(), curve["estimate"].to_numpy()
        assert chances + chances[::-1] == pytest.approx(np.full(len(values), 100.0))
        assert values[len(values) // 2] == 0 and chances[len(values) // 2] == 50
        assert (curve["conf_low"] <= chances).all() and (curve["conf_high"] >= chances).all()
        if model == "linear":
            assert chances == pytest.approx(50 + values / 10 * slope[f"{side}_advantage"])


@pytest.mark.slow
def test_a_curve_has_chance_in_its_middle_however_far_it_reaches() -> None:
    """Few texts of nudges, so that errors are by set alone."""
    table = simulate_study(sets=14, nudges_per_set=1).table
    # With the first of these spreads, equal steps from one end miss 0 by rounding.
    for spread in (26.29390357364244, *np.random.default_rng(3).uniform(1, 90, size(3, 30))):
        prices = 100 + spread * (table["price"].rank(pct=True) - 0.5)
        _, curves = sensitivity(check_table(table.assign(price=prices)))
        middle = curves[(curves["value"] == 0) & curves["model"].isin(["linear", "quartic"])]
        assert len(middle) == 3, "of prices twice, of ratings once"
        assert (middle[["estimate", "conf_low", "conf_high"]] == 50).all(axis=None)


def test_the_quartic_follows_a_curve_that_the_line_misses() -> None:
    """Choices that only a price advantage above a tenth moves."""
    table = check_table(simulate_study(5, sets=200, nudges=4, nudges_per_set=2).table)
    own = advantages(table)["price_advantage"]
    chance = 0.5 + 0.4 * np.sign(own) * (own.abs() > 10)
    first = ~table.duplicated("trial")
    wins = np.random.default_rng(0).random(int(first.sum())) < chance[first]
    by_trial = dict(zip(table.loc[first, "trial"], wins, strict=True))
    table["chosen"] = (first == table["trial"].map(by_trial)).astype(int)
    _, curves = sensitivity(table)
    price = curves[curves["advantage"] == "price"]
    at = {
        model: np.interp([3, 25], rows["value"], rows["estimate"])
        for model, rows in price[price["model"] != "observed"].groupby("model")
    }
    assert at["quartic"][0] < at["linear"][0] < 62
    assert at["quartic"][1] == pytest.approx(90, abs=6)
    seen = price[price["model"] == "observed"]
    assert seen["n"].sum() == len(table)
    assert seen["estimate"].iloc[-1] == pytest.approx(90, abs=5)


def test_nothing_differs_and_nothing_is_said() -> None:
    table = simulate_study(3, sets=4, nudges_per_set=1).table.drop(columns=["price", "rating"])
    slopes, curves = sensitivity(check_table(table))
    assert slopes.empty and curves.empty
    matched = simulate_study(3, sets=8, nudges_per_set=1, matched_ratings=True).table
    slopes, curves = sensitivity(check_table(matched))
    assert slopes["term"].tolist() == ["price_advantage"] and set(curves["advantage"]) == {"price"}


def test_a_trial_without_a_price_is_counted(table: pd.DataFrame) -> None:
    gap = table.assign(price=table["price"].mask(table["trial"] == table["trial"].iloc[0]))
    slopes, _ = sensitivity(gap)
    assert (slopes["n_missing"] == 1).all()
