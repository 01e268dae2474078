"""A language model that calls tools in its provider's own way, in shops that are met without pages."""

import json
from collections import deque
from dataclasses import replace
from typing import Any, Final

from agents.base import (
    ActError,
    AgentError,
    Call,
    ChatMessage,
    Decision,
    Reply,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from agents.language_model.agent import ANSWER_RETRIES, QUOTED, calls_of
from agents.language_model.prompt import PromptTemplates, data_prompt
from agents.language_model.step_prompt import build_prompt
from agents.providers.model import LanguageModel
from environments.protocol.actions import Action, Signature, parse_action
from environments.protocol.observation import Observation
from interventions.cards.reply import REASONS, why_unusable

CALL: Final = "call_tool"
"""The action by which a tool of the shop is called; models call the tool itself."""
_BRIEF: Final = ("cut_off", "refused", "empty")
"""The reasons that say all."""
SKIPPED: Final = "Not executed: another call of the same answer cannot be used."


class ToolShopper:
    """A model in one episode; all its calls and their results stay in its conversation.

    `prompt` None: the templates for data that come with Souk. Several calls of one answer are taken one after
    the other, each a step of its own.
    """

    def __init__(self, model: LanguageModel, prompt: PromptTemplates | None = None) -> None:
        self._model = model
        self._templates = prompt or data_prompt()
        self._messages: list[ChatMessage] = []
        self._waiting: deque[tuple[ToolCall, Action]] = deque()
        self._taken: ToolCall | None = None
        self._results: list[ToolResult] = []

    async def act(self, observation: Observation) -> Decision:
        """Take the next call of the last answer; ask the model where there is none.

        After an answer that cannot be used, the model is asked again, with the reason.
        """
        if self._taken:
            told, failed = observation.error or observation.data, bool(observation.error)
            self._results.append(ToolResult(self._taken, told, failed))
        if self._waiting:
            return self._take(looked=False)
        if self._messages:
            self._tell(self._results)
        else:
            count = self._model.count_tokens
            prompt = build_prompt(observation, (), self._templates, count_tokens=count, native=True)
            self._say(("system", prompt.system), ("user", prompt.user))
        reply, calls = await self._ask(observation)
        decision = replace(self._take(looked=True), thought=reply.text.strip())
        return replace(decision, usage=Usage.of(calls), calls=tuple(calls))

    async def _ask(self, observation: Observation) -> tuple[Reply, list[Call]]:
        """The first answer that can be used, whose calls wait then, and all requests."""
        tools, calls, reason = tools_of(observation), list[Call](), ""
        for _ in range(1 + ANSWER_RETRIES):
            try:
                reply = await self._model.ask(list(self._messages), tools=tools)
            except ActError as failure:
                failure.calls = (*calls, *failure.calls)
                raise
            asked = [(each, _action(each, observation)) for each in reply.tool_calls]
            is_whole = bool(asked) and reply.ending.how not in ("cut_off", "refused")
            problem = next((each for _, each in asked if isinstance(each, str)), "")
            if is_whole and not problem:
                calls += calls_of(reply)
                self._keep(reply)
                self._waiting.extend((call, each) for call, each in asked if isinstance(each, Action))
                return reply, calls
            why = "unclear" if is_whole else why_unusable(reply.text, reply.ending)
            if why in _BRIEF:
                reason, problem = why, REASONS[why]
            else:
                problem = problem or "it calls no tool"
                reason = f"unclear: {problem}"
            error = f"unusable answer: {reason}"
            calls += [replace(call, error=error, answer=reply.raw) for call in calls_of(reply)]
            if is_whole and all(each.arguments is not None for each in reply.tool_calls):
                self._keep(reply)
                told = [(call, each if isinstance(each, str) else SKIPPED) for call, each in asked]
                self._tell([ToolResult(call, text, failed=True) for call, text in told])
            else:  # no provider takes such calls back
                names = ", ".join(tool.name for tool in tools)
                again = f"This answer cannot be used: {problem}. Answer again: call one of {names}."
                self._say(("assistant", reply.raw[:QUOTED] or "(empty)"), ("user", again))
        raise AgentError(f"invalid answer: {reason} (the last of {len(calls)})", tuple(calls))

    def _take(self, *, looked: bool) -> Decision:
        self._taken, action = self._waiting.popleft()
        return Decision("", "", action, looked=looked)

    def _say(self, *said: tuple[str, str]) -> None:
        self._messages += [ChatMessage(role=role, content=text) for role, text in said]

    def _keep(self, reply: Reply) -> None:
        self._messages.append({"role": "assistant", "content": reply.text, "parts": [*reply.parts]})

    def _tell(self, results: list[ToolResult]) -> None:
        self._messages.append({"role": "tool", "content": "", "results": results})
        self._results = []


def tools_of(observation: Observation) -> list[Tool]:
    """Return the tools for a model: those of the shop as they are, and the actions that any agent has."""
    shop = [Tool(each.name, each.description, json.loads(each.schema)) for each in observation.shop_tools]
    return shop + [Tool(name, each.meaning, _schema(each)) for name, each in _own(observation).items()]


def _own(observation: Observation) -> dict[str, Signature]:
    return {name: each for name, each in observation.actions.items() if name != CALL}


def _schema(signature: Signature) -> dict[str, Any]:
    names = [name for name, _ in signature.parameters]
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names[: len(names) - len(signature.defaults)],
        "additionalProperties": False,
    }


def _action(call: ToolCall, observation: Observation) -> Action | str:
    """The action that a call stands for, or why it is none."""
    own, tools = _own(observation), [each.name for each in observation.shop_tools]
    if call.arguments is None:
        return f"{call.name[:40]}: the arguments have to be a JSON object"
    if call.name not in own and call.name not in tools:
        return f"there is no tool {call.name[:40]!r}; the tools are {', '.join([*tools, *own])}"
    try:
        if call.name in tools:
            written = json.dumps(call.arguments, ensure_ascii=False, allow_nan=False)
            return parse_action(str(Action(CALL, (call.name, written))), observation.actions)
        names = [name for name, _ in own[call.name].parameters]
        if unknown := next((each for each in call.arguments if each not in names), None):
            return f"{call.name}: there is no argument {unknown[:40]!r}; there is {', '.join(names)}"
        given = tuple(call.arguments[name] for name in names if name in call.arguments)
        return parse_action(str(Action(call.name, given)), own)
    except (ValueError, RecursionError) as error:
        return str(error)
