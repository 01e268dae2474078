"""Read a stored trial as what happened when, without secrets."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import Row, TrialRecord, TrialRow, screenshot_of
from experiments.records.store import Records
from experiments.traces.secrets import Cleaner, passwords
from experiments.viewer.words import ending
from interventions.errors import UserError


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took its time: `row` is as stored; begin and end are in seconds of Unix time."""

    row: Row
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class TracedStep:
    """A look and the action that followed it. `page`: as stored; `picture`: a screenshot as base64."""

    span: Span
    calls: list[Span]
    page: str | None
    picture: str


@dataclass(frozen=True, slots=True)
class TracedTrial:
    """A trial on the clock. Only the trial's start and the durations are stored; see `read_trial`."""

    trial: TrialRow
    begin: float
    end: float
    ending: str
    record: TrialRecord
    steps: list[TracedStep]
    other_calls: list[Span]
    """The calls that no stored step belongs to."""
    is_page: bool
    """Whether the steps are pages; else they are prompts."""


def read_trial(records: Records, run: str, trial: str) -> TracedTrial:
    """Read a trial, without secrets.

    When a step began is not stored. Steps follow one another and the last one ends with the trial; within a
    step its calls come first, one after the other.

    Raises:
        UserError: the run has no such trial.
    """
    record = whole_trial(records, run, trial)
    if record is None:
        raise UserError(f"--trial {trial}: run {run} has no such trial; souk view {run} lists them")
    pages = [records.kept(step["observation"]) for step in record.steps]
    actions = [(step["action"], page or "") for step, page in zip(record.steps, pages, strict=True)]
    clean = Cleaner(passwords(actions))
    record = _cleaned(record, clean)
    begin = moment(record.trial.started_at)
    calls: Mapping[int, list[Row]] = {step["step"]: [] for step in record.steps}
    others: list[Row] = []
    for call in record.calls:
        calls.get(call["step"], others).append(call)
    lasts = [_seconds(step, calls[step["step"]]) for step in record.steps]
    rest = sum(call["seconds"] for call in others)
    end = begin + max(record.trial.seconds, sum(lasts) + rest)
    now = end - sum(lasts) - rest
    steps = []
    for step, page, seconds in zip(record.steps, pages, lasts, strict=True):
        picture = records.kept(screenshot_of(page or ""))
        span = Span(step, now, now + seconds)
        its = list(_on_the_clock(calls[step["step"]], now))
        steps.append(TracedStep(span, its, None if page is None else clean.page(page), picture or ""))
        now += seconds
    modes = [question["mode"] for question in record.questions]
    return TracedTrial(
        record.trial,
        begin,
        end,
        ending(record.trial, record.options),
        record,
        steps,
        list(_on_the_clock(others, now)),
        is_page=not (record.prompts or {"text", "logprobs"} & {*modes}),
    )


def moment(text: str) -> float:
    """Return a stored time in seconds of Unix time."""
    return datetime.fromisoformat(text).timestamp()


def _seconds(step: Row, calls: list[Row]) -> float:
    return float(max(step["seconds"], sum(call["seconds"] for call in calls)))


def _on_the_clock(calls: list[Row], now: float) -> Iterator[Span]:
    for call in calls:
        yield Span(call, now, now + call["seconds"])
        now += call["seconds"]


def _cleaned(record: TrialRecord, clean: Cleaner) -> TrialRecord:
    tables = ("options", "steps", "receipts", "calls", "on_screen")
    rows: dict[str, Any] = {name: [clean.row(row) for row in getattr(record, name)] for name in tables}
    return replace(record, trial=TrialRow(**clean.row(asdict(record.trial))), **rows)
