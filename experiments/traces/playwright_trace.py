"""Write a trial as a trace that Playwright's trace viewer opens: its steps, with the page of each."""

import base64
import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from selectolax.lexbor import LexborNode

from experiments.traces.traced_trial import TracedStep, TracedTrial
from experiments.viewer.recorded_page import STYLE, harmless
from experiments.viewer.screens.trial_screen import acted_on
from interventions.data_file import read_data
from interventions.html.tree import parse

_FIXED: Final[dict[str, dict[str, Any]]] = read_data(__file__, "playwright_trace.yaml")
_DEEPEST: Final = 300
"""The most elements within each other of a page that is shown."""

Event = dict[str, Any]
Node = str | list[Any]


def write_playwright_trace(traced: TracedTrial, path: Path) -> None:
    """Write the trace of a trial: a ZIP archive."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        events = [_context(traced), *_events(traced)]
        archive.writestr("trace.trace", "".join(json.dumps(event) + "\n" for event in events))
        archive.writestr("trace.network", "")
        for name, data in _pictures(traced).items():
            archive.writestr(f"resources/{name}", data)


def _context(traced: TracedTrial) -> Event:
    return {
        **_FIXED["context"],
        "wallTime": round(traced.begin * 1000),
        "title": f"{traced.trial.run} / {traced.trial.trial}: {traced.ending}",
        "contextId": traced.trial.trial,
    }


def _events(traced: TracedTrial) -> Iterator[Event]:
    """What stands in the trace, in milliseconds since the trial began."""
    edited = [receipt["after"] for receipt in traced.record.receipts]
    last = len(traced.steps) - 1
    for place, step in enumerate(traced.steps):
        row = step.span.row
        begin, end = (round(1000 * (at - traced.begin), 3) for at in (step.span.begin, step.span.end))
        call = f"step@{place}"
        title = row["action"] or (traced.ending if place == last else "looks")
        yield {
            **_FIXED["step"],
            "callId": call,
            "startTime": begin,
            "apiName": title,
            "method": row["action"].partition("(")[0] or "look",
            "params": {"thought": row["thought"], "memory": row["memory"], "url": row["url"]},
            "beforeSnapshot": f"before@{call}",
        }
        yield from _snapshot(f"before@{call}", call, begin, step, edited, traced.is_page)
        if step.picture:
            yield {**_FIXED["frame"], "sha1": _picture_name(place), "timestamp": begin}
        for line in _log(traced, step):
            yield {"type": "log", "callId": call, "time": begin, "message": line}
        error = {"error": {"name": "Error", "message": row["error"]}} if row["error"] else {}
        following = traced.steps[min(place + 1, last)]
        yield from _snapshot(f"after@{call}", call, end, following, edited, traced.is_page)
        yield {
            "type": "after",
            "callId": call,
            "endTime": end,
            "afterSnapshot": f"after@{call}",
            **error,
        }


def _log(traced: TracedTrial, step: TracedStep) -> Iterator[str]:
    row = step.span.row
    for name in ("thought", "memory"):
        if row[name]:
            yield f"{name}: {row[name]}"
    for call in step.calls:
        yield f"asked {call.row['model']}: {call.row['tokens_in']} tokens in, {call.row['tokens_out']} out"
    for stood in traced.record.on_screen:
        if stood["step"] == row["step"]:
            yield f"{stood['intervention']} stood at {stood['role']}{': ' * bool(stood['why'])}{stood['why']}"


def _snapshot(
    name: str, call: str, time: float, step: TracedStep, edited: list[str], is_page: bool
) -> Iterator[Event]:
    if step.page is None:
        return
    shown = f"<pre>{html.escape(step.page)}</pre>"
    if is_page:
        shown = harmless(step.page, edited, acted_on(step.span.row["action"]))
    body = parse(f"<body>{shown}</body>").body
    content: Node = ["BODY", {}, *(_nodes(body) if body is not None else [])]
    snapshot = {
        **_FIXED["snapshot"],
        "snapshotName": name,
        "callId": call,
        "frameUrl": step.span.row["url"],
        "html": ["HTML", {}, ["HEAD", {}, ["STYLE", {}, STYLE]], content],
        "timestamp": time,
    }
    yield {"type": "frame-snapshot", "snapshot": snapshot}


def _nodes(root: LexborNode, deep: int = 0) -> list[Node]:
    """What is inside an element, as the trace holds it; what is too deep, as text."""
    found: list[Node] = []
    for node in root.iter(include_text=True):
        if node.tag == "-text":
            found.append(node.text_content or "")
        elif deep == _DEEPEST:
            found.append(node.text())
        else:
            attributes = {name: value or "" for name, value in node.attributes.items()}
            found.append([(node.tag or "div").upper(), attributes, *_nodes(node, deep + 1)])
    return found


def _pictures(traced: TracedTrial) -> dict[str, bytes]:
    """The screenshots, by the names of their files."""
    return {
        _picture_name(place): base64.b64decode(step.picture)
        for place, step in enumerate(traced.steps)
        if step.picture
    }


def _picture_name(place: int) -> str:
    return f"step-{place}.png"
