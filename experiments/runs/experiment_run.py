"""One `souk run`: find what is to be done, do it, and report what went wrong."""

import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import count
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from agents.base import SIMULATED, is_command
from agents.command import is_confined
from agents.programs.bubblewrap import left_open
from agents.providers import BATCHED
from agents.providers.ends import announced_ends, end_notes
from agents.registry import check_agent, check_name
from agents.simulated.own_profiles import file_of, known_as
from analysis.tables.outcomes import outcome_facts
from experiments.console.progress import RunProgress
from experiments.designs.design import Mode, Trial
from experiments.designs.loading import load_design
from experiments.executors.executor import Executor
from experiments.executors.expected_use import most_cost_in_a_batch
from experiments.executors.kinds import KINDS
from experiments.executors.scores import Scoring, open_scoring
from experiments.executors.workers import Workers, open_workers
from experiments.records.control import Runner, is_reported
from experiments.records.database import in_its_place
from experiments.records.reading.interventions import never_received, warnings
from experiments.records.reading.plans import registered_plan
from experiments.records.reading.queries import answering, facts_of
from experiments.records.record import Trace, TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.runs.allocation import agreements, allocation_line
from experiments.runs.coordinator import Coordinator, Lost
from experiments.runs.endings import ending_complaints, ending_notes
from experiments.runs.stopping import saved_text, stop_line, stopping_watch
from interventions.errors import UserError
from proxy.trust import bundle

if TYPE_CHECKING:
    from experiments.episodes.guest_trial import Observe


class ExperimentRun:
    """An experiment with its trials, agents, database and folder, checked and ready to run."""

    def __init__(
        self,
        name: str,
        *,
        agents: Sequence[str] | None,
        limit: int | None,
        db: str,
        out: Path | None,
        mode: Mode | None = None,
        dry: bool = False,
        upstream_ca: Path | None = None,
        observe: "Observe | None" = None,
        settings: Sequence[str] = (),
        wave: str | None = None,
    ) -> None:
        """Check everything that can be checked before the first episode.

        `dry`: nothing will be run, so that what agents lack is only noted, in `not_ready`, and no database is
        made where there is none. `upstream_ca`: a file of authorities that may have signed the shop's
        certificate. `observe`: what counts as shown to programs; None: what does by default.
        `settings`: `KEY=VALUE`, in place of the values of the file. `wave`: the date of a run of its own.

        Raises:
            UserError: a mistake in the experiment, an unknown agent, a missing key, an unusable database.
        """
        self.design = load_design(name, mode, settings, wave)
        self._running = KINDS[self.design.kind]
        self.agents = tuple(dict.fromkeys(known_as(name) for name in agents or self._own_agents()))
        self.not_ready: list[str] = []
        """What agents lack, a key for example; a line each."""
        self._check_agents(dry)
        has_programs = any(map(is_command, self.agents))
        if observe and not has_programs:
            raise UserError(
                "--observe: what Souk shows its own agents it knows; name a program, or leave it out"
            )
        self._observe: Observe | None = (observe or "page") if has_programs else None
        self.limit = min((each for each in (limit, self.design.most) if each is not None), default=None)
        bundle(upstream_ca)
        self._upstream_ca = upstream_ca.absolute() if upstream_ca else None
        self.records = Records(in_its_place(db) if dry else db)
        self.folder = out or self.records.folder(self.design.run_id)
        self.stopped = ""
        """The reason why the run ended before all wanted trials had run."""
        self._done = self.records.finished(self.design.run_id)
        self._told = set[str]()
        """The kinds of failure of which the first trial was told."""
        self._fonts: list[str] = list(facts_of(self.records, self.design.run_id).get("fonts", ()))
        """The ways in which the run's browsers drew letters until now."""
        self._again: list[Trial] = []
        facts = self.design.facts(self.agents).to_dict()
        self._varying = self._found_varying()
        """The agents whose answers vary, so that they are asked all repeats."""
        self._watch = stopping_watch(self.records, self.design.run_id, facts)
        self._ids = {trial.id for trial in self.wanted()}
        self._ask_again()

    def _own_agents(self) -> Iterator[str]:
        """The agents of the experiment file, with the paths of files that are beside it."""
        source = self.design.source
        for index, name in enumerate(self.design.experiment.agents):
            if path := file_of(name):
                yield f"{SIMULATED}:{source.file_at(('agents', index), path)}"
                continue
            try:
                if not self._scoring():  # scorers may have names of their own
                    check_name(name)
            except UserError as error:  # it names the key itself
                line, column = source.place(("agents", index))
                raise UserError(f"{source.name}:{line}:{column}: {error}") from None
            yield name

    def _check_agents(self, dry: bool) -> None:
        for agent in self.agents:
            if dry:
                check_name(agent)
            if is_command(agent) and self._running.on_programs is None:
                raise UserError(f'agents: "{agent}" is a program, which visits shops; name another for this')
            try:
                if scoring := self._scoring():
                    scoring.scorer(agent)
                else:
                    check_agent(agent, mode="text" if self.design.mode == "text" else "page")
            except UserError as error:
                if not dry:
                    raise
                self.not_ready.append(f"{agent} cannot run yet: {error}")

    def check_batches(self, workers: Workers) -> None:
        """Check that what the agents are asked can go in batches. Raises UserError."""
        if self.design.mode != "text":
            raise UserError("--batch: only cards as text go in batches; add --mode text, or leave it out")
        if workers.count > 1 or workers.ray:
            raise UserError("--batch: one process collects all requests; leave out --workers and --ray")
        for agent in self.agents:
            if agent.partition(":")[0] not in BATCHED:
                raise UserError(f"--batch: {agent} takes no batches; {', '.join(BATCHED)} do")

    def _scoring(self) -> Scoring[Trial] | None:
        """What scores the trials, where they are scored."""
        scoring = self._running.scoring
        return scoring(self.design) if scoring and self.design.mode == "logprobs" else None

    @property
    def total(self) -> int:
        """The number of trials that are wanted."""
        return len(self._ids)

    @property
    def done(self) -> int:
        """The number of wanted trials that have ended."""
        return len(self._ids & self._done)

    @property
    def _in_all(self) -> int:
        """How many trials the run will have; other commands may run it with other agents."""
        return len(self._ids | self._done)

    def wanted(self) -> Iterator[Trial]:
        """Yield the trials, including those of an earlier command."""
        per_agent = dict.fromkeys(self.agents, 0)
        for trial in self.design.trials(self.agents):
            if self.limit is None or per_agent[trial.agent] < self.limit:
                per_agent[trial.agent] += 1
                if self._is_needed(trial) or trial.id in self._done:
                    yield trial
            elif min(per_agent.values()) == self.limit:
                break  # of a large design only these are made
        yield from self._again

    def is_enough(self, agent: str) -> bool:
        """Return whether the agent was stopped by the rule of the experiment."""
        return self._watch is not None and self._watch.stopped(agent)

    def _is_needed(self, trial: Trial) -> bool:
        """Whether the trial is to be run: its agent was not stopped, and it is no repeat that is left out."""
        left_out = self.design.is_further(trial) and trial.agent not in self._varying
        return not left_out and not self.is_enough(trial.agent)

    def _found_varying(self) -> set[str]:
        return {name for name, each in agreements(self.records, self.design.run_id).items() if each.varies}

    def _wants_repeats(self) -> bool:
        """Where an agent's answers are found to vary now, want its further repeats; False: none more."""
        before, self._varying = self._varying, self._found_varying()
        if self._varying == before:
            return False
        self._ids = {trial.id for trial in self.wanted()}
        return self.done < self.total

    def stops(self) -> list[str]:
        """Say of each agent how many trials its rule, or the allocation of repeats, has saved."""
        found = self._watch.found(self.agents) if self._watch else []
        told = agreements(self.records, self.design.run_id)
        return [
            *(f"{stop_line(each)}; {saved_text(each)}" for each in found if each["decision"]),
            *(allocation_line(told[agent]) for agent in self.agents if agent in told and told[agent].ended),
        ]

    def _ask_again(self) -> bool:
        """Where valid answers are wanted in a number, want as many more trials as lack one; False: none."""
        if not self.design.quota or self.limit is not None:
            return False
        more = self.design.lacking(self.wanted(), *self.records.answered(self.design.run_id))
        self._again += more
        self._ids |= {trial.id for trial in more}
        # What an earlier command has asked again counts at once, so that the same answers lead on.
        return bool(more) and (any(trial.id not in self._done for trial in more) or self._ask_again())

    def summary(self) -> str:
        """Describe in words what will run."""
        lines = [f"{self.design.run_id}: {self.design.summary()}, agents: {', '.join(self.agents)}"]
        lines += [*self.design.notes(self.agents), *end_notes(self.agents, date.today())]
        sizes = {self.design.block_size(agent) for agent in self.agents}
        size = lcm(*sizes)
        if self.limit is not None and any(self.limit % each for each in sizes):
            key = "stopping.most:" if self.limit == self.design.most else "--limit"
            lines.append(f"{key} {self.limit} cuts a block in two; multiples of {size} are balanced")
        total, done = self.total, self.done
        lines.append(f"{total:,} trials: {done:,} done, {total - done:,} to run")
        return "\n".join(lines)

    async def run(
        self,
        console: Console,
        workers: Workers | None = None,
        *,
        trace: Trace = "full",
        budget: float | None = None,
        strict: bool = False,
    ) -> None:
        """Run the trials that have not ended yet: in this process, or by `workers`.

        `trace` is what is kept of each step; `budget`, in USD, what the run may cost in all. `strict`: raise
        UserError before the first trial where the catalogue differs from the shop's pages.
        """
        if self.done == self.total and registered_plan(self.records, self.design.run_id):
            self.begin()  # so that a changed file is a deviation also where no trial is left
        if self.done == self.total and (self._watch or not is_reported(self.records, self.design.run_id)):
            self._report()  # a repair has lost it, or it was killed when its rule had stopped it
        if self._observe and is_confined() and (open_here := left_open()):
            console.print(open_here, soft_wrap=True)
        await self._check_start_pages(strict)
        for line in await announced_ends(self.agents, date.today()) if self.done < self.total else ():
            console.print(line, soft_wrap=True)
        for turn in count():
            if self.done < self.total:
                await self._run_round(console, workers or Workers(), trace, budget)
            self._done = self.records.finished(self.design.run_id)
            if not self.stopped and self._wants_repeats():
                console.print(f"{self.total - self.done:,} repeats for agents whose answers vary")
                continue
            if self.stopped or not self._ask_again():
                return
            wanted = self.total - self.done
            console.print(f"{wanted:,} more for answers that were not valid (round {turn + 2})")

    async def _check_start_pages(self, strict: bool) -> None:
        """Raises UserError where a start page could not be treated."""
        if check := self._running.check:
            todo = (trial for trial in self.wanted() if trial.id not in self._done)
            await check(self.design, todo, self.design.shop, upstream_ca=self._upstream_ca, strict=strict)

    async def _run_round(
        self, console: Console, workers: Workers, trace: Trace, budget: float | None
    ) -> None:
        design, records = self.design, self.records
        progress = RunProgress(console, self.total, self.done)
        admission = Admission(
            records,
            design.run_id,
            budget=budget,
            agents=self.agents,
            steps=design.most_steps,
            trials=self._in_all,
            say=progress.say,
        )
        admission.is_enough = self.is_enough
        if workers.in_batches:
            admission.most = most_cost_in_a_batch
        async with self._executor(workers, progress) as (executor, lost):
            self.begin()
            writer = Writer(records, trace, say=progress.say)
            try:
                async with admission:
                    with progress:
                        coordinator = Coordinator(executor, writer, admission, lost)
                        note, elsewhere = partial(self._note, progress), partial(self._elsewhere, progress)
                        await coordinator.run(self._todo(), note, elsewhere)
                    if self._watch:
                        self._done = records.finished(design.run_id)
                        self._ids = {trial.id for trial in self.wanted()}
                        admission.expect(self._in_all)
            finally:
                await writer.close()
        self.stopped = admission.reason

    def _todo(self) -> Iterator[Trial]:
        """Yield the wanted trials that have not ended."""
        todo = (trial for trial in self.wanted() if trial.id not in self._done)
        return self._watch.with_failed(todo) if self._watch else todo

    def _elsewhere(self, progress: RunProgress, trials: int) -> None:
        """Count trials that another command has finished."""
        progress.note_elsewhere(trials)
        if self._watch:
            before = [agent for agent in self.agents if not self._watch.stopped(agent)]
            self._watch.look()
            self._tell_stops(progress, before)

    def _tell_stops(self, progress: RunProgress, before: Sequence[str]) -> None:
        """Say which of these agents the rule has stopped now."""
        for found in self._watch.found(before) if self._watch else ():
            if found["decision"]:
                progress.say(stop_line(found))
                wanted = found["most"] if self.limit is None else self.limit
                progress.expect(max(0, wanted - found["ended"]))

    def _note(self, progress: RunProgress, record: TrialRecord) -> None:
        """Count a trial, and say the first of each kind of failure at once: a long run may be in vain."""
        progress.note(record, sum(len(call.get("failed", "").split()) for call in record.calls))
        agent = record.trial.agent
        if self._watch:
            before = self._watch.stopped(agent)
            self._watch.note(record)
            if before:
                progress.expect(-1)  # it ran when the others were stopped
            elif self._watch.stopped(agent):
                self._tell_stops(progress, [agent])
        if record.fonts and record.fonts not in self._fonts:
            if self._fonts:
                progress.say(
                    "the browser draws letters otherwise than in earlier trials, so that pages may look "
                    f"otherwise: {record.fonts}; earlier: {self._fonts[-1]}"
                )
            self._fonts.append(record.fonts)
        outcome = record.trial.outcome
        if outcome_facts(outcome).failed and outcome not in self._told:
            self._told.add(outcome)
            progress.say(f"first {outcome}, in trial {record.trial.trial}: {record.trial.reason}")

    @asynccontextmanager
    async def _executor(
        self, workers: Workers, progress: RunProgress
    ) -> AsyncIterator[tuple[Executor[Trial], Lost]]:
        """What runs the trials, and what makes records of those that it loses."""
        design = self.design
        if scoring := self._scoring():
            if workers.count > 1 or workers.ray:
                raise UserError("--workers, --ray: scores are made in one process; leave these out")
            async with open_scoring(scoring, self.agents) as executor:
                yield executor, executor.lost
            return
        setup = workers.setup(design, self.folder, self.agents)
        setup = replace(
            setup, upstream_ca=self._upstream_ca, observe=self._observe, database=self.records.file
        )
        async with open_workers(workers, setup, progress.say) as pool:
            yield pool, setup.lost

    def _report(self) -> None:
        """Note the run, all trials of which have ended."""
        self.begin()
        runner = self.runner(os.getpid(), None)
        runner.begin(self.records)
        runner.end(self.records)

    def runner(self, process: int, budget: float | None) -> Runner:
        """Return another process of this machine that is to run the run, before it can report itself."""
        return Runner(self.design.run_id, trials=self._in_all, budget=budget, pid=process)

    def begin(self) -> None:
        """Note the run in the records, once nothing can keep it from starting."""
        facts = replace(self.design.facts(self.agents), observe=self._observe)
        self.records.begin_run(self.design.run_id, self.design.name, facts)

    def warnings(self) -> Iterator[str]:
        """Yield warnings of what may have spoilt trials that count."""
        disagreeing, example = self.records.disagreeing(self.design.run_id, self._ids)
        if disagreeing:
            yield (
                f"{disagreeing:,} of {self.total:,} trials gave a product different values: {example}; "
                "let the intervention change all places, or the site map name them"
            )
        yield from ending_notes(self.records, self.design.run_id)
        for asked, answered in answering(self.records, self.design.run_id):
            if not is_version(answered, asked):
                yield f"{asked} was asked, and its provider says that {answered} has answered"

    def complaints(self) -> Iterator[str]:
        """Yield a line for whatever kept the run from its end, and for each kind of failure."""
        counts = self.records.outcomes(self.design.run_id, self._ids)
        if self.stopped:
            left_out = self.total - sum(counts.values())
            yield f"{self.stopped}; {left_out:,} of {self.total:,} trials were left out"
        yield from ending_complaints(self.records, self.design.run_id, counts, self.total)
        yield from warnings(self._never_received())

    def _never_received(self) -> dict[str, int]:
        """The interventions without a receipt in the whole run, with the trials that they were planned in."""
        done = (trial for trial in self.wanted() if trial.id in self._done)
        planned = Counter(name for trial in done for name in self.design.planned(trial))
        return never_received(self.records, self.design.run_id, planned)


def is_version(answered: str, asked: str) -> bool:
    """Return whether a model that answered is the one that was asked for, or a dated version of it.

    `gpt-4.1-mini-2025-04-14` is a version of `gpt-4.1-mini`, which is none of `gpt-4.1`.
    """
    name, wanted = (each.rpartition("/")[2].lower() for each in (answered, asked))
    return (
        re.fullmatch(re.escape(wanted.removesuffix("-latest")) + r"([-@:](\d{3,}.*|latest))?", name)
        is not None
    )
