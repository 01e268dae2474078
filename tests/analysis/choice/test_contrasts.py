"""A against B: estimates, intervals and tests of simulated agents whose difference is known."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from analysis.choice import analyze_choice
from analysis.choice.contrasts import HEAD_TO_HEAD, contrasts
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from tests.support import size

TEXTS = {"best": "Best seller: buy 1", "free": "Free shipping"}


def trials(sets: int = 30) -> pd.DataFrame:
    """Pairs of products, each with each text on each product, each first; and under two profiles."""
    cells = pd.MultiIndex.from_product(
        [range(sets), TEXTS, (0, 1), (0, 1), ("none", "thrifty")],
        names=["set", "nudge", "carrier", "first", "profile"],
    ).to_frame(index=False)
    cells["trial"] = [f"t{at}" for at in range(len(cells))]
    table = pd.concat([cells.assign(option=option) for option in (0, 1)], ignore_index=True)
    carries = table["carrier"] == table["option"]
    return table.assign(
        run="r",
        agent="a",
        outcome="choice",
        position=(table["first"] != table["option"]).astype(int),
        category="c" + (table["set"] % 20).astype(str),
        condition="nudged",
        nudged=carries.astype(int),
        nudge_text=table["nudge"].map(TEXTS),
    )


def answered(
    table: pd.DataFrame, rng: np.random.Generator, effects: dict[str, float], alike: bool
) -> pd.DataFrame:
    """Choices with chances that are linear: the effect of each text is what it says, on average over sets.

    alike: the agent answers the same question alike under both profiles.
    """
    sets = table["set"].nunique()
    own = {name: value + rng.uniform(-0.1, 0.1, sets) for name, value in effects.items()}
    zero = table[table["option"] == 0]
    effect = np.array([own[name][at] for name, at in zip(zero["nudge"], zero["set"], strict=True)])
    chance = 0.5 + np.where(zero["carrier"] == 0, 0.5, -0.5) * effect
    chance += np.where(zero["first"] == 0, 0.05, -0.05) + rng.uniform(-0.1, 0.1, sets)[zero["set"]]
    luck: Floats = rng.random(len(zero))
    if alike:
        luck = luck[zero.groupby(["set", "nudge", "carrier", "first"]).ngroup()]
    first = pd.Series(np.asarray(luck < chance, int), zero["trial"])
    taken = table["trial"].map(first)
    return table.assign(chosen=taken.where(table["option"] == 0, 1 - taken))


@pytest.mark.slow
@pytest.mark.parametrize("difference", [pytest.param(0.0, marks=pytest.mark.thorough), 0.2])
def test_intervals_hold_the_difference_of_two_texts(difference: float) -> None:
    table, rng, studies = trials(), np.random.default_rng(int(10 * difference)), size(60, 400)
    held, exact_held, rejected, exact_rejected, estimates = 0, 0, 0, 0, []
    for _ in range(studies):
        drawn = check_table(answered(table, rng, {"best": 0.2 + difference, "free": 0.2}, alike=False))
        row = contrasts(drawn, ["best:free"]).iloc[0]
        estimates.append(row["estimate"])
        held += row["conf_low"] <= 100 * difference <= row["conf_high"]
        exact_held += row["exact_low"] <= 100 * difference <= row["exact_high"]
        rejected += row["p_value"] < 0.05
        exact_rejected += row["p_exact"] < 0.05
    error = np.std(estimates) / np.sqrt(studies)
    assert np.mean(estimates) == pytest.approx(100 * difference, abs=4 * error)
    assert held / studies > 0.86 and exact_held / studies > 0.86
    if difference:
        assert rejected / studies > 0.5
    else:
        assert rejected / studies < 0.14 and exact_rejected / studies < 0.14


def test_the_exact_row_is_the_mean_over_strata_that_both_have() -> None:
    table = answered(trials(12), np.random.default_rng(4), {"best": 0.5, "free": 0.0}, alike=False)
    row = contrasts(check_table(table), ["best:free"]).iloc[0]
    won = table[(table["option"] == table["carrier"])].pivot_table(
        index=["set", "profile", "first"], columns=["nudge", "carrier"], values="chosen"
    )
    effect = {name: won[name][0] - (1 - won[name][1]) for name in TEXTS}
    values = effect["best"] - effect["free"]
    assert row["strata"] == len(values) == 48
    assert (row["strata_for"], row["strata_against"]) == ((values > 0).sum(), (values < 0).sum())
    assert row["exact_low"] < 100 * values.mean() < row["exact_high"]
    assert row["estimate"] == pytest.approx(100 * values.mean())
    swapped = contrasts(check_table(table), ["free:best"]).iloc[0]
    assert swapped["estimate"] == pytest.approx(-row["estimate"])
    assert swapped["p_exact"] == pytest.approx(row["p_exact"])
    assert swapped["exact_low"] == pytest.approx(-row["exact_high"])


def test_an_agent_that_answers_both_profiles_alike_shows_no_difference_between_them() -> None:
    table = answered(trials(), np.random.default_rng(2), {"best": 0.3, "free": 0.3}, alike=True)
    frame = contrasts(check_table(table), ["thrifty:none"]).set_index("term")
    assert frame.loc[["nudged", "viewed_first"], "estimate"].abs().max() < 1e-9
    assert set(frame.loc[["nudged", "viewed_first"], "p_exact"]) == {1.0}
    assert (frame["part"] == "profile").all() and (frame.loc["nudged", "strata"]) == 120


def test_texts_with_a_colon_and_ids_name_the_same_contrast_and_the_report_says_it() -> None:
    table = answered(trials(), np.random.default_rng(8), {"best": 0.6, "free": 0.0}, alike=False)
    made = analyze_choice(table, contrasts=["best:free", "Best seller: buy 1:Free shipping"])
    assert made.contrasts is not None
    one, other = made.contrasts.to_dict("records")
    assert one["estimate"] == other["estimate"] and (one["part"], other["part"]) == ("nudge", "nudge_text")
    told = report(made)
    assert told.sections[0].title == "Contrasts"
    assert told.answer[0].startswith("a: best against free; a nudge moves the choice by ")
    assert told.answer[1].startswith("a: Best seller: buy 1 against Free shipping; a nudge moves")
    assert "contrasts" in made.to_json() and '"contrasts"' not in analyze_choice(table).to_json()


def met(sets: int = 24) -> pd.DataFrame:
    """Pairs of products, one with each text, and the other way round, each first."""
    table = trials(sets)
    table = table[(table["profile"] == "none") & (table["nudge"] == "best")]
    own = pd.Series(np.where(table["carrier"] == table["option"], "best", "free"), table.index)
    return table.assign(
        nudge=own,
        nudge_text=own.map(TEXTS),
        nudged=1,
        condition="both",
        trial="m" + table["trial"],
        price=10 + 5 * (table["option"] == table["set"] % 2),
    )


def chances(table: pd.DataFrame, utility: Mapping[str, float]) -> "pd.Series[float]":
    """What a shopper gives who weighs the text, the order and the price, and likes some products more."""
    worth = table["nudge"].map(utility) + 0.4 * (table["position"] == 0) - 0.08 * table["price"]
    weight = np.exp(worth + 0.6 * np.sin(7.0 * table["set"]) * table["option"])
    return weight / weight.groupby(table["trial"]).transform("sum")


def taken(table: pd.DataFrame, chance: "pd.Series[float]", rng: np.random.Generator) -> pd.DataFrame:
    zero = table["option"] == 0
    first = pd.Series(
        (rng.random(int(zero.sum())) < chance[zero]).astype(int).array, table.loc[zero, "trial"]
    )
    mine = table["trial"].map(first)
    return table.assign(chosen=mine.where(zero, 1 - mine))


@pytest.mark.slow
@pytest.mark.parametrize("free", [0.5, pytest.param(-0.6, marks=pytest.mark.thorough)])
def test_texts_head_to_head_give_their_known_difference_without_bias(free: float) -> None:
    table, rng, studies = met(), np.random.default_rng(int(10 * free) + 50), size(80, 400)
    chance = chances(table, {"best": 0.5, "free": free})
    best = table["nudge"] == "best"
    truth = 100 * (chance[best].mean() - chance[~best].mean())
    held, exact_held, rejected, estimates = 0, 0, 0, []
    for _ in range(studies):
        row = contrasts(check_table(taken(table, chance, rng)), ["best:free"]).iloc[0]
        estimates.append(row["estimate"])
        held += row["conf_low"] <= truth <= row["conf_high"]
        exact_held += row["exact_low"] <= truth <= row["exact_high"]
        rejected += row["p_exact"] < 0.05
    assert np.mean(estimates) == pytest.approx(truth, abs=4 * np.std(estimates) / np.sqrt(studies))
    assert held / studies > 0.86 and exact_held / studies > 0.86
    assert rejected / studies < 0.13 if free == 0.5 else rejected / studies > 0.5


def test_texts_head_to_head_are_compared_in_their_own_trials_and_change_no_others() -> None:
    rng = np.random.default_rng(5)
    alone = answered(trials(24), rng, {"best": 0.5, "free": 0.0}, alike=False).assign(price=10.0)
    other = taken(met(), chances(met(), {"best": 1.5, "free": 0.0}), rng)
    both = pd.concat([alone, other], ignore_index=True)
    made, without = (analyze_choice(each, contrasts=["best:free"]) for each in (both, alone))
    pd.testing.assert_frame_equal(made.effects, without.effects)
    pd.testing.assert_frame_equal(made.nudge_texts, without.nudge_texts)
    assert made.contrasts is not None and without.contrasts is not None
    rows = made.contrasts.set_index("part")
    assert rows.loc["nudge", "estimate"] == without.contrasts["estimate"].item()
    row, has_best = rows.loc[HEAD_TO_HEAD], other[other["nudge"] == "best"]
    assert (row["n"], row["strata"]) == (len(has_best), 48) == (96, 48)
    assert row["estimate"] == pytest.approx(100 * (2 * has_best["chosen"].mean() - 1), abs=4)
    swapped = contrasts(check_table(other), ["Free shipping:Best seller: buy 1"]).iloc[0]
    assert swapped["estimate"] == pytest.approx(-row["estimate"])
    assert swapped["p_exact"] == pytest.approx(row["p_exact"])
    assert any("head to head in 96 trials" in note for note in made.notes)


def test_a_table_of_head_to_head_trials_alone_answers_of_itself() -> None:
    table = taken(met(), chances(met(), {"best": 1.5, "free": 0.0}), np.random.default_rng(5))
    made = analyze_choice(table)
    assert made.contrasts is not None
    assert made.contrasts[["level", "less", "part"]].values.tolist() == [["best", "free", HEAD_TO_HEAD]]
    nudged = made.effects.set_index("term").loc["nudged"]
    assert nudged["note"] == "nudged never differs between the options of a trial"
    told = report(made).answer[0]
    assert told.startswith("a: best against free; head to head, the product with best is chosen by ")
    assert told.count(" more often") == 1
    mixed = pd.concat(
        [table, answered(trials(12), np.random.default_rng(1), {"best": 0.5, "free": 0.0}, False)]
    )
    with pytest.raises(
        AnalysisError, match=r"^--contrast both:nudged: head to head in no trial, and the other"
    ):
        contrasts(check_table(mixed), ["both:nudged"])
    none = analyze_choice(table.assign(chosen=pd.NA, outcome="no_choice"), contrasts=["best:free"])
    assert none.contrasts is not None and none.contrasts["n"].tolist() == [0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("best", "write two names with a colon between"),
        ("best:fre", "no trial has a text or condition 'fre'; did you mean 'free'"),
        ("best:thrifty", "not two levels of one factor"),
        ("best:best", "not two levels of one factor"),
    ],
)
def test_what_names_no_contrast_is_refused(text: str, problem: str) -> None:
    table = answered(trials(2), np.random.default_rng(0), {"best": 0.0, "free": 0.0}, alike=False)
    with pytest.raises(AnalysisError, match=f"^--contrast {text}: .*{problem}"):
        contrasts(check_table(table), [text])
