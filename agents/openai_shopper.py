"""A language model as agent (prompt, action, another try when it cannot be used) and as respondent."""

from dataclasses import replace
from typing import Final

from agents.answer import AnswerError, parse_answer
from agents.base import ActError, AgentError, Call, Decision, Message, Reply, Usage
from agents.chat import ChatModel
from agents.prompt import PastStep, build_prompt
from environments.observation import Observation

ANSWER_RETRIES: Final = 3
"""How often the model may answer again within a step."""

_QUOTED: Final = 4_000  # characters of an unusable answer that the model is shown again


class OpenAIShopper:
    """One episode, or one conversation, of a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._history: list[PastStep] = []

    async def act(self, observation: Observation) -> Decision:
        """Ask the model for its next action; after an answer that cannot be used, again, with the reason."""
        if self._history:
            self._history[-1] = replace(self._history[-1], error=observation.error)
        prompt = build_prompt(observation, self._history)
        messages: list[Message] = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
        calls: list[Call] = []
        reason = ""
        for _ in range(1 + ANSWER_RETRIES):
            try:
                reply = await self._model.ask(messages)
            except ActError as error:
                error.calls = (*calls, *error.calls)
                raise
            try:
                answer = parse_answer(reply.text)
            except AnswerError as error:
                reason = f"it was cut off at the length limit: {error}" if reply.cut_off else str(error)
                calls += [replace(call, error=f"unusable answer: {reason}") for call in _calls(reply)]
                messages += [
                    {"role": "assistant", "content": reply.text[:_QUOTED] or "(empty)"},
                    {"role": "user", "content": f"This answer cannot be used: {reason}. Answer again."},
                ]
            else:
                calls += _calls(reply)
                self._history.append(PastStep(*answer))
                return Decision(*answer, usage=Usage.of(calls), calls=tuple(calls))
        raise AgentError(f"no usable answer in {len(calls)} tries; the last: {reason}", tuple(calls))

    async def answer(self, messages: list[Message], *, temperature: float | None, max_tokens: int) -> Reply:
        """Ask the model as it is, without the shopper's prompt."""
        return await self._model.ask(messages, temperature=temperature, max_tokens=max_tokens)


def _calls(reply: Reply) -> list[Call]:
    return [reply.call] if reply.call else []
