"""Trials as prompts: no browser and no proxy; the same cards as on pages, and the same records."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from agents.base import Call, Message
from agents.registry import close_agents, make_respondent
from experiments.card_record import Given, card_record, conclude, read_answer
from experiments.card_trial import CardTrial
from experiments.course import Course, limited
from experiments.records import Records, Row, TrialRecord, artifact_hash
from experiments.runner import MAX_ATTEMPTS, first_leaf

logger = logging.getLogger(__name__)

SLOTS_WITHOUT_WAITING: Final = 64
"""Trials at once for agents that answer at once: what ends while others are written is written together."""


class TextRunner:
    """Takes trials from a queue, as many at once as there are slots. Finished trials are stored at once."""

    def __init__(self, run: str, seconds: float, records: Records) -> None:
        """`seconds` is the limit of one trial."""
        self._run = run
        self._seconds = seconds
        self._records = records
        self._waiting: list[tuple[TrialRecord, asyncio.Future[None]]] = []
        self._storing = asyncio.Lock()

    async def run(
        self, trials: Iterable[CardTrial], slots: int, finished: Callable[[TrialRecord], None]
    ) -> None:
        """Run all trials; `finished` is called after each has been stored.

        Cancelling stops the running trials; they leave no record and run again when resumed.
        """
        queue, writer = iter(trials), ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(slots):
                    group.create_task(self._work(queue, writer, finished))
        except BaseExceptionGroup as error:
            raise first_leaf(error) from None
        finally:
            writer.shutdown(wait=True)
            self._records.save(*(record for record, _ in self._waiting))
            await close_agents()

    async def _work(
        self, queue: Iterator[CardTrial], writer: ThreadPoolExecutor, finished: Callable[[TrialRecord], None]
    ) -> None:
        for trial in queue:
            await self._store(await self._trial(trial), writer, finished)

    async def _store(
        self, record: TrialRecord, writer: ThreadPoolExecutor, finished: Callable[[TrialRecord], None]
    ) -> None:
        """Wait until a record is written, together with those of other trials that end meanwhile."""
        loop = asyncio.get_running_loop()
        written = loop.create_future()
        self._waiting.append((record, written))
        if len(self._waiting) == 1:  # whoever comes first writes for all
            async with self._storing:
                await asyncio.sleep(0)
                batch, self._waiting = self._waiting, []
                records = [each for each, _ in batch]
                await loop.run_in_executor(writer, partial(self._records.save, *records))
            for each, done in batch:
                finished(each)
                done.set_result(None)
        await written

    async def _trial(self, trial: CardTrial) -> TrialRecord:
        began = time.time()
        for attempt in range(1, MAX_ATTEMPTS + 1):
            conversation = Conversation(trial)
            course = Course()
            async with limited(course, self._seconds):
                await conversation.hold()
                conclude(course, trial, conversation.given)
            conversation.calls += ((len(conversation.given), call) for call in course.vain_calls)
            if course.outcome != "infra_error":
                break
            logger.warning("trial %s, attempt %d: %s", trial.id, attempt, course.reason)
        record = card_record(
            self._run,
            trial,
            course,
            conversation.given,
            conversation.calls,
            mode="text",
            began=began,
            attempts=attempt,
        )
        record.trial["steps"] = len(conversation.given)
        record.steps, record.artifacts = conversation.trace()
        return record


class Conversation:
    """The cards of a trial as messages, one after the other."""

    def __init__(self, trial: CardTrial) -> None:
        self._trial = trial
        self._messages: list[Message] = []
        self._asked: list[tuple[str, str, float]] = []
        self.given: list[Given] = []
        self.calls: list[tuple[int, Call]] = []

    async def hold(self) -> None:
        """Ask the cards until one has no valid answer. Raises AgentError, ProviderError, UserError."""
        respondent = make_respondent(self._trial.agent, seed=self._trial.seed)
        for card in self._trial.cards:
            if card.system and not self._messages:
                self._messages.append({"role": "system", "content": card.system})
            question = card.prompt
            for _ in range(card.retries + 1):
                self._messages.append({"role": "user", "content": question})
                began = time.perf_counter()
                reply = await respondent.answer(
                    self._messages, temperature=self._trial.temperature, max_tokens=card.max_tokens
                )
                self._messages.append({"role": "assistant", "content": reply.text})
                if reply.call:
                    self.calls.append((len(self.given), reply.call))
                self._asked.append((question, reply.text, time.perf_counter() - began))
                self.given.append(read_answer(card, reply.text))
                if self.given[-1].value is not None:
                    break
                question = card.reminder
            else:
                return

    def trace(self) -> tuple[list[Row], dict[str, str]]:
        """A step for each answer; the prompts are artifacts."""
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
                    "action": reply[:2_000],
                    "error": answer.reason,
                    "seconds": seconds,
                }
            )
        return steps, artifacts
