"""Read cards as they are written: texts with `${variables}`, which are filled in from a design."""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from interventions.cards.card import Alternative, Answer, Card, LetterAnswer, NumberAnswer
from interventions.cards.filling import BUILT_IN, WORDS, Names, Value, Variables, is_format, spoken
from interventions.yaml.variables import VARIABLE
from interventions.yaml.yaml_source import KeyPath, did_you_mean, problem_at

_KINDS: Final = ("letter", "number")
_LETTER: Final = re.compile("[A-Z]")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Letters(_Model):
    """An answer that is one of the letters."""

    kind: Literal["letter"] = "letter"
    labels: dict[str, str] = {}
    """Letter -> what it stands for, such as `{A: "Yes", B: "No"}`; not with `fields`, where the alternatives
    are lettered A, B, C ..."""
    parse: Literal["declared", "pricebench"] = "declared"
    """`declared`: what declares an answer; `pricebench`: any letter that is a word, as the study guessed."""


class BiasRule(_Model):
    """Which answers show the bias that a card measures."""

    letter: str = ""
    """The letter that counts as the biased answer; none where numbers are asked for."""
    direction: Literal["higher", "either"] = "higher"
    """`higher`: biased answers are more, or higher, in the treatment; `either`: a difference is the bias."""


class _KnownNames(_Model):
    """What a design may give: it says which names are known, and is shown in previews."""

    values: dict[str, Value] = {}
    """Variable -> its value."""
    alternatives: tuple[dict[str, Value], ...] = ()
    """Of each alternative, attribute -> its value."""


class CardTemplate(_Model):
    """A question with variables, before they are filled in."""

    look: Literal["booking", "shop", "survey"] = "survey"
    """What the page looks like."""
    system: str = ""
    """The system message of a prompt; no part of a page."""
    intro: str = ""
    """What is told before the question. A line of dashes is a rule on a page."""
    fields: dict[str, str] = {}
    """Label -> text with attributes of an alternative, such as `Star rating: ${stars} stars`; the first is
    its name."""
    question: Annotated[str, Field(min_length=1)]
    """What is asked."""
    reply: str = ""
    """What follows the question in a prompt only; begin it with a space or a line break."""
    answer: Annotated[Letters | NumberAnswer, Field(discriminator="kind")]
    """`kind: letter` or `kind: number`, and what is valid."""
    max_tokens: Value = "16"
    """The longest answer of a model to the prompt, in tokens."""
    retries: Annotated[int, Field(ge=0)] = 0
    """How often an invalid answer may be mended, after a reminder."""
    biased: BiasRule | None = None
    """In a battery of biases: which answers are biased."""
    example: _KnownNames = _KnownNames()
    """An example of what the design fills in."""

    _names: Names = PrivateAttr(default_factory=Names)

    @field_validator("answer", mode="before")
    @classmethod
    def _is_of_a_kind(cls, answer: object) -> object:
        if isinstance(answer, dict) and answer.get("kind") not in _KINDS:
            if "kind" not in answer:
                raise problem_at(
                    message="it is missing what the answer is; write kind: letter or kind: number"
                )
            kind = str(answer["kind"])
            hint = did_you_mean(kind, _KINDS, noun="use one of")
            raise problem_at("kind", message=f'unknown value "{kind}"; {hint}')
        return answer

    @model_validator(mode="after")
    def _letters_have_one_source(self) -> Self:
        labels = self.answer.labels if isinstance(self.answer, Letters) else {}
        if self.fields and not isinstance(self.answer, Letters):
            message = "alternatives are chosen by letters; write kind: letter, or remove `fields`"
            raise problem_at("answer", "kind", message=message)
        if self.fields and labels:
            message = "the alternatives have letters already; remove `labels`, or remove `fields`"
            raise problem_at("answer", "labels", message=message)
        if isinstance(self.answer, Letters) and not self.fields and len(labels) < 2:
            raise problem_at("answer", message="there is nothing to choose; write labels: {A: ..., B: ...}")
        for letter in labels:
            if not _LETTER.fullmatch(letter):
                message = f'"{letter}" is no letter; write one capital, such as A'
                raise problem_at("answer", "labels", letter, message=message)
        if self.biased and self.biased.letter and self.biased.letter not in labels:
            hint = did_you_mean(self.biased.letter, labels, noun="letters")
            raise problem_at("biased", "letter", message=f'no answer "{self.biased.letter}"; {hint}')
        return self

    def knows(self, names: Names) -> None:
        """Set the names that the texts may use."""
        self._names = names

    @property
    def factors(self) -> tuple[str, ...]:
        """The factors of the card's cases."""
        return tuple(self._names.cases)

    def levels(self, factor: str) -> tuple[str, ...]:
        """Return the levels of a factor of the card's cases, in the order of the file."""
        return tuple(self._names.cases.get(factor, ()))

    def fill(
        self,
        values: Mapping[str, object],
        alternatives: Sequence[Mapping[str, object]] = (),
        *,
        id: str,
    ) -> Card:
        """Fill in every variable; an alternative's key is its `id`, else its letter.

        Values are shown as they are: `${...}` in one is not filled in. Raises UserError, with file, line and
        key, when a variable has no value or a value does not fit.
        """
        if bool(alternatives) != bool(self.fields) or len(alternatives) == 1:
            needed = "two or more alternatives" if self.fields else "no alternatives"
            raise self._names.error(("fields",), f"the card shows {needed}; the design gives other ones")
        filling = Variables(self._names, values)
        labels: Mapping[str, str] = self.answer.labels if isinstance(self.answer, Letters) else {}
        if len(alternatives) > len(ascii_uppercase):
            raise self._names.error(("fields",), "there are more alternatives than letters; show fewer")
        letters = [*labels] or list(ascii_uppercase[: len(alternatives)])
        labels = {
            letter: filling.text(labels.get(letter, ""), ("answer", "labels", letter)) for letter in letters
        }
        filling.built_in = {
            "count": WORDS[len(letters)] if len(letters) < len(WORDS) else str(len(letters)),
            "letters": " or ".join(filter(None, [", ".join(letters[:-1]), *letters[-1:]])),
            "options": "\n".join(f"{letter}: {label}" for letter, label in labels.items()),
        }
        answer: Answer = (
            self.answer
            if isinstance(self.answer, NumberAnswer)
            else LetterAnswer(labels=labels, parse=self.answer.parse)
        )
        return Card(
            id=id,
            look=self.look,
            system=filling.text(self.system, ("system",)).strip(),
            intro=filling.text(self.intro, ("intro",)).strip(),
            alternatives=tuple(
                Alternative(key=str(item.get("id", letter)), facts=tuple(self._facts(filling, item)))
                for letter, item in zip(letters, alternatives, strict=False)
            ),
            question=filling.text(self.question, ("question",)).strip(),
            reply=filling.text(self.reply, ("reply",)).rstrip(),
            answer=answer,
            max_tokens=filling.whole(self.max_tokens, ("max_tokens",)),
            retries=self.retries,
        )

    def example_card(self, id: str, **levels: str) -> Card:
        """Fill in the card's own example, at these levels of its cases, else the first. Raises UserError."""
        first = {factor: next(iter(cases)) for factor, cases in self._names.cases.items()}
        return self.fill(first | dict(self.example.values) | levels, self.example.alternatives, id=id)

    def mistakes(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield each mistake that the texts have already without a design: its place and `cause; fix`."""
        yield from self._incomplete_cases()
        yield from self._unknown_names()
        if self.fields and len(self.example.alternatives) < 2:
            yield ("example",), "two alternatives are needed to show the card; write them as `alternatives`"

    def _facts(self, filling: Variables, item: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """One line each: a line break in a value would make further lines of it."""
        for label, text in self.fields.items():
            shown = filling.text(text, ("fields", label), item)
            yield label, " ".join(shown.split())

    def _texts(self) -> Iterator[tuple[KeyPath, str]]:
        for key in ("system", "intro", "question", "reply", "max_tokens"):
            yield (key,), getattr(self, key)
        for label, text in self.fields.items():
            yield ("fields", label), text
        if isinstance(self.answer, Letters):
            for letter, text in self.answer.labels.items():
                yield ("answer", "labels", letter), text

    def _incomplete_cases(self) -> Iterator[tuple[KeyPath, str]]:
        for factor, levels in self._names.cases.items():
            if self._names.texts(factor):
                message = f'the factor "{factor}" has the name of a variable; give one of them another'
                yield ("cases", factor), message
            names = list(dict.fromkeys(name for case in levels.values() for name in case))
            for level, case in levels.items():
                for name in names:
                    if name not in case:
                        message = f'the case lacks "{name}", which others have; write it'
                        yield ("cases", factor, level), message

    def _unknown_names(self) -> Iterator[tuple[KeyPath, str]]:
        attributes = {name for item in self.example.alternatives for name in item}
        for path, text in self._texts():
            known = {*self._names.all(), *BUILT_IN, *self.example.values, *self._names.cases}
            if path[0] == "fields":
                known |= attributes
            for message in dict.fromkeys(self._check(text, known)):
                yield path, message

    def _check(self, text: str, known: set[str], inside: tuple[str, ...] = ()) -> Iterator[str]:
        for match in VARIABLE.finditer(text):
            name, form = spoken(match[1])
            within = f' (in "{inside[-1]}")' if inside else ""
            if name in inside:
                yield f'the variable "{name}" refers to itself; write its text out'
            elif name not in known:
                hint = did_you_mean(name, known)
                yield f'nothing is known of "${{{name}}}"{within}; {hint} (or give it an example)'
            elif not is_format(form):
                yield f'"{form}" is no format{within}; write ${{{name}:,}} or ${{{name}:Yes|No}}'
            else:
                for inner in self._names.texts(name):
                    yield from self._check(inner, known, (*inside, name))
