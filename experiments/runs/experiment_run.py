"""One `souk run`: what is to be done, doing it, and what went wrong."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.registry import check_agent, check_name
from experiments.console.progress import RunProgress
from experiments.designs.cards.design import CardDesign, make_card_design
from experiments.designs.cards.trial import CardTrial
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.scored_cards import ScoredCards
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.answers import Mode
from experiments.executors.executor import Executor
from experiments.executors.scores import open_scoring, scorers_of
from experiments.executors.start_pages import check_start_pages
from experiments.executors.workers import Workers, open_workers
from experiments.records.control import Runner
from experiments.records.store import Records
from experiments.records.writer import Trace, Writer
from experiments.runs.admission import Admission
from experiments.runs.coordinator import Coordinator, Lost
from interventions.errors import UserError


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
    ) -> None:
        """Check everything that can be checked before the first episode.

        `dry`: nothing will be run, so that what agents lack is only noted, in `not_ready`.

        Raises:
            UserError: a mistake in the experiment, an unknown agent, a missing key, an unusable database.
        """
        self._name = name
        self.design = any_design(name, mode)
        self.agents = tuple(dict.fromkeys(agents or self.design.experiment.agents))
        self.not_ready: list[str] = []
        """What agents lack, a key for example; a line each."""
        self._check_agents(dry)
        self.limit = limit
        self.records = Records(db)
        self.folder = out or self.records.folder(self.design.run)
        self.stopped = ""
        """Why it ended before all wanted trials had run."""
        self._done = self.records.finished(self.design.run)
        self._again: list[CardTrial] = []
        self._ids = {trial.id for trial in self.wanted()}
        self._ask_again()

    def _check_agents(self, dry: bool) -> None:
        for agent in self.agents:
            if dry:
                check_name(agent)
            try:
                if isinstance(self.design, ScoreDesign | ScoredCards):
                    scorers_of(self.design, [agent])
                else:
                    check_agent(agent, mode="text" if mode_of(self.design) == "text" else "page")
            except UserError as error:
                if not dry:
                    raise
                self.not_ready.append(f"{agent} cannot run yet: {error}")

    @property
    def total(self) -> int:
        """How many trials are wanted."""
        return len(self._ids)

    @property
    def done(self) -> int:
        """How many of them have ended."""
        return len(self._ids & self._done)

    @property
    def _in_all(self) -> int:
        """How many trials the run will have; other commands may run it with other agents."""
        return len(self._ids | self._done)

    def wanted(self) -> Iterator[Any]:
        """The trials, those of an earlier command included."""
        per_agent = dict.fromkeys(self.agents, 0)
        for trial in self.design.trials(self.agents):
            if self.limit is None or per_agent[trial.agent] < self.limit:
                per_agent[trial.agent] += 1
                yield trial
        yield from self._again

    def _ask_again(self) -> bool:
        """Where valid answers are wanted in a number, want as many more trials as lack one; False: none."""
        design = self.design
        if not isinstance(design, CardDesign) or not design.quota or self.limit is not None:
            return False
        asked, answered = self.records.answered(design.run)
        cells: dict[object, list[CardTrial]] = {}
        for trial in self.wanted():
            cells.setdefault(trial.cell, []).append(trial)
        more = []
        for trials in cells.values():
            if any(trial.id not in asked for trial in trials):
                continue
            lacking = design.quota - sum(trial.id in answered for trial in trials)
            allowed = max(0, design.attempts - len(trials))
            repeats = range(len(trials), len(trials) + min(lacking, allowed))
            more += [design.again(trials[0], repeat) for repeat in repeats]
        self._again += more
        self._ids |= {trial.id for trial in more}
        # What an earlier command has asked again counts at once, so that the same answers lead on.
        return bool(more) and (any(trial.id not in self._done for trial in more) or self._ask_again())

    def summary(self) -> str:
        """What will run, for people."""
        lines = [f"{self.design.run}: {self.design.summary()}, agents: {', '.join(self.agents)}"]
        lines += self.design.shortage()
        if isinstance(self.design, ShopDesign) and any(name.startswith("simulated:") for name in self.agents):
            lines += [
                f"simulated shoppers see nothing of {name}: they read texts, prices, ratings, numbers of "
                "reviews and the order; whether it moves an agent only a real one can show"
                for name in self.design.unreadable()
            ]
        if self.limit is not None and self.limit % self.design.block_size():
            size = self.design.block_size()
            lines.append(f"--limit {self.limit} cuts a block in two; multiples of {size} are balanced")
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
    ) -> None:
        """Run the trials that have not ended yet: in this process, or by `workers`.

        `trace` is what is kept of each step; `budget`, in USD, what the run may cost in all.
        """
        await self._check_start_pages()
        for turn in count():
            if self.done < self.total:
                await self._run_round(console, workers or Workers(), trace, budget)
            self._done = self.records.finished(self.design.run)
            if self.stopped or not self._ask_again():
                return
            wanted = self.total - self.done
            console.print(f"{wanted:,} more for answers that were not valid (round {turn + 2})")

    async def _check_start_pages(self) -> None:
        """Raises UserError where a start page could not be treated."""
        if isinstance(self.design, ShopDesign):
            todo = (trial for trial in self.wanted() if trial.id not in self._done)
            await check_start_pages(self.design, todo, experiment_source(self._name), self.design.base_url)

    async def _run_round(
        self, console: Console, workers: Workers, trace: Trace, budget: float | None
    ) -> None:
        design, records = self.design, self.records
        progress = RunProgress(console, self.total, self.done)
        todo = (trial for trial in self.wanted() if trial.id not in self._done)
        admission = Admission(
            records,
            design.run,
            budget=budget,
            agents=self.agents,
            steps=1 if isinstance(design, ScoreDesign) else design.experiment.limits.steps,
            trials=self._in_all,
            say=progress.say,
        )
        async with self._executor(workers, progress) as (executor, lost):
            self.begin(trace)
            writer = Writer(records, trace, say=progress.say)
            try:
                async with admission:
                    with progress:
                        coordinator = Coordinator(executor, writer, admission, lost)
                        await coordinator.run(todo, progress.note, progress.note_elsewhere)
            finally:
                await writer.close()
        self.stopped = admission.reason

    @asynccontextmanager
    async def _executor(
        self, workers: Workers, progress: RunProgress
    ) -> AsyncIterator[tuple[Executor, Lost]]:
        """What runs the trials, and what makes records of those that it loses."""
        design = self.design
        if isinstance(design, ScoreDesign | ScoredCards):
            if workers.count > 1 or workers.backend != "local":
                raise UserError("--workers, --backend: scores are made in one process; leave these out")
            async with open_scoring(design, scorers_of(design, self.agents)) as scoring:
                yield scoring, scoring.lost
            return
        setup = workers.setup(design, self.folder, self.agents)
        async with open_workers(workers, setup, progress.say) as executor:
            yield executor, setup.lost

    def runner(self, process: int, budget: float | None) -> Runner:
        """Another process of this machine that is to run it, before it can speak for itself."""
        return Runner(self.design.run, trials=self._in_all, budget=budget, pid=process)

    def begin(self, trace: Trace) -> None:
        """Note the run, once nothing can keep it from starting."""
        facts = {**self.design.facts(self.agents), "analysis": analysis_of(self.design), "trace": trace}
        self.records.begin_run(self.design.run, self.design.experiment.name, facts)

    def warnings(self) -> Iterator[str]:
        """What may have spoilt trials that count."""
        disagreeing, example = self.records.disagreeing(self.design.run, self._ids)
        if disagreeing:
            yield (
                f"{disagreeing:,} of {self.total:,} trials gave a product different values: {example}; "
                "let the intervention change all places, or the site map name them"
            )

    def complaints(self) -> Iterator[str]:
        """A line for whatever kept the run from its end, and for each kind of failure among its trials."""
        if self.stopped:
            yield self.stopped
        counts = self.records.outcomes(self.design.run, self._ids)
        untreated = counts.get("treatment_failed", 0)
        if untreated:
            reason = self.records.first_reason(self.design.run, "treatment_failed")
            yield f"{untreated:,} of {self.total:,} trials ended as treatment_failed: {reason}"
        for name, trials in self._never_received():
            yield (
                f"{name}: planned in {trials:,} of {self.total:,} trials, but no page has a receipt of it; "
                "see whether its pages are among those that the agent opens"
            )
        broken = counts.get("infra_error", 0)
        if broken:
            reason = self.records.first_reason(self.design.run, "infra_error")
            yield (
                f"{broken:,} of {self.total:,} trials ended as infra_error: {reason}; "
                "the same command tries them again"
            )

    def _never_received(self) -> Iterator[tuple[str, int]]:
        """The interventions without a receipt in the whole run, with the trials that they were planned in."""
        design = self.design
        if not isinstance(design, ShopDesign):
            return
        planned = Counter(
            name
            for trial in self.wanted()
            if trial.id in self._done
            for name in {treatment.intervention for treatment in design.plan(trial).treatments}
        )
        received = self.records.received(design.run)
        yield from ((name, trials) for name, trials in sorted(planned.items()) if name not in received)


def analysis_of(design: ShopDesign | CardDesign | ScoreDesign) -> str:
    """What follows `souk analyze` for its runs."""
    if isinstance(design, ScoreDesign):
        return "anchoring"
    if isinstance(design, ShopDesign):
        return "choice"
    (part,) = design.experiment.design.model_fields_set
    return {"conjoint": "conjoint", "factorial": "montecarlo", "battery": "biases"}[part]


def mode_of(design: ShopDesign | CardDesign) -> Mode:
    """Whether its trials need a browser."""
    return design.experiment.mode if isinstance(design, CardDesign) else "page"


def any_design(name: str, mode: Mode | None = None) -> ShopDesign | CardDesign | ScoreDesign:
    """The design of any experiment. Raises UserError."""
    source = experiment_source(name)
    if source.data.get("task") != "score":
        return load_design(name, mode)
    if mode:
        raise UserError(f"--mode {mode}: {name} scores targets; leave --mode out")
    return ScoreDesign(source)


def load_design(name: str, mode: Mode | None = None, *, subject: str = "") -> ShopDesign | CardDesign:
    """The design of an experiment with episodes or conversations.

    `mode` is in the place of the one that its file says; for `subject` see `Design`. Raises UserError.
    """
    source = experiment_source(name)
    if source.data.get("task") == "score":
        raise UserError(f"{name} scores targets and has no episodes; run it: souk run {name}")
    if source.data.get("task") != "card":
        if mode not in (None, "page"):
            raise UserError(
                f"--mode {mode}: {name} is about pages of a shop; only cards can be asked otherwise"
            )
        return ShopDesign(source, subject=subject)
    design = make_card_design(replace(source, data={**source.data, "mode": mode}) if mode else source)
    return ScoredCards(design) if design.experiment.mode == "logprobs" else design
