"""The tidy table: reading, coercion, derived columns, and one-line refusals."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tables.choice_table import COLUMNS, check_table, read_table
from analysis.tables.errors import AnalysisError
from analysis.tables.table_file import together

Rows = list[dict[str, object]]


def pair(trial: str = "t1", **changes: list[object]) -> Rows:
    """Two options of one trial, the first one chosen."""
    columns: dict[str, list[object]] = {
        "chosen": [1, 0],
        "price": [10.0, 12.0],
        "rating": [80.0, 90.0],
        "position": [0, 1],
        **changes,
    }
    return [
        {
            "trial": trial,
            "agent": "a",
            "set": "s1",
            "option": f"option{i}",
            "outcome": "choice",
            **{name: values[i] for name, values in columns.items()},
        }
        for i in range(len(columns["chosen"]))
    ]


def test_missing_columns_are_derived() -> None:
    table = check_table(pd.DataFrame(pair()))
    assert table["viewed_first"].tolist() == [1, 0]
    assert table["cheaper"].tolist() == [1, 0]
    assert table["higher_rated"].tolist() == [0, 1]
    assert table["nudged"].tolist() == [0, 0]
    assert table["direction"].tolist() == [1, 1]


def test_given_values_stay_and_gaps_are_derived() -> None:
    rows = pair("t1", cheaper=[0, 1]) + pair("t2", cheaper=[None, None])
    assert check_table(pd.DataFrame(rows))["cheaper"].tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("prices", [[10.0, 10.0], [10.0, None], [None, None]])
def test_ties_and_gaps_make_no_option_cheaper(prices: list[object]) -> None:
    assert check_table(pd.DataFrame(pair(price=prices)))["cheaper"].tolist() == [0, 0]


@pytest.mark.thorough
@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5))
@settings(max_examples=40, deadline=None)
def test_the_cheaper_option_is_the_unique_minimum(prices: list[int]) -> None:
    rows = pair(
        chosen=[1, *[0] * (len(prices) - 1)],
        position=list(range(len(prices))),
        price=list(prices),
        rating=[50] * len(prices),
    )
    expected = [int(price == min(prices) and prices.count(price) == 1) for price in prices]
    assert check_table(pd.DataFrame(rows))["cheaper"].tolist() == expected


def test_checking_twice_changes_nothing() -> None:
    once = check_table(pd.DataFrame(pair("t1") + pair("t2", chosen=[0, 1])))
    pd.testing.assert_frame_equal(check_table(once), once)


def test_the_callers_table_is_left_alone() -> None:
    table = pd.DataFrame(pair())
    before = table.copy()
    check_table(table)
    pd.testing.assert_frame_equal(table, before)


def test_equal_trial_ids_of_two_runs_or_agents_are_two_trials() -> None:
    first, second, third = (pd.DataFrame(pair()) for _ in range(3))
    both = pd.concat([first.assign(run="r1"), second.assign(run="r2"), third.assign(run="r2", agent="b")])
    assert len(check_table(both)) == 6


def test_flags_may_be_booleans_or_words() -> None:
    assert check_table(pd.DataFrame(pair(chosen=[True, False])))["chosen"].tolist() == [1, 0]
    assert check_table(pd.DataFrame(pair(chosen=["True", "false"])))["chosen"].tolist() == [1, 0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_survives_its_file(tmp_path: Path, suffix: str) -> None:
    rows = pair("t1", cheaper=[1, 0]) + [
        row | {"agent": "NA", "outcome": "no_choice", "chosen": None} for row in pair("007")
    ]
    table = check_table(pd.DataFrame(rows))
    path = tmp_path / f"table{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    read = read_table(path)
    assert read.attrs["source"] == str(path)
    pd.testing.assert_frame_equal(check_table(read), table, check_dtype=False)
    assert check_table(read)["agent"].unique().tolist() == ["a", "NA"]
    assert check_table(read)["trial"].unique().tolist() == ["t1", "007"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pair(chosen=[1, 1]), "row 1: trial 't1': not exactly one option is chosen"),
        (pair(chosen=[0, 0]), "row 1: trial 't1': not exactly one option is chosen"),
        (pair(chosen=[1, None]), "row 2: trial 't1': chosen is empty for some options only"),
        (pair(chosen=[None, None]), "row 1: trial 't1': outcome is 'choice' but chosen is empty"),
        (
            pair(outcome=["booked"] * 2),
            "row 1: trial 't1': chosen is filled in but outcome is 'booked'; write choice, or leave",
        ),
        (pair(outcome=["choice", "no_choice"]), "row 2: trial 't1': outcome differs between its rows"),
        (pair(set=["s1", "s2"]), "row 2: trial 't1': set differs between its rows"),
        (pair(option=["x", "x"]), "row 2: trial 't1': an option appears twice"),
        (pair()[:1], "row 1: trial 't1': only one option"),
        (pair(viewed_first=[1, 1]), "row 1: trial 't1': viewed_first is 1 for more than one option"),
        (pair(agent=["a", None]), "row 2: agent: is empty; every row needs one"),
        (pair(price=[10, "cheap"]), "row 2: price: 'cheap' is not a number"),
        (pair(price=[10, np.inf]), "row 2: price: 'inf' is above 1e+15"),
        (pair(price=[10, -50]), "row 2: price: '-50' is below 0"),
        (pair(price=[True, False]), "row 1: price: 'True' is not a number"),
        (pair(price=pd.date_range("2026-01-01", periods=2).tolist()), "row 1: price: '2026-01-01"),
        (pair(rating=[80, 101]), "row 2: rating: '101' is above 100"),
        (pair(position=[0, 0.5]), "row 2: position: '0.5' is not a whole number"),
        (pair(position=[0, None]), "row 2: position: is empty"),
        (pair(position=[1, 1]), "row 2: trial 't1': two options have the same position"),
        (pair(position=[1, 2]), "row 1: trial 't1': no option has position 0"),
        (pair(chosen=[1, 2]), "row 2: chosen: '2' is not 1 or 0"),
        (pair(direction=[1, 0]), "row 2: direction: '0' is not 1 or -1"),
        (pair(category=["x", "y" * 1001]), "row 2: category: 'yyyyyyyyyy"),
    ],
)
def test_a_faulty_table_is_refused_in_one_line(rows: Rows, message: str) -> None:
    table = pd.DataFrame(rows)
    table.attrs["source"] = "mine.csv"
    with pytest.raises(AnalysisError) as caught:
        check_table(table)
    assert str(caught.value).startswith(f"mine.csv: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [column.name for column in COLUMNS if column.required])
def test_a_required_column_is_named(name: str) -> None:
    with pytest.raises(AnalysisError, match=f"^table: column '{name}' is missing; it holds "):
        check_table(pd.DataFrame(pair()).drop(columns=name))


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(AnalysisError, match="no rows"):
        check_table(pd.DataFrame(pair()).iloc[:0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table.xlsx", b"", "unknown table format '.xlsx'; use .csv or .parquet"),
        ("table.csv", None, "no such file"),
        ("table.csv", b"", "not a readable table"),
        ("table.csv", b'a,b\n\n"1', ":3: not a readable table"),
        ("table.csv", b"a\r\n\xff\xfe", ":2: not a readable table"),
        ("table.csv", b"a\0", ":1: not a readable table"),
        ("table.csv", b"a;b\n1;2\n", ":1: the columns are separated by ';'"),
        ("table.csv", b"a,b,a\n", ": column 'a' stands twice"),
        ("table.csv", b'a,b\n"1\n2",3\n4\n', ":4: 1 fields, but the header has 2"),
        ("table.parquet", b"PAR?", "not a readable table"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AnalysisError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}{message if message[0] == ':' else f': {message}'}")
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(AnalysisError, match=r"table\.csv: is a folder; name a \.csv or \.parquet file"):
        read_table(tmp_path / "table.csv")


def test_lines_are_an_editors(tmp_path: Path) -> None:
    """Empty lines, quoted fields of several lines, and several files."""
    first, second = tmp_path / "one.csv", tmp_path / "two.csv"
    columns = "trial,agent,set,nudge_text,option,position,chosen,outcome,price\r\n"
    first.write_bytes(f"\ufeff\r\n{columns}t,a,s,,x,0,1,choice,1\r\nt,a,s,,y,1,0,choice,2\r\n".encode())
    second.write_bytes(
        (columns + 'u,a,s,"1\n2\r\n",x,0,1,choice,1\r\n\r\nu,a,s,,y,1,0,choice,-2\r\n').encode()
    )
    with pytest.raises(AnalysisError, match=r"two\.csv:6: price: '-2' is below 0; correct it"):
        check_table(together([read_table(first), read_table(second)]))
    second.write_bytes(second.read_bytes().replace(b"choice,1", b"choice,?").replace(b"-2", b"2"))
    with pytest.raises(AnalysisError, match=r"two\.csv:4: price: '\?' is not a number"):
        check_table(together([read_table(first), read_table(second)]))
