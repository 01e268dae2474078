"""Deciding factors and steps: shares and counts by hand."""

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from analysis.choice.ended.factors import FACTORS, deciding_factors
from analysis.choice.ended.steps import step_counts, step_summary
from analysis.tables.errors import AnalysisError

ROWS = [
    ("t1", "price", ""),
    ("t1", "rating", ""),
    ("t2", "price", "the quotation does not occur in the thoughts and memories"),
    ("t2", "price", "no quotation"),
    ("t3", "price", ""),
    ("t4", "", "the answer names no factor"),
]


def test_shares_are_of_the_trials_with_a_readable_answer() -> None:
    rows = pd.DataFrame(ROWS, columns=["trial", "factor", "reason"]).assign(agent="a", judge="j")
    other = rows[:1].assign(judge="k")
    found = deciding_factors(pd.concat([rows, other]))
    assert found["factor"].tolist() == [*FACTORS, *FACTORS]
    own = found[found["judge"] == "j"].set_index("factor")
    assert own["named"].to_dict() == {"price": 2, "rating": 1, "nudge": 0, "other": 0}
    assert (own["trials"] == 3).all() and (own["unreadable"] == 1).all()
    assert own["rejected"].to_dict() == {"price": 2, "rating": 0, "nudge": 0, "other": 0}
    low, high = proportion_confint(2, 3, method="wilson")
    assert own.loc["price", ["estimate", "conf_low", "conf_high"]].tolist() == pytest.approx(
        [200 / 3, 100 * low, 100 * high]
    )


def test_without_a_readable_answer_nothing_is_estimated() -> None:
    rows = pd.DataFrame([("t", "a", "", "j", "no")], columns=["trial", "agent", "factor", "judge", "reason"])
    found = deciding_factors(rows)
    assert found[["estimate", "conf_low", "conf_high"]].isna().all().all()
    assert (found["unreadable"] == 1).all() and (found["trials"] == 0).all()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(AnalysisError, match="factors: column 'judge' is missing"):
        deciding_factors(pd.DataFrame(columns=["trial", "agent", "factor", "reason"]))


def test_steps_count_trials_not_rows() -> None:
    table = pd.DataFrame({"agent": list("aaaaaabb"), "trial_id": [0, 0, 1, 1, 2, 2, 3, 3]})
    table["steps"] = [4, 4, 4, 4, 7, 7, None, None]
    counts = step_counts(table)
    assert counts[["group", "steps", "trials"]].to_numpy().tolist() == [["a", 4, 2], ["a", 7, 1]]
    assert counts["share"].tolist() == pytest.approx([200 / 3, 100 / 3])
    summary = step_summary(table).iloc[0]
    assert summary[["trials", "mean", "least", "median", "most"]].tolist() == [3, 5, 4, 4, 7]
    assert summary["sd"] == pytest.approx(3**0.5)
    assert len(step_summary(table)) == 1
    assert step_counts(table.drop(columns="steps")).empty and step_summary(table.drop(columns="steps")).empty
