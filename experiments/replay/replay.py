"""Run stored episodes again, and find where their pages or ends differ from the stored ones.

No model is asked: a trial in the browser takes the stored actions again, and a trial of prompts is compared
by what would be asked. Nothing is written.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from agents.base import Agent, is_command
from agents.replay import ReplayAgent, StoredStep, origin
from environments.browser.pool import run_browsers
from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign, load_design, stored_design
from experiments.episodes.guest_trial import Observe
from experiments.executors.browser import BrowserExecutor, Testbed, TrialRunner, default_slots, open_testbed
from experiments.executors.executor import MAX_ATTEMPTS, Attempt, Executor, first_leaf
from experiments.executors.kinds import KINDS
from experiments.executors.programs import ProgramGuests
from experiments.executors.setup import Setup
from experiments.executors.shop_watch import ShopWatch
from experiments.executors.workers import needs_pictures
from experiments.records.reading.queries import (
    carriers,
    has_actions,
    trial_rows,
    trials_with_pages,
)
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import Row, Start, TrialRecord
from experiments.records.store import Records
from experiments.replay.difference import Difference, in_episode, in_prompts, in_visit
from experiments.replay.visits import Visits
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source
from proxy.guests import Guests
from proxy.recording import Recording
from proxy.server import run_proxy

T = TypeVar("T", bound=Trial)
Compared = Callable[[TrialRecord], None]
"""A function that is told of each trial that was replayed."""


class Replay:
    """The stored trials of a run, each with its definition in the experiment as it is now."""

    def __init__(
        self,
        records: Records,
        found: Row,
        *,
        experiment: str | None = None,
        trial: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Find the trials to replay.

        `found` is the row of the run; `experiment` its file, for files that it names beside itself; None: it
        is made of what the run has stored. `trial` is the one to replay, `limit` how many; else all.

        Raises:
            UserError: the run's pages were not stored, nobody acted, or there is no such trial.
        """
        self._records, self.run_id = records, str(found["run"])
        facts = found["facts"]
        if not has_actions(records, self.run_id):
            raise UserError(
                f"{self.run_id}: no actions were stored: nobody acted, or pages have not told what was done "
                "on them (--observe off, subjects without scripts, an older run)"
            )
        self.design = (
            load_design(experiment, wave=found["facts"].get("wave")) if experiment else stored(found)
        )
        if self.design.mode == "logprobs":
            raise UserError(
                f"{self.design.name}: answers are scored in its trials and nobody acts; "
                f"name the experiment of run {self.run_id}, or leave --experiment out"
            )
        self._fonts: list[str] = list(facts.get("fonts", ()))
        self._observe: Observe | None = facts.get("observe") if "subject" in facts else None
        self.notes = list(_changes(self.design, found))
        """What to know, such as that the experiment has changed; a note on fonts comes with the trials."""
        rows = trial_rows(records, self.run_id)
        broken = {name for name, row in rows.items() if row.outcome == "infra_error"}
        if broken and trial is None:
            self.notes.append(f"left out, because the infrastructure failed them: {len(broken):,} trials")
        programs = {name for name, row in rows.items() if is_command(row.agent)}
        if programs and trial is None:
            self.notes.append(f"left out, because programs acted by themselves: {len(programs):,} trials")
        left_out = broken | programs
        if "subject" not in facts:  # of what guests saw only edited pages are stored
            unseen = rows.keys() - trials_with_pages(records, self.run_id) - left_out
            if trial in unseen or (unseen and unseen == rows.keys() - left_out):
                raise UserError(
                    f"{self.run_id}: stored without the pages; only trials with --trace full can be replayed"
                )
            if unseen and trial is None:
                self.notes.append(f"left out, because they were stored without pages: {len(unseen):,} trials")
            left_out |= unseen
        wanted = {name: row for name, row in rows.items() if trial in (None, name) and name not in left_out}
        if trial is not None and not wanted:
            raise UserError(f"--trial {trial}: run {self.run_id} has no such trial with an end of its own")
        defined = self.design.matching(wanted, carriers(records, self.run_id), facts["agents"])
        self.trials = [(wanted[name], trial) for name, trial in islice(defined, limit)]
        missing = wanted.keys() - {row.trial for row, _ in self.trials} if limit is None else set()
        self.missing = [
            Difference(name, wanted[name].agent, wanted[name].set, "the experiment has it no longer")
            for name in sorted(missing)
        ]
        """The stored trials that are none of the experiment's."""

    async def run(
        self,
        compared: Compared,
        *,
        slots: int | None = None,
        upstream: Path | None = None,
        upstream_ca: Path | None = None,
    ) -> list[Difference]:
        """Replay the trials, `slots` at once; return the differences in the order of the trials.

        `compared` is called after each; `upstream` is a folder with a recording that answers for the shop;
        `upstream_ca` a file of authorities that may have signed its certificate.

        Raises:
            UserError: the shop, the proxy or the browser does not start, or the recording is none.
        """
        with tempfile.TemporaryDirectory(prefix="souk-replay-") as folder:
            setup = Setup(
                self.design,
                Path(folder),
                self.design.shop,
                slots or default_slots([]),
                upstream_ca,
                # A browser without them draws nothing, so that letters would seem to be drawn otherwise.
                pictures=needs_pictures(self.design, {row.agent for row, _ in self.trials}),
            )
            differences = self._ask(compared) if setup.is_text else await self._act(setup, upstream, compared)
        return [*self.missing, *(differences[number] for number in sorted(differences))]

    def _ask(self, compared: Compared) -> dict[int, Difference]:
        found = {}
        for number, (row, trial) in enumerate(self.trials):
            if difference := in_prompts(self._stored(row.trial), trial, self._records.kept):
                found[number] = difference
            compared(TrialRecord(row))
        return found

    async def _act(self, setup: Setup, upstream: Path | None, compared: Compared) -> dict[int, Difference]:
        found: dict[int, Difference] = {}
        queue = iter(enumerate(self.trials))
        attempts = 1 if upstream else MAX_ATTEMPTS

        async def work(runner: Executor[Trial]) -> None:
            for number, (row, trial) in queue:
                again = await _attempted(runner, replace(trial, id=row.trial), attempts)
                differs = in_visit if self._observe else in_episode
                if difference := differs(self._stored(row.trial), again, self._records.kept):
                    found[number] = difference
                self._note_fonts(again.fonts)
                compared(again)

        if upstream is None and (check := KINDS[self.design.kind].check):
            todo = (trial for _, trial in self.trials)
            with suppress(UserError):  # what has changed since is a difference of the trial
                await check(self.design, todo, self.design.shop, upstream_ca=setup.upstream_ca)
        programs = ProgramGuests() if self._observe else None
        async with _open(setup, upstream, programs.guests if programs else None) as testbed:
            runner = self._runner(setup, testbed, programs)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(setup.slots):
                        group.create_task(work(runner))
            except BaseExceptionGroup as error:
                raise first_leaf(error) from None
        return found

    def _runner(self, setup: Setup, testbed: Testbed, programs: ProgramGuests | None) -> Executor[Any]:
        """What takes the stored actions again, in trials of the design's kind."""
        guests = KINDS[self.design.kind].guests
        if programs and guests and self._observe:
            trials = guests(self.design, testbed.base_url, programs, observe=self._observe)
            seconds = self.design.most_seconds
            return Visits(trials, testbed, programs, self._stored, seconds, setup.slots)
        episodes = Again(setup.trial_runner(testbed.base_url), self._agent)
        return BrowserExecutor(episodes, testbed, setup.slots)

    def _note_fonts(self, fonts: str) -> None:
        """Note, once, that letters are not drawn as the run's were."""
        if self._fonts and fonts and fonts not in self._fonts:
            self.notes.append(
                f"pictures and what a screen shows may differ, as letters are drawn otherwise here: {fonts}; "
                f"in the run: {self._fonts[-1]}"
            )
            self._fonts.append(fonts)

    def _stored(self, trial: str) -> TrialRecord:
        record = whole_trial(self._records, self.run_id, trial)
        assert record is not None  # noqa: S101 - it was listed, and trials are deleted with their run
        return record

    def _agent(self, trial: str) -> ReplayAgent:
        acted = self._stored(trial).steps
        return ReplayAgent(StoredStep(**{key: step[key] for key in StoredStep.__slots__}) for step in acted)


class Again(Generic[T]):
    """Runs episodes with the stored actions in place of the agent; trials are known by their stored ids."""

    def __init__(self, episodes: TrialRunner[T], stored_agent: Callable[[str], Agent]) -> None:
        self._stored_agent = stored_agent
        self.session, self.episode, self.record = episodes.session, episodes.episode, episodes.record
        self.keeps_context, self.without_browser = episodes.keeps_context, episodes.without_browser

    def agent(self, trial: T) -> Agent:
        """Make the agent that takes the stored actions of the trial."""
        return self._stored_agent(trial.id)


class NeverAway(ShopWatch):
    """A shop watch for a recording, which is there or not: there is nothing to wait for."""

    async def until_back(self) -> None:
        """Return at once."""


def stored(found: Row) -> AnyDesign:
    """Make the design of a run from its stored experiment. Raises UserError."""
    source = Source(f"run {found['run']}", _said(found["facts"]["experiment"]), {(): (1, 1)})
    design = stored_design(source, found["facts"].get("subject", ""))
    design.wave = found["facts"].get("wave")
    return design


def _said(stored: dict[str, Any]) -> dict[str, Any]:
    """Without keys that say nothing: their mere presence may be a mistake in a file."""
    inner = {key: _said(value) if isinstance(value, dict) else value for key, value in stored.items()}
    return {key: value for key, value in inner.items() if value is not None and value != {}}


def _changes(design: AnyDesign, found: Row) -> Iterator[str]:
    if design.run_id == found["run"]:
        return
    then, now = found["facts"].get("inputs"), design.facts([]).inputs
    changed = ""
    if isinstance(then, dict):
        names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
        changed = f"; changed: {', '.join(names)}" if names else ""
    yield f"the experiment as it is now gives run {design.run_id}, not {found['run']}{changed}"


async def _attempted(runner: Executor[T], trial: T, attempts: int) -> TrialRecord:
    for number in range(1, attempts + 1):
        record = await runner.run(Attempt(trial, number, Start.now()))
        if record.trial.outcome != "infra_error":
            break
    return record


@asynccontextmanager
async def _open(setup: Setup, upstream: Path | None, guests: Guests | None) -> AsyncIterator[Testbed]:
    if upstream is None:
        async with open_testbed(
            setup.folder, setup.shop, setup.upstream_ca, guests=guests, pictures=setup.pictures
        ) as testbed:
            yield testbed
        return
    recorded = Recording(upstream).answers()
    if not recorded:
        raise UserError(f"--upstream {upstream}: the recording is empty; record the shop first")
    shop = setup.shop.url or f"{origin(recorded[0].url)}/"
    async with (
        run_proxy(setup.folder / "ca", replay=upstream, guests=guests) as proxy,
        run_browsers(proxy.spki, pictures=setup.pictures) as browsers,
    ):
        yield Testbed(shop, NeverAway(shop), proxy, browsers)
