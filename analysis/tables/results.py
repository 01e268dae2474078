"""The shape of every result: tidy frames with the estimators' columns, and their JSON."""

from collections.abc import Iterable, Mapping

import pandas as pd

from analysis.choice.effects import FRAME_COLUMNS
from analysis.reporting.sections import NamedTable

NUMBERS = ("estimate", "std_error", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high")


def result_frame(rows: Iterable[Mapping[str, object]], *extra: str) -> pd.DataFrame:
    """The estimators' columns and, after them, `extra` ones. What a row does not give is undefined."""
    frame = pd.DataFrame(list(rows), columns=[*FRAME_COLUMNS, *extra])
    frame = frame.astype(dict.fromkeys(NUMBERS, float) | {"n": "Int64", "n_missing": "Int64"})
    frame["note"] = frame["note"].astype("object").where(frame["note"].notna(), "")
    return frame


def join_notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def counted(count: int, noun: str) -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def tables(**named: tuple[str, pd.DataFrame]) -> tuple[NamedTable, ...]:
    """The tables of a section from name=(caption, frame); an empty frame is left out."""
    return tuple(
        NamedTable(name, caption, frame) for name, (caption, frame) in named.items() if not frame.empty
    )
