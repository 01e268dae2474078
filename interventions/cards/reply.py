"""What is left of a model's reply once its reasoning is off, and why a reply is no answer."""

import re
from collections.abc import Collection
from functools import cache
from typing import Final, Literal, NamedTuple

from interventions.data_file import read_data


class Ending(NamedTuple):
    """How a reply ended, by its provider's word (empty: as it should), and what came besides its text."""

    how: Literal["", "cut_off", "refused", "tool_call"] = ""
    said: str = ""


ENDED: Final = Ending()

REASONS: Final = {
    "cut_off": "it ends before its end",
    "refused": "it declines to answer",
    "tool_call": "it calls a tool",
    "empty": "it is empty",
    "several": "it gives several answers",
    "out_of_range": "the number is outside the limits",
    "unclear": "it is not one declared answer",
}
"""The reasons why a reply is no valid answer, each with its words."""

_NAME: Final = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|inner_monologue|\w+_think)"
)
_MARK: Final = re.compile(
    rf"(?P<open><\|?(?:\w+:)?(?:begin_of_|start_)?{_NAME}\s*\|?>|\[{_NAME}\]|◁{_NAME}▷|<unused94>"
    r"|<\|channel\|?>\s*(?:analysis|thought|commentary)\b)"
    rf"|(?P<close><\|?/?(?:\w+:)?(?:end_of_|end_|/){_NAME}\s*\|?>|\[/{_NAME}\]|◁/{_NAME}▷|<unused95>"
    rf"|</(?:\w+:)?{_NAME}\s*>|<\|channel\|?>\s*final\s*<\|message\|>)",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"<\|?/?(?:tool_calls?|function_calls?|tool_use|invoke|python_tag)\b|\[TOOL_CALLS\]|<function="
    r"|<\|tool▁calls?▁begin\|>|[\"'](?:arguments|parameters|tool_input)[\"']\s*:\s*[{\"]",
    re.IGNORECASE,
)


class InvalidAnswer(ValueError):
    """A reply that is no valid answer; `reason` is one of `REASONS`, whose words are the message."""

    def __init__(self, reason: str) -> None:
        super().__init__(REASONS[reason])
        self.reason = reason


def is_mark(token: str) -> bool:
    """Return whether a token begins or ends reasoning."""
    return _MARK.fullmatch(token) is not None or token in ("<|channel|>", "<|message|>")


def without_reasoning(text: str, but: Collection[str] = ()) -> str:
    """Return a reply without the reasoning in it, whose opening tag may have been part of the prompt.

    but: tags that are no marks of reasoning. Raises InvalidAnswer: `cut_off`, where the reasoning never ends.
    """
    kept, since, inside = "", 0, False
    for mark in _MARK.finditer(text):
        if mark[0] in but:
            continue
        if mark["close"]:
            kept, since = (kept if inside else ""), mark.end()
            inside = False
        elif not inside:
            kept, inside = kept + text[since : mark.start()], True
    if inside:
        raise InvalidAnswer("cut_off")
    return (kept + text[since:]).strip()


def why_unusable(text: str, ending: Ending = ENDED, several: Collection[str] = ()) -> str:
    """Return the reason why a reply that could not be read is no answer; `several`: the answers in it."""
    if ending.how in ("cut_off", "refused"):
        return ending.how
    try:
        left = without_reasoning(text)
    except InvalidAnswer as invalid:
        return invalid.reason
    if ending.how == "tool_call" or _CALLS.search(left):
        return "tool_call"
    if not left or declines(left):
        return "refused" if left else "empty"
    return "several" if len(several) > 1 else "unclear"


def calls_tool(text: str) -> bool:
    """Return whether a text holds the call of a tool."""
    return _CALLS.search(text) is not None


def declines(text: str) -> bool:
    """Return whether a text says that its author does not answer, in one of many languages."""
    return re.search(words("refusals"), " ".join(text.replace("’", "'").split()), re.I) is not None


@cache
def words(name: str) -> str:
    """Return the pattern of the words of this name in `words.yaml`, by which answers are known."""
    return f"(?:{'|'.join(read_data(__file__, 'words.yaml')[name])})"
