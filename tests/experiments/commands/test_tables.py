"""`souk tables`: the tables of a stored run in LaTeX and Word, read back by others, and what it refuses."""

import re
import shutil
from pathlib import Path

import docx
import pandas as pd
import pytest

from analysis.reporting.paper_tables import latex_table, save_table
from analysis.reporting.sections import NamedTable
from tests.experiments.bundles.test_before import BEFORE
from tests.experiments.command_line import forked_souk

DB = ("--db", "sqlite:///runs.db")
HOSTILE = r"50 % of a_b & \input{/etc/passwd} #1 ~ ^"


def a_table(rows: int) -> NamedTable:
    frame = pd.DataFrame(
        {
            "term": [f"{HOSTILE} {number}" for number in range(rows)],
            "estimate": [number - 0.5 for number in range(rows)],
            "note": ["few trials"] + [""] * (rows - 1),
        }
    )
    return NamedTable("effects", HOSTILE, frame, decimals=1)


@pytest.mark.parametrize("rows", [2, 41])
def test_no_sign_of_a_text_is_a_command_and_rows_have_all_cells(rows: int) -> None:
    text = latex_table(a_table(rows))
    assert r"\textbackslash{}input\{/etc/passwd\}" in text and r"\input" not in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\") and not line.startswith(r"\caption")]
    assert len(lines) == rows + 1
    [kinds] = re.findall(r"\\begin\{(?:tabular|longtable)\}\{(\w+)\}", text)
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", line)) == len(kinds) - 1
    assert r"\ensuremath{-}0.5" in lines[1] and "few trials" in text
    assert ("longtable" in text) is (rows > 40)


def test_a_word_table_has_the_cells_of_the_report(tmp_path: Path) -> None:
    save_table(a_table(2), tmp_path / "t.docx")
    read = docx.Document(str(tmp_path / "t.docx"))
    [table] = read.tables
    assert [cell.text for cell in table.rows[1].cells][:2] == [f"{HOSTILE} 0", "\N{MINUS SIGN}0.5"]
    assert [each.text for each in read.paragraphs] == [HOSTILE, "[1] few trials"]


@pytest.mark.slow
def test_all_tables_of_a_run_are_written(tmp_path: Path) -> None:
    shutil.copy(BEFORE / "runs.sqlite", tmp_path / "runs.db")
    renamed = ("--rename", "simulated:balanced=Our shopper")
    written = forked_souk(
        "tables", "nudges", "--format", "tex,docx", *renamed, *DB, "--out", "t", cwd=tmp_path
    )
    assert written.status == 0, written.err
    names = {path.stem for path in (tmp_path / "t").iterdir()}
    assert {f"{name}.{kind}" for name in names for kind in ("tex", "docx")} == {
        path.name for path in (tmp_path / "t").iterdir()
    }
    assert "effects" in names
    assert "Our shopper" in (tmp_path / "t/attrition.tex").read_text()
    refused = forked_souk("tables", "nudges", "--format", "odt", *DB, cwd=tmp_path)
    assert refused.status == 2 and "'odt' is none of tex, docx" in refused.err
