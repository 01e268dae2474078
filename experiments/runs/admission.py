"""Decide which trials may start: none while the run is paused, none that could pass its budget."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from agents.base import is_simulated
from agents.providers.pricing import Tokens, price_of
from experiments.records.asking import DatabaseThread
from experiments.records.control import BEAT, Runner, named, requested_state
from experiments.records.errors import DatabaseFailure
from experiments.records.reading.queries import costs, wasted
from experiments.records.record import Row, TrialRecord
from experiments.records.store import Records
from interventions.errors import UserError

logger = logging.getLogger(__name__)

LOOK: Final = 1.0
"""The seconds between two looks at what is requested of the run."""

PROMPT_TOKENS, ANSWER_TOKENS = 40_000, 2_000
"""The most tokens of a step, for an agent of which no trial has ended yet."""

MARGIN: Final = 2.0
"""How many times the cost of its agent's dearest trial so far a trial may cost."""

T = TypeVar("T")


class _Admissible(Protocol):
    """The facts of a trial that decide whether it may start."""

    @property
    def id(self) -> str: ...

    @property
    def agent(self) -> str: ...


class _Reserved(NamedTuple):
    """What is kept back for a trial: its agent, and what it costs at most in USD, where that is known.

    comes_again: it ended as `infra_error`, so that the next command runs it again, and keeps nothing back.
    """

    agent: str
    most: float | None
    comes_again: bool = False


class Admission:
    """Decides whether the next trial may start.

    As a context manager it also gives signs of life while it is open.
    """

    def __init__(
        self,
        records: Records,
        run: str,
        *,
        budget: float | None = None,
        agents: Iterable[str] = (),
        steps: int = 10,
        trials: int = 0,
        say: Callable[[str], None] = logger.warning,
        alone: bool = False,
    ) -> None:
        """Read what the run has cost so far.

        `budget` in USD is for the whole run, what it has cost already included; `trials` are wanted. `alone`:
        no other process may run it.

        Raises:
            UserError: with a budget, one of the `agents` has no known price.
        """
        self.reason = ""
        """The reason why no further trial may start; empty while some may."""
        self.is_enough: Callable[[str], bool] = lambda _: False
        """A function that says whether an agent needs no more trials."""
        self.most: Callable[[Any], float | None] = lambda _: None
        """A function that says what a trial costs at most, in USD; None: that is not known."""
        self._records = records
        self._run = run
        self._steps = steps
        self._alone = alone
        self.say = say
        """A function that tells the person who started the run, in a line, what happens to it."""
        self.runner = Runner(run, trials=trials, budget=budget)
        """This process, in the records."""
        self._running: dict[str, _Reserved] = {}
        self._paused = False
        self._asking = DatabaseThread(records, "admission")
        self._changed = asyncio.Event()
        self._spent = 0.0
        self._unknown: list[_Reserved] = []
        """What is kept back for trials whose cost is not known; it shrinks once the server answers."""
        self._dearest: dict[str, float] = {}
        if budget is not None:
            for agent in agents:
                self._worst(agent)
            self._read_costs()

    async def __aenter__(self) -> Self:
        """Report that this process runs the run.

        Raises:
            UserError: another process runs it too, and one of them has a budget, or has to be alone.
        """
        others = await self._in_thread(lambda: self.runner.begin(self._records))
        try:
            self._meet(others or [])
            await self._look(beat=False)
        except BaseException:
            await self._end()
            raise
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self._asking.hurry()
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self._end()

    async def _end(self) -> None:
        if not self._records.stood_still:
            await self._in_thread(lambda: self.runner.end(self._records))
        self._asking.close()

    def _meet(self, others: Sequence[Row]) -> None:
        """Say who runs the run as well."""
        for other in others:
            process = named((other["host"], other["pid"]))
            if self._alone:
                raise UserError(f"{self._run}: {process} serves it already; stop that one first")
            if self.runner.budget is not None or other["budget"] is not None:
                raise UserError(
                    f"--budget: {process} runs {self._run} too, and two processes do not see in time what "
                    "they spend; wait until it has ended, or stop it"
                )
            self.say(f"{process} runs {self._run} too: each trial is run by one of them")

    def expect(self, trials: int) -> None:
        """Report how many trials are wanted in all, where that has changed."""
        self.runner.trials = trials

    async def admit(self, trial: _Admissible) -> bool:
        """Wait until the trial may start; return False where it may not, for `reason`.

        It waits while the run is paused, or while running trials could use the budget up.

        Raises:
            UserError: with a budget, the agent has no known price.
        """
        wanted = _Reserved(trial.agent, None if self.runner.budget is None else self.most(trial))
        while not self.reason:
            if not self._paused:
                if self._fits(wanted):
                    self._running[trial.id] = wanted
                    self.runner.running = len(self._running)
                    return True
                if not self._running:
                    self._refuse(wanted)
                    break
            self._changed.clear()
            await self._changed.wait()
        return False

    def settle(self, record: TrialRecord) -> None:
        """Count a trial that was admitted, once it is stored."""
        agent, cost = record.trial.agent, record.trial.cost
        its = self._running.pop(record.trial.trial, _Reserved(agent, None))
        self.runner.running = len(self._running)
        self.runner.settled += 1
        if self.runner.budget is not None:
            paid = sum(call["cost"] or 0.0 for call in record.calls) if cost is None else cost
            self._spent += paid
            self._dearest[agent] = max(paid, self._dearest.get(agent, 0.0))
            if cost is None:
                self._unknown.append(its._replace(comes_again=record.trial.outcome == "infra_error"))
        self._changed.set()

    def _fits(self, wanted: "_Reserved") -> bool:
        if self.runner.budget is None:
            return True
        reserved = sum(map(self._reserve, self._running.values()))
        return self._spent + self._kept_back + reserved + self._reserve(wanted) <= self.runner.budget

    @property
    def _kept_back(self) -> float:
        return sum(map(self._reserve, self._unknown))

    def _refuse(self, wanted: "_Reserved") -> None:
        kept, next_one = "", f"the next trial of {wanted.agent} may cost {self._reserve(wanted):.4f}"
        if self._unknown:
            kept = f", {self._kept_back:.4f} more may be for {len(self._unknown):,} trials of unknown cost"
        larger = "" if any(each.comes_again for each in self._unknown) else " with a larger budget"
        self.reason = self.runner.reason = (
            f"--budget {self.runner.budget:g}: {self._spent:.4f} USD are spent{kept}, and {next_one}; "
            f"the same command{larger} goes on"
        )
        self._changed.set()

    def _reserve(self, wanted: "_Reserved") -> float:
        """What a trial may cost, in USD."""
        dearest = self._dearest.get(wanted.agent)
        if wanted.most is not None:
            return max(dearest or 0.0, min(wanted.most, MARGIN * (dearest or wanted.most)))
        return MARGIN * dearest if dearest else self._worst(wanted.agent)

    def _worst(self, agent: str) -> float:
        if is_simulated(agent):
            return 0.0
        price = price_of(agent)
        if price is None:
            raise UserError(f"--budget: the price of {agent} is unknown; add it to your price file")
        pictures = self._steps * (self._steps + 1) // 2  # each is sent again with all later requests
        tokens = Tokens(self._steps * PROMPT_TOKENS, self._steps * ANSWER_TOKENS)
        return price.of(tokens, pictures)

    def _read_costs(self) -> None:
        """What the run has cost so far; a trial of unknown cost counts as one that may still come."""
        self._spent = wasted(self._records, self._run)
        for agent, known in costs(self._records, self._run).items():
            self._dearest[agent] = known.dearest
            self._spent += known.total
            self._unknown += [_Reserved(agent, None)] * known.unknown

    async def _watch(self) -> None:
        for look in count(1):
            await asyncio.sleep(LOOK)
            await self._look(beat=look % BEAT == 0)

    async def _look(self, *, beat: bool) -> None:
        """See what the run is told. A database that is away is the writer's concern."""
        if beat:
            await self._in_thread(lambda: self.runner.beat(self._records))
        wanted = await self._in_thread(lambda: requested_state(self._records, self._run))
        paused = self._paused if wanted is None else wanted == "paused"
        if paused != self._paused:
            self._paused = paused
            self.say(f"paused; souk resume {self._run} goes on" if paused else "resumed")
            self._changed.set()

    async def _in_thread(self, ask: Callable[[], T]) -> T | None:
        try:
            return await self._asking.ask(ask)
        except DatabaseFailure as error:
            logger.info("run %s: %s", self._run, error)
            return None
