"""The content of a choice card, its text form, and how answers are read."""

import math
import re
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

_LETTER_WORD: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
# As in JSON, with commas between thousands.
_DECIMAL: Final = re.compile(
    r"(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+"
)


class InvalidAnswer(ValueError):
    """A text that is no valid answer to the question; the message says why, to be shown and recorded."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Alternative(_Model):
    """One of the alternatives of a card."""

    key: str
    """What it is called in records, such as a hotel's id."""
    facts: tuple[tuple[str, str], ...]
    """Label and value as shown, in order; the first is its name."""


class LetterAnswer(_Model):
    """An answer that is one letter.

    `lenient` also takes the one letter that stands as a word in a sentence, else the only capital that is one
    of the letters. Every letter has a label, for its button; it is empty where the alternatives say what the
    letter stands for.
    """

    kind: Literal["letter"] = "letter"
    labels: Annotated[dict[str, str], Field(min_length=2)]
    lenient: bool = False

    def read(self, text: str) -> str:
        """Return the letter that a text answers. Raises InvalidAnswer."""
        stripped = text.strip()
        if stripped.upper() in self.labels:
            return stripped.upper()
        if self.lenient:
            words = _LETTER_WORD.findall(stripped)
            for found in (words, list(stripped)):
                letters = {letter for letter in found if letter in self.labels}
                if len(letters) == 1:
                    return letters.pop()
                if letters:
                    raise InvalidAnswer(f"several letters: {', '.join(sorted(letters))}")
        raise InvalidAnswer(f"not one of the letters {', '.join(self.labels)}")


class NumberAnswer(_Model):
    """An answer that is a finite number from `low` to `high`, with `unit` at most once.

    A dollar sign stands before the number and a percent sign behind it. Commas may part thousands.
    `strict`: digits and nothing else.
    """

    kind: Literal["number"] = "number"
    low: float = 0.0
    high: float | None = None
    unit: Literal["", "$", "%"] = ""
    strict: bool = False

    def read(self, text: str) -> float:
        """Return the number that a text answers. Raises InvalidAnswer."""
        stripped = text.strip()
        if self.strict:
            if not (stripped.isascii() and stripped.isdigit()):
                raise InvalidAnswer("not digits only")
        else:
            stripped = stripped.strip('"').strip()
            bare = stripped[1:] if stripped.startswith("$") else stripped.removesuffix("%")
            if not _DECIMAL.fullmatch(bare.strip()):
                raise InvalidAnswer("not one finite number of at least 0")
            stripped = bare.strip().replace(",", "")
        number = float(stripped)
        if not math.isfinite(number):
            raise InvalidAnswer("not finite")
        if number < self.low or (self.high is not None and number > self.high):
            limits = f"{self.low:g} or more" if self.high is None else f"from {self.low:g} to {self.high:g}"
            raise InvalidAnswer(f"{number:g} is not {limits}")
        return number


Answer = Annotated[LetterAnswer | NumberAnswer, Field(discriminator="kind")]


class Card(_Model):
    """One question, with every variable filled in.

    `system` is for the system message of a prompt, where the card begins a conversation. `reply` follows the
    question in a prompt only, with the white space that it begins with; a page has buttons instead.
    """

    id: str
    """The intervention that it comes from."""
    look: Literal["booking", "shop", "survey"] = "survey"
    system: str = ""
    intro: str = ""
    alternatives: tuple[Alternative, ...] = ()
    question: str
    reply: str = ""
    answer: Answer
    max_tokens: int = 16
    """The longest answer of a model to the prompt."""
    retries: int = 0
    """How often an invalid answer may be mended, after a reminder."""

    @property
    def prompt(self) -> str:
        """The card as plain text, for a prompt."""
        letters = list(self.answer.labels) if isinstance(self.answer, LetterAnswer) else []
        blocks = [
            "\n".join([f"Option {letter}:", *(f"  {label}: {value}" for label, value in item.facts)])
            for letter, item in zip(letters, self.alternatives, strict=False)
        ]
        return "\n\n".join([*([self.intro] if self.intro else []), *blocks, self.question + self.reply])

    @property
    def reminder(self) -> str:
        """The text that follows an invalid answer; it is stricter than the card."""
        if isinstance(self.answer, LetterAnswer):
            *others, last = self.answer.labels
            return f"Answer with one letter only, {', '.join(others)} or {last}, and nothing else."
        return "Answer with one number only, and nothing else."

    def chosen(self, letter: str) -> str:
        """Return the key of the alternative that a letter stands for."""
        return self.alternatives[list(self._labels()).index(letter)].key

    def _labels(self) -> dict[str, str]:
        return self.answer.labels if isinstance(self.answer, LetterAnswer) else {}
