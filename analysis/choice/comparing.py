"""Compare agents, or runs, on the strata that both have: how far is one moved more than another?"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import TERMS
from analysis.choice.exact.exact import (
    COUNTS,
    EQUIVALENCE,
    MARKS,
    SAME,
    exact_row,
    flips,
    order_and_nudge,
    repeats_note,
    trials_of,
)
from analysis.choice.exact.strata import ROUND
from analysis.choice.report.figures import POINTS
from analysis.choice.report.wording import WORDING
from analysis.choice.stopping import COULD_STOP
from analysis.estimators.comparing import compare_sides, named
from analysis.reporting.answer import number_text
from analysis.reporting.comparing import difference_report, difference_sentences
from analysis.reporting.sections import Report
from analysis.tables.choice_table import check_table
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import join_notes

TEXT: Final = (
    "Each two agents are compared on the choice sets, texts and orders that both have, by exact tests;"
    " adjusted p values hold the false discovery rate over all rows (Benjamini and Hochberg 1995)."
)
SHOWN_OTHERWISE: Final = "pages were shown in two ways"
NOTHING_SHARED: Final = "no stratum in common"
_BY: Final = [name for name in SAME if name != "run"]
_QUESTION: Final = [name for name in _BY if name not in ROUND]
_KEYS: Final = {
    "nudged": [*_QUESTION, "first", "words"],
    "viewed_first": [*_QUESTION, "carrier", "words", "kind"],
}


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

    Where each agent was shown pages in one way, the ways may differ, and a note says so. Else only what was
    shown in the same way is compared.

    Raises AnalysisError for fewer than two agents, or more than `MOST_SIDES`.
    """
    table = named(check_table(table))
    answered = table.groupby("agent")["chosen"].transform("count") > 0
    ways = table[answered].groupby("agent")["modality"].agg(["nunique", "first"])
    if is_one_each := bool(ways["nunique"].eq(1).all()):
        table = table.assign(modality="")
    extra = (*COUNTS, *(EQUIVALENCE if margin else ()))
    frame = compare_sides(table[answered], _effects, partial(_apart, margin=margin), *extra)
    apart = is_one_each & (frame["group"].map(ways["first"]) != frame["less"].map(ways["first"]))
    frame.loc[apart, "note"] = [join_notes(note, SHOWN_OTHERWISE) for note in frame.loc[apart, "note"]]
    for run, term in (ruled or {}).items():
        own = table.loc[table["run"] == run, "agent"]
        stopped = (frame["term"] == term) & (frame["group"].isin(own) | frame["less"].isin(own))
        columns = ["p_value", "conf_low", "conf_high", *(["p_equivalent"] if margin else [])]
        frame.loc[stopped, columns], frame.loc[stopped, "note"] = np.nan, COULD_STOP
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


class _Effects(NamedTuple):
    """The effects of one term by stratum, or by trial; note: where repeats count once."""

    values: "pd.Series[float]"
    note: str


def _effects(rows: pd.DataFrame) -> dict[str, _Effects]:
    """The effects of an agent by term."""
    trials = trials_of(rows[rows["chosen"].notna()])
    note, cells = repeats_note(trials), trials.set_index([*_BY, *MARKS, "twin"])
    strata = order_and_nudge(trials)
    by_stratum = {
        term: pd.Series(strata[term].values, pd.MultiIndex.from_frame(strata[term].of[keys]))
        for term, keys in _KEYS.items()
    }
    return {term: _Effects(by_stratum.get(term, cells[term]), note) for term in TERMS}


def _apart(one: _Effects, other: _Effects, margin: float | None) -> dict[str, Any]:
    """The columns of a row.

    Each stratum is of two trials or more. Raw effects of trials are averaged by set, for answers to the same
    products may be alike whatever else is shown with them.
    """
    both = pd.DataFrame({"one": one.values, "other": other.values}).dropna().assign(trials=2)
    if "twin" in both.index.names:
        by_set = both.groupby(level="set")
        both = by_set.mean().assign(trials=by_set.size())
    note = join_notes(*dict.fromkeys(filter(None, (one.note, other.note))))
    row = exact_row(flips(both["one"] - both["other"], both["trials"]), note, margin)
    if not row["n"]:
        return row | {"note": NOTHING_SHARED}
    return row | {"of_group": 100 * both["one"].mean(), "of_less": 100 * both["other"].mean()}


def differences(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each two agents: what moves one more than the other, and what is equal.

    frame: of `compare_agents`.
    """
    return difference_sentences(frame, lambda term: WORDING.names[term], _told)


def _told(row: Mapping[Any, Any]) -> str:
    more = "more" if row["estimate"] > 0 else "less"
    ends = sorted(abs(row[name]) for name in ("conf_low", "conf_high"))
    size, low, high = (number_text(value, 1) for value in (abs(row["estimate"]), *ends))
    size = f"{size} points {more} (95 %: {low} to {high})"
    return f"{WORDING.names[row['term']]} moves {row['group']} by {size}"


def comparison_report(frame: pd.DataFrame) -> Report:
    """Return a report of `compare_agents`: a sentence and a panel for each two agents, and the table."""
    return difference_report(frame, TEXT, POINTS, 1, differences(frame))
