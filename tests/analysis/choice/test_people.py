"""People in a table of choices: errors follow the person, and the declared rules leave out whom they name."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from analysis.choice.effects.participants import excluded, participation, people_effects, teams
from analysis.choice.study import analyze_choice
from analysis.tables.choice_table import check_table
from tests.support import size

RULES = {
    "exclusions": {"attention_failed": 1, "seconds_per_trial": 2.0, "seen_seconds": 1.0, "seen_share": 0.5}
}


def choices(seed: int, people: int = 40, trials: int = 12, spread: float = 0.25) -> pd.DataFrame:
    """Pairs of options, one with a nudge; a person follows it with a chance of the person's own, mean .6."""
    random = np.random.default_rng(seed)
    follows = np.clip(0.6 + random.normal(0, spread, people), 0, 1)
    rows = []
    for person in range(people):
        for trial in range(trials):
            nudged = int(random.integers(2))
            chosen = nudged if random.random() < follows[person] else 1 - nudged
            for position in range(2):
                rows.append(
                    {
                        "trial": f"{person}-{trial}", "agent": "human:test", "participant": f"p{person}",
                        "set": f"s{(person * 7 + trial * 11) % 60}", "option": f"o{position}",
                        "position": position, "nudged": int(position == nudged), "condition": "nudged",
                        "nudge": "best", "chosen": int(position == chosen), "outcome": "choice",
                        "attention": 0, "seen_seconds": 4.0, "in_view": 1, "seconds": 9.0,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def test_the_error_is_that_of_clusters_of_people() -> None:
    """Statsmodels' fit of the difference in each pair, clustered by participant, has the same estimate."""
    table = choices(1)
    found = people_effects(check_table(table), {})
    own = found[(found["term"] == "nudged") & (found["analysis"] == "per protocol")].iloc[0]
    pairs = table[table["nudged"] == 1].assign(y=lambda rows: 2 * rows["chosen"] - 1)
    first = pairs["position"].eq(0).astype(float)
    fit = smf.ols("y ~ first", pairs.assign(first=first - first.mean())).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(pairs["participant"])[0]}
    )
    assert own["estimate"] == pytest.approx(100 * fit.params["Intercept"], abs=1.5)
    assert own["std_error"] == pytest.approx(100 * fit.bse["Intercept"], rel=0.2)


def test_intervals_hold_the_truth_although_people_differ() -> None:
    held, studies = 0, size(60, 400)
    for seed in range(studies):
        found = people_effects(check_table(choices(seed, people=30, trials=8)), {})
        own = found[(found["term"] == "nudged") & (found["analysis"] == "per protocol")].iloc[0]
        held += own["conf_low"] <= 20 <= own["conf_high"]
    assert held / studies >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / studies)


def test_declared_rules_leave_out_whom_they_name() -> None:
    table = choices(2, people=6, trials=4)
    who = table["participant"]
    table.loc[who == "p0", "attention"] = 1
    table.loc[who == "p1", "seconds"] = 1.0
    table.loc[(who == "p2") & (table["trial"] != "p2-0"), "in_view"] = 0
    table.loc[(who == "p3") & (table["trial"] != "3-0"), "seen_seconds"] = 0.5
    table.loc[who == "p4", "seen_seconds"] = np.nan  # no scripts: what is not known leaves nobody out
    checked = check_table(table)
    assert excluded(checked, RULES) == {
        "attention_failed": {"p0"}, "seconds_per_trial": {"p1"}, "seen_seconds": {"p3"}, "seen_share": {"p2"},
    }  # fmt: skip
    counted = participation(checked, RULES).set_index("rule")
    assert counted["participants"].to_dict() == {
        "all": 6, "attention_failed": 1, "seconds_per_trial": 1, "seen_seconds": 1, "seen_share": 1,
        "left": 2,
    }  # fmt: skip
    found = people_effects(checked, RULES).groupby("analysis")["n"].first()
    assert found.to_dict() == {"intention to treat": 24, "per protocol": 8}


def test_who_chose_nothing_counts_where_all_trials_count() -> None:
    table = choices(3, people=6, trials=4)
    lost = table["participant"] == "p0"
    table.loc[lost, "outcome"], table["chosen"] = "no_choice", table["chosen"].mask(lost)
    found = people_effects(check_table(table), {}).groupby("analysis")["n"].first()
    assert found.to_dict() == {"intention to treat": 24, "per protocol": 20}


def test_a_study_with_people_has_a_section_of_them() -> None:
    found = analyze_choice(choices(4), declared=RULES)
    assert found.participation is not None
    assert found.people_effects is not None
    assert analyze_choice(choices(4).drop(columns="participant")).participation is None


def test_what_an_agent_proposed_is_followed_as_often_as_it_is() -> None:
    """In every second trial of a person the nudged option is proposed: the truth is followed in .6."""
    table = choices(5, people=40, trials=20)
    number = table["trial"].str.partition("-")[2].astype(int)
    table["proposed"] = table["nudged"].where(number % 2 == 0)
    table["seconds"] = np.where(number % 2 == 0, 5.0, 9.0)
    found = teams(check_table(table)).set_index("proposals")
    assert list(found.index) == ["all", "with a nudge"]
    row = found.loc["all"]
    even = table[(number % 2 == 0) & (table["nudged"] == 1)]
    assert row["followed"] == pytest.approx(100 * even["chosen"].mean())
    assert row["conf_low"] < 60 < row["conf_high"]
    assert (row["n"], row["participants"], row["seconds"], row["seconds_without"]) == (400, 40, 5.0, 9.0)
    assert analyze_choice(table).teams is not None
