"""Sentences that say what a frame of estimates shows, and claim no more than it does.

An effect is claimed where its 95 % interval leaves out 0 and its adjusted p value is below .05. The others
are told apart: not told apart from 0, estimated without an interval, and not estimated, each with its reason.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.tables.frame import counted, heading

LEVEL = 0.05


@dataclass(frozen=True)
class Wording:
    """How the estimates of a study are said.

    names: what stands for each term. first, others: the clause of the first estimate that is claimed, and
    of those after it, as formats of `name`, `estimate` and `interval`. decimals: of numbers, as in the table.
    """

    names: Mapping[str, str]
    first: str
    others: str
    decimals: int | None = None


def steady(value: float) -> float:
    """Return a number without its last digits, which differ between machines: 28.75 is printed alike."""
    return round(value, 9)


def number_text(value: float, decimals: int | None = None) -> str:
    """Write a number with so many decimals, or at most four digits that count; nothing if undefined."""
    if not math.isfinite(value):
        return ""
    if decimals is not None:
        return format(steady(value), f"z,.{decimals}f")
    whole = value == round(value)
    return format(value, "z,.0f" if whole or abs(value) >= 1_000 else ".3g" if abs(value) < 1 else ".4g")


def p_text(value: float) -> str:
    """Write a p value with three decimals, or as `<.001`."""
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def claimed(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Tell which estimates are told apart from 0: by the interval, and by the adjusted p value."""
    return _leaves_out_0(rows) & (rows["p_adjusted"] < LEVEL)


def clauses(rows: pd.DataFrame, wording: Wording, sample: str) -> list[str]:
    """Say of each of one agent's estimates, in one clause, what there is to say.

    rows: in the columns of every estimator, in the order in which they are to be said. sample:
    what they rest on, such as `240 trials`.
    """
    told = claimed(rows)
    bounded = rows["conf_low"].notna() & rows["estimate"].notna()
    parts: list[str] = []
    for row in rows[told].to_dict("records"):
        form = wording.others if parts else wording.first
        parts.append(form.format(name=wording.names.get(row["term"], row["term"]), **_numbers(row, wording)))
    said = [", ".join(parts)] if parts else []
    if unclear := _unclear_names(rows[bounded & ~told], wording):
        said.append(f"{', '.join(unclear)}: not told apart from 0 with {sample}")
    unbounded = rows[~bounded & rows["estimate"].notna()]
    said += [
        f"{', '.join(names)}: no interval, so nothing is claimed ({reason})"
        for reason, names in _by_reason(unbounded, wording)
    ]
    said += [
        f"{', '.join(names)}: not estimated ({reason})"
        for reason, names in _by_reason(rows[rows["estimate"].isna()], wording)
    ]
    return said


def sentence(agent: str, parts: Iterable[str]) -> str:
    """Join clauses to a sentence: `agent: one; two.`"""
    return f"{agent}: {'; '.join(part for part in parts if part)}."


def contrast_sentences(frame: pd.DataFrame, say: Callable[[Any], str]) -> Iterator[str]:
    """Yield a sentence for each agent and contrast (group, level, less), of the clause of each row."""
    for (agent, level, less), rows in frame.groupby(["group", "level", "less"], sort=False):
        yield sentence(str(agent), [f"{level} against {less}", *map(say, rows.to_dict("records"))])


def uneven(by_factor: pd.DataFrame, what: str) -> Iterator[str]:
    """Yield a line for each factor over whose levels answers (`what`: choices ...) go missing unevenly."""
    for row in by_factor[by_factor["p_adjusted"] < LEVEL].to_dict("records"):
        yield (
            f"{row['group']}: {what} go missing unevenly over {heading(row['factor'])}, by up to"
            f" {row['estimate']:.1f} points (adjusted p {p_text(row['p_adjusted'])})."
        )


def by_agent(frame: pd.DataFrame, say: Callable[[str, pd.DataFrame], Iterable[str]]) -> tuple[str, ...]:
    """Write one sentence for each agent (column `group`), of the clauses that `say` gives for its rows."""
    return tuple(
        sentence(str(agent), say(str(agent), rows)) for agent, rows in frame.groupby("group", sort=True)
    )


def sample_text(rows: pd.DataFrame, noun: str) -> str:
    """Write a sample's size: `240 trials`, or `100 to 240 trials` where rows rest on different numbers."""
    sizes = sorted({int(n) for n in rows["n"].dropna()})
    if len(sizes) < 2:
        return counted(sizes[0] if sizes else 0, noun)
    return f"{sizes[0]:,} to {counted(sizes[-1], noun)}"


def _leaves_out_0(rows: pd.DataFrame) -> "pd.Series[bool]":
    return (rows["conf_low"] > 0) | (rows["conf_high"] < 0)


def _numbers(row: Mapping[Hashable, float], wording: Wording) -> dict[str, str]:
    estimate, low, high = (
        _said(row[name], wording.decimals) for name in ("estimate", "conf_low", "conf_high")
    )
    return {"estimate": estimate, "interval": f"{low} to {high}"}


def _said(value: float, decimals: int | None) -> str:
    """A number that is not 0 never reads as 0: the end of an interval that leaves out 0 may be near it."""
    text = number_text(value, decimals)
    return number_text(value) if value and not float(text.replace(",", "") or 1) else text


def _names(rows: pd.DataFrame, wording: Wording) -> list[str]:
    return [wording.names.get(term, str(term)) for term in rows["term"]]


def _unclear_names(rows: pd.DataFrame, wording: Wording) -> list[str]:
    """The names, with the adjusted p value where it alone forbids the claim."""
    found = zip(_names(rows, wording), rows["p_adjusted"], _leaves_out_0(rows), strict=True)
    return [f"{name} (adjusted p {p_text(p)})" if apart and p >= LEVEL else name for name, p, apart in found]


def _by_reason(rows: pd.DataFrame, wording: Wording) -> list[tuple[str, list[str]]]:
    """The names of the rows with the same reason, the first part of their notes; the table has the rest."""
    found: dict[str, list[str]] = {}
    for name, note in zip(_names(rows, wording), rows["note"], strict=True):
        found.setdefault(str(note or "no reason is given").partition("; ")[0], []).append(name)
    return list(found.items())
