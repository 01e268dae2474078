"""Compare agents, or runs, on the strata that both have: how far is one moved more than another?"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import agents
from analysis.choice.exact.exact import (
    COUNTS,
    EQUIVALENCE,
    MARKS,
    SAME,
    order_and_nudge,
    repeats_note,
    trials_of,
)
from analysis.choice.exact.strata import ROUND
from analysis.choice.report.figures import POINTS, forest
from analysis.choice.report.wording import WORDING
from analysis.choice.stopping import COULD_STOP
from analysis.estimators.randomisation import equivalence_p, exact_p, flipped, score_interval
from analysis.reporting.answer import LEVEL, claimed, number_text, p_text, sentence
from analysis.reporting.comparing import MOST_SIDES, asked, named
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import LABELS, join_notes, result_frame

FURTHER: Final = ("less", "of_group", "of_less", *COUNTS)
NOTHING_SHARED: Final = "no stratum in common"
_BY: Final = [name for name in SAME if name != "run"]
_QUESTION: Final = [name for name in _BY if name not in ROUND]
_KEYS: Final = {
    "nudged": [*_QUESTION, "first", "words"],
    "viewed_first": [*_QUESTION, "carrier", "words", "kind"],
}
_LARGEST: Final = 2.0
"""The largest difference of two effects."""


def compare_agents(
    table: pd.DataFrame, margin: float | None = None, ruled: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Compare each two agents of a table, of each two runs where these have the same agent.

    table: any tidy table of choices. margin: in percentage points, for the equivalence of two agents. ruled:
    by run the term that a stopping rule is about: of it there is no p value for a fixed number of trials.

    A row says how many points more a feature moves `group` than `less`. For the nudge and the order it is the
    mean over the strata that both have (see `exact_tests`); for price and rating, which no design exchanges,
    the mean over choice sets of the raw effect in the trials that both have. If two agents are alike, their
    answers to a stratum (a set) could have been exchanged: the test is Fisher's randomisation test by flipped
    signs, the interval the score interval. Both are about these sets and texts. `p_adjusted` holds the false
    discovery rate over the whole frame (Benjamini and Hochberg 1995), whatever the number of agents.

    Further columns: the two effects on what is shared (`of_group`, `of_less`), and how many strata, or sets,
    were for the difference, against it, and there; with a margin it and `p_equivalent`, of the hypothesis
    that the difference is as large as the margin.

    Raises AnalysisError for fewer than two agents, or more than `MOST_SIDES`.
    """
    sides = {name: _effects(used) for name, _, used in agents(named(check_table(table))) if len(used)}
    if not 2 <= len(sides) <= MOST_SIDES:
        raise AnalysisError(
            f"2 to {MOST_SIDES} agents can be compared, and there are choices of {len(sides):,}; name others"
        )
    rows = [
        _row(term, (one, other), sides, margin)
        for one, other in asked({name: side["runs"] for name, side in sides.items()})
        for term in ("viewed_first", "higher_rated", "cheaper", "nudged")
    ]
    frame = result_frame(rows, *FURTHER, *(EQUIVALENCE if margin else ()))
    for run, term in (ruled or {}).items():
        own = [name for name, side in sides.items() if run in side["runs"]]
        stopped = (frame["term"] == term) & (frame["group"].isin(own) | frame["less"].isin(own))
        columns = ["p_value", "conf_low", "conf_high", *(["p_equivalent"] if margin else [])]
        frame.loc[stopped, columns], frame.loc[stopped, "note"] = np.nan, COULD_STOP
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def _effects(used: pd.DataFrame) -> dict[str, Any]:
    """The effect in each stratum of an agent by term, and its trials; `note` where repeats count once."""
    trials = trials_of(used)
    found: dict[str, Any] = {
        "note": repeats_note(trials),
        "trials": trials,
        "runs": set(used["run"].astype(str)),
    }
    for term, strata in order_and_nudge(trials).items():
        found[term] = pd.Series(strata.values, pd.MultiIndex.from_frame(strata.of[_KEYS[term]]))
    return found


def _row(
    term: str, pair: tuple[str, str], sides: Mapping[str, dict[str, Any]], margin: float | None
) -> dict[str, Any]:
    """Return a row of the frame."""
    one, other = (sides[name] for name in pair)
    both = _of_strata(one[term], other[term]) if term in _KEYS else _of_sets(term, one, other)
    found: dict[str, Any] = {"term": term, "group": pair[0], "less": pair[1]}
    found |= {"margin": margin} if margin else {}
    values = (both["one"] - both["other"]).to_numpy(float)
    counts = (int((values > 1e-9).sum()), int((values < -1e-9).sum()), len(values))
    found |= dict(zip(COUNTS, counts, strict=True))
    if not len(values):
        return found | {"n": 0, "note": NOTHING_SHARED}
    low, high = score_interval(values, -_LARGEST, _LARGEST)
    found |= {
        "estimate": 100 * values.mean(),
        "of_group": 100 * both["one"].mean(),
        "of_less": 100 * both["other"].mean(),
        "p_value": exact_p(values, [flipped(value) for value in values.tolist()]),
        "conf_low": 100 * low,
        "conf_high": 100 * high,
        "n": int(both["trials"].sum()),
        "note": join_notes(*dict.fromkeys(filter(None, (one["note"], other["note"])))),
    }
    if margin:
        found["p_equivalent"] = equivalence_p(values, -_LARGEST, _LARGEST, margin / 100)
    return found


def _of_strata(one: "pd.Series[float]", other: "pd.Series[float]") -> pd.DataFrame:
    """The effects of both in the strata that both have; each stratum is of two trials or more."""
    return pd.DataFrame({"one": one, "other": other}).dropna().assign(trials=2)


def _of_sets(term: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> pd.DataFrame:
    """The mean raw effects of both in each set, over the trials that both have.

    By set, for answers to the same products may be alike whatever else is shown with them.
    """
    cells = [*_BY, *MARKS, "twin"]
    sides = {name: side["trials"].set_index(cells)[term] for name, side in (("one", one), ("other", other))}
    shared = pd.DataFrame(sides).dropna()
    by_set = shared.groupby(level="set")
    return by_set.mean().assign(trials=by_set.size())


def differences(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each two agents: what moves one more than the other, and what is equal.

    frame: of `compare_agents`.
    """
    names = WORDING.names
    for (one, other), rows in frame.groupby(["group", "less"], sort=False):
        told, apart = list[str](), claimed(rows)
        for row in rows[apart].to_dict("records"):
            more = "more" if row["estimate"] > 0 else "less"
            ends = sorted(abs(row[name]) for name in ("conf_low", "conf_high"))
            size, low, high = (number_text(value, 1) for value in (abs(row["estimate"]), *ends))
            size = f"{size} points {more} (95 %: {low} to {high})"
            told.append(f"{names[row['term']]} moves {one} by {size}")
        others = rows[~apart & rows["estimate"].notna() & rows["p_value"].notna()]
        if "p_equivalent" in rows:
            equal = others["p_equivalent"] < LEVEL
            for row in others[equal].to_dict("records"):
                p_value = p_text(row["p_equivalent"])
                told.append(f"{names[row['term']]}: no difference of {row['margin']:g} points (p {p_value})")
            others = others[~equal]
        if len(others):
            told.append(f"{', '.join(names[term] for term in others['term'])}: not told apart")
        if len(lost := rows[rows["p_value"].isna()]):
            reasons = dict.fromkeys(lost["note"])
            told.append(f"{', '.join(names[term] for term in lost['term'])}: {', '.join(reasons)}")
        yield sentence(f"{one} against {other}", told)


def comparison_report(frame: pd.DataFrame) -> Report:
    """Return a report of `compare_agents`: a sentence and a panel for each two agents, and the table."""
    pairs = frame.assign(group=frame["group"] + " less " + frame["less"])
    figure = NamedFigure(
        "comparison",
        "How many points more a feature moves the first agent than the second; 95 % intervals for these "
        "choice sets and texts. A hollow mark has no interval.",
        lambda: forest(pairs, lambda row: LABELS[row["term"]], f"Difference of effects ({POINTS})"),
    )
    text = (
        "Each two agents are compared on the choice sets, texts and orders that both have, by exact tests; "
        "adjusted p values hold the false discovery rate over all rows (Benjamini and Hochberg 1995)."
    )
    table = NamedTable("comparison", "Differences (percentage points)", frame.drop(columns="statistic"), 1)
    return Report((Section("How far agents differ", text, (table,), (figure,)),), tuple(differences(frame)))
