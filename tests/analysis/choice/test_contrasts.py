"""A against B: estimates, intervals and tests of simulated agents whose difference is known."""

import numpy as np
import pandas as pd
import pytest

from analysis.choice import analyze_choice
from analysis.choice.contrasts import contrasts
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
@pytest.mark.parametrize("difference", [0.0, 0.2])
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
