"""The cheaper or higher rated option by the size of the difference, against statsmodels and a known truth."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis.choice.effects.differences import difference_effects
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import lose, simulate_study
from tests.support import size

TERMS = {
    "price": ["price_difference", "mean_price", "price_difference:mean_price"],
    "rating": ["rating_difference", "mean_rating", "rating_difference:mean_rating"],
}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    found = simulate_study(
        3, agents=("balanced", "other"), sets=70, nudges=4, nudges_per_set=2, categories=15
    )
    return check_table(lose(found.table, found.table["trial"].str.startswith("balanced/3/")))


def by_trial(table: pd.DataFrame, agent: str, feature: str) -> pd.DataFrame:
    """What the formula needs, a row a trial, without any code of the product."""
    rows = []
    for _, own in table[(table["agent"] == agent) & table["chosen"].notna()].groupby("trial"):
        low, high = own.sort_values(feature).iloc[0], own.sort_values(feature).iloc[-1]
        if low[feature] == high[feature]:
            continue
        if feature == "price":
            x = np.log2(1 + 100 * (high["price"] - low["price"]) / low["price"])
            level, best = np.log2(own["price"].mean()), low
        else:
            x, level, best = (high["rating"] - low["rating"]) / 10, own["rating"].mean() / 10, high
        weight = 1 / best.get("assignment", 1.0)
        rows.append((float(best["chosen"]), x, level, best["category"], best["set"], weight))
    return pd.DataFrame(rows, columns=["won", "x", "level", "category", "set", "weight"])


def fitted(frame: pd.DataFrame, centres: "pd.Series[float]") -> "pd.Series[float]":
    data = frame.assign(x=frame["x"] - centres["x"], level=frame["level"] - centres["level"])
    found = smf.wls("won ~ x * level + C(category)", data, weights=data["weight"]).fit()
    return pd.Series(found.params)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("feature", ["price", "rating"])
def test_terms_are_those_of_statsmodels_with_the_errors_of_leaving_out_categories(
    table: pd.DataFrame, feature: str, weighed: bool
) -> None:
    if weighed:
        table = check_table(table.assign(assignment=np.where(table["trial"].str.endswith("0"), 0.5, 1.0)))
    effects, curves = difference_effects(table)
    assert (curves["model"] == "observed").any() != weighed
    for agent in ("balanced", "other"):
        frame = by_trial(table, agent, feature)
        mean = frame[["x", "level"]].mul(frame["weight"], axis=0).sum() / frame["weight"].sum()
        whole = fitted(frame, mean)[["x", "level", "x:level"]]
        own = effects[effects["group"] == agent].set_index("term").loc[TERMS[feature]]
        assert own["estimate"].to_numpy() == pytest.approx(100 * whole.to_numpy(), abs=1e-8)
        assert (own["n"] == len(frame)).all() and (own["n"] + own["n_missing"] == 840).all()
        several = [name for name, its in frame.groupby("category") if its["set"].nunique() > 1]
        assert len(several) >= 12
        moves = np.array(
            [fitted(frame[frame["category"] != name], mean)[whole.index] - whole for name in several]
        )
        error = np.sqrt((len(several) - 1) / len(several) * (moves**2).sum(axis=0))
        assert own["std_error"].to_numpy() == pytest.approx(100 * error, abs=1e-8)


def test_a_curve_is_the_mean_prediction_over_the_categories(table: pd.DataFrame) -> None:
    _, curves = difference_effects(table)
    frame = by_trial(table, "other", "price")
    model = smf.ols("won ~ x * level + C(category)", frame).fit()
    own = curves[(curves["group"] == "other") & (curves["feature"] == "price")]
    fit = own[own["model"] == "fitted"]
    assert fit["level"].nunique() == 3 and fit["conf_low"].notna().all()
    for row in fit.to_dict("records"):
        at = frame.assign(x=np.log2(1 + row["value"]), level=np.log2(row["level"]))
        share = 100 * float(model.predict(at).mean())
        assert row["estimate"] == pytest.approx(min(100.0, max(0.0, share)), abs=1e-8)
        assert 0 <= row["conf_low"] <= row["estimate"] <= row["conf_high"] <= 100
    seen = own[own["model"] == "observed"]
    assert seen["n"].sum() == len(frame)
    assert (seen["n"] * seen["estimate"]).sum() / 100 == pytest.approx(frame["won"].sum())


def study(rng: np.random.Generator, sets: int, categories: int, slope: float, alike: bool) -> pd.DataFrame:
    """The chance of the cheaper one rises by `slope` a unit; sets and categories differ by chance."""
    category, base = rng.integers(categories, size=sets), np.exp(rng.normal(3.5, 1, sets))
    price = np.column_stack([base, base * (1 + rng.uniform(0, 0.5, sets))])
    x = np.log2(1 + 100 * (price[:, 1] / price[:, 0] - 1))
    chance = 0.5 + slope * (x - 4) + rng.normal(0, 0.08, sets) + rng.normal(0, 0.08, categories)[category]
    chance = (rng.random(sets) < chance).astype(float) if alike else chance.clip(0, 1)
    of_trial = np.repeat(np.arange(sets), 8)
    won = rng.random(len(of_trial)) < chance[of_trial]
    trial, option = np.repeat(np.arange(len(of_trial)), 2), np.tile([0, 1], len(of_trial))
    return pd.DataFrame(
        {
            "run": "r", "trial": trial.astype(str), "agent": "a", "set": of_trial[trial].astype(str),
            "option": option.astype(str), "position": option, "outcome": "choice",
            "chosen": (won[trial] == (option == 0)).astype(int),
            "category": category[of_trial[trial]].astype(str), "price": price[of_trial[trial], option],
        }
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sets", "categories", "slope", "alike"),
    [(60, 20, 0.0, False), (60, 20, 0.0, True), (60, 3, 0.0, False), (60, 20, 0.05, False)],
)
def test_a_true_slope_is_held_and_a_true_0_seldom_rejected(
    sets: int, categories: int, slope: float, alike: bool
) -> None:
    rng = np.random.default_rng(1)
    rows = [
        difference_effects(check_table(study(rng, sets, categories, slope, alike)))[0].iloc[0]
        for _ in range(size(60, 400))
    ]
    found = pd.DataFrame(rows).dropna(subset=["p_value"])
    assert len(found) > len(rows) / 3
    held = (found["conf_low"] <= 100 * slope) & (found["conf_high"] >= 100 * slope)
    assert held.mean() >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / len(found))


def test_what_cannot_be_estimated_is_empty_with_its_reason() -> None:
    few = simulate_study(3, sets=3, nudges_per_set=1, categories=26).table
    effects, curves = difference_effects(check_table(few))
    assert effects["estimate"].isna().all() and effects["note"].str.startswith("cannot be told").all()
    assert curves.loc[curves["model"] == "fitted", "estimate"].isna().all()
    assert curves.loc[curves["model"] == "observed", "estimate"].notna().all()
    some = simulate_study(3, sets=9, nudges_per_set=1, categories=2).table
    effects, _ = difference_effects(check_table(some))
    assert effects["estimate"].notna().all() and effects["std_error"].isna().all()
    assert effects["note"].str.contains("fewer than 12 choice sets").all()
    nothing = few.drop(columns=["price", "rating"])
    assert all(frame.empty for frame in difference_effects(check_table(nothing)))
    matched = simulate_study(3, sets=8, nudges_per_set=1, matched_ratings=True).table
    assert set(difference_effects(check_table(matched))[1]["feature"]) == {"price"}
