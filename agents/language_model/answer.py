"""Parse a language model's answer: `<think>`, `<memory>` and `<action>`, or a JSON object with the same."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from environments.protocol.actions import ACTIONS, Action, ActionError, Signature, parse_action
from interventions.cards.reply import InvalidAnswer, without_reasoning

MAX_LENGTH: Final = 40_000
"""The longest answer accepted, in characters."""

TAGS: Final = ("think", "memory", "action")
KEYS: Final = ("thought", "memory", "action")

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in KEYS},
    "required": list(KEYS),
    "additionalProperties": False,
}
"""The JSON Schema of an answer as an object."""

_TAG: Final = re.compile(r"</?(?:think|memory|action)>")
_EXPECTED: Final = [f"<{slash}{tag}>" for tag in TAGS for slash in ("", "/")]
# Models that reason aloud do so before their answer, between tags of the same name as ours.
_REASONING_END: Final = re.compile(r"</think>\s*(?=<think>)")
_FENCED: Final = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


class AnswerError(ValueError):
    """The answer cannot be used; the message says why, in words that can be given back to the model."""


class Answer(NamedTuple):
    """The parts of a model's answer."""

    thought: str
    memory: str
    action: Action


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    thought: str
    memory: str
    action: str


def parse_answer(text: str, actions: Mapping[str, Signature] = ACTIONS) -> Answer:
    """Parse an answer. Reasoning before it, and text around its tags, are ignored.

    Raises:
        AnswerError: when a part is missing, repeated, nested or out of order, or the action is none.
    """
    try:
        text = _without_reasoning(without_reasoning(text, but=_EXPECTED))
    except InvalidAnswer:
        raise AnswerError("its reasoning never ends") from None
    if len(text) > MAX_LENGTH:
        raise AnswerError(f"the answer has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    found = _object(text)
    thought, memory, action = _read_object(found) if found else _read_tags(text)
    try:
        return Answer(thought.strip(), memory.strip(), parse_action(action, actions))
    except ActionError as error:
        raise AnswerError(f"action: {error}") from None


def _without_reasoning(text: str) -> str:
    if _object(text):
        return text
    text = _REASONING_END.split(text)[-1]
    rest = text.rpartition("</think>")[2]
    return rest if _object(rest) else text


def _object(text: str) -> str:
    """The JSON object that the answer is; empty where it is none."""
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[1] if fenced else text if text.startswith("{") else ""


def _read_object(text: str) -> tuple[str, str, str]:
    try:
        found = _Object.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"{key}: " for key in first["loc"])
        raise AnswerError(f"the JSON object: {where}{first['msg']}") from None
    return found.thought, found.memory, found.action


def _read_tags(text: str) -> tuple[str, str, str]:
    found = list(_TAG.finditer(text))
    tags = [tag.group() for tag in found]
    if tags == _EXPECTED[1:]:  # some chat templates open the reasoning themselves
        return _read_tags(f"<think>{text}")
    if tags != _EXPECTED:
        missing = [tag for tag in _EXPECTED if tag not in tags]
        raise AnswerError(
            f"missing {', '.join(missing)}"
            if missing
            else f"the tags must be {' '.join(_EXPECTED)}, each exactly once and in this order"
        )
    thought, memory, action = (
        text[opening.end() : closing.start()]
        for opening, closing in zip(found[::2], found[1::2], strict=True)
    )
    return thought, memory, action
