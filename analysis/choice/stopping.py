"""Decide, while a run goes on or after it, where each agent's trials were enough by the rule of the run.

The strata of the design come in its own order, and only up to the first trial that has not ended: an order of
arrival could depend on what was answered.
"""

from dataclasses import dataclass, field
from math import exp, log
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.sequential import confidence_sequence, is_within, log_evidence
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import result_frame

TERMS: Final = {"nudge": "nudged", "order": "viewed_first"}
"""What a rule can be about, and the term of the tables that it is."""
COLUMNS: Final = ("agent", "place", "stratum", "question", "won", "effect", "alpha", "margin", "most")
FURTHER: Final = (
    "decision", "trials", "most", "strata_for", "strata_against", "strata", "repeated", "incomplete",
    "waiting", "alpha", "margin",
)  # fmt: skip
PATH_POINTS: Final = 120
STOPPED: Final = "the run was stopped by its rule: the sequence has the interval and the p value that hold"
COULD_STOP: Final = "the run could stop at any time: the sequence has the interval and the p value that hold"


@dataclass(frozen=True)
class Rule:
    """When an agent's trials are enough: what they are about, and when that is known.

    alpha: the chance of a false rejection, and of an interval that misses. margin: in points; None: nothing
    is too small to matter.
    """

    effect: str
    alpha: float
    margin: float | None = None


@dataclass(frozen=True)
class State:
    """What the strata say that count so far: how many are for the effect, against it, and neither."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    trials: int = 0
    """How many trials, in the design's order, had to end for these strata to be known."""

    @property
    def strata(self) -> int:
        """How many strata there are."""
        return self.wins + self.losses + self.ties

    @property
    def estimate(self) -> float:
        """The mean over strata, in points; undefined without any."""
        return 100 * (self.wins - self.losses) / self.strata if self.strata else np.nan

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the ends of the confidence sequence, in points."""
        low, high = confidence_sequence(self.wins, self.losses, self.ties, alpha)
        return 100 * low, 100 * high

    def p_value(self) -> float:
        """Return the p value that holds at any time: 1 over the e-process, at most 1."""
        return min(1.0, exp(-float(log_evidence(self.wins, self.losses))))

    def decision(self, rule: Rule) -> str:
        """Return `effect`, `within margin` or, where the rule goes on, nothing."""
        if float(log_evidence(self.wins, self.losses)) >= -log(rule.alpha):
            return "effect"
        if rule.margin and is_within(rule.margin / 100, self.wins, self.losses, self.ties, rule.alpha):
            return "within margin"
        return ""


@dataclass
class Sequence:
    """The strata of one agent, as its trials end. Trials may end in any order; the result is the same."""

    rule: Rule
    state: State = State()
    """What is known by the first decision, or by now."""
    decision: str = ""
    states: list[State] = field(default_factory=list)
    """After each stratum that counts, up to the decision."""
    repeated: int = 0
    """How many strata were left out because one of their questions had been asked before.

    A repeat may be answered like the first time, and then it tells nothing new.
    """
    incomplete: int = 0
    """How many were left out because one of their trials ended without a choice."""
    ended: int = 0
    """How many trials have ended, also those after the first that has not."""
    _waiting: dict[int, tuple[str, str, bool | None]] = field(default_factory=dict)
    _next: int = 0
    _halves: dict[str, tuple[str, bool | None]] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    def add(self, place: int, stratum: str, question: str, won: bool | None) -> None:
        """Take a trial that has ended.

        place: its number in the design's order, from 0. stratum: what it shares with the one trial that
        differs from it in the mark alone; empty: it is in none. question: what the agent was shown. won:
        whether the marked option was chosen; None: no choice.
        """
        if place < self._next or place in self._waiting:
            return
        self.ended += 1
        self._waiting[place] = (stratum, question, won)
        while self._next in self._waiting:
            self._next += 1
            self._pass(*self._waiting.pop(self._next - 1))

    @property
    def waits(self) -> int:
        """How many ended trials wait for one before them that has not."""
        return len(self._waiting)

    def _pass(self, stratum: str, question: str, won: bool | None) -> None:
        if not stratum or self.decision:
            return
        if stratum not in self._halves:
            self._halves[stratum] = question, won
            return
        other, first = self._halves.pop(stratum)
        if won is None or first is None:
            self.incomplete += 1
            return
        is_new = self._asked.isdisjoint((question, other))
        self._asked |= {question, other}
        if not is_new:
            self.repeated += 1
            return
        value, old = won + first - 1, self.state
        self.state = State(
            old.wins + (value > 0), old.losses + (value < 0), old.ties + (value == 0), self._next
        )
        self.states.append(self.state)
        self.decision = self.state.decision(self.rule)


def sequences(table: pd.DataFrame) -> dict[str, Sequence]:
    """Return each agent's sequence, of the trials that have ended.

    table: `agent`; `place`, the number of the trial in the order of the agent's trials; `stratum`, `question`
    and `won` (1, 0 or empty) as `Sequence.add` takes them; `effect`, `alpha`, `margin` (empty: none) of the
    rule, and the `most` trials of an agent, the same in all rows.

    Raises AnalysisError for another table.
    """
    found: dict[str, Sequence] = {}
    if absent := [name for name in COLUMNS if name not in table]:
        raise AnalysisError(f"sequence: no column {absent[0]}")
    if table.empty:
        return found
    rule = _rule(table)
    for agent, own in table.groupby("agent", sort=True):
        found[str(agent)] = sequence = Sequence(rule)
        columns = (own["place"].astype(int), own["stratum"].astype(str), own["question"].astype(str))
        for place, stratum, question, won in zip(*columns, own["won"].astype(str), strict=True):
            sequence.add(place, stratum, question, {"1": True, "0": False}.get(won))
    return found


def _rule(table: pd.DataFrame) -> Rule:
    """The rule that all rows have. Raises AnalysisError."""
    kinds = table[["effect", "alpha", "margin"]].astype(str).drop_duplicates()
    effect, alpha, margin = (str(value) for value in kinds.iloc[0])
    try:
        rule = Rule(effect, float(alpha), float(margin) if margin not in ("", "nan", "None") else None)
        table["place"].astype(int), table["most"].astype(int)
    except (ValueError, TypeError) as error:
        raise AnalysisError(f"sequence: {error}") from None
    known = effect in TERMS and 0 < rule.alpha < 1 and (rule.margin is None or 0 < rule.margin < 100)
    if len(kinds) > 1 or not known:
        raise AnalysisError("sequence: its effect, alpha and margin are those of no rule")
    return rule


def sequence_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each agent's sequence says at its decision, or by now; estimates in points.

    The frame has the columns of every estimator: the interval is the confidence sequence, the p value holds
    at any time. Further: `decision` (`effect`, `within margin`, or empty: none yet), after how many `trials`
    of at most `most`; the strata for, against, and in all; those left out as `repeated` or `incomplete`; how
    many trials are `waiting` for one that has not ended; the rule's `alpha` and `margin`.
    """
    rows = []
    for agent, sequence in sequences(table).items():
        state, rule = sequence.state, sequence.rule
        most = int(table.loc[table["agent"].astype(str) == agent, "most"].iloc[0])
        low, high = state.interval(rule.alpha)
        rows.append(
            {
                "term": TERMS[rule.effect],
                "group": agent,
                "estimate": state.estimate,
                "p_value": state.p_value() if state.strata else np.nan,
                "conf_low": low if state.strata else np.nan,
                "conf_high": high if state.strata else np.nan,
                "n": 2 * state.strata,
                "note": "" if state.strata else "no stratum is complete yet",
                "decision": sequence.decision,
                "trials": state.trials if sequence.decision else sequence.ended,
                "most": most,
                "strata_for": state.wins,
                "strata_against": state.losses,
                "strata": state.strata,
                "repeated": sequence.repeated,
                "incomplete": sequence.incomplete,
                "waiting": 0 if sequence.decision else sequence.waits,
                "alpha": rule.alpha,
                "margin": np.nan if rule.margin is None else rule.margin,
            }
        )
    return result_frame(rows, *FURTHER)


def path_frame(table: pd.DataFrame) -> pd.DataFrame:
    """Return how the estimate and its interval (points) went, by agent: `PATH_POINTS` looks at most."""
    rows: list[dict[str, Any]] = []
    for agent, sequence in sequences(table).items():
        # The first strata say most; so the looks are closer together there.
        steps = np.unique(np.geomspace(1, max(len(sequence.states), 1), PATH_POINTS).round().astype(int))
        for state in (sequence.states[step - 1] for step in steps if sequence.states):
            low, high = state.interval(sequence.rule.alpha)
            rows.append(
                {
                    "group": agent,
                    "trials": state.trials,
                    "strata": state.strata,
                    "estimate": state.estimate,
                    "conf_low": low,
                    "conf_high": high,
                }
            )
    return pd.DataFrame(rows, columns=["group", "trials", "strata", "estimate", "conf_low", "conf_high"])


def without_fixed(frame: pd.DataFrame, sequence: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of estimates without p values and intervals of what the sequence is about.

    They hold for a number of trials that is fixed beforehand; where looking may end a run they do not.
    """
    columns = [
        name
        for name in ("std_error", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high", "p_exact",
                     "exact_low", "exact_high", "p_equivalent")
        if name in frame
    ]  # fmt: skip
    if frame.empty or "term" not in frame or "conf_low" not in frame:
        return frame
    frame = frame.copy()
    for row in sequence.to_dict("records"):
        own = (frame["term"] == row["term"]) & (frame["group"] == row["group"]) & frame["estimate"].notna()
        frame.loc[own, columns] = np.nan
        frame.loc[own, "note"] = STOPPED if row["decision"] else COULD_STOP
    return frame
