"""The records of a trial and of a run as plain values, which need no database."""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, Self

Row = dict[str, Any]

CONTROL: Final = "control"
"""The condition of a trial without treatment."""
BOTH: Final = "both"
"""The condition of a trial with two nudges head to head, named `A:B`."""

Cause = Literal["provider", "browser", "proxy", "shop", "worker"]
"""The part of the infrastructure that failed."""

NEVER_IN_VIEW: Final = "never in view: "
"""How the reason of a person's choice begins before which a planned edit was not in the viewport."""

IN_VIEW: Final = "in_view"
"""The attribute of each product that was shown in a whole list: 1, 0, or None where it is not known."""

_SCREENSHOT: Final = re.compile(r"\n<!-- screenshot ([0-9a-f]+) -->\Z")
"""The end of a stored page that names its screenshot."""

Trace = Literal["full", "light", "none"]
"""How much of the steps of trials is kept: all, no pages, nothing."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a trial: `at` is its date in Unix time, `clock` was this process's monotonic clock.

    A wall clock may jump, so that it measures nothing.
    """

    at: float
    clock: float

    @classmethod
    def now(cls) -> Self:
        """Return the start of what starts now."""
        return cls(time.time(), time.monotonic())

    @property
    def seconds(self) -> float:
        """How long ago it was."""
        return time.monotonic() - self.clock

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the seconds that have passed: other machines have other clocks."""
        return _started_before, (self.at, self.seconds)


def _started_before(at: float, seconds: float) -> Start:
    return Start(at, time.monotonic() - seconds)


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """A row of the table of trials without its seal; each field is the column of its name."""

    run: str
    trial: str
    agent: str
    set: str
    condition: str
    nudge: str
    nudge_text: str
    family: str
    direction: int | None
    match: str
    profile: str
    modality: str | None = None
    """How pages are shown, where the experiment names a modality."""
    ordering: str
    repeat: int
    seed: int
    outcome: str
    choice: str | None
    reason: str
    attempts: int
    started_at: str
    """The start, in ISO 8601, UTC."""
    seconds: float
    steps: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    """The cost in USD; None: not known."""


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """Everything about one finished trial: its row, the rows of the tables of these names, and the pages.

    `artifacts` maps a hash (see `artifact_hash`) to the text it stands for.
    """

    trial: TrialRow
    options: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    receipts: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    disagreements: list[Row] = field(default_factory=list)
    page_errors: list[Row] = field(default_factory=list)
    unchecked: list[Row] = field(default_factory=list)
    on_screen: list[Row] = field(default_factory=list)
    output: list[Row] = field(default_factory=list)
    hits: list[Row] = field(default_factory=list)
    safety_checks: list[Row] = field(default_factory=list)
    attributes: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    factors: list[Row] = field(default_factory=list)
    prompts: list[Row] = field(default_factory=list)
    scores: list[Row] = field(default_factory=list)
    participants: list[Row] = field(default_factory=list)
    sent_pages: list[Row] = field(default_factory=list)
    orders: list[Row] = field(default_factory=list)
    order_lines: list[Row] = field(default_factory=list)
    outcomes: list[Row] = field(default_factory=list)
    dialogs: list[Row] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)
    cause: Cause | None = None
    """The part that failed in an attempt that ended as `infra_error`; it is not stored."""
    seen_seconds: float | None = None
    """How long a guest had an edit in view, the one for which this is shortest; None: none, or not known."""
    fonts: str = ""
    """How our browser drew letters, of which the run's facts are told; empty: none of ours was used."""


class EndedTrial(NamedTuple):
    """What a stopping rule needs of a trial that has ended.

    carrier: the option with a nudge or placebo; first: the option that was seen first; choice: None where
    there is none.
    """

    agent: str
    set: str
    nudge: str
    direction: int | None
    condition: str
    profile: str
    ordering: str
    repeat: int
    outcome: str
    choice: str | None
    carrier: str | None
    first: str | None

    @classmethod
    def of(cls, record: TrialRecord) -> Self:
        """Return what the rule needs of a record."""
        marks = ("nudged", "viewed_first")
        carrier, first = (
            next((row["option"] for row in record.options if row[mark] == 1), None) for mark in marks
        )
        own = {name: getattr(record.trial, name) for name in cls._fields if name not in ("carrier", "first")}
        return cls(**own, carrier=carrier, first=first)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The stored facts of a run as a whole; a field that is None is not stored."""

    experiment: Mapping[str, Any]
    """The experiment file."""
    agents: Sequence[str]
    versions: Mapping[str, str]
    """Package -> version."""
    inputs: Mapping[str, Any]
    """Everything else that defines the trials."""
    sets: int | None = None
    """The number of choice sets."""
    site: str | None = None
    """The name of the site map."""
    subject: str | None = None
    """The name of the subject, if it was none of Souk's agents."""
    observe: str | None = None
    """What counted as shown to guests and programs: `page`, `viewport` or `off`."""
    analysis: str | None = None
    """The word that follows `souk analyze`; None: `choice`."""
    shoppers: Mapping[str, Any] | None = None
    """The profiles of simulated agents that were read from files, by the agents' names."""
    people: Mapping[str, Any] | None = None
    """What a study with people has declared: `exclusions` by rule."""
    fonts: Sequence[str] | None = None
    """The ways in which our browsers drew letters, as they appeared (`environments.browser.fonts`)."""
    wave: str | None = None
    """The date of a repeated study."""
    plan: str | None = None
    """The hash of the registered plan, which the database adds; None: there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain JSON data."""
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in named if value is not None}


def nudge_on(nudge: str, ordering: str, position: int) -> str:
    """Return the id of the nudge on the option in a position of a trial that has `A:B`.

    A is on the first option of the set as listed.
    """
    return nudge.split(":")[(position == 0) != (ordering == "forward")]


def artifact_hash(text: str) -> str:
    """Return the name of an artifact: BLAKE2b-128 of its UTF-8 bytes, in hex."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def kind_of(run: Row) -> str:
    """Return the kind of analysis of a run: the word that follows `souk analyze`."""
    return str(run["facts"].get("analysis", "choice"))


def to_row(value: Any, /, **more: Any) -> Row:
    """Return a dataclass of plain values as a row, with further columns."""
    return {each.name: getattr(value, each.name) for each in fields(value)} | more


def screenshot_of(page: str) -> str:
    """Return the name of the artifact that holds the screenshot of a stored page; empty: it has none."""
    found = _SCREENSHOT.search(page)
    return found[1] if found else ""


def without_screenshot(page: str) -> str:
    """Return a stored page without the name of its screenshot.

    No two screenshots are the same to the byte.
    """
    return _SCREENSHOT.sub("", page)
