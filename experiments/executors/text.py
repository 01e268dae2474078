"""Run trials as prompts: no browser and no proxy; the same cards as on pages, and the same records."""

import resource
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Final, Self

from agents.base import Call, ChatMessage, is_simulated
from agents.providers.batches import BatchQueue
from agents.providers.network import RequestWay
from agents.providers.settings import SERVICES
from agents.registry import make_respondent
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from experiments.episodes.answers import GivenAnswer, card_record, conclude, read_answer
from experiments.executors.executor import Attempt
from experiments.records.record import Row, TrialRecord, artifact_hash
from experiments.treatment.trajectory import Traced, Trajectory, limited

SLOTS_WITHOUT_WAITING: Final = 64
"""Trials at once for agents that answer at once.

Trials that end while others are written are written together.
"""

SLOTS_OF_SERVICES: Final = 500
"""Trials at once for models of providers, which refuse what is too much for them.

So many requests are under way as they bear (see `agents.providers.limiter`); a trial that waits takes little
memory.
"""
SLOTS_OF_BATCHES: Final = 10_000
"""Trials at once whose requests go in batches."""
_OTHER_FILES: Final = 200
"""How many files and connections a process has open besides those of its trials."""


def default_text_slots(agents: Collection[str]) -> int | None:
    """Return how many trials to run at once as text; None: as many as on pages.

    A server of the user's own is not asked by hundreds: it does not refuse, but lets them wait, until they
    give up. Models that compute in this process have no use for more either.
    """
    if all(map(is_simulated, agents)):
        return SLOTS_WITHOUT_WAITING
    services = [SERVICES.get(agent.partition(":")[0]) for agent in agents if not is_simulated(agent)]
    return SLOTS_OF_SERVICES if all(each and each.needs_key for each in services) else None


def allow_connections(slots: int) -> None:
    """Let this process have a connection open for each trial, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = slots + _OTHER_FILES
    if soft not in (resource.RLIM_INFINITY, hard) and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class TextExecutor:
    """Asks the cards of trials in this process."""

    def __init__(self, run: str, seconds: float, slots: int, batches: BatchQueue | None = None) -> None:
        """Prepare to run attempts; `seconds` is the limit of one trial.

        batches: collects what models are asked; None: they are asked at once.
        """
        self.slots = slots
        self._run = run
        self._seconds = seconds
        self._batches = batches

    @classmethod
    def of(cls, design: CardDesign, slots: int, batches: BatchQueue | None) -> Self:
        """Make the executor of an experiment with cards."""
        return cls(design.run_id, design.most_seconds, slots, batches)

    def lost(self, attempt: Attempt[CardTrial], reason: str) -> TrialRecord:
        """Make the record of an attempt that never came back from another process."""
        trajectory = Trajectory()
        trajectory.fail("worker", reason)
        return card_record(
            self._run,
            attempt.trial,
            trajectory,
            [],
            [],
            mode="text",
            steps=0,
            start=attempt.start,
            attempts=attempt.number,
        )

    async def run(self, attempt: Attempt[CardTrial]) -> TrialRecord:
        """Run one attempt and return its record, which says how the attempt ended."""
        trial, trajectory = attempt.trial, Trajectory()
        batches = self._batches
        way = batches.conversation(f"{self._run}/{trial.id}") if batches else None
        conversation = _Conversation(trial, way)
        async with limited(trajectory, self._seconds):
            await conversation.hold()
            conclude(trajectory, trial, conversation.given)
        conversation.calls += ((len(conversation.given), call) for call in trajectory.vain_calls)
        record = card_record(
            self._run,
            trial,
            trajectory,
            conversation.given,
            conversation.calls,
            mode="text",
            steps=len(conversation.given),
            start=attempt.start,
            attempts=attempt.number,
        )
        steps, artifacts = conversation.trace()
        return replace(record, steps=steps, artifacts=artifacts)


class _Conversation:
    """The cards of a trial as messages, one after the other."""

    def __init__(self, trial: CardTrial, way: RequestWay | None = None) -> None:
        """Prepare to ask; `way`: by which a provider is asked, None: one request at a time."""
        self._trial, self._way = trial, way
        self._messages: list[ChatMessage] = []
        self._asked: list[tuple[str, str, float]] = []
        self.given: list[GivenAnswer] = []
        self.calls: list[tuple[int, Call]] = []

    async def hold(self) -> None:
        """Ask the cards until one has no valid answer. Raises AgentError, ProviderError, UserError."""
        respondent = make_respondent(self._trial.agent, seed=self._trial.seed, way=self._way)
        for card in self._trial.cards:
            if card.system and not self._messages:
                self._messages.append({"role": "system", "content": card.system})
            question = card.prompt
            for _ in range(card.retries + 1):
                self._messages.append({"role": "user", "content": question})
                began = time.perf_counter()
                reply = await respondent.answer(
                    self._messages,
                    temperature=self._trial.temperature,
                    max_tokens=card.max_tokens,
                    schema=card.answer_schema,
                )
                self._messages.append({"role": "assistant", "content": reply.text})
                if reply.call:
                    self.calls.append((len(self.given), reply.call))
                self._asked.append((question, reply.raw, time.perf_counter() - began))
                self.given.append(read_answer(card, reply))
                if self.given[-1].value is not None:
                    break
                question = card.reminder
            else:
                return

    def trace(self) -> Traced:
        """Return a step for each answer, and the prompts as artifacts."""
        steps: list[Row] = []
        artifacts: dict[str, str] = {}
        system = self._trial.cards[0].system
        for number, ((question, reply, seconds), answer) in enumerate(
            zip(self._asked, self.given, strict=True)
        ):
            prompt = f"{system}\n\n{question}" if system and not number else question
            artifacts[name := artifact_hash(prompt)] = prompt
            steps.append(
                {
                    "step": number,
                    "url": "",
                    "observation": name,
                    "thought": "",
                    "memory": "",
                    "action": reply,
                    "error": answer.reason,
                    "seconds": seconds,
                }
            )
        return steps, artifacts
