"""Compare agents two by two, and an agent with itself in another run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.reporting.answer import LEVEL, number_text, p_text, sentence
from analysis.reporting.sections import NamedTable, Report, Section
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import label, result_frame

MOST_SIDES: Final = 30
FURTHER: Final = ("less", "of_group", "of_less")
NOT_BOTH: Final = "not estimated for both"


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the run in the name of an agent that is in several."""
    runs = table.groupby("agent")["run"].nunique()
    several = table["agent"].isin(runs[runs > 1].index)
    with_run = table["agent"] + " (" + table["run"].astype(str) + ")"
    return table.assign(agent=table["agent"].where(~several, with_run))


def asked(runs: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the pairs: an agent with itself first, then others; of agents in several runs, in the same run.

    runs: of each side, by its name as `named` gives it.
    """
    agent = {name: name.removesuffix(f" ({' '.join(own)})") for name, own in runs.items()}
    same = {pair: agent[pair[0]] == agent[pair[1]] for pair in combinations(sorted(runs), 2)}
    once = {name for name in runs if name == agent[name]}
    near = [pair for pair in same if same[pair] or once & {*pair} or runs[pair[0]] & runs[pair[1]]]
    return sorted(near, key=lambda pair: not same[pair])


def compare_sides(
    table: pd.DataFrame,
    prepare: Callable[[pd.DataFrame], Any],
    differences: Callable[[Any, Any], Iterable[Mapping[str, Any]]],
) -> pd.DataFrame:
    """Compare each two sides of a table with the columns agent and run.

    prepare: makes of the rows of a side what differences are computed from. differences: rows of what one has
    more than the other. The frame has the columns of every estimator, `less`, and the two values (`of_group`,
    `of_less`); `p_adjusted` is over all of it (Benjamini and Hochberg 1995).

    Raises AnalysisError for fewer than two sides, or more than `MOST_SIDES`.
    """
    whole = named(table)
    sides = {str(name): own.reset_index(drop=True) for name, own in whole.groupby("agent", sort=True)}
    if not 2 <= len(sides) <= MOST_SIDES:
        raise AnalysisError(
            f"2 to {MOST_SIDES} agents can be compared, and there are answers of {len(sides):,}; name others"
        )
    pairs = asked({name: set(own["run"].astype(str)) for name, own in sides.items()})
    ready = {name: prepare(sides[name]) for name in dict.fromkeys(name for pair in pairs for name in pair)}
    rows = [
        {"group": one, "less": other, **row}
        for one, other in pairs
        for row in differences(ready[one], ready[other])
    ]
    frame = result_frame(rows, *FURTHER)
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def difference(
    term: str, values: tuple[float, float], std_error: float, df: float, n: int, note: str = ""
) -> dict[str, Any]:
    """Return a row: values of both, and the error of their difference with its t (NaN: see the note)."""
    row: dict[str, Any] = {"term": term, "of_group": values[0], "of_less": values[1], "n": n, "note": note}
    estimate = row["estimate"] = values[0] - values[1]
    if np.isnan(std_error):
        return row
    width = float(stats.t.ppf(0.975, df)) * std_error
    row |= {"std_error": std_error, "statistic": estimate / std_error}
    row |= {"p_value": float(2 * stats.t.sf(abs(estimate / std_error), df))}
    return row | {"conf_low": estimate - width, "conf_high": estimate + width}


def difference_sentences(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each two sides: what is higher or lower with the first."""
    for (one, other), rows in frame.groupby(["group", "less"], sort=False):
        apart = rows["p_adjusted"] < LEVEL
        said = [_told(row) for row in rows[apart].to_dict("records")]
        if len(alike := rows[~apart & rows["p_value"].notna()]):
            said.append(f"{', '.join(map(label, alike['term']))}: not told apart")
        for note, lost in rows[rows["p_value"].isna()].groupby("note", sort=False):
            said.append(f"{', '.join(map(label, lost['term']))}: {str(note) or NOT_BOTH}")
        yield sentence(f"{one} against {other}", said)


def _told(row: Mapping[Any, Any]) -> str:
    way, size = ("higher" if row["estimate"] > 0 else "lower"), number_text(abs(row["estimate"]))
    ends = sorted(abs(row[name]) for name in ("conf_low", "conf_high"))
    interval = "" if np.isnan(ends[0]) else f"95 %: {number_text(ends[0])} to {number_text(ends[1])}; "
    return f"{label(row['term'])} is {way} by {size} ({interval}adjusted p {p_text(row['p_adjusted'])})"


def difference_report(frame: pd.DataFrame, text: str) -> Report:
    """Return a report of `compare_sides`: a sentence for each two sides, and the table."""
    table = NamedTable("comparison", "Differences", frame.drop(columns="statistic"))
    return Report((Section("How far agents differ", text, (table,)),), tuple(difference_sentences(frame)))


def means_apart(
    term: str, one: pd.DataFrame, other: pd.DataFrame, weights: "pd.Series[float]", least: int
) -> dict[str, Any]:
    """Return a row of two weighted sums of means of independent answers to the same questions.

    one, other: mean, var and n by question. weights: of the questions. least: the fewest answers to a
    question that carry an interval. Satterthwaite's degrees of freedom.
    """
    sides = [each.loc[weights.index] for each in (one, other)]
    here, there = (float((weights * each["mean"]).sum()) for each in sides)
    values = here, there
    n = int(sum(each["n"].sum() for each in sides))
    parts = pd.concat([weights**2 * each["var"] / each["n"] for each in sides])
    counts = pd.concat([each["n"] for each in sides])
    if counts.min() < least:
        few = f"no interval: fewer than {least} answers to a question"
        return difference(term, values, np.nan, np.nan, n, few)
    if not parts.sum() > 0:
        return difference(term, values, np.nan, np.nan, n, "no interval: the answers do not vary")
    df = float(parts.sum() ** 2 / (parts**2 / (counts - 1)).sum())
    return difference(term, values, float(np.sqrt(parts.sum())), df, n)
