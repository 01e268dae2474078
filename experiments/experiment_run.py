"""One `souk run`: what is to be done, doing it, and what went wrong."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from agents.registry import check_agent
from experiments.design import Design, Trial
from experiments.output import run_folder
from experiments.products import shop_products
from experiments.progress import RunProgress
from experiments.records import Records
from experiments.runner import Runner, default_slots, open_stage
from experiments.schema import experiment_source


class ExperimentRun:
    """An experiment with its trials, agents, database and folder, checked and ready to run."""

    def __init__(
        self, name: str, *, agents: Sequence[str] | None, limit: int | None, db: str, out: Path | None
    ) -> None:
        """Check everything that can be checked before the first episode.

        Raises:
            UserError: a mistake in the experiment, an unknown agent, a missing key, an unusable database.
        """
        self.design = Design(experiment_source(name), shop_products())
        self.agents = tuple(dict.fromkeys(agents or self.design.experiment.agents))
        for agent in self.agents:
            check_agent(agent)
        self.limit = limit
        self.folder = out or run_folder(self.design.run)
        self.records = Records(db)
        done = self.records.finished(self.design.run)
        wanted = [trial.id for trial in self._wanted()]
        self.total = len(wanted)
        self.done = len(done.intersection(wanted))
        self._done_ids = done

    def _wanted(self) -> Iterator[Trial]:
        per_agent = dict.fromkeys(self.agents, 0)
        for trial in self.design.trials(self.agents):
            if self.limit is None or per_agent[trial.agent] < self.limit:
                per_agent[trial.agent] += 1
                yield trial

    def summary(self) -> str:
        """What will run, for people."""
        design = self.design
        parts = [f"{len(design.sets)} choice sets", f"{len(design.nudges)} interventions"]
        parts += [f"{design.block_size()} conditions and orders each", f"agents: {', '.join(self.agents)}"]
        lines = [f"{design.run}: {' x '.join(parts[:2])}, {', '.join(parts[2:])}"]
        wanted = design.experiment.options.sets
        if len(design.sets) < wanted:
            lines.append(f"the catalogue holds only {len(design.sets)} of the {wanted} choice sets asked for")
        if self.limit is not None and self.limit % design.block_size():
            lines.append(
                f"--limit {self.limit} cuts a block in two; multiples of {design.block_size()} are balanced"
            )
        lines.append(f"{self.total:,} trials: {self.done:,} done, {self.total - self.done:,} to run")
        return "\n".join(lines)

    async def run(self, console: Console, slots: int | None) -> None:
        """Run the trials that have not ended yet."""
        progress = RunProgress(console, self.total, self.done)
        if self.done == self.total:
            return
        async with open_stage(self.folder) as stage:
            self.records.begin_run(
                self.design.run, self.design.experiment.name, self.design.facts(self.agents)
            )
            runner = Runner(self.design, self.records, stage)
            todo = (trial for trial in self._wanted() if trial.id not in self._done_ids)
            with progress:
                await runner.run(todo, slots or default_slots(self.agents), progress.note)

    def warnings(self) -> Iterator[str]:
        """What may have spoilt trials that count."""
        wanted = {trial.id for trial in self._wanted()}
        disagreeing, example = self.records.disagreeing(self.design.run, wanted)
        if disagreeing:
            yield (
                f"{disagreeing:,} of {self.total:,} trials gave a product different values: {example}; "
                "let the intervention change all places, or the site map name them"
            )

    def complaints(self) -> Iterator[str]:
        """A line for each kind of failure among the wanted trials."""
        wanted = {trial.id for trial in self._wanted()}
        counts = self.records.outcomes(self.design.run, wanted)
        untreated = counts.get("treatment_failed", 0)
        if untreated:
            reason = self.records.first_reason(self.design.run, "treatment_failed")
            yield f"{untreated:,} of {self.total:,} trials ended as treatment_failed: {reason}"
        broken = counts.get("infra_error", 0)
        if broken:
            reason = self.records.first_reason(self.design.run, "infra_error")
            yield (
                f"{broken:,} of {self.total:,} trials ended as infra_error: {reason}; "
                "the same command tries them again"
            )
