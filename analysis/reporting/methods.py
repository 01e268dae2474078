"""Write a methods section, and the table of registered results, as Markdown or LaTeX."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from analysis.reporting.answer import number_text, p_text
from analysis.reporting.latex import plain, tabular, tex
from analysis.reporting.registered import DECIMALS
from analysis.tables.errors import AnalysisError

HEAD: Final = ("Hypothesis", "Agent", "Expected", "Estimate", "95 % interval", "p", "Adjusted p", "Verdict")
_LEFT: Final = 3
"""So many columns are text, and then the last."""

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def methods(
    paragraphs: Mapping[str, str], results: pd.DataFrame, path: Path, cited: Sequence[str] = ()
) -> str:
    """Return the text of a methods section and the table of registered results, by the file's suffix.

    paragraphs: text by its heading. results: of `analysis.reporting.registered.judged`.
    cited: keys of sources, which LaTeX cites, and Markdown as Pandoc reads it.

    Raises AnalysisError for a suffix other than `.md` and `.tex`.
    """
    rows = [_cells(row) for row in results.to_dict("records")]
    if path.suffix == ".md":
        return _markdown(paragraphs, rows, cited)
    if path.suffix == ".tex":
        return _latex(paragraphs, rows, cited)
    raise AnalysisError(f"{path}: the suffix must be .md or .tex")


def markdown(text: str) -> str:
    """Return a text for Markdown, where no sign of it is markup."""
    return _MARKDOWN.sub(r"\\\1", plain(text))


def _cells(row: Mapping[object, object]) -> list[str]:
    def number(name: str) -> str:
        value = row[name]
        if not isinstance(value, float) or pd.isna(value):
            return ""
        return number_text(value, DECIMALS).replace("-", "\N{MINUS SIGN}")

    def p(name: str) -> str:
        value = row[name]
        return p_text(value) if isinstance(value, float) and pd.notna(value) else ""

    interval = f"{number('conf_low')} to {number('conf_high')}" if number("conf_low") else ""
    names = [str(row[name]) for name in ("hypothesis", "group", "expected")]
    return [*names, number("estimate"), interval, p("p_value"), p("p_adjusted"), str(row["verdict"])]


def _markdown(paragraphs: Mapping[str, str], rows: Sequence[Sequence[str]], cited: Sequence[str]) -> str:
    lines = ["# Methods", ""]
    for title, text in paragraphs.items():
        lines += [f"**{markdown(title)}.** {markdown(text)}", ""]
    if cited:
        lines += [f"**Sources.** [{'; '.join(f'@{key}' for key in cited)}]", ""]
    if rows:
        right = [":---" if place < _LEFT or place == len(HEAD) - 1 else "---:" for place in range(len(HEAD))]
        lines += ["# Registered results", ""]
        for cells in (HEAD, right, *([markdown(cell) for cell in row] for row in rows)):
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines).rstrip() + "\n"


def _latex(paragraphs: Mapping[str, str], rows: Sequence[Sequence[str]], cited: Sequence[str]) -> str:
    lines = ["% \\usepackage[T1]{fontenc}, \\usepackage[utf8]{inputenc}", "\\section*{Methods}", ""]
    for title, text in paragraphs.items():
        lines += [f"\\paragraph{{{tex(title)}.}} {tex(text)}", ""]
    if cited:
        lines += [f"\\paragraph{{Sources.}} \\cite{{{','.join(cited)}}}", ""]
    if rows:
        numeric = [_LEFT <= place < len(HEAD) - 1 for place in range(len(HEAD))]
        lines += ["\\section*{Registered results}", "", *tabular(HEAD, rows, numeric)]
    return "\n".join(lines).rstrip() + "\n"
