"""The codebook knows every column of what is exported; the data sheet says what the run was."""

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from analysis.reporting.literature import bibtex, entries
from experiments.cli import app
from experiments.studies.kinds import STUDIES
from tests.experiments.stored_runs import stored_runs


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("codebook")
    stored_runs(folder / "runs.db")
    return f"sqlite:///{folder}/runs.db"


def souk(*words: str | Path) -> str:
    ended = CliRunner().invoke(app, [*map(str, words)])
    assert ended.exit_code == 0, ended.output
    return ended.output


@pytest.mark.slow
def test_each_column_is_described_as_it_is(db: str, tmp_path: Path) -> None:
    out, book = tmp_path / "t.csv", tmp_path / "book.csv"
    souk("export", "nudges", "--out", out, "--codebook", book, "--db", db)
    table, told = pd.read_csv(out), pd.read_csv(book, dtype=str, keep_default_na=False).set_index("column")
    assert [*told.index] == [*table.columns]
    assert (told["meaning"] != "").all()
    for name in table:
        counts = re.fullmatch(r"([\d,]+) of ([\d,]+)", str(told.loc[name, "empty"]))
        assert counts, name
        empty, rows = counts.groups()
        assert int(rows.replace(",", "")) == len(table)
        assert int(empty.replace(",", "")) == table[name].isna().sum(), name
    low, high = map(float, told.loc["price", "values"].split(" to "))
    assert (low, high) == pytest.approx((table["price"].min(), table["price"].max()))
    assert told.loc["cost", "unit"] == "USD" and told.loc["condition", "values"] == ", ".join(
        sorted(table["condition"].unique())
    )
    souk("export", "nudges", "--out", out, "--codebook", tmp_path / "book.md", "--db", db)
    sheet = (tmp_path / "book.md").read_text()
    assert f"{len(table):,} rows of {table['trial'].nunique():,} trials" in sheet
    assert sheet.count("\n| ") == len(table.columns) + 2, "the head, and the line below it"


@pytest.mark.slow
def test_a_methods_section_brings_its_sources(db: str, tmp_path: Path) -> None:
    souk("paper", "nudges", "--out", tmp_path, "--format", "tex", "--db", db)
    cited = re.search(r"\\cite\{(.+?)\}", (tmp_path / "methods.tex").read_text())
    bib = (tmp_path / "methods.bib").read_text()
    assert cited and set(cited[1].split(",")) == set(re.findall(r"^@\w+\{(\w+),", bib, re.MULTILINE))


def test_entries_are_whole() -> None:
    assert {key for study in STUDIES.values() for key in study.sources} == entries().keys()
    for key, entry in entries().items():
        assert re.match(rf"@\w+\{{{key},", entry) and entry.count("{") == entry.count("}")
        assert all(f"{name} = {{" in entry for name in ("author", "title", "year"))
    assert bibtex([], "1.2").count("@") == 1
