"""Write the pages that an agent saw as an HTTP archive (HAR 1.2)."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from experiments.traces.traced_trial import TracedTrial
from interventions.data_file import read_data
from interventions.errors import UserError

_UNKNOWN: Final = -1
"""What HAR writes for a size or a time that is not known."""


def har_text(traced: TracedTrial) -> str:
    """Return the archive of a trial: an entry for each page that was looked at.

    Raises:
        UserError: the trial has no pages.
    """
    entries = list(_entries(traced)) if traced.is_page else []
    if not entries:
        why = "its pages were not kept" if traced.is_page else "it has prompts and no pages"
        raise UserError(f"--trace har: trial {traced.trial.trial}: {why}; --trace otlp needs no pages")
    log = {
        "version": "1.2",
        "creator": {"name": "souk", "version": metadata.version("souk")},
        "comment": f"{traced.trial.run} / {traced.trial.trial}: {traced.ending} Headers, codes of status and "
        "what the pages loaded are not stored.",
        "pages": [{**_page(entry), "id": entry["pageref"]} for entry in entries],
        "entries": entries,
        "_receipts": traced.record.receipts,
    }
    return json.dumps({"log": log}, ensure_ascii=False, indent=1)


def _page(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "startedDateTime": entry["startedDateTime"],
        "title": entry["request"]["url"],
        "pageTimings": {"onContentLoad": _UNKNOWN, "onLoad": _UNKNOWN},
    }


def _entries(traced: TracedTrial) -> Iterator[dict[str, Any]]:
    """The looks at which another address, or another page, was seen than at the look before."""
    before = None
    for step in traced.steps:
        url, page = step.span.row["url"], step.page
        if page is not None and (url, page) != before:
            yield _entry(url, page, step.span.begin, str(step.span.row["step"]))
        before = (url, page)


def _entry(url: str, page: str, at: float, step: str) -> dict[str, Any]:
    blank = read_data(__file__, "har_entry.yaml")
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    asked = [{"name": name, "value": value} for name, value in query]
    content = {**blank["content"], "size": len(page.encode()), "text": page}
    return {
        **{name: blank[name] for name in ("time", "cache", "timings")},
        "pageref": f"step_{step}",
        "startedDateTime": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
        "request": {**blank["request"], "url": url, "queryString": asked},
        "response": {**blank["response"], "content": content},
    }
