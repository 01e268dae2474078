"""Write trials as spans of OpenTelemetry, in OTLP's JSON, by its conventions for generative AI.

A line holds a trial, as the collector's file exporter writes. Each trial is a trace of its own; its first
span links to that of the run.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from typing import Any, Final

from analysis.tables.outcomes import outcome_facts
from experiments.records.record import Row
from experiments.traces.traced_trial import Span as Timed
from experiments.traces.traced_trial import TracedStep, TracedTrial, moment

_INTERNAL: Final = 1
_CLIENT: Final = 3
_ERROR: Final = 2
"""As OTLP numbers kinds and states of spans."""

_OF_TRIAL: Final = (
    "set", "condition", "nudge", "family", "direction", "match", "profile", "modality", "ordering",
    "repeat", "seed", "outcome", "choice", "reason", "attempts", "cost",
)  # fmt: skip
_OF_STEP: Final = ("step", "thought", "memory", "action", "error")
_OF_CALL: Final = ("request_digest", "retries", "cost")

Span = dict[str, Any]


def otlp_lines(run: Row, trials: Iterable[TracedTrial]) -> Iterator[str]:
    """Yield a line for each trial, and then one for the run, which lasts as long as they do."""
    begin = end = moment(run["started_at"])
    for trial in trials:
        begin, end = min(begin, trial.begin), max(end, trial.end)
        yield _line(run["run"], list(_spans(trial)))
    own = {"souk.run": run["run"], "souk.name": run["name"]}
    yield _line(run["run"], [_span(_of_run(run["run"]), "", "run", begin, end, own)])


def trial_line(trial: TracedTrial) -> str:
    """Return the line of a trial."""
    return _line(trial.trial.run, list(_spans(trial)))


def _line(run: str, spans: list[Span]) -> str:
    resource = {"service.name": "souk", "service.version": metadata.version("souk"), "souk.run": run}
    scope = {"name": "souk", "version": metadata.version("souk")}
    told = {
        "resource": {"attributes": _attributes(resource)},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }
    return json.dumps({"resourceSpans": [told]}, ensure_ascii=False, separators=(",", ":"))


def _spans(traced: TracedTrial) -> Iterator[Span]:
    row = traced.trial
    ids = (row.run, row.trial)
    own = {f"souk.{name}": getattr(row, name) for name in _OF_TRIAL}
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": row.agent,
        "gen_ai.conversation.id": row.trial,
        "gen_ai.usage.input_tokens": row.tokens_in,
        "gen_ai.usage.output_tokens": row.tokens_out,
        "error.type": row.outcome if _is_error(row.outcome) else None,
        "souk.trial": row.trial,
        "souk.ending": traced.ending,
        "souk.receipts": sum(bool(each["intervention"]) for each in traced.record.receipts),
        **own,
    }
    trace, root = _ids(*ids)
    failed = row.reason if _is_error(row.outcome) else ""
    span = _span((trace, root), "", f"invoke_agent {row.agent}", traced.begin, traced.end, about, failed)
    run_trace, run_span = _of_run(row.run)
    yield span | {"links": [{"traceId": run_trace, "spanId": run_span}]}
    provider = _provider(row.agent)
    for step in traced.steps:
        yield from _of_step(ids, root, step, provider)
    for call in traced.other_calls:
        yield _of_call(ids, root, call, provider)


def _provider(agent: str) -> str:
    """The provider that the name of an agent begins with."""
    return agent.partition(":")[0].removesuffix("-computer").removesuffix("-browser")


def _of_step(ids: tuple[str, str], root: str, step: TracedStep, provider: str) -> Iterator[Span]:
    row = step.span.row
    number = str(row["step"])
    about = {f"souk.{name}": row[name] for name in _OF_STEP}
    about |= {"url.full": row["url"], "error.type": "action" if row["error"] else None}
    own = _ids(*ids, "step", number)
    yield _span(own, root, "step", step.span.begin, step.span.end, about, row["error"])
    for call in step.calls:
        yield _of_call(ids, own[1], call, provider)


def _of_call(ids: tuple[str, str], parent: str, call: Timed, provider: str) -> Span:
    row = call.row
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": row["model"],
        "gen_ai.usage.input_tokens": row["tokens_in"],
        "gen_ai.usage.output_tokens": row["tokens_out"],
        "error.type": "_OTHER" if row["error"] else None,
        **{f"souk.{name}": row[name] for name in _OF_CALL},
    }
    own = _ids(*ids, "call", str(row["number"]))
    return _span(own, parent, f"chat {row['model']}", call.begin, call.end, about, row["error"]) | {
        "kind": _CLIENT
    }


def _span(
    own: tuple[str, str],
    parent: str,
    name: str,
    begin: float,
    end: float,
    about: Mapping[str, Any],
    failed: str = "",
) -> Span:
    trace, span = own
    return {
        "traceId": trace,
        "spanId": span,
        "parentSpanId": parent,
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(round(begin * 1e9)),
        "endTimeUnixNano": str(round(end * 1e9)),
        "attributes": _attributes(about),
        "status": {"code": _ERROR, "message": failed} if failed else {},
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The values that are there, as OTLP writes them: whole numbers are texts."""
    return [
        {"key": name, "value": _value(value)} for name, value in values.items() if value not in (None, "")
    ]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def _ids(run: str, trial: str, *parts: str) -> tuple[str, str]:
    """The ids of a trace and of a span: the same trial always has the same."""
    return _digest(16, run, trial), _digest(8, run, trial, *parts)


def _of_run(run: str) -> tuple[str, str]:
    return _ids(run, "")


def _digest(size: int, *parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=size).hexdigest()


def _is_error(outcome: str) -> bool:
    facts = outcome_facts(outcome)
    return facts.failed or facts.cut_off
