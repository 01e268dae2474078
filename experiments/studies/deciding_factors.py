"""Let a model find what decided a choice, and what was mentioned, in the agent's own thoughts and memories.

What an agent wrote may hold whatever a page told it. It goes to the judge as JSON strings, which no text can
leave; the judge's answer is read by a closed form; and each factor needs a quotation that the text contains.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from agents.base import ActError, AgentError, ChatMessage
from agents.providers.network import close_connections
from agents.registry import make_respondent
from analysis.choice.ended.factors import MENTIONED
from experiments.records.reading.judgements import add_factors, judgeable
from experiments.records.reading.queries import steps_of
from experiments.records.record import Row
from experiments.records.store import Records
from interventions.data_file import read_source

FACTORS: Final = ("price", "rating", "nudge", "other")
MAX_TOKENS: Final = 1_000

QUESTION: Final = read_source(__file__, "deciding_factors.txt")

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "factors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "factor": {"type": "string", "enum": list(FACTORS)},
                    "quotation": {"type": "string"},
                    "decided": {"type": "boolean"},
                },
                "required": ["factor", "quotation", "decided"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["factors"],
    "additionalProperties": False,
}

Notes = list[dict[str, Any]]
"""The thoughts and memories of a trial, in the order of its steps."""


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore")

    factor: str
    quotation: str
    decided: bool = True


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="ignore")

    factors: list[_Named]


class TrialJudge:
    """The judging of a run by one judge; trials that it has judged already are left out."""

    def __init__(self, records: Records, run: str, judge: str, limit: int | None = None) -> None:
        """Find the trials to judge: with a choice, with words of the agent, and not judged by this judge.

        Raises UserError if the judge is no known respondent, or lacks a setting.
        """
        make_respondent(judge, seed=0)
        self._records, self._run, self._judge = records, run, judge
        found = judgeable(records, run, judge)
        self.wordless = len(found.choices) - len(found.spoken)
        """The number of trials with a choice and without a word of the agent."""
        self.done = len(found.spoken & found.judged)
        """The number of trials that this judge had judged before."""
        self.waiting = sorted(found.spoken - found.judged)[:limit]
        """The trials to judge."""

    async def carry_out(self, slots: int, finished: Callable[[str], None]) -> int:
        """Judge `slots` trials at once; store each as soon as it is judged.

        `finished` is told the id of each. Returns the number of trials for which the provider failed: they
        are left for the next time. Raises UserError if the provider refuses the key or the model.
        """
        failures = 0
        queue = iter(self.waiting)

        async def work() -> None:
            nonlocal failures
            for trial in queue:
                rows = await self._ask(trial)
                if rows is None:
                    failures += 1
                    continue
                await asyncio.to_thread(add_factors, self._records, self._run, trial, rows)
                finished(trial)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(slots):
                    group.create_task(work())
        except BaseExceptionGroup as error:
            raise error.exceptions[0] from None
        finally:
            await close_connections()
        return failures

    async def _ask(self, trial: str) -> list[Row] | None:
        """The factors of a trial as rows; None where the provider failed."""
        notes = self._notes(trial)
        messages: list[ChatMessage] = [
            {"role": "system", "content": QUESTION},
            {"role": "user", "content": json.dumps(notes, ensure_ascii=False)},
        ]
        respondent = make_respondent(self._judge, seed=0)
        try:
            reply = await respondent.answer(messages, temperature=0.0, max_tokens=MAX_TOKENS, schema=SCHEMA)
        except AgentError as error:
            return [self._row(0, "", "", str(error))]
        except ActError:
            return None
        return [self._row(number, *named) for number, named in enumerate(read_verdict(reply.text, notes))]

    def _notes(self, trial: str) -> Notes:
        steps = steps_of(self._records, self._run, trial)
        return [{part: step[part] for part in ("step", "thought", "memory")} for step in steps]

    def _row(self, number: int, factor: str, quotation: str, reason: str) -> Row:
        return {
            "number": number,
            "factor": factor,
            "quotation": quotation,
            "judge": self._judge,
            "reason": reason,
        }


def read_verdict(text: str, notes: Notes) -> list[tuple[str, str, str]]:
    """Read the factors of a judge's answer: factor, quotation, and why it did not decide.

    The reason is empty where the factor decided, and `MENTIONED` where it was only mentioned. An answer that
    cannot be read is one row without a factor. A model may write around the JSON.
    """
    try:
        verdict = _Verdict.model_validate_json(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, ValidationError):
        return [("", text[:2_000], "the answer is not the JSON that was asked for")]
    if not verdict.factors:
        return [("", "", "the answer names no factor")]
    return list(_judged(verdict.factors, notes))


def _judged(named: list[_Named], notes: Notes) -> Iterator[tuple[str, str, str]]:
    written = [_normal(note[part]) for note in notes for part in ("thought", "memory")]
    for each in named:
        quotation = _normal(each.quotation)
        if each.factor not in FACTORS:
            yield "", each.quotation, f"there is no factor {each.factor[:40]!r}"
        elif not quotation:
            yield each.factor, each.quotation, "no quotation"
        elif not any(quotation in text for text in written):
            yield each.factor, each.quotation, "the quotation does not occur in the thoughts and memories"
        else:
            yield each.factor, each.quotation, "" if each.decided else MENTIONED


def _normal(text: str) -> str:
    """White space and case do not count."""
    return " ".join(text.casefold().split())
