"""The content of a choice card, its text form, and how answers are read."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from interventions.cards.declared import Form, declarations, plain, settled
from interventions.cards.explained import read_explained
from interventions.cards.reply import (
    ENDED,
    Ending,
    InvalidAnswer,
    calls_tool,
    declines,
    why_unusable,
    without_reasoning,
    words,
)
from interventions.html.currencies import signs

_LETTER_WORD: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z](?![A-Za-z0-9])")
# As in JSON, with commas between thousands.
_NUMBER: Final = r"((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+)"
_DOLLARS: Final = (r"(?:US ?)?\$ ?|USD ?", r" ?(?:\$|USD|(?:US )?dollars?)")
_PERCENT: Final = ("(?!)", " ?(?:%|percent|per cent)")
_SIGNS: Final = "⟦⟧⟪⟫"
_WORD: Final = "A-Za-z0-9_À-ɏ"
LONGEST: Final = 40_000
"""The longest answer that is read, in characters and without reasoning."""


class _ReadAnswer(NamedTuple):
    """An answer as it was read, and the rule by which."""

    value: str | float
    rule: str


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

    Every letter has a label, for its button; it is empty where the alternatives say what the letter stands
    for. `parse`: `declared` reads what declares an answer, `pricebench` guesses as the PriceBench study did.
    """

    kind: Literal["letter"] = "letter"
    labels: Annotated[dict[str, str], Field(min_length=2)]
    parse: Literal["declared", "pricebench"] = "declared"

    def read(self, text: str, ending: Ending = ENDED, names: Sequence[str] = ()) -> _ReadAnswer:
        """Return the letter that a text answers. Raises InvalidAnswer.

        names: of the alternatives; without them the labels are the names.
        """
        if self.parse == "pricebench":
            return _ReadAnswer(self._guess(text, ending), "pricebench")
        left = _left(text, ending)
        if left in self.labels and left not in (names or self.labels.values()):
            return _ReadAnswer(left, "letter")  # as most answers are; names take time to look for
        form = _letters("".join(self.labels))
        marked = _marked(plain(unicodedata.normalize("NFKC", left)), self.labels, names)
        last = settled(list(declarations(marked, form)))
        if not last or (last.rule == "letter" and declines(left)):
            several = {each.strip(_SIGNS) for each in re.findall(form.slot, marked, re.I)}
            raise InvalidAnswer(why_unusable(text, ending, several))
        rule = "name" if last.value.startswith("⟪") and last.rule not in ("json", "boxed") else last.rule
        return _ReadAnswer(last.value.strip(_SIGNS).upper(), rule)

    def _guess(self, text: str, ending: Ending) -> str:
        """The one letter that is a word, else the only capital that is a letter of the card."""
        stripped = text.strip()
        if stripped.upper() in self.labels:
            return stripped.upper()
        for found in (_LETTER_WORD.findall(stripped), list(stripped)):
            letters = {letter for letter in found if letter in self.labels}
            if len(letters) == 1:
                return letters.pop()
            if letters:
                raise InvalidAnswer("several")
        raise InvalidAnswer(why_unusable(text, ending))


class NumberAnswer(_Model):
    """An answer that is a finite number from `low` to `high`, with `unit` at most once.

    The sign or code of a currency stands before or behind the number, a percent sign behind it. Commas may
    part thousands.
    `strict`: digits and nothing else.
    """

    kind: Literal["number"] = "number"
    low: float = 0.0
    high: float | None = None
    unit: Annotated[str, Field(max_length=8, pattern=r"^[^\d\s]*$")] = ""
    strict: bool = False

    def read(self, text: str, ending: Ending = ENDED, names: Sequence[str] = ()) -> _ReadAnswer:
        """Return the number that a text answers. Raises InvalidAnswer."""
        left = _left(text, ending)
        if self.strict:
            if not (left.isascii() and left.isdigit()):
                raise InvalidAnswer(why_unusable(text, ending))
            return _ReadAnswer(self._within(left), "number")
        found = declarations(plain(left), _numbers(self.unit))
        if not (last := settled([each._replace(value=each.value.replace(",", "")) for each in found])):
            raise InvalidAnswer(why_unusable(text, ending, set(re.findall(r"\d+(?:[.,]\d+)*", left))))
        return _ReadAnswer(self._within(last.value), "number" if last.rule == "letter" else last.rule)

    def _within(self, digits: str) -> float:
        number = float(digits)
        if not math.isfinite(number) or number < self.low or (self.high is not None and number > self.high):
            raise InvalidAnswer("out_of_range")
        return number


def _left(text: str, ending: Ending) -> str:
    """What is to be read of a reply. Raises InvalidAnswer where it did not end as it should."""
    left = "" if ending.how in ("cut_off", "refused") else without_reasoning(text)
    if not left or len(left) > LONGEST or calls_tool(left):
        raise InvalidAnswer(why_unusable(text, ending))
    return left


@cache
def _letters(letters: str) -> Form:
    sure, marked = letters.replace("I", "") or "-", f"[⟦⟪][{letters}][⟧⟫]"
    slot = rf"(?<![{_WORD}'⟦⟪])((?-i:{marked}|[{sure}])|[{letters}](?=[^\w…]*$))(?![{_WORD}'/⟧⟫])"
    either = f"(?-i:{marked})|[{letters}{letters.lower()}]"
    return Form(slot, rf"[\"'$(\[{{<]*({either})[\"'$)\]}}>.]*", scoped=words("for_whom"), leads=True)


@cache
def _numbers(unit: str) -> Form:
    known = {"$": [_DOLLARS], "%": [_PERCENT], "": [_DOLLARS, _PERCENT]}
    units = known.get(unit) or [_money(unit)]
    before, after = ("|".join(each) for each in zip(*units, strict=True))
    number = f"(?:{before})?{_NUMBER}(?:{after})?"
    slot = rf"(?<![\w.,$€£%-]){number}(?![\w%$€£¥'/]|[.,][0-9])"
    return Form(slot, rf"[\"'(\[]*{number}[\"')\].]*", f"|{words('amounts')}")


def _money(unit: str) -> tuple[str, str]:
    """What may stand before, and behind, an amount of the currency with this sign or code."""
    known = signs("en")
    names = {unit} | {name for name, code in known.items() if code and code == known.get(unit)}
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return f"(?:{either}) ?", f" ?(?:{either})"


def _marked(text: str, labels: Mapping[str, str], names: Sequence[str]) -> str:
    """Put signs about the letters that are no articles, and in the place of each full name its letter."""
    letters = "".join(labels)
    called = dict(zip(labels, names or labels.values(), strict=False))
    known = {letter: _folded(name) for letter, name in called.items() if name}
    by_name = {each: letter for letter, each in known.items() if each}
    for letter, part in known.items():  # one that is part of another, or of two options, names none of them
        if any(part in other for each, other in known.items() if each != letter):
            by_name[part] = letter.lower()
    if known:
        longest = "|".join(map(re.escape, sorted({*known.values()} - {""}, key=len, reverse=True)))
        written = re.compile(rf"(?<![A-Za-z0-9])(?:{longest})(?![A-Za-z0-9])", re.I)
        text = written.sub(lambda found: f"⟪{by_name.get(_folded(found[0]), '-')}⟫", text)
    text = re.sub(rf"(?<!\w)[(\[\"'$<{{]+([{letters}])[)\]\"'$>}}]+(?!\w)", _sign, text, flags=re.I)
    text = re.sub(rf"{words('options')} ?[:#]? ?[⟦(]?([{letters}])[⟧)]?(?![\w'])", _sign, text, flags=re.I)
    twice = rf"(?<![\w⟦⟪])[⟦⟪]?([{letters}])[⟧⟫]? ?[:.),(–—=-]* ?[⟦⟪](?i:\1)[⟧⟫]\)?"
    return re.sub(twice, _sign, text)


def _sign(found: re.Match[str]) -> str:
    return f"⟦{found[1].upper()}⟧"


def _folded(name: str) -> str:
    return plain(unicodedata.normalize("NFKC", name)).rstrip(".!").casefold()


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
    rationale: Annotated[bool, Field(exclude=True)] = False
    """Whether the answer is a JSON object, with the reason beside it."""
    form: Annotated[Literal["lines", "json"], Field(exclude=True)] = "lines"
    """How a prompt shows the facts of an alternative: line by line, or as a JSON record."""

    @property
    def prompt(self) -> str:
        """The card as plain text, for a prompt."""
        letters = list(self.answer.labels) if isinstance(self.answer, LetterAnswer) else []
        blocks = [
            "\n".join([f"Option {letter}:", *self._lines(item)])
            for letter, item in zip(letters, self.alternatives, strict=False)
        ]
        return "\n\n".join([*([self.intro] if self.intro else []), *blocks, self.question + self.reply])

    def _lines(self, item: Alternative) -> list[str]:
        if self.form == "json":
            return [json.dumps(dict(item.facts), indent=2, ensure_ascii=False)]
        return [f"  {label}: {value}" for label, value in item.facts]

    def read(self, text: str, ending: Ending = ENDED) -> _ReadAnswer:
        """Read a reply; `ending`: how it ended, by its provider's word. Raises InvalidAnswer."""
        names = [item.facts[0][1] for item in self.alternatives]
        if not self.rationale:
            return self.answer.read(text, ending, names)
        if not (found := read_explained(text)) or ending.how in ("cut_off", "refused"):
            raise InvalidAnswer(why_unusable(text, ending))
        return self.answer.read(found.answer, names=names)._replace(rule="json")

    @property
    def answer_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the answer; None where it is no object."""
        if not self.rationale:
            return None
        if isinstance(self.answer, LetterAnswer):
            answer: dict[str, Any] = {"type": "string", "enum": list(self.answer.labels)}
        else:
            answer = {"type": "integer" if self.answer.strict else "number"}
        return {
            "type": "object",
            "properties": {"answer": answer, "reason": {"type": "string"}},
            "required": ["answer", "reason"],
            "additionalProperties": False,
        }

    @property
    def identity(self) -> str:
        """What is asked, as JSON, of which a trial's id is made. How an answer is read is no part of it."""
        # Defaults are left out, so that a new property of cards leaves the ids of old ones as they are.
        reading = {"answer": {"parse"}}
        asked: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True, exclude=reading)
        if self.alternatives:
            asked["answer"]["lenient"] = True  # as stands in the ids of all trials with alternatives
        if self.form != "lines":
            asked["form"] = self.form
        if self.rationale:
            asked["rationale"] = True
        return to_json(asked).decode()

    @property
    def reminder(self) -> str:
        """The text that follows an invalid answer; it is stricter than the card."""
        if self.rationale:
            return 'Reply with one JSON object, with the keys "answer" and "reason", and nothing else.'
        if isinstance(self.answer, LetterAnswer):
            *others, last = self.answer.labels
            return f"Answer with one letter only, {', '.join(others)} or {last}, and nothing else."
        return "Answer with one number only, and nothing else."

    def chosen(self, letter: str) -> str:
        """Return the key of the alternative that a letter stands for."""
        return self.alternatives[list(self._labels()).index(letter)].key

    def _labels(self) -> dict[str, str]:
        return self.answer.labels if isinstance(self.answer, LetterAnswer) else {}
