"""Tables in the terminal: what their numbers say when they are read again."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reporting.sections import NamedTable
from experiments.studies.printing import frame_table


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
