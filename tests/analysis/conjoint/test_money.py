"""Money values: never against the part-worth, in the form that fits, and true in simulations."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.conjoint.cards import encode
from analysis.conjoint.full_models import full_models
from analysis.conjoint.held_out import held_out
from analysis.conjoint.money import money, price_forms
from analysis.conjoint.study import analyze_conjoint
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.leave_out import equal_coefficients, moves, with_errors
from tests.support import size

Simulate = Callable[..., pd.DataFrame]


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
    cards = encode(drawn(seed, sets, price, curve, spread, worth))
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
def test_true_values_are_in_the_intervals(simulate: Simulate) -> None:
    """The weights over that of the price, in percent: in at least 93 % but for what chance may do."""
    truth = {"stars": 15.0, "cancel": 30.0, "breakfast": 25.0, "review_score": 37.5, "shown_first": 0.0}
    agents = tuple(f"agent{number}" for number in range(size(30, 300)))
    cards = encode(simulate(8, agents=agents, sets=100, sizes=(2,)))
    found = money(full_models(cards, list(agents), "clustered")).set_index("term").loc[list(truth)]
    true = found.index.map(truth).to_numpy()
    found, true = found[known := found["percent"].notna()], true[known]
    assert known.mean() > 0.97
    held = (found["percent_low"] <= true) & (true <= found["percent_high"])
    assert held.mean() >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / len(held)), held.groupby(level=0).mean()


def test_moves_are_those_of_fits_without_each_set(simulate: Simulate) -> None:
    """To the first order; and errors of an agent that answers alike are those of half as many answers."""
    table = simulate(3, sets=60, sizes=(2,))
    rows = encode(table).rows
    x = rows[["stars", "cancel", "log_price"]]
    chosen, trial = rows["chosen"].to_numpy(float), rows["trial_id"].to_numpy()
    fit = fit_clogit(x, chosen, trial)
    moved = moves(fit, x, chosen, trial, rows["set"])
    for name in moved.index[:6]:
        out = (rows["set"] == name).to_numpy()
        without = fit_clogit(x[~out], chosen[~out], trial[~out]).estimate - fit.estimate
        assert moved.loc[name].to_numpy() == pytest.approx(without, rel=0.35, abs=2e-3)
    alone = moves(fit, x, chosen, trial, trial)
    assert with_errors(fit, alone).std_error == pytest.approx(fit.std_error, rel=0.2)
    few = moved[:11]
    assert np.isnan(with_errors(fit, few).std_error).all()


@pytest.mark.slow
def test_pooling_holds_its_size_where_answers_are_alike() -> None:
    """Two agents, each answering a set alike every time; nothing differs between parts."""
    rejected, tests = 0, 0
    for seed in range(size(40, 400)):
        rng = np.random.default_rng(seed)
        parts = []
        for _ in range(2):
            count, times = 40, 4
            x = np.repeat(rng.normal(size=(count, 2, 3)), times, axis=0)
            utility = x @ [1.0, -1.0, 0.5] + np.repeat(rng.gumbel(size=(count, 2)), times, axis=0)
            chosen = np.eye(2)[utility.argmax(axis=1)].ravel()
            trial = np.repeat(np.arange(count * times), 2)
            frame = pd.DataFrame(x.reshape(-1, 3), columns=["a", "b", "c"])
            fit = fit_clogit(frame, chosen, trial)
            parts.append((fit, moves(fit, frame, chosen, trial, trial // times)))
        found = equal_coefficients([fit for fit, _ in parts], [moved for _, moved in parts])
        tests += 1
        rejected += found.p_value < 0.05
    assert rejected / tests <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / tests)


@pytest.mark.thorough
@pytest.mark.slow
def test_agents_that_differ_are_not_poolable(simulate: Simulate) -> None:
    table = simulate(1, agents=("one", "two"), sets=80, random=("two",))
    pooling = analyze_conjoint(table).pooling.set_index(["part", "group"])
    assert pooling.loc[("agents", "all agents"), "p_robust"] < 0.001
    assert pooling.loc[("order", "one"), "p_robust"] > 0.001
    assert (pooling.loc["set size", "p_robust"] > 0.001).all()


def test_held_out_cards_are_predicted_by_the_weights_and_not_by_dice(simulate: Simulate) -> None:
    table = simulate(2, agents=("balanced", "dice"), sets=150, sizes=(2,), random=("dice",))
    found = held_out(full_models(encode(table), ["balanced", "dice"], "clustered")).set_index("group")
    assert found.loc["balanced", "estimate"] > 0.8 and found.loc["balanced", "held_out_r2"] > 0.4
    assert found.loc["dice", "conf_low"] < 0.5 < found.loc["dice", "conf_high"]
    assert found.loc["dice", "held_out_r2"] < 0.01
    assert (found["held_out_r2"] <= found["pseudo_r2"]).all()
    assert found["loglik_of_chance"].tolist() == pytest.approx([-np.log(2)] * 2)
    few = held_out(full_models(encode(simulate(sets=8, sizes=(2,))), ["balanced"], "clustered"))
    assert few["note"].tolist() == ["fewer than 12 choice sets"]
