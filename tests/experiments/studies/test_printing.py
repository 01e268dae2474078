"""Tables in the terminal: what their numbers say when they are read again."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from analysis.reporting.html import cell
from analysis.reporting.sections import NamedTable, Report, Section
from experiments.studies.printing import frame_table, print_report

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


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_no_agent_is_left_out_or_broken_in_a_narrow_terminal(width: int, count: int) -> None:
    agents = [f"command:python docs/agents/playwright_script_{n}.py" for n in range(count)]
    rows = pd.DataFrame([(agent, term) for agent in agents for term in ("nudged", "viewed_first")])
    frame = rows.set_axis(["group", "term"], axis=1).assign(
        estimate=-15.2, std_error=np.nan, conf_low=np.nan, conf_high=np.nan, exact_low=-37.6, exact_high=3.7,
        p_exact=0.25, note="no interval: fewer than 12 choice sets; choice sets for 1, against 1, of 7",
    )  # fmt: skip
    answer = tuple(f"{agent}: {'a nudge is not told apart from 0; ' * 8}end {agent}." for agent in agents)
    report = Report(
        sections=(Section("Effects", "", (NamedTable("effects", "Effects on the choice", frame, 1),)),),
        answer=answer,
        checked="checked",
        problems=("a problem",) * 9,
    )
    console = Console(width=width, color_system=None, height=30)
    with console.capture() as captured:
        print_report(console, report, None)
    words = captured.get().split()
    for number in range(count):
        assert words.count(f"docs/agents/playwright_script_{number}.py:") == 1
        assert words.count(f"docs/agents/playwright_script_{number}.py.") == 1, "the sentence has its end"
    assert {word.rstrip(",.:")[-5:] for word in words if word.startswith("docs/")} <= {
        f"_{number}.py" for number in range(count)
    }, "whole wherever it stands"
    assert "-15.2" in words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the top in the ${category} category", "the top in the [category] category"),
        ("only ${ left:, } left, for ${product.title}", "only [left] left, for [product.title]"),
        ("costs $5 {a}", "costs $5 {a}"),
    ],
)
def test_texts_with_variables_are_read_without_code(text: str, shown: str) -> None:
    table, _ = frame_table(NamedTable("t", "t", pd.DataFrame({"level": [text, "b"], "x": [1, 2]})), None)
    assert str(next(iter(table.columns[0].cells))).replace("\\[", "[") == shown
    assert cell(text, "level") == shown
