"""Whatever a Parquet file holds: one line that names the file, or numbers that are finite."""

import io
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.tables.errors import AnalysisError
from experiments.studies.kinds import STUDIES, read_tables
from tests.journeys.valid_tables import TABLES, Valid, check_document
from tests.mutations import damaged
from tests.support import size


def strange_columns(rows: int) -> dict[str, Any]:
    """Columns of types and values that no table of ours has, by name."""
    odd = pa.array(["text"] * rows).view(pa.binary())
    return {
        "lists": pa.array([[1]] * rows),
        "empty lists": pa.array([[]] * rows, pa.list_(pa.int64())),
        "structures": pa.array([{"a": 1}] * rows),
        "maps": pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff"] * rows),
        "text that is none": pa.array([b"\xff"] * rows).view(pa.string()),
        "text as bytes": odd,
        "long text": pa.array(["x" * 2_000] * rows, pa.large_string()),
        "control characters": pa.array(["\x1b[31m\0"] * rows),
        "words": pa.array(["text"] * rows).dictionary_encode(),
        "nothing": pa.nulls(rows),
        "truth": pa.array([True] * rows),
        "times": pa.array([0] * rows, pa.timestamp("ns", "UTC")),
        "far times": pa.array([2**62] * rows, pa.timestamp("us")),
        "days": pa.array([10**9] * rows, pa.date32()),
        "durations": pa.array([5] * rows, pa.duration("us")),
        "clocks": pa.array([5] * rows, pa.time32("s")),
        "decimals": pa.array([Decimal("1e30")] * rows, pa.decimal256(60, 2)),
        "small decimals": pa.array([Decimal("1.5")] * rows, pa.decimal128(10, 2)),
        "large numbers": pa.array([2**64 - 1] * rows, pa.uint64()),
        "halves": pa.array(np.full(rows, 1.5, np.float16)),
        "infinite": pa.array([float("inf")] * rows),
        "not numbers": pa.array([float("nan")] * rows),
        "empty": pa.array([None] * rows, pa.int64()),
        "ones": pa.array([1] * rows),
        "one missing": pa.array([None, *[1] * (rows - 1)], pa.int64()),
        "in groups": pa.chunked_array([pa.array([1] * (rows - 1)), pa.array([1])]),
    }


PARQUETS = [name for name, table in TABLES.items() if not table.beside]
STRANGE_COLUMNS = sorted(strange_columns(2))


def parquet(table: Valid) -> pa.Table:
    frame = pd.DataFrame(list(table.rows)).replace({"": None})
    for name in table.numbers:
        frame[name] = pd.to_numeric(frame[name])
    return pa.Table.from_pandas(frame)


def check_parquet(table: Valid, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        path.write_bytes(content)
        try:
            analysis = STUDIES[table.kind].analyze(read_tables(table.kind, [path]), **table.options)
        except AnalysisError as error:
            assert str(error).startswith(str(path))
            assert len(str(error).splitlines()) == 1 and len(str(error)) < 1_000
            return
    check_document(json.loads(analysis.to_json(), parse_constant=pytest.fail))


def written(table: pa.Table) -> bytes:
    packed = io.BytesIO()
    pq.write_table(table, packed)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("column", "kind", "said"),
    [
        ("option", "lists", "column 'option' holds lists"),
        ("category", "text that is none", "Invalid UTF8"),
        ("steps", "bytes", "Invalid UTF8"),
        ("price", "words", "price: 'text' is not a number"),
    ],
)
def test_what_no_table_holds_is_told(column: str, kind: str, said: str, tmp_path: Path) -> None:
    table, path = parquet(TABLES["choices"]), tmp_path / "t.parquet"
    at = table.schema.get_field_index(column)
    path.write_bytes(written(table.set_column(at, column, strange_columns(table.num_rows)[kind])))
    with pytest.raises(AnalysisError, match=said):
        STUDIES["choice"].analyze(read_tables("choice", [path]))


@pytest.mark.parametrize(
    "facts", [b"{}", b"[", b'{"columns": 3}', b'{"index_columns": ["price"], "columns": []}']
)
def test_what_pandas_has_noted_is_not_read(facts: bytes, tmp_path: Path) -> None:
    table, path = parquet(TABLES["choices"]), tmp_path / "t.parquet"
    path.write_bytes(written(table.replace_schema_metadata({"pandas": facts})))
    assert list(read_tables("choice", [path])) == table.column_names


@pytest.mark.thorough
@settings(max_examples=size(8, 1_500))
@given(data=st.data(), name=st.sampled_from(PARQUETS), kind=st.sampled_from(STRANGE_COLUMNS))
def test_a_parquet_file_with_a_strange_column(data: st.DataObject, name: str, kind: str) -> None:
    table = parquet(TABLES[name])
    column = data.draw(st.sampled_from([*table.column_names, "", "attr_x", "phi_x", "__index_level_0__"]))
    strange = strange_columns(table.num_rows)[kind]
    at = table.schema.get_field_index(column)
    table = table.append_column(column, strange) if at < 0 else table.set_column(at, column, strange)
    check_parquet(TABLES[name], written(table))


@settings(max_examples=size(10, 3_000))
@given(data=st.data(), name=st.sampled_from(PARQUETS))
def test_a_damaged_parquet_file(data: st.DataObject, name: str) -> None:
    check_parquet(TABLES[name], data.draw(damaged(written(parquet(TABLES[name])))))
