"""`souk paper`: figures, tables and methods of a stored run, read back by others, and what it refuses."""

import re
import shutil
import subprocess
from pathlib import Path

import docx
import pandas as pd
import pytest

from analysis.reporting.paper_tables import latex_table, save_table
from analysis.reporting.sections import NamedTable
from experiments.studies.kinds import new_names
from interventions.errors import UserError
from tests.experiments.command_line import forked_souk
from tests.experiments.stored_runs import stored_runs

DB = ("--db", "sqlite:///runs.db")
HOSTILE = r"50 % of a_b & \input{/etc/passwd} #1 ~ ^"


def a_table(rows: int, name: str = "effects") -> NamedTable:
    frame = pd.DataFrame(
        {
            "term": [f"{HOSTILE} {number}" for number in range(rows)],
            "estimate": [number - 0.5 for number in range(rows)],
            "note": ["few trials"] + [""] * (rows - 1),
        }
    )
    return NamedTable(name, HOSTILE, frame, decimals=1)


@pytest.mark.parametrize("rows", [2, 41])
def test_no_sign_of_a_text_is_a_command_and_rows_have_all_cells(rows: int) -> None:
    text = latex_table(a_table(rows))
    assert r"\textbackslash{}input\{/etc/passwd\}" in text and r"\input" not in text
    lines = [line for line in text.splitlines() if line.endswith(r" \tabularnewline")]
    assert len(lines) == rows + 1 + (rows > 40)  # a long table has its head on each page
    [kinds] = re.findall(r"\\begin\{(?:tabular|longtable)\}\{(.*)\}", text)
    kinds = re.sub(r"\{\w+\}", "", kinds)
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", line)) == len(kinds) - 1
    assert r"\ensuremath{-}0.5" in lines[-rows] and "few trials" in text
    assert ("longtable" in text) is (rows > 40)


def test_a_word_table_has_the_cells_of_the_report(tmp_path: Path) -> None:
    save_table(a_table(2), tmp_path / "t.docx")
    read = docx.Document(str(tmp_path / "t.docx"))
    [table] = read.tables
    assert [cell.text for cell in table.rows[1].cells][:2] == [f"{HOSTILE} 0", "\N{MINUS SIGN}0.5"]
    assert [each.text for each in read.paragraphs] == [HOSTILE, "[1] few trials"]


@pytest.mark.slow
def test_all_of_a_run_is_written_in_each_format(tmp_path: Path) -> None:
    stored_runs(tmp_path / "runs.db")
    options = (
        "--format",
        "svg,pdf,tex,docx",
        "--width",
        "8.5cm",
        "--rename",
        "simulated:balanced=Our shopper",
    )
    written = forked_souk("paper", "nudges", *options, *DB, "--out", "p", cwd=tmp_path)
    assert written.status == 0, written.err
    files = {path.name for path in (tmp_path / "p").iterdir()} - {"methods.tex", "methods.bib"}
    names = {
        kind: {Path(name).stem for name in files if name.endswith(kind)}
        for kind in ("svg", "pdf", "tex", "docx")
    }
    assert files == {f"{name}.{kind}" for kind, found in names.items() for name in found}
    assert names["svg"] == names["pdf"] >= {"effects", "attrition"}
    assert names["tex"] == names["docx"] >= {"effects"}
    drawn = (tmp_path / "p/effects.svg").read_text()
    assert "<!-- Our shopper -->" in drawn and "simulated:balanced" not in drawn
    assert "Our shopper" in (tmp_path / "p/attrition.tex").read_text()


def test_two_agents_never_become_one() -> None:
    assert new_names(["a", "b"], [("a", "b"), ("b", "a")]) == {"a": "b", "b": "a"}
    for pairs in ([("a", "b")], [("a", "x"), ("b", "x")]):
        with pytest.raises(UserError, match="two agents would be called"):
            new_names(["a", "b"], pairs)


DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{longtable}
\begin{document}
%s
\bibliographystyle{plain}\bibliography{methods}
\end{document}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX on this machine")
def test_latex_takes_all_that_is_written_for_it(tmp_path: Path) -> None:
    """The tables and methods of a stored run, and hostile texts; without an error, and within the page."""
    stored_runs(tmp_path / "runs.db")
    written = forked_souk("paper", "nudges", "--format", "tex", "--out", "t", *DB, cwd=tmp_path)
    assert written.status == 0, written.err
    folder = tmp_path / "t"
    for name, rows in (("hostile", 2), ("longer-hostile", 41)):
        save_table(a_table(rows, name), folder / f"{name}.tex")
    names = sorted(path.name for path in folder.glob("*.tex"))
    (folder / "all.tex").write_text(DOCUMENT % "\n".join(rf"\input{{{name}}}" for name in names))
    for program in (
        "pdflatex -interaction=nonstopmode -halt-on-error",
        "bibtex",
        *["pdflatex -halt-on-error"] * 2,
    ):
        ended = subprocess.run(
            [*program.split(), "all"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert ended.returncode == 0, ended.stdout[-2000:]
    log = (folder / "all.log").read_text(errors="replace")
    assert "multiply" not in log and "undefined" not in log
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \((\d+\.\d+)pt", log)]
    assert max(too_wide, default=0) < 90
