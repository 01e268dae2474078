"""Lines of tables that people bring: those that an editor counts, whatever the cells hold."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from experiments.designs.inputs.csv_rows import read_rows
from interventions.errors import UserError

CELLS = st.text("ab ,\"'", min_size=1, max_size=5).flatmap(
    lambda text: st.lists(st.sampled_from(["\n", "\r\n", "\r", ""]), max_size=3).map(
        lambda breaks: "x" + text + "".join(breaks) + "y"
    )
)


class Priced(BaseModel):
    """A row with one number."""

    price: float


@given(
    records=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5),
    ending=st.sampled_from(["\n", "\r\n"]),
    empty=st.booleans(),
    at=st.integers(0, 4),
)
def test_a_cell_s_line_is_where_it_begins(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[str, str]],
    ending: str,
    empty: bool,
    at: int,
) -> None:
    """The oracle: a mark is written in place of the price, and its line counted in the file's text."""
    path = tmp_path_factory.mktemp("t") / "t.csv"
    wrong = min(at, len(records) - 1)

    def write(mark: str) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator=ending, quoting=csv.QUOTE_ALL)
            writer.writerow(["name", "price", "note"])
            for number, (name, note) in enumerate(records):
                if empty and number == wrong:
                    file.write(ending)
                writer.writerow([name, mark if number == wrong else "1.5", note])

    write("MARK")
    before = path.read_bytes().decode().partition("MARK")[0]
    line = len(before.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    rows = read_rows(str(path))[1]
    assert len(rows) == len(records)
    with pytest.raises(UserError, match=rf"t\.csv:{line}: price: "):
        rows[wrong].read(Priced, names={"name": "other"})
    assert [row.read(Priced).price for number, row in enumerate(rows) if number != wrong] == [1.5] * (
        len(rows) - 1
    )
