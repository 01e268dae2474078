"""Run attempts whose agent is a program of the user's: it is started for the trial, and acts by itself.

A program that is kept gets one trial after the other, each with a port of the proxy of its own, for as long
as it says of each that it is done with it.

The trial is that of a guest: the same plan, the same rule of what a choice is, the same check of what was
shown.
"""

import asyncio
import json
import os
import re
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from playwright.async_api import async_playwright

from agents import command as settings
from agents.base import Call, is_kept
from agents.command import ProgramTask, command_of, environment, memory, secrets_of, usage_in
from agents.programs.bubblewrap import Files, confine, files_of, left_open
from agents.programs.program import Output, Program, ProgramEnd, run_program
from environments.browser.pool import find_browser
from environments.launch.watchdog import VARIABLE
from environments.observation.stops import guard
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import (
    UNSEEN_SECONDS,
    GuestTrial,
    GuestTrials,
    Observe,
    Scripts,
    shop_origin,
)
from experiments.executors.browser import Testbed
from experiments.executors.executor import Attempt
from experiments.records.record import Cause, Start, TrialRecord, to_row
from experiments.treatment.trajectory import Trajectory, usage_of
from interventions.errors import UserError
from proxy.guests import OWN_NAME, PREFIX, Guests
from proxy.reverse import Origin
from proxy.server import Slot

LEAVE_SECONDS: Final = 5.0
"""How long a program may go on once its trial has ended, for example to close its browser."""
MOST_CALLS: Final = 1_000
"""The most requests to providers that a program may tell of."""
_QUOTED: Final = 300
"""How many characters of what a program wrote last stand in the reason of a failure."""


_LOOKED_AT: Final = 4_000
"""How many characters of it are looked at for a refusal."""
_REFUSED: Final = re.compile(
    r"permission denied|not permitted|access denied|read-only file|no such file|connection refused|"
    r"network is unreachable|name resolution|\bE(ACCES|PERM|ROFS|NOENT|CONNREFUSED|NETUNREACH)\b|EAI_AGAIN|"
    r"ERR_\w*ACCESS",
    re.IGNORECASE,
)
_HINT: Final = 'programs are confined: see "What a program may do" in docs/any-agent.md'


class ProgramGuests:
    """The guests of a proxy that are programs, and the paths at which their pages report."""

    def __init__(self) -> None:
        self.stopped_at = f"{PREFIX}stopped/{secrets.token_urlsafe(16)}"
        self.reports_to = f"{PREFIX}seen/{secrets.token_urlsafe(16)}"
        self.guests = Guests(None, stopped_at=self.stopped_at, reports_to=self.reports_to)


class ProgramVisit:
    """An attempt at a trial by a program: its trial as a guest, its end, and what the program tells."""

    def __init__(self, trials: GuestTrials, attempt: Attempt[ShopTrial]) -> None:
        self.over, self.done = asyncio.Event(), asyncio.Event()
        self.kept = is_kept(attempt.trial.agent)
        self.program: asyncio.Future[Program] = asyncio.get_running_loop().create_future()
        self.calls: list[Call] = []
        self.output = ""
        self.record: TrialRecord | None = None
        self.guest: GuestTrial = trials.begin(
            attempt.trial, self._finish, start=attempt.start, attempts=attempt.number
        )

    async def owns(self, near: tuple[str, int], far: tuple[str, int]) -> bool:
        """Return whether a connection is the program's (see `Program.has_connection`)."""
        await asyncio.wait([self.program])
        if self.program.cancelled():  # it was not started
            return False
        return await asyncio.to_thread(self.program.result().has_connection, near, far)

    def _finish(self, record: TrialRecord) -> None:
        self.record = record
        self.over.set()

    def hear(self, line: bytes) -> None:
        """Take a line of the program's output: of a request to a provider, or that it is done."""
        usage = line.startswith(b'{"usage"') and len(self.calls) < MOST_CALLS
        if not usage and not (self.kept and line.startswith(b'{"done"')):
            return
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            return
        if usage and (call := usage_in(said)):
            self.calls.append(call)
        elif self.kept and said.get("done") == self.guest.trial:
            self.done.set()

    async def see_through(self, program: Program) -> None:
        """Wait until the trial or the program has ended, or the time is over; then let the program leave."""
        timers = self.guest.timers
        timers.append(asyncio.create_task(self.guest.run_out()))
        waiting, leaving = (asyncio.create_task(each.wait()) for each in (self.over, self.done))
        left: list[asyncio.Future[Any]] = [program.ended, leaving]
        try:
            await asyncio.wait([*left, waiting], return_when=asyncio.FIRST_COMPLETED)
            if not self.over.is_set():
                self.guest.end(self._left(program))
            elif self.guest.outcome != "agent_limit":
                await asyncio.wait(left, timeout=LEAVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for timer in (waiting, leaving, *timers):
                timer.cancel()

    def _left(self, program: Program) -> Trajectory:
        """How the trial ends that the program has left. Raises UserError: it did not start."""
        if not self.done.is_set():
            output = cut(program.output.text)
            return end_of(program.ended.result(), output, kept=self.kept, confined=program.confined)
        trajectory = Trajectory()
        trajectory.end("no_choice", "the program was done without a choice")
        return trajectory

    def result(self, cause: Cause | None, reason: str) -> TrialRecord:
        """Return the record with all that the program told; `cause`: the part that failed meanwhile."""
        record = self.record
        if record is None:
            raise RuntimeError("a program's trial has not ended")
        usage = usage_of([(0, call) for call in self.calls])
        trial = replace(
            record.trial,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cost=usage.cost if self.calls else None,
        )
        if cause:
            trial = replace(trial, outcome="infra_error", reason=reason, choice=None)
        return replace(
            record,
            trial=trial,
            calls=[to_row(call, number=number, step=0) for number, call in enumerate(self.calls)],
            output=[{"number": 0, "text": self.output}] if self.output else [],
            cause=cause or record.cause,
        )


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A program of this agent that runs; `rest` ends it, and removes its folder."""

    agent: str
    program: Program
    rest: AsyncExitStack


def guest_trials(
    design: ShopDesign, shop_url: str, guests: ProgramGuests, *, observe: Observe = "page"
) -> GuestTrials:
    """Prepare to begin trials of programs, or of guests that are replayed, at a shop with this address."""
    live = design.experiment.live
    scripts = Scripts(guard(live.stop_before, guests.stopped_at) if live else "", guests.reports_to)
    return GuestTrials(design, shop_url, observe=observe, scripts=scripts)


class _ProgramExecutor:
    """Runs attempts in this process, each with a port of the proxy and a program of its own."""

    def __init__(
        self,
        design: ShopDesign,
        testbed: Testbed,
        guests: ProgramGuests,
        at_once: int,
        browser: str | None,
        observe: Observe = "page",
        private: Sequence[Path] = (),
    ) -> None:
        """Prepare to run attempts.

        `at_once` is how many programs there are at most, each with a browser: further attempts wait.
        `browser` is the Chromium that they are told of, `observe` what counts as shown to them, and `private`
        what no program may read.
        """
        self.slots = at_once
        self._places = asyncio.Semaphore(at_once)
        self._seconds, self._steps = design.experiment.limits.seconds, design.experiment.limits.steps
        self._testbed, self._guests, self._browser = testbed, guests.guests, browser
        self._trials = guest_trials(design, testbed.base_url, guests, observe=observe)
        self._origin = Origin.of(shop_origin(testbed.base_url))
        self._confined = settings.is_confined() and not left_open()
        self._private = private
        self._files: dict[str, Files] = {}
        """What programs may read, by their agents: it is looked for once."""
        self._warned = False
        self._running = 0
        """How many programs have a trial."""
        self._idle: list[RunningProgram] = []
        """The programs that wait for another one, the first for the longest time."""

    async def run(self, attempt: Attempt[ShopTrial]) -> TrialRecord:
        """Run one attempt; how it ended stands in its record.

        Raises:
            UserError: the program does not start.
        """
        async with self._places:
            return await self._run(replace(attempt, start=Start.now()))

    async def _run(self, attempt: Attempt[ShopTrial]) -> TrialRecord:
        shop, proxy = self._testbed.shop, self._testbed.proxy
        absences = shop.absences
        # A port of its own, never used again: what is left of a program reaches no other trial.
        slot = await proxy.open_slot(named=self._origin)
        visit = ProgramVisit(self._trials, attempt)
        self._guests.seat(slot.port, visit.guest, visit.owns)
        late = asyncio.get_running_loop().call_later(UNSEEN_SECONDS, self._warn, visit.guest)
        try:
            await self._host(visit, slot)
        finally:
            late.cancel()
            visit.program.cancel()
            self._guests.unseat(slot.port)
            listened = proxy.listens(slot)
            await proxy.close_slot(slot)
        cause: Cause | None = None if listened else "proxy"
        reason = "the proxy's port was closed while the trial ran"
        if shop.absences > absences:
            cause, reason = "shop", "the shop went away while the trial ran"
        record = visit.result(cause, reason)
        if record.trial.outcome == "infra_error":
            await shop.until_back()
        return record

    def _warn(self, guest: GuestTrial) -> None:
        """Tell the operator, once, of a program that has not opened the shop through the proxy."""
        if not self._warned:
            self._warned = guest.tell_if_unseen()

    async def _host(self, visit: ProgramVisit, slot: Slot) -> None:
        """Run a program for the time of the trial, or let one that is kept take it."""
        told, agent = self._told(visit.guest, slot), visit.guest.definition.agent
        self._running += 1
        try:
            waited = await self._waiting(agent)
            async with waited.rest if waited else AsyncExitStack() as rest:
                if waited:
                    program = waited.program
                    program.output = Output(visit.hear)
                    await program.reach(slot.port)
                else:
                    program = await self._start(visit, told, slot.port, rest)
                visit.program.set_result(program)
                program.tell(json.dumps(told), more=visit.kept)
                await visit.see_through(program)
                if visit.done.is_set() and not program.ended.done():
                    self._idle.append(RunningProgram(agent, program, rest.pop_all()))
            visit.output = cut(program.output.text)
        finally:
            self._running -= 1

    async def _start(
        self, visit: ProgramVisit, told: ProgramTask, port: int, rest: AsyncExitStack
    ) -> Program:
        folder = rest.enter_context(
            tempfile.TemporaryDirectory(prefix="program-", ignore_cleanup_errors=True)
        )
        given = environment(os.environ, None if visit.kept else told, VARIABLE)
        agent = visit.guest.definition.agent
        own_network = self._confined and settings.reach() is not None
        return await rest.enter_async_context(
            run_program(
                command_of(agent),
                environment=given | {"TMPDIR": folder},
                memory=memory(),
                line=visit.hear,
                sandbox=self._sandbox(agent, told, Path(folder)) if self._confined else (),
                reach=settings.reach() if own_network else None,
                port=port,
            )
        )

    def _sandbox(self, agent: str, told: ProgramTask, folder: Path) -> list[str]:
        """Return the command that confines a program of this agent, which has the folder."""
        if agent not in self._files:
            named = [Path(each) for each in (told["ca"], told["browser"]) if each]
            self._files[agent] = files_of(command_of(agent), told=named, shared=settings.files())
        network = settings.reach() is None
        return confine(self._files[agent], self._private, folder, memory(), network=network)

    async def _waiting(self, agent: str) -> RunningProgram | None:
        """Return a program of this agent that waits for a trial; None: there is none, and room for one."""
        while found := next((each for each in self._idle if each.agent == agent), None):
            self._idle.remove(found)
            if not found.program.ended.done():
                return found
            await found.rest.aclose()
        while self._idle and self._running + len(self._idle) > self.slots:
            await self._idle.pop(0).rest.aclose()
        return None

    async def close(self) -> None:
        """End the programs that wait for a trial."""
        while self._idle:
            await self._idle.pop().rest.aclose()

    def _told(self, guest: GuestTrial, slot: Slot) -> ProgramTask:
        proxy = self._testbed.proxy
        return {
            "trial": guest.trial,
            "seed": guest.definition.seed,
            "goal": guest.goal,
            "urls": guest.urls,
            "proxy": slot.url,
            "ca": str(proxy.certificate),
            "spki": proxy.spki,
            "task": f"http://{OWN_NAME}{PREFIX}",
            "browser": self._browser,
            "limits": {"seconds": self._seconds, "steps": self._steps, "gb": memory() / 2**30},
        }


@asynccontextmanager
async def open_programs(
    design: ShopDesign,
    testbed: Testbed,
    guests: ProgramGuests,
    at_once: int,
    observe: Observe = "page",
    private: Sequence[Path] = (),
) -> AsyncIterator[_ProgramExecutor]:
    """Open the executor of programs in this process. `private`: what no program may read."""
    async with async_playwright() as playwright:
        try:
            found = find_browser(playwright) or playwright.chromium.executable_path
        except UserError:  # a program may need none, or bring its own
            found = None
    browser = str(found) if found else None
    executor = _ProgramExecutor(design, testbed, guests, at_once, browser, observe, private)
    try:
        yield executor
    finally:
        await executor.close()


def end_of(ended: ProgramEnd, output: str, *, kept: bool = False, confined: bool = False) -> Trajectory:
    """Return how a trial ends whose program ended before it. Raises UserError: the program did not start.

    `kept`: it should not have ended. Whether it has even read the line of this trial is not known then.
    """
    trajectory = Trajectory()
    hint = f" ({_HINT})" if confined and _REFUSED.search(output[-_LOOKED_AT:] + ended.error) else ""
    if ended.error:
        raise UserError(f"agents: the program cannot be started: {ended.error}{hint}; see that it can be run")
    said = output.strip().rpartition("\n")[2][-_QUOTED:]
    if ended.limit:
        trajectory.end("agent_error", f"the program was ended: {ended.limit}")
    elif not ended.status and not kept:
        trajectory.end("no_choice", "the program ended without a choice")
    else:
        status = ended.status or 0
        how = f"with status {status}" if status >= 0 else f"by signal {_signal(-status)}"
        trajectory.end("agent_error", f"the program ended {how}" + (f": {said}" if said else "") + hint)
    return trajectory


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return str(number)


def cut(text: str) -> str:
    """Return a text without the secrets of this process's environment."""
    for secret in secrets_of(os.environ):
        text = text.replace(secret, "[key]")
    return text
