"""The response table: reading, coercion, counted reasons, one-line refusals."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.tables.errors import AnalysisError
from analysis.tables.responses_table import (
    RESPONSE_COLUMNS,
    UNEXPLAINED,
    check_responses,
    check_words,
    missing_reasons,
    read_responses,
)
from tests.analysis.conftest import simulate_valuations


def question(trial: str = "t1", **changes: object) -> dict[str, object]:
    return {"trial": trial, "agent": "a", "item": "mug", "condition": "control", "response": 4.0, **changes}


def test_every_documented_column_is_there_after_the_check() -> None:
    checked = check_responses(pd.DataFrame([question()]))
    assert {column.name for column in RESPONSE_COLUMNS} <= set(checked)
    assert checked["scenario"].tolist() == ["base"]
    assert checked["reason"].tolist() == [""]
    pd.testing.assert_frame_equal(check_responses(checked), checked)


def test_reasons_are_counted_and_nothing_is_replaced() -> None:
    rows = [
        question("t1"),
        question("t2", response=None, reason="refused"),
        question("t3", response=None, reason="refused"),
        question("t4", response=None),
    ]
    checked = check_responses(pd.DataFrame(rows))
    assert checked["response"].isna().tolist() == [False, True, True, True]
    counts = missing_reasons(checked).set_index("reason")
    assert counts["count"].to_dict() == {"refused": 2, UNEXPLAINED: 1}
    assert set(counts["asked"]) == {4}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"trial": "t", "agent": "a", "item": "b", "condition": "c"}], "column 'response' is missing"),
        ([question(), question("t2", response="ten")], "row 2: response: 'ten' is not a number"),
        ([question(reason="refused")], "trial 't1': response is given and so is the reason"),
        ([question(low=5, high=4)], "trial 't1': low is above high"),
        ([question(), question()], "trial 't1': the same question appears twice"),
    ],
)
def test_refusals_name_the_place(rows: list[dict[str, object]], message: str) -> None:
    table = pd.DataFrame(rows)
    table.attrs["source"] = "answers.csv"
    with pytest.raises(AnalysisError) as error:
        check_responses(table)
    assert str(error.value).startswith("answers.csv: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_repeats_are_different_questions() -> None:
    assert len(check_responses(pd.DataFrame([question(repeat=0), question(repeat=1)]))) == 2


def test_an_unknown_condition_is_named() -> None:
    table = check_responses(pd.DataFrame([question(condition="placebo")]))
    with pytest.raises(AnalysisError, match="trial 't1': condition: 'placebo' is unknown; use control or"):
        check_words(table, "condition", ("control", "treatment"))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_survives_its_file(tmp_path: Path, suffix: str) -> None:
    table = simulate_valuations(repeats=2)
    table.loc[0, ["response", "reason"]] = [np.nan, "two numbers"]
    table.loc[1, "agent"] = "NA"
    table["item"] = table["item"].replace("coffee pods", "007")
    path = tmp_path / f"answers{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    read = read_responses(path)
    assert read.attrs["source"] == str(path)
    pd.testing.assert_frame_equal(check_responses(read), check_responses(table))
