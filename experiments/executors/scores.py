"""Run trials that are scored, not sampled: prompts of one model together, and equal prompts once."""

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final, Generic, Protocol, TypeVar

from agents.base import AgentError, Usage
from agents.providers.network import close_connections
from agents.scoring import Scorer, TargetScore, is_local, make_scorer, score_choices
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from experiments.designs.design import Trial
from experiments.designs.scoring.design import ScoreDesign
from experiments.designs.scoring.trial import ScoreTrial
from experiments.episodes.answers import GivenAnswer, card_record, conclude, response_of
from experiments.executors.executor import Attempt, T_contra
from experiments.records.record import Row, TrialRecord, artifact_hash
from experiments.treatment.trajectory import Trajectory, limited, trial_row
from interventions.cards.card import Card, LetterAnswer

BATCH: Final = 16
"""The number of prompts that a model is given at once; a run that is killed loses no more."""

Question = tuple[str, tuple[str, ...]]
"""A prompt and the targets after it."""


class BatchingScorer:
    """A scorer that passes prompts on to another scorer in batches.

    A batch has the prompts of calls at the same time. The scores of prompts in `kept` are remembered, so that
    further calls for them wait for no model.
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
        """Stop the scoring that is under way."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


T = TypeVar("T", bound=Trial)


class Scoring(Protocol[T_contra]):
    """The protocol by which the trials of one kind of design are scored."""

    kept: Collection[str]
    """The prompts whose scores are remembered, since several trials ask for them."""

    def scorer(self, agent: str) -> Scorer:
        """Make the scorer of an agent. Raises UserError where it cannot be scored, or lacks a setting."""

    async def record(self, scorer: Scorer, attempt: Attempt[T_contra]) -> TrialRecord:
        """Score a trial and return its record, which says how the trial ended."""


class PromptScoring:
    """Scores the targets after each prompt of a stimulus."""

    def __init__(self, design: ScoreDesign) -> None:
        self._design = design
        self.kept: Collection[str] = design.repeated

    def scorer(self, agent: str) -> Scorer:
        """See `Scoring.scorer`."""
        return make_scorer(agent, legacy=self._design.experiment.legacy_scoring)

    async def record(self, scorer: Scorer, attempt: Attempt[ScoreTrial]) -> TrialRecord:
        """See `Scoring.record`."""
        design, trial, trajectory = self._design, attempt.trial, Trajectory()
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
            trial=trial_row(
                design.run_id,
                trial,
                trajectory,
                _usage(trial.agent),
                steps=1,
                start=attempt.start,
                attempts=attempt.number,
            ),
            prompts=[{"anchor": trial.anchor, "fields": "+".join(trial.fields)}],
            scores=rows,
            cause=trajectory.cause,
        )
        return _traced(record, trial.prompt, "")


class CardScoring:
    """Scores the letters of each card."""

    kept: Collection[str] = ()

    def __init__(self, design: CardDesign) -> None:
        self._design = design

    def scorer(self, agent: str) -> Scorer:
        """See `Scoring.scorer`."""
        return make_scorer(agent, chat=True)

    async def record(self, scorer: Scorer, attempt: Attempt[CardTrial]) -> TrialRecord:
        """See `Scoring.record`."""
        trial, trajectory = attempt.trial, Trajectory()
        (card,) = trial.cards
        prompt = f"{card.system}\n\n{card.prompt}" if card.system else card.prompt
        given: list[GivenAnswer] = []
        shares: dict[str, float] = {}
        async with limited(trajectory, math.inf):
            shares = await score_choices(scorer, prompt, _letters(card))
            letter = max(shares, key=shares.__getitem__)
            given = [GivenAnswer(card.id, letter, letter)]
            conclude(trajectory, trial, given)
        record = card_record(
            self._design.run_id,
            trial,
            trajectory,
            given,
            [],
            mode="logprobs",
            steps=1,
            start=attempt.start,
            attempts=attempt.number,
            usage=_usage(trial.agent),
        )
        scores = [
            _row(number, letter, response_of(trial, letter), _share_score(share))
            for number, (letter, share) in enumerate(shares.items())
        ]
        return _traced(replace(record, scores=scores), prompt, given[0].text if given else "")


class _ScoringExecutor(Generic[T]):
    """Scores the trials of an experiment in this process, with a scorer for each agent."""

    slots = 2 * BATCH
    """The number of attempts at once: while one batch is scored, the next one is collected."""

    def __init__(self, scoring: Scoring[T], scorers: Mapping[str, BatchingScorer]) -> None:
        self._scoring = scoring
        self._scorers = scorers

    async def run(self, attempt: Attempt[T]) -> TrialRecord:
        """Run one attempt and return its record, which says how the attempt ended."""
        return await self._scoring.record(self._scorers[attempt.trial.agent], attempt)

    def lost(self, attempt: Attempt[Trial], reason: str) -> TrialRecord:
        """Raise RuntimeError: this process runs all attempts, so none is ever lost."""
        raise RuntimeError(f"trial {attempt.trial.id}: {reason}")


def _letters(card: Card) -> list[str]:
    if not isinstance(card.answer, LetterAnswer):
        raise TypeError(f"card {card.id} asks for no letter")  # ScoredCards leaves these out
    return list(card.answer.labels)


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


def _usage(agent: str) -> Usage:
    """What it took to score a trial: a local model costs nothing, and a server does not say what it took."""
    return Usage(cost=0.0 if is_local(agent) else None)


def _traced(record: TrialRecord, prompt: str, answer: str) -> TrialRecord:
    """The record with its one step, whose page is the prompt."""
    name = artifact_hash(prompt)
    step = {"step": 0, "url": "", "observation": name, "thought": "", "memory": "", "action": answer}
    steps = [{**step, "error": "", "seconds": record.trial.seconds}]
    return replace(record, steps=steps, artifacts={name: prompt})


@asynccontextmanager
async def open_scoring(scoring: Scoring[T], agents: Iterable[str]) -> AsyncIterator[_ScoringExecutor[T]]:
    """Open the scorers for the trials of these agents. Raises UserError where one cannot be scored."""
    scorers = {agent: BatchingScorer(scoring.scorer(agent), scoring.kept) for agent in agents}
    try:
        yield _ScoringExecutor(scoring, scorers)
    finally:
        for each in scorers.values():
            await each.close()
        await close_connections()
