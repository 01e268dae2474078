"""A language model as agent (it is asked again when its action cannot be used) and as respondent."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agents.base import ActError, AgentError, Call, ChatMessage, Decision, Reply, Usage
from agents.language_model.answer import SCHEMA, AnswerError, parse_answer
from agents.language_model.prompt import PastStep, PromptTemplates, default_prompt
from agents.language_model.step_prompt import build_prompt
from agents.providers.model import LanguageModel
from environments.protocol.observation import Observation
from interventions.cards.reply import REASONS, why_unusable

ANSWER_RETRIES: Final = 3
"""How often the model may answer again within a step."""

QUOTED: Final = 4_000  # characters of an unusable answer that the model is shown again


class LanguageModelShopper:
    """A model in one episode or one conversation; `prompt` None: the templates that come with Souk."""

    def __init__(self, model: LanguageModel, prompt: PromptTemplates | None = None) -> None:
        self._model = model
        self._templates = prompt or default_prompt()
        self._schema = SCHEMA if self._templates.structured else None
        self._history: list[PastStep] = []

    async def act(self, observation: Observation) -> Decision:
        """Ask the model for its next action.

        After an answer that cannot be used, the model is asked again, with the reason.
        """
        if self._history:
            self._history[-1] = replace(self._history[-1], error=observation.error)
        messages = self._messages(observation)
        calls: list[Call] = []
        reason = ""
        for _ in range(1 + ANSWER_RETRIES):
            try:
                reply = await self._model.ask(messages, schema=self._schema)
            except ActError as failure:
                failure.calls = (*calls, *failure.calls)
                raise
            try:
                answer = parse_answer(reply.text, observation.actions)
                if reply.ending.how in ("cut_off", "refused"):
                    raise AnswerError("it is whole, but its provider says otherwise")
            except AnswerError as problem:
                why = why_unusable(reply.text, reply.ending)
                reason = f"{why}: {problem}" if why == "unclear" else why
                told = f"{REASONS[why]}: {problem}" if why in ("unclear", "cut_off") else REASONS[why]
                error = f"unusable answer: {reason}"
                calls += [replace(call, error=error, answer=reply.raw) for call in calls_of(reply)]
                messages += [
                    {"role": "assistant", "content": reply.text[:QUOTED] or "(empty)"},
                    {"role": "user", "content": f"This answer cannot be used: {told}. Answer again."},
                ]
            else:
                calls += calls_of(reply)
                thought, memory, action = answer
                self._history.append(PastStep(len(self._history) + 1, thought, memory, str(action)))
                return Decision(*answer, usage=Usage.of(calls), calls=tuple(calls))
        raise AgentError(f"invalid answer: {reason} (the last of {len(calls)})", tuple(calls))

    async def answer(
        self,
        messages: list[ChatMessage],
        *,
        temperature: float | None,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Ask the model the given messages alone, without the shopper's prompt."""
        return await self._model.ask(messages, temperature=temperature, max_tokens=max_tokens, schema=schema)

    def _messages(self, observation: Observation) -> list[ChatMessage]:
        prompt = build_prompt(
            observation, self._history, self._templates, count_tokens=self._model.count_tokens
        )
        shown: ChatMessage = {"role": "user", "content": prompt.user}
        if observation.screenshot:
            shown["images"] = [base64.b64encode(observation.screenshot).decode()]
        return [{"role": "system", "content": prompt.system}, shown]


def calls_of(reply: Reply) -> list[Call]:
    """Return the request that an answer came by, if a provider was asked."""
    return [reply.call] if reply.call else []
