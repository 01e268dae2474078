"""Trials that are scored, not sampled: prompts of one model together, and equal prompts once."""

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from agents.base import AgentError
from agents.registry import close_agents
from agents.scoring import Scorer, TargetScore, make_scorer, score_choices
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.scored_cards import ScoredCards
from experiments.episodes.answers import Given, card_record, conclude
from experiments.episodes.trajectory import Trajectory, limited, trial_row
from experiments.executors.executor import Attempt
from experiments.records.store import Row, TrialRecord, artifact_hash

BATCH: Final = 16
"""Prompts that a model is given at once; a run that is killed loses no more."""

Question = tuple[str, tuple[str, ...]]
"""A prompt and the targets after it."""


class BatchingScorer:
    """A scorer that hands prompts of calls at the same time to another one in batches.

    The scores of prompts in `kept` are remembered, so that whoever else asks for them waits for no model.
    """

    def __init__(self, scorer: Scorer, kept: Collection[str] = ()) -> None:
        self.name = scorer.name
        self._scorer = scorer
        self._kept = kept
        self._asked: dict[Question, asyncio.Future[list[TargetScore]]] = {}
        self._waiting: list[Question] = []
        self._task: asyncio.Task[None] | None = None

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        """See `Scorer.score`."""
        futures = [self._ask((prompt, tuple(targets))) for prompt in prompts]
        # Shielded: one that is stopped while it waits does not stop the others that share the prompt.
        return list(await asyncio.gather(*map(asyncio.shield, futures)))

    def _ask(self, key: Question) -> "asyncio.Future[list[TargetScore]]":
        if (known := self._asked.get(key)) is not None:
            return known
        future = self._asked[key] = asyncio.get_running_loop().create_future()
        self._waiting.append(key)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # what is asked in the same turn is scored together
            targets = self._waiting[0][1]
            batch = [key for key in self._waiting if key[1] == targets][:BATCH]
            self._waiting = [key for key in self._waiting if key not in batch]
            futures = [self._asked[key] for key in batch]
            try:
                rows = await self._scorer.score([prompt for prompt, _ in batch], targets)
            except Exception as error:  # whatever it is, whoever waits has to know
                for future in futures:
                    future.set_exception(error)
                    future.exception()  # whoever waited may have been stopped meanwhile
                self._forget(batch)
            else:
                for future, row in zip(futures, rows, strict=True):
                    future.set_result(row)
                self._forget(key for key in batch if key[0] not in self._kept)

    def _forget(self, keys: Iterable[Question]) -> None:
        for key in keys:
            del self._asked[key]

    async def close(self) -> None:
        """Stop what is being scored."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


class ScoringExecutor:
    """Scores the trials of an experiment in this process, with a scorer for each agent."""

    slots = 2 * BATCH
    """While one batch is scored the next one comes together."""

    def __init__(self, design: ScoreDesign | ScoredCards, scorers: Mapping[str, BatchingScorer]) -> None:
        self._design = design
        self._scorers = scorers

    async def run(self, attempt: Attempt[Any]) -> TrialRecord:
        """Run one attempt; how it ended stands in its record."""
        trajectory = Trajectory()
        scorer = self._scorers[attempt.trial.agent]
        if isinstance(self._design, ScoreDesign):
            return await self._prompt(self._design, scorer, trajectory, attempt)
        return await self._card(self._design, scorer, trajectory, attempt)

    def lost(self, attempt: Attempt[Any], reason: str) -> TrialRecord:
        """The record of an attempt that never came back: there is none, since this process runs them all."""
        raise RuntimeError(f"trial {attempt.trial.id}: {reason}")

    async def _prompt(
        self, design: ScoreDesign, scorer: BatchingScorer, trajectory: Trajectory, attempt: Attempt[Any]
    ) -> TrialRecord:
        trial = attempt.trial
        scores: list[TargetScore] = []
        async with limited(trajectory, math.inf):
            (scores,) = await scorer.score([trial.prompt], list(design.targets))
            if all(score.logprob is None for score in scores):
                raise AgentError(f"no target has a score: {scores[0].note}")
            trajectory.end("choice")
        rows = [
            _row(number, target, value, score)
            for number, ((target, value), score) in enumerate(
                zip(design.targets.items(), scores, strict=False)
            )
        ]
        record = TrialRecord(
            trial=trial_row(design.run, trial, trajectory, [], began=attempt.began, attempts=attempt.number),
            prompts=[{"anchor": trial.anchor, "fields": "+".join(trial.fields)}],
            scores=rows,
        )
        return _traced(record, trial.prompt, "")

    async def _card(
        self, design: ScoredCards, scorer: BatchingScorer, trajectory: Trajectory, attempt: Attempt[Any]
    ) -> TrialRecord:
        trial = attempt.trial
        (card,) = trial.cards
        prompt = f"{card.system}\n\n{card.prompt}" if card.system else card.prompt
        given: list[Given] = []
        shares: dict[str, float] = {}
        async with limited(trajectory, math.inf):
            shares = await score_choices(scorer, prompt, list(card.answer.labels))
            letter = max(shares, key=shares.__getitem__)
            given = [Given(card.id, letter, letter)]
            conclude(trajectory, trial, given)
        record = card_record(
            design.run,
            trial,
            trajectory,
            given,
            [],
            mode="logprobs",
            began=attempt.began,
            attempts=attempt.number,
        )
        record.scores = [
            _row(number, letter, None, _share_score(share))
            for number, (letter, share) in enumerate(shares.items())
        ]
        return _traced(record, prompt, given[0].text if given else "")


def _share_score(share: float) -> TargetScore:
    if share:
        return TargetScore(math.log(share), 1, shifted=False, note="")
    return TargetScore(None, 1, shifted=False, note="the share is zero")


def _row(number: int, target: str, value: float | None, score: TargetScore) -> Row:
    return {
        "number": number,
        "target": target,
        "value": value,
        "logprob": score.logprob,
        "tokens": score.tokens,
        "shifted": int(score.shifted),
        "note": score.note,
    }


def _traced(record: TrialRecord, prompt: str, answer: str) -> TrialRecord:
    """The record with its one step, whose page is the prompt."""
    name = artifact_hash(prompt)
    step = {"step": 0, "url": "", "observation": name, "thought": "", "memory": "", "action": answer}
    record.steps = [{**step, "error": "", "seconds": record.trial["seconds"]}]
    record.artifacts = {name: prompt}
    record.trial["steps"] = 1
    if not record.trial["agent"].startswith("hf:"):
        record.trial["cost"] = None  # servers that score do not say what that took
    return record


def scorers_of(design: ScoreDesign | ScoredCards, agents: Sequence[str]) -> dict[str, Scorer]:
    """The scorer of each agent. Raises UserError where one cannot be scored, or lacks a setting."""
    if isinstance(design, ScoreDesign):
        legacy = design.experiment.legacy_scoring
        return {agent: make_scorer(agent, legacy=legacy) for agent in agents}
    return {agent: make_scorer(agent, chat=True) for agent in agents}


@asynccontextmanager
async def open_scoring(
    design: ScoreDesign | ScoredCards, scorers: Mapping[str, Scorer]
) -> AsyncIterator[ScoringExecutor]:
    """What runs the trials of an experiment, for the time of a `with` block."""
    kept = design.repeated if isinstance(design, ScoreDesign) else frozenset[str]()
    together = {agent: BatchingScorer(scorer, kept) for agent, scorer in scorers.items()}
    try:
        yield ScoringExecutor(design, together)
    finally:
        for each in together.values():
            await each.close()
        await close_agents()
