"""Read the file of a study with people: whose trials, which pages, and the rules declared before."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from experiments.designs.inputs.experiment_file import Name, StrictModel
from experiments.designs.inputs.identity import digest
from interventions.yaml.yaml_source import KeyPath, Source, load_yaml, problem_at, validate

Ending = Literal["complete", "declined", "screened", "failed_check", "technical", "full"]
"""How a person's visit ends; each has its code."""
ENDINGS: Final[tuple[Ending, ...]] = get_args(Ending)
Page = Literal["welcome", "consent", "instructions", "task", "debriefing"]
"""A page whose text the study's file gives."""
_LANGUAGE: Final = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?"

Language = Annotated[str, StringConstraints(pattern=rf"^{_LANGUAGE}$")]
Written = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


def _by_language(value: Any) -> Any:
    return {"": value} if isinstance(value, str) else value


Text = Annotated[Mapping[Annotated[str, StringConstraints(pattern=rf"^({_LANGUAGE})?$")], Written],
                 BeforeValidator(_by_language), Field(min_length=1)]  # fmt: skip
"""A text by language; one text alone is that of every language (its key is empty)."""


class ControlQuestion(StrictModel):
    """A question with one right answer: a comprehension check, or an attention item."""

    text: Text
    options: Annotated[tuple[Text, ...], Field(min_length=2, max_length=10)]
    answer: int = Field(ge=1)
    """The number of the right option, from 1."""
    why: Text | None = None
    """What is said where another option was chosen."""

    @model_validator(mode="after")
    def _has_answer(self) -> Self:
        if self.answer > len(self.options):
            raise problem_at("answer", message=f"there are {len(self.options)} options; name one of these")
        return self


class ExitQuestion(StrictModel):
    """A question after the trials."""

    id: Name
    text: Text
    options: tuple[Text, ...] = ()
    """The answers to choose from; none: the answer is a text."""
    optional: bool = True

    @model_validator(mode="after")
    def _has_options(self) -> Self:
        if len(self.options) == 1:
            raise problem_at("options", message="one option is no choice; write two, or none for a text")
        return self


class _Block(StrictModel):
    """The trials of one person."""

    trials: int = Field(default=12, ge=1, le=200)
    attention: Mapping[Annotated[int, Field(ge=1)], ControlQuestion] = Field(default_factory=dict)
    """Attention items by the trial after which each is shown, from 1."""

    @model_validator(mode="after")
    def _is_inside(self) -> Self:
        if late := [place for place in self.attention if place >= self.trials]:
            message = f"a block has {self.trials} trials; name one before the last"
            raise problem_at("attention", str(late[0]), message=message)
        return self


class _Participants(StrictModel):
    """How many people a study wants."""

    target: int = Field(ge=1, le=100_000)
    spare: float = Field(default=0.2, ge=0, le=3)
    """Further blocks for people who drop out, as a share of `target`."""

    @property
    def blocks(self) -> int:
        """The number of blocks that are made."""
        return self.target + round(self.target * self.spare)


class _Secret(StrictModel):
    """A code that stands in the environment, or in a file of its own: not in the study's file."""

    env: str | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise ValueError("name one place of the code; write {env: NAME} or {file: PATH}")
        return self


class _Parameters(StrictModel):
    """The names under which a platform's link brings its ids."""

    person: str = "PROLIFIC_PID"
    study: str = "STUDY_ID"
    session: str = "SESSION_ID"


def _returns(text: str) -> str:
    if not text.startswith(("https://", "http://127.0.0.1")) or text.count("{code}") != 1:
        raise ValueError(f'"{text}" leads nowhere; write an https:// address with {{code}} in it')
    return text


class _Recruiting(StrictModel):
    """Where people come from, and where they go back to."""

    kind: Literal["open", "labels", "prolific"] = "open"
    parameters: _Parameters = _Parameters()
    back: Annotated[str, AfterValidator(_returns)] | None = Field(default=None, alias="return")
    codes: Mapping[Ending, _Secret] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_codes(self) -> Self:
        if self.back and (missing := [each for each in ENDINGS if each not in self.codes]):
            raise problem_at("codes", message=f"{missing[0]} has no code; write {missing[0]}: {{env: NAME}}")
        if self.kind == "prolific" and not self.back:
            raise problem_at("return", message="the platform's address is missing; write its return address")
        return self


class _Device(StrictModel):
    """What a device needs to take part, in pixels of a window."""

    min_width: int = Field(default=1024, ge=200, le=4000)
    min_height: int = Field(default=640, ge=200, le=4000)
    touch: bool = False
    """Whether a device without a mouse may take part."""


class _Time(StrictModel):
    """How long things may take, in minutes."""

    lease_minutes: float = Field(default=30, gt=0)
    """How long a block is kept for a person of whom nothing is heard."""


class _Check(StrictModel):
    """Questions on whether the instructions were understood."""

    attempts: int = Field(default=2, ge=1, le=5)
    questions: Annotated[tuple[ControlQuestion, ...], Field(min_length=1)]


class _Privacy(StrictModel):
    """What is promised of the data."""

    contact: str
    """Whom people can write to."""
    keep_until: date
    ethics: str = ""
    """The approval of the ethics board."""


class _AtLeast(StrictModel):
    at_least: int = Field(ge=1)


class _Below(StrictModel):
    below: float = Field(gt=0)


class _Exclusions(StrictModel):
    """Whose trials the analysis leaves out; pay never follows from this."""

    attention_failed: _AtLeast | None = None
    seconds_per_trial: _Below | None = None
    """Of the person's median trial."""
    seen_seconds: _Below | None = None
    """Of the person's median trial: how long the edit was in view that was so for the shortest time."""
    seen_share: _Below | None = None
    """The share of trials in which all that was planned was in view."""


class _Team(StrictModel):
    """An agent that proposes a choice before the person decides."""

    run: str
    """The id or name of the stored run whose choices are proposed."""
    agent: str
    share: float = Field(default=1.0, gt=0, le=1)
    """The share of blocks with proposals; the others have none."""


class StudyFile(StrictModel):
    """A study with people, as its file says it."""

    name: Name
    experiment: str
    seed: int = Field(default=0, ge=0, lt=2**31)
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = ("en",)
    block: _Block = _Block()
    participants: _Participants
    source: _Recruiting = _Recruiting()
    device: _Device = _Device()
    time: _Time = _Time()
    pages: Mapping[Page, Text]
    show: Literal["live", "screenshots"] = "live"
    """Whether people shop in the shop itself, or choose by pictures of the products' pages."""
    practice: bool = False
    """Whether the instructions end with a trial to practise on, which is not stored."""
    check: _Check | None = None
    reasons: bool = False
    """Whether a person is asked, after each choice, why."""
    questions: tuple[ExitQuestion, ...] = ()
    team: _Team | None = None
    privacy: _Privacy
    exclusions: _Exclusions = _Exclusions()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for name in ("consent", "instructions", "debriefing"):
            if name not in self.pages:
                raise problem_at("pages", message=f"{name} is missing; write its text, or a file: {name}.md")
        if self.show == "screenshots" and "task" not in self.pages:
            message = "task is missing: agents are told to use the cart; write what to do with pictures"
            raise problem_at("pages", message=message)
        names = [each.id for each in self.questions]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise problem_at("questions", message=f"two questions are called {twice}; rename one")
        if own := next((name for name in names if name in ("stage", "button")), None):
            raise problem_at("questions", message=f"{own} is a name of the page itself; rename the question")
        return self


@dataclass(frozen=True)
class PeopleStudy:
    """A study whose file was checked: its texts are there in every language, and its codes differ."""

    file: StudyFile
    source: Source

    @classmethod
    def load(cls, path: str | Path) -> "PeopleStudy":
        """Read a study's file. Raises UserError with file, line and key."""
        source = load_yaml(path)
        study = cls(validate(source, StudyFile), source)
        _ = study.texts
        for key, each in _texts(study.file.model_dump(by_alias=True), ()):
            lacking = [name for name in study.file.languages if "" not in each and name not in each]
            if lacking:
                raise source.error(key, f"there is no text in {lacking[0]}; add {lacking[0]}: ...")
        return study

    @property
    def name(self) -> str:
        """The study's name."""
        return self.file.name

    @property
    def agent(self) -> str:
        """The name of its people in the records."""
        return f"human:{self.file.name}"

    @property
    def experiment(self) -> str:
        """The experiment whose trials people have: a shipped one, or a file."""
        return self.source.shipped_or_file(("experiment",), self.file.experiment)

    @cached_property
    def texts(self) -> dict[str, dict[str, str]]:
        """By page and language, its text; what ends in .md was read from that file. Raises UserError."""
        found: dict[str, dict[str, str]] = {}
        for name, texts in self.file.pages.items():
            for language, text in texts.items():
                key = ("pages", name, language) if language else ("pages", name)
                is_file = text.endswith(".md") and "\n" not in text
                found.setdefault(name, {})[language] = self._read(key, text) if is_file else text
        return found

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared for the analysis before the first person came."""
        rules = self.file.exclusions.model_dump(exclude_none=True)
        return self._shown | {"exclusions": {name: next(iter(rule.values())) for name, rule in rules.items()}}

    @property
    def _shown(self) -> dict[str, Any]:
        """How trials are shown, where that is not live."""
        return self.file.model_dump(include={"show"}, exclude_defaults=True)

    def codes(self) -> dict[Ending, str]:
        """Read the codes that people are given, by how their visit ends. Raises UserError."""
        found: dict[Ending, str] = {}
        for ending, place in self.file.source.codes.items():
            key = ("source", "codes", ending)
            if place.env is not None:
                code = os.environ.get(place.env, "").strip()
                if not code:
                    raise self.source.error(key, f"{place.env} is not set; set it to the platform's code")
            else:
                code = self._read(key, place.file or "").strip()
            if not code.isalnum() or not code.isascii():
                raise self.source.error(key, "the code is not of letters and digits; copy it once more")
            if other := next((name for name, known in found.items() if known == code), None):
                raise self.source.error(key, f"the code of {other} is the same; codes have to differ")
            found[ending] = code
        return found

    def _read(self, key: KeyPath, written: str) -> str:
        path = self.source.file_at(key, written)
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise self.source.error(key, f"{path}: cannot be read; save it as UTF-8") from None

    @property
    def digest(self) -> str:
        """A name of all that was declared, pages and rules; the trials have theirs, and codes are no part."""
        declared = self.file.model_dump(mode="json", exclude={"source", "time", "participants", "show"})
        if declared["exclusions"]["seen_seconds"] is None:  # as before there was this rule
            del declared["exclusions"]["seen_seconds"]
        return digest({"study": declared | self._shown, "texts": self.texts})


def in_language(text: Mapping[str, str], language: str) -> str:
    """Return a text in a language."""
    return text.get(language) or text[""]


def _texts(value: Any, key: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Mapping[str, str]]]:
    """Yield every text of a study with its key."""
    if isinstance(value, Mapping):
        own = value.keys() and all(isinstance(each, str) for each in value.values())
        is_text = own and key and key[-1] in ("text", "why", *get_args(Page))
        if is_text or (own and len(key) > 1 and key[-2] == "options"):
            return [(key, value)]
        return [each for name, part in value.items() for each in _texts(part, (*key, name))]
    if isinstance(value, list | tuple):
        return [each for number, part in enumerate(value) for each in _texts(part, (*key, number))]
    return []
