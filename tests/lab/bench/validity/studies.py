"""Count how often what tables print of many studies is true."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.tables.frame import Floats
from tests.lab.bench.validity.counting import COUNTS, LEVEL, ROUNDING, relative_width

Key = tuple[Any, ...]
Frames = Mapping[str, pd.DataFrame]
"""The tables of one study."""
Truth = Mapping[str, Mapping[Key, float]]
"""By the names of `Columns`, by row. A row that is not there has no known truth."""


@dataclass(frozen=True)
class Columns:
    """Where a table has an estimate, its p value and its interval.

    name: on the page. keys: what tells rows apart. adjusted: p values by which a family is judged.
    """

    name: str
    table: str
    keys: tuple[str, ...] = ("group", "term")
    estimate: str = "estimate"
    p: str = "p_value"
    low: str = "conf_low"
    high: str = "conf_high"
    adjusted: str = ""
    null: float = 0.0
    """The value that the p value is a test of."""
    only: tuple[str, str] | None = None
    """Which rows are counted: a column and what stands in it."""

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The counted rows of a table."""
        return frame if self.only is None else frame[frame[self.only[0]] == self.only[1]]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers: estimate, p, low, high, adjusted p."""
        return self.estimate, self.p, self.low, self.high, self.adjusted


def gather(columns: Columns, studies: Iterable[Frames]) -> dict[Key, Floats]:
    """Return by row the numbers that it has in each study (studies x 5; NaN where there is none)."""
    found: dict[Key, dict[int, list[float]]] = defaultdict(dict)
    count = 0
    for number, frames in enumerate(studies):
        count += 1
        frame = frames.get(columns.table)
        if frame is None or not len(frame):
            continue
        frame = columns.of(frame)
        values = frame.reindex(columns=list(columns.numbers)).to_numpy(float, na_value=np.nan)
        for key, row in zip(
            frame[list(columns.keys)].itertuples(index=False, name=None), values, strict=True
        ):
            found[key][number] = row
    empty = [np.nan] * len(columns.numbers)
    return {key: np.array([own.get(n, empty) for n in range(count)]) for key, own in found.items()}


def counts(columns: Columns, rows: Mapping[Key, Floats], truth: Mapping[Key, float]) -> dict[str, Any]:
    """Return the counts of one table of studies.

    rows (of one study), printed (in all studies), null (p values of a true 0), rejected (of these, p < .05),
    intervals (of a known truth), held (of these, with the truth), any_null (studies that print a row of a
    true 0) and any_rejected (those in which an adjusted p of such a row is below .05).
    """
    count: dict[str, Any] = dict.fromkeys(COUNTS, 0) | {"table": columns.name, "rows": len(rows)}
    shares, widths, family = [], [], []
    for key, numbers in rows.items():
        estimate, p, low, high, adjusted = numbers.T
        true = truth.get(key, np.nan)
        null = abs(true - columns.null) < ROUNDING
        told = ~np.isnan(low) & ~np.isnan(high)
        held = told & (low <= true + ROUNDING) & (true - ROUNDING <= high)
        count["printed"] += int((told | ~np.isnan(p)).sum())
        count["null"] += int(null * (~np.isnan(p)).sum())
        count["rejected"] += int(null * (p < LEVEL).sum())
        if not np.isnan(true) and told.any():
            count["intervals"] += int(told.sum())
            count["held"] += int(held.sum())
            if told.sum() >= len(told) / 2:
                shares.append(held.sum() / told.sum())
                widths.append(relative_width((high - low)[told], estimate[told]))
        if null:
            family.append(adjusted)
    count["worst"] = min(shares) if shares else np.nan
    count["width"] = float(np.nanmedian(widths)) if not np.isnan(widths or np.nan).all() else np.nan
    if family and columns.adjusted:
        every = np.array(family)
        count["any_null"] = int((~np.isnan(every)).any(axis=0).sum())
        count["any_rejected"] = int((every < LEVEL).any(axis=0).sum())
    return count
