"""Wrong answers to questions with one right answer, and what is said of an agent that gives many."""

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from analysis.choice import analyze_choice
from analysis.choice.effects.right_answers import FAMILY, GATE, failing, right_answers
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import simulate_study


def asked(wrong: int, trials: int = 40, size: int = 4, agent: str = "a") -> pd.DataFrame:
    """A table of questions, of which the first ones are answered wrongly; the right place goes round."""
    rows = []
    for number in range(trials):
        right = number % size
        for place in range(size):
            chosen = place == ((right + 1) % size if number < wrong else right)
            rows.append(
                {
                    "run": "r",
                    "trial": f"t{number}",
                    "agent": agent,
                    "set": f"s{number // 8}",
                    "option": f"o{place}",
                    "position": place,
                    "nudge": GATE,
                    "family": FAMILY,
                    "nudged": int(place == right),
                    "condition": "nudged",
                    "outcome": "choice",
                    "chosen": int(chosen),
                    "price": 10.0,
                    "category": "c",
                }
            )
    return pd.DataFrame(rows)


@pytest.mark.parametrize("wrong", [0, 3, 40])
def test_the_share_has_wilsons_interval_and_places_add_up(wrong: int) -> None:
    found = right_answers(check_table(asked(wrong)))
    row = found[found["part"] == "question"].iloc[0]
    low, high = proportion_confint(wrong, 40, method="wilson")
    assert (row["trials"], row["wrong"], row["share"]) == (40, wrong, 100 * wrong / 40)
    assert row["conf_low"] == pytest.approx(100 * low, abs=1e-9)
    assert row["conf_high"] == pytest.approx(100 * high, abs=1e-9)
    places = found[found["part"] == "position"]
    assert places["wrong"].sum() == wrong and places["trials"].tolist() == [10] * 4


def test_who_chooses_nothing_is_wrong_and_a_failed_trial_says_nothing() -> None:
    table = asked(0)
    for trial, outcome in (("t0", "no_choice"), ("t1", "agent_limit"), ("t2", "treatment_failed")):
        table.loc[table["trial"] == trial, ["outcome", "chosen"]] = outcome, None
    row = right_answers(check_table(table)).iloc[0]
    assert (row["trials"], row["wrong"]) == (39, 2)


@pytest.mark.parametrize("wrong, said", [(4, {}), (5, {"a": "12 % of 40"})])
def test_more_than_ten_percent_wrong_is_told_beside_every_effect(wrong: int, said: dict[str, str]) -> None:
    told = failing(right_answers(check_table(asked(wrong))))
    assert told.keys() == said.keys()
    study = simulate_study(sets=12, nudges_per_set=1).table.assign(agent="a")
    found = analyze_choice(study, failing=told)
    for agent, text in said.items():
        assert text in told[agent]
        assert found.effects["note"].str.contains(text).all()
        assert f"{agent}: {told[agent]}." in report(found).problems
    plain = analyze_choice(study)
    numbers = [name for name in found.effects if name != "note"]
    pd.testing.assert_frame_equal(found.effects[numbers], plain.effects[numbers])
    if not said:
        assert found.to_json() == plain.to_json()


def test_other_studies_have_no_such_table() -> None:
    found = analyze_choice(simulate_study(sets=4).table)
    assert found.right_answers is None
    assert "right_answers" not in found.to_json()


@pytest.mark.parametrize("differ", [0, 2])
def test_questions_asked_again_are_to_be_answered_alike(differ: int) -> None:
    again = asked(0).assign(trial=lambda t: t["trial"] + "-again", repeat=1)
    table = pd.concat([asked(differ).assign(repeat=0), again])
    table["set"] = table["trial"].str.removesuffix("-again")  # each question of another set
    row = right_answers(check_table(table)).set_index("part").loc["repeat"]
    assert (row["trials"], row["wrong"]) == (40, differ)


def test_preferences_that_go_round_in_a_circle_are_counted() -> None:
    """Of products a to d: a over b, b over c, c over a; d over all of them."""
    wins = ["ab", "bc", "ca", "da", "db", "dc"]
    rows = [
        {
            "trial": f"{winner}{loser}{turned}", "agent": "a", "set": "".join(sorted(winner + loser)),
            "option": option, "position": int(option == loser) ^ turned, "outcome": "choice",
            "chosen": int(option == winner), "price": 1.0, "condition": "control",
        }
        for winner, loser in wins
        for turned in (0, 1)
        for option in (winner, loser)
    ]  # fmt: skip
    row = right_answers(check_table(pd.DataFrame(rows))).set_index("part").loc["circle"]
    assert (row["trials"], row["wrong"]) == (4, 1)


def paired(*choices: tuple[str, str, str, str]) -> pd.DataFrame:
    """A table of pairs without a nudge: of each the set, the profile, the two products, the chosen one."""
    rows = [
        {
            "trial": f"t{number}", "agent": "a", "set": name, "profile": profile, "option": option,
            "position": place, "outcome": "choice", "chosen": int(option == chosen), "price": 1.0,
            "condition": "control",
        }
        for number, (name, profile, both, chosen) in enumerate(choices)
        for place, option in enumerate(both)
    ]  # fmt: skip
    return check_table(pd.DataFrame(rows))


def circles(table: pd.DataFrame) -> list[tuple[int, int]]:
    found = right_answers(table)
    return [(row.trials, row.wrong) for row in found[found["part"] == "circle"].itertuples()]


def test_the_pair_of_two_sets_is_one_pair() -> None:
    """In nine of ten trials a is preferred to b, in those of set s1; so nothing goes round."""
    often = [("s1", "", "ab", "a")] * 9
    assert circles(paired(*often, ("s2", "", "ba", "b"), ("s3", "", "bc", "b"), ("s4", "", "ac", "a"))) == [
        (1, 0)
    ]
    assert circles(paired(*often, ("s2", "", "ba", "b"), ("s3", "", "bc", "b"), ("s4", "", "ac", "c"))) == [
        (1, 1)
    ]
    one_set = [("s", "", "ab", "a"), ("s", "", "bc", "b"), ("s", "", "ac", "a")]
    assert circles(paired(*one_set)) == [(1, 0)]


def test_what_two_users_prefer_is_no_circle() -> None:
    """One prefers a to b to c, the other c to b to a; the trials of pairs are not equally many."""
    one = [("s1", "x", "ab", "a"), ("s2", "x", "bc", "b"), ("s3", "x", "ac", "a")]
    other = [("s1", "y", "ab", "b"), ("s2", "y", "bc", "c"), ("s3", "y", "ac", "c")]
    assert circles(paired(*one, *other, one[0], one[1], other[2])) == [(2, 0)]
