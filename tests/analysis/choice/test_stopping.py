"""The table of a sequence: a stranger's is refused in one line, or says nothing."""

from typing import Any

import pandas as pd
import pytest

from analysis.choice.stopping import COLUMNS, path_frame, sequence_frame
from analysis.tables.errors import AnalysisError

ROW = {
    "agent": "a", "place": 0, "stratum": "s", "question": "q", "won": "1", "effect": "nudge", "alpha": 0.05,
    "margin": "", "most": 6,
}  # fmt: skip


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**ROW, **row} for row in rows])


@pytest.mark.parametrize(
    "rows",
    [
        [{"place": "x"}], [{"place": float("inf")}], [{"alpha": 0}], [{"alpha": "nan"}], [{"margin": "inf"}],
        [{"margin": -4}], [{"effect": "taste"}], [{}, {"alpha": 0.1}], [{"most": "many"}],
    ],
)  # fmt: skip
def test_what_is_no_sequence_is_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(AnalysisError, match=r"^sequence: "):
        sequence_frame(table(*rows))
    with pytest.raises(AnalysisError, match="no column won"):
        sequence_frame(table({}).drop(columns="won"))


@pytest.mark.parametrize(
    "rows",
    [[{"place": -5}], [{"won": "maybe"}], [{}, {}], [{"place": 10**18}], [{}, {"place": 1, "won": ""}]],
)
def test_what_is_not_complete_says_nothing(rows: list[dict[str, Any]]) -> None:
    (found,) = sequence_frame(table(*rows)).to_dict("records")
    assert (found["strata"], found["decision"], found["note"]) == (0, "", "no stratum is complete yet")
    assert path_frame(table(*rows)).empty


def test_an_empty_table_has_no_agent() -> None:
    empty = pd.DataFrame(columns=list(COLUMNS))
    assert sequence_frame(empty).empty and path_frame(empty).empty


def test_seven_of_seven_strata_are_enough_and_six_are_not() -> None:
    rows = [
        {"place": place, "stratum": str(place // 2), "question": str(place), "won": "1"}
        for place in range(20)
    ]
    six = sequence_frame(table(*rows[:12])).iloc[0]
    assert (six["decision"], six["strata_for"]) == ("", 6) and six["conf_low"] < 0
    seven = sequence_frame(table(*rows)).iloc[0]
    assert (seven["decision"], seven["strata_for"], seven["trials"]) == ("effect", 7, 14)
    assert seven["conf_low"] > 0 and seven["p_value"] < 0.05
    assert len(path_frame(table(*rows))) == 7
