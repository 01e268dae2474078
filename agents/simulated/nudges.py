"""Find in a text the nudges that an experiment declares."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from unicodedata import category


@dataclass(frozen=True, slots=True)
class Nudge:
    """A text that an experiment may put on a page, and what it is meant to do there.

    `direction` is +1 where it speaks for the product, -1 where against it; `family` may be empty.
    """

    text: str
    direction: Literal[1, -1]
    family: str = ""


class DeclaredNudges:
    """The nudges that a simulated shopper knows; whether one is on a page it has to see there.

    A text is found as whole words, in any case and with any spaces; of texts that contain each other, the
    longest. Where one text is declared twice in different directions, it says nothing.
    """

    def __init__(self, nudges: Iterable[Nudge]) -> None:
        self._known: dict[str, list[Nudge]] = {}
        for nudge in nudges:
            if text := as_searched(nudge.text):
                self._known.setdefault(text, []).append(nudge)
        texts = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole_words, texts))) if texts else None

    def find(self, text: str) -> list[Nudge]:
        """Return the nudges in a lower-case text with single spaces, in the order of the text."""
        if self._pattern is None:
            return []
        return [nudge for match in self._pattern.finditer(text) for nudge in self._known[match[0]]]

    def cue(self, text: str) -> int:
        """Return how many different nudges in such a text speak for the product, less those against it."""
        found = {(as_searched(nudge.text), nudge.direction) for nudge in self.find(text)}
        return sum(direction for _, direction in found)


def as_searched(text: str) -> str:
    """Return a text in lower case, with single spaces."""
    return " ".join(text.lower().split())


def _whole_words(text: str) -> str:
    before, after = r"(?<!\w)" if _parts_words(text[0]) else "", r"(?!\w)" if _parts_words(text[-1]) else ""
    return f"{before}{re.escape(text)}{after}"


def _parts_words(character: str) -> bool:
    """Whether words with this character have spaces around them; those of Japanese or Thai have none."""
    return category(character) != "Lo"
