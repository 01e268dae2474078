"""Let an MCP host act in trials: it asks for one, looks, acts, gives up, each by a call of a tool."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final

from agents.base import AgentError, Decision, GaveUp
from analysis.tables.outcomes import outcome_facts
from environments.observation.views import View
from environments.protocol.actions import (
    EVERY,
    FEED,
    SHOP_TOOLS,
    ActionError,
    Signature,
    offered,
    parse_action,
)
from environments.protocol.observation import Observation, storable
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.records.record import TrialRecord
from experiments.treatment.trajectory import TEXT_LIMIT

UNUSABLE_ACTIONS: Final = 4
"""The number of unusable actions in a row that end a trial as `agent_error`, as for language models."""
MOST_AT_ONCE: Final = 16
"""The most trials that hosts may have at once."""


class OutOfTurn(Exception):
    """A call that changes nothing; the message says why, in words for the host."""


class HostAgent:
    """The agent of one trial: each of its actions is what the host sends next."""

    def __init__(self) -> None:
        self.turn = asyncio.Event()
        """Set while an action is awaited."""
        self.observation: Observation | None = None
        self.told = False
        """Whether the host was given the observation; a call that it cancels gives it none."""
        self._answer: asyncio.Future[Decision] | None = None

    async def act(self, observation: Observation) -> Decision:
        """Wait for the host's action. Raises GaveUp, AgentError as the host wants or deserves."""
        self.observation, self.told = observation, False
        self._answer = asyncio.get_running_loop().create_future()
        self.turn.set()
        try:
            return await self._answer
        finally:
            self.turn.clear()

    def answer(self, said: Decision | Exception) -> None:
        """Give the action that is awaited, or end the trial."""
        self.turn.clear()
        if self._answer is None or self._answer.done():
            return
        if isinstance(said, Exception):
            self._answer.set_exception(said)
        else:
            self._answer.set_result(said)


class HostTrialRunner(ShopTrialRunner):
    """Runs trials in a shop whose agents are hosts."""

    def __init__(self, design: ShopDesign, base_url: str) -> None:
        super().__init__(design, base_url)
        self.agents: dict[str, HostAgent] = {}
        """The agents of the trials that run, by the trials' ids."""

    def agent(self, trial: ShopTrial) -> HostAgent:
        """Return the host's agent in this trial."""
        return self.agents[trial.id]


Run = Callable[[ShopTrial, HostAgent], Coroutine[Any, Any, TrialRecord]]
"""Runs a trial with its agent to its end, and stores the record."""
Claim = Callable[[str], Awaitable[bool]]
"""Takes a trial, by its id, for this process; False: it has ended, or runs elsewhere."""


class Reception:
    """Gives each trial to one host, in the design's order."""

    def __init__(self, trials: Iterable[ShopTrial], claim: Claim, run: Run, how: str) -> None:
        """Prepare to give the trials out; `how`: what hosts are told of actions."""
        self._trials, self._claim, self._run = deque(trials), claim, run
        self.how = how
        self._running: set[asyncio.Task[TrialRecord]] = set()

    async def next(self) -> ShopTrial | None:
        """Take the next trial that nobody has; None: there is none."""
        if len(self._running) >= MOST_AT_ONCE:
            raise OutOfTurn(f"{MOST_AT_ONCE} trials run already; ask again later")
        while self._trials:
            trial = self._trials.popleft()
            try:
                claimed = await self._claim(trial.id)
            except BaseException:  # the host has cancelled its call, for example: another call gets the trial
                self._trials.appendleft(trial)
                raise
            if claimed:
                return trial
        return None

    def start(self, trial: ShopTrial, agent: HostAgent) -> asyncio.Task[TrialRecord]:
        """Begin a trial."""
        task = asyncio.create_task(self._run(trial, agent))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def close(self) -> None:
        """Stop the trials that run; they leave no record, and can be taken again."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


class Subject:
    """One host: it has at most one trial, and makes one call at a time."""

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._busy = asyncio.Lock()
        self._agent = HostAgent()
        self._task: asyncio.Task[TrialRecord] | None = None
        self._unusable = 0

    async def next_trial(self) -> Observation | str:
        """Begin the next trial. Raises OutOfTurn: one runs, or another call does."""
        async with self._alone():
            if self._task and not self._task.done():
                raise OutOfTurn("a trial runs; end it with act or give_up first")
            trial = await self._reception.next()
            if trial is None:
                return "All trials are done."
            self._agent, self._unusable = HostAgent(), 0
            self._task = self._reception.start(trial, self._agent)
            return await self._view(self._task)

    async def observe(self) -> Observation | str:
        """Look again. Raises OutOfTurn: no trial has begun, or another call runs."""
        async with self._alone():
            return await self._view(self._begun())

    async def act(self, action: str, thought: str) -> Observation | str:
        """Take an action. Raises OutOfTurn: none was taken."""
        async with self._alone():
            task = self._begun()
            seen = self._agent.observation
            if not self._agent.turn.is_set() or seen is None:
                return await self._view(task)
            try:
                parsed = parse_action(action, seen.actions)
            except ActionError as error:
                return await self._refuse(task, str(error))
            self._unusable = 0
            said = storable(thought[:TEXT_LIMIT])
            self._agent.answer(Decision(said, "", parsed, looked=self._agent.told))
            return await self._view(task)

    async def give_up(self, reason: str) -> Observation | str:
        """End the trial without a choice. Raises OutOfTurn: none runs."""
        async with self._alone():
            task = self._begun()
            await self._view(task)  # a call that was cancelled may have left it on the way
            self._agent.answer(GaveUp(storable(" ".join(reason[:TEXT_LIMIT].split()))))
            return await self._view(task)

    async def _refuse(self, task: asyncio.Task[TrialRecord], why: str) -> Observation | str:
        self._unusable += 1
        if self._unusable < UNUSABLE_ACTIONS:
            raise OutOfTurn(why)
        self._agent.answer(AgentError(f"{UNUSABLE_ACTIONS} unusable actions in a row: {why}"))
        return await self._view(task)

    def _alone(self) -> asyncio.Lock:
        if self._busy.locked():
            raise OutOfTurn("another call of yours runs; make one at a time")
        return self._busy

    def _begun(self) -> asyncio.Task[TrialRecord]:
        if self._task is None:
            raise OutOfTurn(
                "no trial has begun in this session; call next_trial. If it was called, the host opens "
                "a session for each call: it has to keep one"
            )
        return self._task

    async def _view(self, task: asyncio.Task[TrialRecord]) -> Observation | str:
        """Wait until an action is awaited, or the trial has ended; return what there is to see."""
        waiting = asyncio.create_task(self._agent.turn.wait())
        try:
            await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not task.done() and self._agent.observation:
            self._agent.told = True
            return self._agent.observation
        row = task.result().trial
        # A host is not told what failed of the treatment: it has other trials to come.
        reason = f" ({row.reason})" if outcome_facts(row.outcome).cut_off else ""
        return f"This trial has ended: {row.outcome}{reason}. Call next_trial for the next one."


def as_text(seen: Observation) -> str:
    """Return an observation as a host reads it: the goal, why the last action failed, and what is shown."""
    tabs = [
        f"{'*' if tab.active else ' '} {number}: {tab.title} ({tab.url})"
        for number, tab in enumerate(seen.tabs)
    ]
    lines = [f"Goal: {seen.goal}", f"Step {seen.step}."]
    lines += ["Open tabs (* is the active one):", *tabs] if tabs else []
    lines += [f"The last action failed: {seen.error}"] if seen.error else []
    if seen.shop_tools and not seen.step:  # they stay the same
        tools = (f"{each.name}: {each.description} Its arguments: {each.schema}" for each in seen.shop_tools)
        lines += ["The tools of the shop, for call_tool:", *tools]
    lines += ["The shop has answered:", seen.data] if seen.data else []
    if seen.html:
        lines += ["The active tab:", seen.html]
    if seen.tree:
        lines += ["The active tab's accessibility tree:", seen.tree]
    if seen.screenshot:
        marks = (
            ", with the bids of what can be acted on" if seen.marks and not (seen.html or seen.tree) else ""
        )
        lines += [f"The picture shows the visible part of the active tab{marks}."]
    return "\n".join(lines)


def how_to_act(views: Iterable[View]) -> str:
    """Return what the tool `act` takes where trials are shown in these views, in words for hosts."""
    every = {*views} or {View()}
    lines = ["One action, as it is written here:"]
    if pages := {(view.names_elements, view.pointer) for view in every if view.interface == "page"}:
        lines += ["Where pages are shown:"] * any(view.interface != "page" for view in every)
        lines += _on_pages(pages)
    if any(view.interface == "feed" for view in every):
        lines += ["Where the shop's products are given:", *_lines(FEED)]
    if any(view.interface == "mcp" for view in every):
        lines += ["Where the shop's tools are given:", *_lines(SHOP_TOOLS)]
    return "\n".join(lines)


def _on_pages(kinds: Iterable[tuple[bool, bool]]) -> Iterator[str]:
    """The actions on pages, which are shown with marks or without, and as pictures or not."""
    sets = [offered(marks=marks, pointer=pointer) for marks, pointer in sorted(kinds)]
    always = {name: each for name, each in EVERY.items() if all(name in actions for actions in sets)}
    yield from _lines(always)
    for what, marks, pointer in (("bids are shown", True, False), ("there is a picture", False, True)):
        some = {name for each in sets for name in each} - set(always)
        if only := {
            name: EVERY[name] for name in EVERY if name in some & _only(marks=marks, pointer=pointer)
        }:
            yield from (f"Where {what}, also:", *_lines(only))
    if any(pointer for _, pointer in kinds):
        yield "Points are pixels of the picture as it was sent, from its upper left corner."


def _only(*, marks: bool, pointer: bool) -> set[str]:
    """The actions that are there for marks alone, or for pictures alone."""
    return set(offered(marks=marks, pointer=pointer)) - set(offered(marks=False, pointer=False))


def _lines(actions: Mapping[str, Signature]) -> list[str]:
    return [signature.describe(name) for name, signature in actions.items()]
