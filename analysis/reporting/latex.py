"""Write texts and tables for LaTeX without any package (a long table needs `longtable`)."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

LONG: Final = 40
"""Rows with which a table may be longer than a page."""
WIDE_CELL: Final = 28
"""Signs beyond which a column of texts is broken into lines."""
PAGE: Final = 66
"""Signs that a line of the class `article` holds, in the usual size."""
_BETWEEN: Final = 2.5
"""The space between two columns, in signs."""

_SIGNS: Final = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",
    "]": "{]}",
    "\N{MINUS SIGN}": r"\ensuremath{-}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "\N{GREATER-THAN OR EQUAL TO}": r"\ensuremath{\geq}",
    "\N{LESS-THAN OR EQUAL TO}": r"\ensuremath{\leq}",
    "\N{NOT EQUAL TO}": r"\ensuremath{\neq}",
    "\N{RIGHTWARDS ARROW}": r"\ensuremath{\rightarrow}",
}
_LONG_WORD: Final = re.compile(r"\w{30,}")


def tex(text: str) -> str:
    """Return a text for LaTeX, where no sign of it is a command. A hash may be broken into lines."""
    breakable = _LONG_WORD.sub(lambda word: "\0".join(re.findall(".{1,8}", word[0])), plain(text))
    return "".join(r"\allowbreak{}" if sign == "\0" else _SIGNS.get(sign, sign) for sign in breakable)


def plain(text: str) -> str:
    """Return a text in one line, without signs that cannot be printed."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def tabular(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    *,
    caption: str = "",
    name: str = "",
    below: Sequence[str] = (),
    before: Sequence[Sequence[str]] = (),
) -> list[str]:
    """Return the lines of a table.

    It floats if it has a caption, and is a `longtable` if it has more than `LONG` rows. A head stands in two
    lines, long texts are broken into lines, and what is still wider than the page is set smaller. before: a
    command before the text of each cell.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] or [0] * len(head)
    broken = [not number and width > WIDE_CELL for number, width in zip(numeric, widths, strict=True)]
    words = [max(map(len, _in_two(text)), default=0) for text in head]
    line = sum(
        max(min(width, WIDE_CELL) if text else width, word)
        for width, text, word in zip(widths, broken, words, strict=True)
    )
    size = [r"\footnotesize\setlength{\tabcolsep}{3pt}"] if line + _BETWEEN * len(head) > PAGE else []
    kinds = "".join(
        f"p{{{WIDE_CELL // 2}em}}" if text else "r" if number else "l"
        for text, number in zip(broken, numeric, strict=True)
    )
    top = [r"\hline", _row(map(_stacked, head, numeric)), r"\hline"]
    commands = before or [[""] * len(head)] * len(rows)
    lines = [
        _row(
            command + (rf"\raggedright {tex(cell)}" if text else tex(cell))
            for cell, text, command in zip(row, broken, own, strict=True)
        )
        for row, own in zip(rows, commands, strict=True)
    ]
    label = rf"\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', name)}}}"
    notes = [rf"{{\par\smallskip\footnotesize {tex(text)}\par}}" for text in below]
    if len(rows) > LONG:
        first = [rf"\caption{{{tex(caption)}}}{label}\tabularnewline"] if caption else []
        begin = [r"% \usepackage{longtable}", r"\begingroup", *size, rf"\begin{{longtable}}{{{kinds}}}"]
        head_lines = [*first, *top, r"\endfirsthead", *top, r"\endhead"]
        return [*begin, *head_lines, *lines, r"\hline", r"\end{longtable}", r"\endgroup", *notes]
    table = [rf"\begin{{tabular}}{{{kinds}}}", *top, *lines, r"\hline", r"\end{tabular}"]
    if not caption:
        return [r"\begingroup", *size, *table, r"\par\endgroup", *notes]
    floats = [r"\begin{table}", r"\centering", *size, rf"\caption{{{tex(caption)}}}", label]
    return [*floats, *table, *notes, r"\end{table}"]


def _in_two(text: str) -> list[str]:
    """The text in one line or two, so that the longer one is as short as it can be."""
    words = text.split()
    parts = [[" ".join(words[:at]), " ".join(words[at:])] for at in range(1, len(words))]
    return min(parts, key=lambda part: max(map(len, part)), default=words)


def _stacked(text: str, number: bool) -> str:
    lines = r"\\".join(map(tex, _in_two(text)))
    return rf"\shortstack[{'r' if number else 'l'}]{{\rule{{0pt}}{{2.2ex}}{lines}}}"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \tabularnewline"
