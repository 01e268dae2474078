"""One trial, step by step: what was seen, said and done, and what the proxy had put there."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from environments.protocol.actions import EVERY, ActionError, parse_action
from experiments.records.reading.notes import TrialNote, noted
from experiments.records.reading.trial_search import Selection, matching
from experiments.records.record import Row, TrialRecord, screenshot_of, without_screenshot
from experiments.records.store import Records
from experiments.viewer.links import Links
from experiments.viewer.recorded_page import frame, marked_source
from experiments.viewer.screens.sent_page import PagePair, not_shown, rows_at, sent_shown, was_edited
from experiments.viewer.words import ending, number

_TREE: Final = re.compile(r"\n<!-- accessibility tree\n(.*?)\n-->", re.DOTALL)
_FIGURES: Final = ("price", "rating", "reviews")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=]+")


class _SeenForms(NamedTuple):
    """What an agent saw at a step, in the forms in which it can be shown; None: not in this form."""

    page: str | None
    source: str | None
    tree: str | None
    screenshot: str | None
    """A data URI."""
    missing: str
    """Why nothing can be shown; else empty."""

    @property
    def views(self) -> list[str]:
        """The forms that there are."""
        return [name for name in ("page", "source", "tree", "screenshot") if getattr(self, name) is not None]


class _StepShown(NamedTuple):
    """A step as shown. `place`: in the list of steps; `view`: the form of the page that is shown first."""

    row: Row
    place: int
    seen: _SeenForms
    view: str
    calls: list[Row]
    looked: list[Row]
    hits: list[Row]
    checks: list[Row]
    sent: list[PagePair]
    """What the shop sent for it, and what the proxy made of that."""
    not_sent: str
    """Why there is nothing of it; else empty."""


def trial_screen(
    records: Records,
    to: Links,
    selection: Selection,
    record: TrialRecord,
    *,
    step: int | None = None,
    view: str = "",
    whole: bool = False,
) -> dict[str, Any]:
    """Return the values of the screen of a trial at a step; None: the last one at which the agent acted.

    whole: show all steps, one after the other.
    """
    row = record.trial
    steps = record.steps
    place = _place(steps, step)
    places = range(len(steps)) if whole else [place] if steps else []
    shown = [each for each in record.receipts if each["intervention"]]
    scenes = record.questions and record.questions[0]["mode"] in ("text", "logprobs")
    return {
        "to": to,
        "run": row.run,
        "selection": selection,
        "record": record,
        "trial": row,
        "said": noted(records, row.run, [row.trial]).get(row.trial, TrialNote()),
        "ending": ending(row, record.options),
        "options": _options(record),
        "compared": _compared(record),
        "steps": steps,
        "place": place,
        "shown": _shown(records, record, places, view),
        "guest": _is_guest(record),
        "acted": any(each["action"] for each in steps),
        "pointed": {each["step"]: each["text"] or each["element"] for each in reversed(record.hits)},
        "missing": "" if steps else "No steps of this trial are stored (--trace none keeps none).",
        "is_text": bool(scenes) or bool(record.prompts),
        "receipts": shown,
        "names": {each["option"]: each["name"] for each in record.options},
        "question": record.questions[0] if record.questions else None,
        "earlier": _one(matching(records, selection, limit=1, before=row.trial)),
        "later": _one(matching(records, selection, limit=1, after=row.trial)),
    }


def _shown(records: Records, record: TrialRecord, places: Sequence[int], view: str) -> list[_StepShown]:
    found: list[_StepShown] = []
    told: list[Row] = []  # where all steps are shown, what the shop sent is shown once
    for place in places:
        row = record.steps[place]
        seen, rows = seen_at(records, record, row), rows_at(record, row)
        form = "source" if view == "source" else "page"
        sent = [sent_shown(record, each, form, records.kept) for each in rows if each not in told]
        told += rows
        missing = "" if rows or seen.missing else not_shown(record)
        first = view if view in seen.views else (seen.views or [""])[0]
        found.append(
            _StepShown(
                row,
                place,
                seen,
                first,
                calls=_at(record.calls, row),
                looked=_at(record.on_screen, row),
                hits=_at(record.hits, row),
                checks=_at(record.safety_checks, row),
                sent=sent,
                not_sent=missing,
            )
        )
    return found


def _at(rows: Sequence[Row], step: Row) -> list[Row]:
    return [each for each in rows if each["step"] == step["step"]]


def seen_at(records: Records, record: TrialRecord, step: Row) -> _SeenForms:
    """Return what was seen at a step."""
    if step["observation"] is None:
        why = "Pages were not kept (--trace light keeps none)."
        if _is_guest(record) and (record.sent_pages or not was_edited(record)):
            why = "The page was not kept: the proxy had nothing to edit there."
        return _SeenForms(None, None, None, None, why)
    text = records.kept(step["observation"])
    if text is None:
        return _SeenForms(None, None, None, None, "The page of this step was lost; souk db check says more.")
    if record.prompts or (record.questions and record.questions[0]["mode"] in ("text", "logprobs")):
        return _SeenForms(None, marked_source(text), None, None, "")
    tree, page = _TREE.search(text), _TREE.sub("", without_screenshot(text))
    edited, acted = [each["after"] for each in record.receipts], acted_on(step["action"])
    return _SeenForms(
        frame(page, edited, acted),
        marked_source(page, edited, acted),
        tree[1] if tree else None,
        _picture(records, screenshot_of(text)),
        "",
    )


def _is_guest(record: TrialRecord) -> bool:
    """Return whether a subject acted that Souk did not start: what it was sent is known, not what it saw."""
    return any(each["opened"] is not None for each in record.options)


def acted_on(action: str) -> str:
    """Return the mark of the element that an action names; empty where it names none."""
    try:
        found = parse_action(action, EVERY)
    except ActionError:
        return ""
    return str(found.args[0]) if found.name in ("click", "fill", "select_option") else ""


def _picture(records: Records, name: str) -> str | None:
    data = records.kept(name)
    return f"data:image/png;base64,{data}" if data and _BASE64.fullmatch(data) else None


def _place(steps: Sequence[Row], step: int | None) -> int:
    """The place of a step in the list; without one, that of the last action."""
    for place, each in enumerate(steps):
        if each["step"] == step:
            return place
    acted = [place for place, each in enumerate(steps) if each["action"] or each["thought"]]
    return acted[-1] if acted else max(0, len(steps) - 1)


def _options(record: TrialRecord) -> list[dict[str, Any]]:
    return [{**row, "chosen": row["option"] == record.trial.choice} for row in record.options]


def _compared(record: TrialRecord) -> list[tuple[str, list[str]]]:
    """The rows of the table that shows the options beside each other: a title, and a text for each option."""
    more = {row["position"]: row["attributes"] for row in record.attributes}
    of_each = [more.get(row["position"], {}) for row in record.options]
    rows = [(name.capitalize(), [number(row[name]) for row in record.options]) for name in _FIGURES]
    rows += [
        (name.replace("_", " ").capitalize(), [_said(each.get(name)) for each in of_each])
        for name in dict.fromkeys(name for each in of_each for name in each)
    ]
    categories = [row["category"] for row in record.options]
    return [row for row in [("Category", categories), *rows] if any(row[1])]


def _said(value: Any) -> str:
    return number(value) if isinstance(value, int | float) else "" if value is None else str(value)


def _one(found: Sequence[Any]) -> str:
    return found[0].trial if found else ""
