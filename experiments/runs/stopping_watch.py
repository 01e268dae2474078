"""Watch a run with a stopping rule: after which trials an agent needs no more, and what that saves."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from analysis.choice.stopping import Rule, Sequence, State
from experiments.designs.design import Trial
from experiments.designs.shop.strata_order import StrataOrder
from experiments.records.reading.queries import ended_trials, means
from experiments.records.record import EndedTrial, TrialRecord
from experiments.records.store import Records

GOES: Final = 3
"""How often a trial is run (each time with up to three attempts) on which a stopping rule waits."""


class StoppingWatch:
    """Follows the sequence of each agent of a run, from its records and the trials that end."""

    def __init__(self, records: Records, run: str, order: StrataOrder) -> None:
        """Read what has ended."""
        self._records, self._run, self._order = records, run, order
        self._sequences: dict[str, Sequence] = {}
        self._begun: dict[str, Trial] = {}
        self._failed: list[Trial] = []
        self.look()

    @property
    def most(self) -> int:
        """The most trials of an agent."""
        return self._order.most

    def look(self) -> None:
        """Take the trials that others have ended meanwhile."""
        for trial in ended_trials(self._records, self._run):
            self._take(trial)

    def note(self, record: TrialRecord) -> None:
        """Take a trial that has ended; remember it where the infrastructure failed."""
        begun = self._begun.pop(record.trial.trial, None)
        if record.trial.outcome != "infra_error":
            self._take(EndedTrial.of(record))
        elif begun:
            self._failed.append(begun)

    def with_failed(self, todo: Iterable[Trial]) -> Iterator[Trial]:
        """Yield the trials of agents that need more, and again those that the infrastructure failed.

        Those after a failed trial count only once it has ended: so it is not left for the next command.
        """
        goes = Counter[str]()
        self._failed.clear()
        for trial in todo:
            for each in (*self._taken_failed(), trial):
                goes[each.id] += 1
                if goes[each.id] <= GOES and not self.stopped(each.agent):
                    self._begun[each.id] = each
                    yield each

    def _taken_failed(self) -> list[Trial]:
        """The trials that have failed since this was asked last."""
        failed, self._failed = self._failed, []
        return failed

    def _take(self, trial: EndedTrial) -> None:
        """Take a trial that has ended, unless it is known."""
        if row := self._order.row(trial):
            if trial.agent not in self._sequences:
                rule = self._order.rule
                self._sequences[trial.agent] = Sequence(Rule(rule.effect, rule.alpha, rule.margin))
            self._sequences[trial.agent].add(*row)

    def stopped(self, agent: str) -> bool:
        """Return whether the agent needs no more trials."""
        return agent in self._sequences and bool(self._sequences[agent].decision)

    def found(self, agents: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return as plain data what is known of these agents (by default all), and what the rule has saved.

        Estimates are in percentage points; `saved_cost`, in USD, is None where no cost is known.
        """
        names = sorted(self._sequences) if agents is None else agents
        return [self._found(name, self._sequences[name]) for name in names if name in self._sequences]

    def _found(self, agent: str, sequence: Sequence) -> dict[str, Any]:
        state, rule = sequence.state, self._order.rule
        saved = max(0, self.most - sequence.ended) if sequence.decision else 0
        known = means(self._records, self._run, agent)
        low, high = state.interval(rule.alpha)
        return {
            "agent": agent,
            "effect": rule.effect,
            "decision": sequence.decision,
            "alpha": rule.alpha,
            "margin": rule.margin,
            **_numbers(state, low, high),
            "trials": state.trials if sequence.decision else sequence.ended,
            "ended": sequence.ended,
            "most": self.most,
            "saved": saved,
            "saved_cost": saved * known.cost if known and known.cost is not None else None,
            "repeated": sequence.repeated,
            "incomplete": sequence.incomplete,
            "waiting": 0 if sequence.decision else sequence.waits,
        }


def _numbers(state: State, low: float, high: float) -> dict[str, Any]:
    return {
        "estimate": state.estimate if state.strata else None,
        "conf_low": low,
        "conf_high": high,
        "p_value": state.p_value(),
        "strata_for": state.wins,
        "strata_against": state.losses,
        "strata": state.strata,
    }
