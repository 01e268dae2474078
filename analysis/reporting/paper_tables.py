"""Write the tables of a report for a paper: LaTeX, or a Word document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from analysis.reporting.html import table_cells
from analysis.reporting.latex import plain, tabular
from analysis.reporting.sections import NamedTable
from analysis.tables.errors import AnalysisError

FORMATS: Final = ("tex", "docx")


def save_table(table: NamedTable, path: Path) -> None:
    """Write a table as `.tex` or `.docx`, as the suffix says. Raises AnalysisError: no python-docx."""
    if path.suffix == ".docx":
        _save_word(table, path)
    else:
        path.write_text(latex_table(table), encoding="utf-8")


def latex_table(table: NamedTable) -> str:
    """Return a table for LaTeX, with its caption, and its notes below it. No sign of a text is a command."""
    told: dict[str, Any] = table_cells(table)
    lines = tabular(
        [name for name, _ in told["columns"]],
        [[text for text, _ in row] for row in told["rows"]],
        [kind == "n" for _, kind in told["columns"]],
        caption=table.caption,
        name=table.name,
        below=_below(told),
    )
    return "\n".join(lines) + "\n"


def _below(told: dict[str, Any]) -> Sequence[str]:
    """The lines below a table: what is the same in all its rows, and its notes."""
    return [*([f"{told['same']}."] if told["same"] else []), *told["footnotes"]]


def _save_word(table: NamedTable, path: Path) -> None:
    try:
        import docx  # noqa: PLC0415 - an extra
        from docx.enum.text import WD_ALIGN_PARAGRAPH  # noqa: PLC0415
    except ModuleNotFoundError:
        raise AnalysisError("--format docx: python-docx is not installed; install souk[word]") from None
    told: dict[str, Any] = table_cells(table)
    document = docx.Document()
    document.add_paragraph(plain(table.caption), style="Caption")
    lines = [told["columns"], *told["rows"]]
    made = document.add_table(len(lines), len(told["columns"]), style="Light Shading")
    for row, cells in zip(made.rows, lines, strict=True):
        for place, (text, kind) in zip(row.cells, cells, strict=True):
            place.text = plain(text)
            if kind == "n":
                place.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for line in _below(told):
        document.add_paragraph(plain(line))
    document.save(str(path))
