"""Money values: never against the part-worth, in the form that fits, and true in simulations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.conjoint.cards import encode
from analysis.conjoint.full_models import full_models
from analysis.conjoint.held_out import held_out
from analysis.conjoint.money import money, moved_money, price_forms
from analysis.conjoint.study import analyze_conjoint
from analysis.conjoint.tables import LINEAR
from tests.analysis.conjoint.conftest import simulate_cards
from tests.support import size


def drawn(seed: int, sets: int, price: float, curve: str, spread: float, worth: float) -> pd.DataFrame:
    """Pairs in both orders; stars make hotels dearer, and utility has the price in a given form."""
    rng = np.random.default_rng(seed)
    stars = rng.integers(1, 6, size=2 * sets)
    shown = np.exp(4.5 + 0.3 * spread * stars + rng.normal(0, 0.4, 2 * sets)).round().clip(1)
    form = {"log": np.log(shown), "linear": shown / 300, "steep": (shown / 300) ** 3}[curve]
    pair = np.repeat(np.arange(sets), 2)
    frames = []
    for ordering in ("forward", "reversed"):
        utility = price * form + worth * stars + rng.gumbel(size=2 * sets)
        best = utility == pd.Series(utility).groupby(pair).transform("max")
        place = np.tile([0, 1], sets)
        frames.append(
            pd.DataFrame(
                {"trial": [f"{ordering}-{number}" for number in pair], "agent": "a", "set": pair,
                 "option": np.tile(["A", "B"], sets), "outcome": "choice", "ordering": ordering,
                 "position": place if ordering == "forward" else 1 - place, "chosen": best.astype(int),
                 "price": shown, "attr_stars": stars, "attr_breakfast": rng.integers(2, size=2 * sets)}
            )
        )  # fmt: skip
    return pd.concat(frames, ignore_index=True)


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(15, 300))
@given(
    st.integers(0, 10**6),
    st.integers(2, 60),
    st.sampled_from([-6.0, -1.0, -0.1, 0.0, 1.0]),
    st.sampled_from(["log", "linear", "steep"]),
    st.sampled_from([-1.0, 0.0, 2.0]),
    st.sampled_from([-0.5, 0.0, 0.05, 1.0]),
)
def test_no_value_has_another_sign_than_its_part_worth(
    seed: int, sets: int, price: float, curve: str, spread: float, worth: float
) -> None:
    table = drawn(seed, sets, price, curve, spread, worth)
    cards = encode(table)
    for cov in ("clustered", "classical"):
        models = full_models(cards, ["a"], cov)  # type: ignore[arg-type]
        for row in money(models).to_dict("records"):
            if np.isnan(row["estimate"]):
                assert row["note"] and np.isnan([row["percent"], row["conf_low"], row["p_value"]]).all()
                continue
            signs = {np.sign(row[name]) for name in ("estimate", "percent", "part_worth", "statistic")}
            assert len(signs) == 1
            assert row["percent"] == pytest.approx(100 * row["estimate"] / row["at_price"])
            assert row["conf_low"] <= row["estimate"] <= row["conf_high"]
            assert (row["conf_low"] > 0 or row["conf_high"] < 0) == (row["p_value"] < 0.05)
            slope, error = models[0].fit.of("price")
            assert slope < 0 and slope / error < -1.9, "the price is clearly below 0"
    found = analyze_conjoint(table)
    part_worths = found.quality.set_index("term")["estimate"]
    for row in found.willingness_to_pay.to_dict("records"):
        assert row["note"] if np.isnan(row["estimate"]) else row["estimate"] * part_worths[row["term"]] > 0


def test_no_part_worth_is_tested_beside_a_price_of_the_wrong_form() -> None:
    """Stars are worth nothing and go with the price: the log price leaves to them what it misses."""
    ends = ["std_error", "p_value", "conf_low", "conf_high", "p_by_set", "by_set_low", "by_set_high"]
    for curve in ("linear", "log"):
        found = analyze_conjoint(drawn(0, 500, -5.0, curve, 1.0, 0.0))
        assert found.quality["estimate"].notna().all()
        assert found.quality[ends].isna().all(axis=None) == (curve == "linear")
        assert found.quality["note"].str.contains(LINEAR).all() == (curve == "linear")
        assert found.money["p_value"].notna().all()


@pytest.mark.slow
def test_the_form_that_a_test_does_not_refute_is_taken() -> None:
    for curve, price in (("log", -5.0), ("linear", -5.0), ("steep", -3.0)):
        models = full_models(encode(drawn(5, 900, price, curve, 1.0, 0.5)), ["a"], "clustered")
        forms = price_forms(models).set_index("term")
        taken = "curved" if curve == "steep" else curve
        assert forms["taken"].to_dict() == {form: form == taken for form in ("log", "linear", "curved")}
        assert money(models)["price_form"].unique().tolist() == [taken]
        refuted = forms["p_value"] < 0.05
        assert refuted.drop("curved").to_dict() == {form: form != taken for form in ("log", "linear")}
        if curve != "steep":  # what utility says: worth in units of the price's coefficient, at the median
            at = models[0].at_price
            truth = 0.5 / 5 * (at if curve == "log" else 300)
            row = money(models).set_index("term").loc["stars"]
            assert row["conf_low"] < truth < row["conf_high"] and row["conf_low"] > 0


@pytest.mark.thorough
@pytest.mark.slow
def test_agents_that_differ_are_not_poolable() -> None:
    table = simulate_cards(1, agents=("one", "two"), sets=80, random=("two",))
    pooling = analyze_conjoint(table).pooling.set_index(["part", "group"])
    assert pooling.loc[("agents", "all agents"), "p_robust"] < 0.001
    assert pooling.loc[("order", "one"), "p_robust"] > 0.001
    assert (pooling.loc["set size", "p_robust"] > 0.001).all()


def test_held_out_cards_are_predicted_by_the_weights_and_not_by_dice() -> None:
    table = simulate_cards(2, agents=("balanced", "dice"), sets=150, sizes=(2,), random=("dice",))
    found = held_out(full_models(encode(table), ["balanced", "dice"], "clustered")).set_index("group")
    assert found.loc["balanced", "estimate"] > 0.8 and found.loc["balanced", "held_out_r2"] > 0.4
    assert found.loc["dice", "conf_low"] < 0.5 < found.loc["dice", "conf_high"]
    assert found.loc["dice", "held_out_r2"] < 0.01
    assert (found["held_out_r2"] <= found["pseudo_r2"]).all()
    assert found["loglik_of_chance"].tolist() == pytest.approx([-np.log(2)] * 2)
    few = held_out(full_models(encode(simulate_cards(sets=8, sizes=(2,))), ["balanced"], "clustered"))
    assert few["note"].tolist() == ["fewer than 12 choice sets"]


def test_values_move_as_in_fits_without_a_set() -> None:
    table = drawn(5, 60, -4.0, "log", 0.5, 0.6)
    (models,) = full_models(encode(table), ["a"], "clustered")
    (worth,) = moved_money([models], ["stars"])
    found = money([models]).set_index("term").loc["stars"]
    assert worth.estimate == pytest.approx(found["estimate"])
    assert worth.error == pytest.approx(found["std_error"], rel=0.1)
    moves, left = [], worth.moves.index[:12]
    for left_out in left:
        rest = encode(table[table["set"].astype(str) != str(left_out)])
        (other,) = full_models(rest, ["a"], "clustered", models.at_price)
        fit = other.fits[models.form]
        value = -models.at_price * fit.of("stars")[0] / fit.of("price")[0]
        moves.append(value - worth.estimate)
    assert np.corrcoef(worth.moves[left], moves)[0, 1] > 0.99
    assert worth.moves[left].to_numpy() == pytest.approx(moves, abs=0.15 * np.abs(moves).max())
