"""Tables in the terminal: what their numbers say when they are read again."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from analysis.reporting.sections import NamedTable
from experiments.studies.printing import frame_table

LEVELS = ("This product has been purchased by 50,000+ customers", "This product is a best seller!")


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [None, 0, 2])
@given(
    values=st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=2) | st.just([-0.0, -0.004, -1e-300])
)
def test_a_number_is_what_was_found_and_nothing_is_minus_zero(
    decimals: int | None, values: list[float]
) -> None:
    frame = pd.DataFrame({"row": [f"r{n}" for n in range(len(values))], "x": [*values]})
    table, _ = frame_table(NamedTable("t", "t", frame, decimals), None)
    if len(set(values)) == 1:  # said once, below
        return
    printed = list(table.columns[1].cells)
    for text, value in zip(printed, values, strict=False):
        read = float(str(text).replace(",", ""))
        assert read == pytest.approx(value, rel=6e-3, abs=0.0 if decimals is None else 0.51 * 10**-decimals)
        assert read or "-" not in str(text)


def test_a_test_without_an_estimate_shows_its_statistic() -> None:
    pooling = pd.DataFrame(
        {
            "group": ["a", "b"],
            "std_error": [float("nan")] * 2,
            "statistic": [8.84, 17.2],
            "p_value": [0.263, 0.016],
        }
    )
    table, _ = frame_table(NamedTable("pooling", "", pooling), None)
    columns = {str(column.header): list(column.cells) for column in table.columns}
    assert columns["statistic"] == ["8.84", "17.2"]
    table, _ = frame_table(NamedTable("effects", "", pooling.assign(std_error=0.5)), None)
    assert "statistic" not in {str(column.header) for column in table.columns}


def test_each_interval_stands_beside_its_number() -> None:
    frame = pd.DataFrame(
        {
            "term": ["stars", "bed"], "estimate": [1.0, 2.0], "conf_low": [0.5, 1.5], "conf_high": [1.5, 2.5],
            "percent": [10.0, 20.0], "percent_low": [5.0, 15.0], "percent_high": [15.0, 25.0], "x": [3, 4],
        }
    )  # fmt: skip
    table, _ = frame_table(NamedTable("t", "t", frame, 1), None)
    heads = [str(column.header) for column in table.columns]
    assert heads == ["term", "estimate", "95 % interval", "percent", "interval in percent", "x"]
    assert list(table.columns[4].cells) == ["5.0 to 15.0", "15.0 to 25.0"]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_number_is_cut_off_in_a_narrow_terminal(width: int) -> None:
    rows = [(agent, level) for agent in ("simulated:nudge-prone", "openai:small") for level in LEVELS]
    frame = pd.DataFrame(rows, columns=["group", "level"]).assign(
        term="nudged", part="nudge_text", estimate=-12.345, std_error=6.789, conf_low=-39.71, conf_high=58.03,
        p_value=[0.1234, 0.2234] * 2, p_adjusted=[0.3234, 0.4234] * 2, n=[16, 24] * 2,
        strata_for=[3, 120] * 2, strata_against=[1, 35] * 2, strata=[8, 360] * 2, note=["one; two", ""] * 2,
    )  # fmt: skip
    table, _ = frame_table(NamedTable("t", "t", frame, 1), None, width=width)
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    words = set(captured.get().split())
    assert words >= {"-12.3", "-39.7", "58.0", "0.323", "0.423", "[1]", "[2]"}
    columns = {str(column.header): list(column.cells) for column in table.columns}
    counts = columns.get("strata: for/against/of")
    assert counts == (["3/1/8", "120/35/360"] * 2 if width == 120 else None)


def test_terms_have_plain_names_where_people_read_them() -> None:
    frame = pd.DataFrame({"term": ["bed_rank", "condition[high]", "own"], "estimate": [1.0, 2.0, 3.0]})
    table, _ = frame_table(NamedTable("t", "t", frame, 1), None)
    assert list(table.columns[0].cells) == ["A better bed", "High anchor", "own"]
