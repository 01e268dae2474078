"""The shop's words in the language of its products."""

import re
from collections.abc import Mapping
from typing import Final

from interventions.data_file import read_data

WORDS: Final[Mapping[str, Mapping[str, str]]] = read_data(__file__, "words.yaml")
"""What the shop says in English, and in each other language."""

_PHRASES: Final = (
    re.compile(r"(?:>|%\}|\}\})\s*(?P<text>(?:(?!%\})[^<>])+?)\s*(?=<|\{%)"),
    re.compile(
        r'\b(?:title|placeholder|alt|aria-label|data-th|data-label|data-hasrequired)="(?P<text>[^"]+)"'
    ),
    re.compile(r"""(?<![=\w])(?P<quote>["'])(?P<text>[^"'\n{}<>]+)(?P=quote)"""),
)
"""Where a template or script has text: between tags, in attributes that people read, in quotes of its own."""


def words_of(language: str) -> Mapping[str, str]:
    """Return the words of a language such as `de` or `de-CH`; none where it speaks English."""
    return WORDS.get(language.partition("-")[0], {})


def translated(source: str, words: Mapping[str, str]) -> str:
    """Return a template or script with its texts in other words. What is filled in stays as it is."""

    def replaced(found: re.Match[str]) -> str:
        text, whole = found["text"], found[0]
        at = found.start("text") - found.start()
        return whole[:at] + words[text] + whole[at + len(text) :] if text in words else whole

    for phrase in _PHRASES if words else ():
        source = phrase.sub(replaced, source)
    return source
