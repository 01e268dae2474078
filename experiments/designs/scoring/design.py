"""Make the trials of an experiment in log-probabilities: stimuli x anchors x sets of fields x agents."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal

from analysis.anchoring.coalitions import coalitions
from analysis.tables.errors import AnalysisError
from experiments.designs.design import Design, StoredTrials
from experiments.designs.inputs.identity import digest
from experiments.designs.scoring.experiment_file import ScoreExperiment
from experiments.designs.scoring.stimuli import load_stimuli
from experiments.designs.scoring.trial import ScoreTrial
from interventions.yaml.yaml_source import Source, validate

CONDITIONS: Final[tuple[Literal["low", "high"], ...]] = ("low", "high")


class ScoreDesign(Design[ScoreTrial]):
    """An experiment in log-probabilities with its stimuli.

    The id of a trial depends on the prompt and its place in the design, on what is scored and how, and on the
    agent; not on the experiment's name.
    """

    kind = "scores"
    analysis = "anchoring"
    mode = "logprobs"
    versioned = ("souk", "torch", "transformers", "numpy")
    most_steps = 1
    most_seconds = math.inf
    experiment: ScoreExperiment

    def __init__(self, source: Source) -> None:
        """Check the experiment and find the sets of fields that its attribution needs.

        Raises:
            UserError: a mistake in the experiment or in its stimuli.
        """
        self.experiment = experiment = validate(source, ScoreExperiment)
        self.stimuli = load_stimuli(experiment.stimuli, source)
        self.targets = experiment.answers
        """The targets with their numbers."""
        self._present = {name: self._coalitions(name, source) for name in self.stimuli.stimuli}
        self.size = len(CONDITIONS) * sum(map(len, self._present.values()))

    def _coalitions(self, name: str, source: Source) -> list[tuple[str, ...]]:
        """The sets of present fields of a stimulus, each in the order of the fields."""
        spec, fields = self.experiment, self.stimuli.fields(name)
        try:
            found = coalitions(fields, spec.attribution, spec.permutations, spec.seed)
        except AnalysisError as error:
            raise source.error(("attribution",), f"{name}: {str(error).partition(': ')[2]}") from None
        return [tuple(field for field in fields if field in present) for present in found]

    @cached_property
    def run_id(self) -> str:
        """The id of the run: the same experiment with the same stimuli resumes it."""
        content = [
            self.experiment.model_dump(mode="json", exclude={"agents", "plan"}),
            self.stimuli.content,
        ]
        return f"{self.experiment.name}-{digest(content)[:8]}"

    @cached_property
    def repeated(self) -> frozenset[str]:
        """The prompts that stand in several trials of an agent."""
        counts = Counter(trial.prompt for trial in self.trials([""]))
        return frozenset(prompt for prompt, count in counts.items() if count > 1)

    @property
    def inputs(self) -> dict[str, Any]:
        """All that its trials follow from: the stimuli."""
        return {"stimuli": self.stimuli.content}

    def trials(self, agents: Sequence[str]) -> Iterator[ScoreTrial]:
        """Yield all trials of these agents in blocks: a stimulus with both anchors and all sets of fields."""
        for name in self.stimuli.stimuli:
            for agent in agents:
                yield from self._block(agent, name)

    def _block(self, agent: str, name: str) -> Iterator[ScoreTrial]:
        anchors = self.stimuli.anchors(name)
        for present in self._present[name]:
            for condition, number in zip(CONDITIONS, anchors.numbers, strict=True):
                anchor = getattr(anchors, condition)
                prompt = self.stimuli.render(name, anchor, present)
                cell = [agent, name, condition, anchor, present, prompt]
                identity = digest([*cell, list(self.targets), self.experiment.legacy_scoring])
                yield ScoreTrial(
                    id=identity,
                    agent=agent,
                    set=name,
                    condition=condition,
                    anchor=number,
                    fields=present,
                    prompt=prompt,
                    seed=int(identity[:12], 16),
                )

    def block_size(self, agent: str = "") -> int:
        """Return the number of trials per block and agent."""
        return sum(1 for _ in self._block("", next(iter(self.stimuli.stimuli))))

    def summary(self) -> str:
        """Describe in words what will be scored."""
        prompts = [trial.prompt for trial in self.trials([""])]
        different = len(set(prompts))
        names, varied = len(self._present), self.stimuli.varied
        sets = sorted({len(present) for present in self._present.values()})
        return (
            f"{names} stimuli x 2 {varied}s x {' or '.join(map(str, sets))} sets of fields = "
            f"{len(prompts):,} prompts, {different:,} of them different, {len(self.targets)} targets each: "
            f"{different:,} forward passes of prompts for {len(prompts) * len(self.targets):,} scores"
        )

    def matching(
        self, stored: StoredTrials, carriers: Mapping[str, str], agents: Sequence[str]
    ) -> Iterator[tuple[str, ScoreTrial]]:
        """Match stored trials by their ids."""
        yield from ((trial.id, trial) for trial in self.trials(agents) if trial.id in stored)

    def exemplary(self, trials: Sequence[ScoreTrial]) -> ScoreTrial:
        """Choose the trial with the longest prompt, in which most fields are present."""
        return max(trials, key=lambda trial: len(trial.fields))

    def example(self, trial: ScoreTrial) -> dict[str, Any]:
        """Describe the prompt of one trial."""
        return {"prompts": [trial.prompt]}

    def requests(self, trial: ScoreTrial) -> int:
        """Return 1: all answers to a prompt are scored at once."""
        return 1
