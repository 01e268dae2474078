"""Context effects: none of a shopper with a taste, and a known one of an agent that follows decoys."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from agents.simulated.tab_shopper import shipped_taste
from analysis.choice import analyze_choice
from analysis.choice.exact.context_effects import ROLE, context_effects, context_shares
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.analysis.conftest import simulate_study
from tests.support import size

TARGET = {"worse-than-cheap": "cheap", "worse-than-good": "good"}
MIDDLE = {"cheapest": "cheap", "dearest": "good"}


@cache
def simulated(taste: str) -> SimulatedTrials:
    return simulated_trials(load_shop_design("decoys", subject=""), shipped_taste(taste), None)


def chosen(made: SimulatedTrials, role: "pd.Series[str]") -> pd.DataFrame:
    """The table with these roles chosen, by trial."""
    return made.table.assign(chosen=made.table[ROLE].eq(made.table["trial"].map(role)).astype(int))


def constructed(rng: np.random.Generator, follows: float, middle: float) -> pd.DataFrame:
    """An agent that takes the target, or the middle one, with these chances, else cheap in 40 %."""
    made = simulated("balanced")
    trials = made.table.drop_duplicates("trial").set_index("trial")["condition"]
    pulled = trials.map(TARGET).where(rng.random(len(trials)) < follows)
    pulled = pulled.fillna(trials.map(MIDDLE).where(rng.random(len(trials)) < middle))
    own = pd.Series(np.where(rng.random(len(trials)) < 0.4, "cheap", "good"), trials.index)
    return chosen(made, pulled.fillna(own))


def row(found: pd.DataFrame, term: str, level: str = "") -> "pd.Series[object]":
    return found[(found["term"] == term) & (found["level"] == level)].iloc[0]


@pytest.mark.slow
@pytest.mark.parametrize("taste", ["balanced", "random"])
def test_a_shopper_with_a_taste_has_neither_effect(taste: str) -> None:
    """Its shares of cheap and good keep their ratio whatever the third option is, which it chooses too."""
    studies, made = size(60, 400), simulated(taste)
    drawn = made.drawn(np.random.default_rng(5), studies).astype(int)
    found = [context_effects(made.table.assign(chosen=drawn[:, at])) for at in range(studies)]
    for term in ("attraction", "compromise"):
        rows = pd.DataFrame([row(each, term) for each in found])
        assert rows["conf_low"].le(0).mul(rows["conf_high"].ge(0)).mean() > 0.9, term
        assert rows["p_value"].lt(0.05).mean() < 0.1, term
        error = rows["estimate"].std() / np.sqrt(studies)
        assert abs(rows["estimate"].astype(float).mean()) < 3.5 * error, term


@pytest.mark.slow
@pytest.mark.parametrize("follows, middle", [(0.3, 0.0), (0.0, 0.5), (0.6, 0.2)])
def test_an_agent_that_follows_decoys_by_a_known_chance_gives_it_back(follows: float, middle: float) -> None:
    """With the chance q of taking the target: q + (1 - q) s less (1 - q) s is q, whatever its taste s."""
    rng, studies = np.random.default_rng(7), size(40, 300)
    found = [context_effects(constructed(rng, follows, middle)) for _ in range(studies)]
    truth = {
        ("attraction", ""): 100 * follows,
        ("compromise", ""): 100 * middle,
        ("against_control", "cheap"): 100 * follows * 0.6,
        ("against_control", "good"): 100 * follows * 0.4,
    }
    for (term, level), true in truth.items():
        rows = pd.DataFrame([row(each, term, level) for each in found])
        held = rows["conf_low"].le(true) & rows["conf_high"].ge(true)
        assert held.mean() >= 0.85 and (rows["strata"] == 60).all(), (term, level)
        assert rows["estimate"].astype(float).mean() == pytest.approx(true, abs=4)
        if not level:
            assert (rows["target_share"] - (50 + rows["estimate"] / 2)).abs().max() < 1e-9


def test_the_target_in_all_trials_is_an_effect_of_a_hundred_points() -> None:
    made = simulated("balanced")
    trials = made.table.drop_duplicates("trial").set_index("trial")["condition"]
    target = trials.map(TARGET | MIDDLE).fillna("cheap")
    found = context_effects(chosen(made, target))
    assert [row(found, term)["estimate"] for term in ("attraction", "compromise")] == [100, 100]
    assert row(found, "attraction")["p_value"] < 1e-11 and row(found, "attraction")["strata"] == 60
    turned = context_effects(chosen(made, target.map({"cheap": "good", "good": "cheap"})))
    assert [row(turned, term)["estimate"] for term in ("attraction", "compromise")] == [-100, -100]
    plain = context_effects(chosen(made, pd.Series("good", trials.index)))
    assert set(plain["estimate"]) == {0} and set(plain["p_value"]) == {1}
    assert row(plain, "attraction")["target_share"] == 50


def test_answers_that_are_given_again_count_once() -> None:
    """Repeats that show the same are one stratum; here each question is stored three times."""
    table = constructed(np.random.default_rng(3), 0.3, 0.3)
    again = pd.concat([table.assign(trial=table["trial"] + f"-{time}") for time in range(3)])
    once, thrice = (context_effects(check_table(each)) for each in (table, again))
    same = ["estimate", "p_value", "conf_low", "conf_high", "strata"]
    pd.testing.assert_frame_equal(once[same], thrice[same])
    assert thrice["note"].str.contains("repeats").all() and not once["note"].any()


def test_shares_have_wilsons_interval_and_add_up() -> None:
    table = constructed(np.random.default_rng(4), 0.3, 0.3)
    third = table["condition"].eq("worse-than-both") & table["repeat"].eq(0)
    table.loc[third, "chosen"] = table.loc[third, ROLE].eq("third").astype(int)
    shares = context_shares(table)
    assert [*zip(shares["condition"], shares["role"], strict=True)] == [
        *product([*TARGET, "worse-than-both", *MIDDLE], ["cheap", "good", "third"])
    ]
    assert shares.groupby("condition", observed=True)["share"].sum().to_numpy() == pytest.approx(100)
    decoy = shares[(shares["role"] == "third") & (shares["condition"] == "worse-than-both")].iloc[0]
    low, high = proportion_confint(decoy["chosen"], decoy["trials"], method="wilson")
    assert [decoy["conf_low"], decoy["conf_high"]] == pytest.approx([100 * low, 100 * high])


def test_the_first_sentence_says_it_and_other_studies_have_no_such_table() -> None:
    made = analyze_choice(constructed(np.random.default_rng(2), 0.8, 0.0))
    said = report(made).answer[0]
    assert said.startswith(
        "simulated: context effects; a decoy beside its target moves the relative share by "
    )
    assert "being the middle option: not told apart from 0" in said
    assert "Context effects" in [section.title for section in report(made).sections]
    other = analyze_choice(simulate_study(sets=4).table)
    assert other.context_effects is None and "context_" not in other.to_json()


def test_where_only_the_third_one_is_chosen_nothing_is_estimated() -> None:
    made = simulated("balanced")
    table = chosen(made, pd.Series("third", made.table["trial"].unique()))
    attraction = row(context_effects(table), "attraction")
    assert np.isnan(attraction["estimate"]) and attraction["strata"] == 0  # type: ignore[call-overload]
    assert "cheap or good" in str(attraction["note"])
