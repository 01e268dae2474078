"""What every kind of study promises: columns, JSON, a table of each frame, whole figures, first sentences."""

import json
from typing import Any, NoReturn

import pandas as pd
import pytest

from analysis.tables.frame import FRAME_COLUMNS
from experiments.studies.kinds import STUDIES
from tests.analysis.conftest import check_figures
from tests.analysis.reporting.test_first_sentences import SIMULATED

NAME = r"$\frac{$ <b>& a name that is much too long for any margin"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=SIMULATED)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def found(kind: str) -> Any:
    """The analysis of a small table, in which one agent has a name that is hard to draw."""
    table = SIMULATED[kind](24)
    return STUDIES[kind].analyze(table.replace({"agent": {table["agent"].max(): NAME}}))


@pytest.fixture(scope="module")
def frames(found: Any) -> dict[str, pd.DataFrame]:
    return {name: frame for name, frame in vars(found).items() if isinstance(frame, pd.DataFrame)}


def test_estimates_have_the_columns_of_every_estimator_or_a_reason(frames: dict[str, pd.DataFrame]) -> None:
    estimates = {name: frame for name, frame in frames.items() if "statistic" in frame}
    assert estimates
    for name, frame in estimates.items():
        assert tuple(frame.columns[: len(FRAME_COLUMNS)]) == FRAME_COLUMNS, name
        unexplained = frame["estimate"].isna() & frame["statistic"].isna() & (frame["note"] == "")
        assert set(frame.loc[unexplained, "term"]) <= {"Residual"}, name


def test_json_has_each_row_and_null_for_what_is_undefined(
    found: Any, frames: dict[str, pd.DataFrame]
) -> None:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(found.to_json(), parse_constant=refuse)
    assert {name: len(document[name]) for name in frames} == {name: len(frames[name]) for name in frames}


def test_each_frame_is_a_table_and_no_figure_is_cut(
    kind: str, found: Any, frames: dict[str, pd.DataFrame]
) -> None:
    made = STUDIES[kind].report(found)
    tables = {table.name for section in made.sections for table in section.tables}
    assert {name for name, frame in frames.items() if len(frame)} - {"readings"} <= tables
    check_figures(made)
