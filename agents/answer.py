"""Parses a language model's answer: `<think>`, `<memory>` and `<action>`, each once, in this order."""

import re
from typing import Final, NamedTuple

from environments.actions import Action, ActionError, parse_action

MAX_LENGTH: Final = 40_000
"""Longest answer accepted, in characters."""

_TAG = re.compile(r"</?(?:think|memory|action)>")
_EXPECTED = ["<think>", "</think>", "<memory>", "</memory>", "<action>", "</action>"]


class AnswerError(ValueError):
    """The answer cannot be used; the message says why, in words that can be given back to the model."""


class Answer(NamedTuple):
    """A parsed answer."""

    thought: str
    memory: str
    action: Action


def parse_answer(text: str) -> Answer:
    """Parse an answer; text outside the tags is ignored.

    Raises:
        AnswerError: when a tag is missing, repeated, nested or out of order, or the action is none.
    """
    if len(text) > MAX_LENGTH:
        raise AnswerError(f"the answer has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    found = list(_TAG.finditer(text))
    tags = [tag.group() for tag in found]
    if tags != _EXPECTED:
        missing = [tag for tag in _EXPECTED if tag not in tags]
        raise AnswerError(
            f"missing {', '.join(missing)}"
            if missing
            else f"the tags must be {' '.join(_EXPECTED)}, each exactly once and in this order"
        )
    thought, memory, action = (
        text[opening.end() : closing.start()].strip()
        for opening, closing in zip(found[::2], found[1::2], strict=True)
    )
    try:
        return Answer(thought, memory, parse_action(action))
    except ActionError as error:
        raise AnswerError(f"<action>: {error}") from None
