"""Write rows as CSV that a spreadsheet shows and does not run."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a text begins with that a spreadsheet takes for a formula, by OWASP's list (CSV injection)."""

_AT_ONCE: Final = 500
"""Rows that are given at a time."""


def csv_text(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Yield rows as CSV, some at a time; a text that begins like a formula has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text)
    for number, row in enumerate(rows, 1):
        writer.writerow([_harmless_cell(value) for value in row])
        if number % _AT_ONCE == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _harmless_cell(value: Any) -> Any:
    """Return a value as it stands in a cell; numbers, also negative ones, stay as they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
