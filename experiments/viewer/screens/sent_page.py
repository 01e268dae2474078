"""What the shop sent where the proxy made edits, and what the proxy made of it, for the screen of a trial."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from experiments.records.record import Row, TrialRecord
from experiments.treatment.sent_pages import made_again
from experiments.viewer.recorded_page import first_difference, frame, marked_source


class PagePair(NamedTuple):
    """A page as the shop sent it and as it was shown; None: it is not known, and `problem` says why.

    Both are in one form: `page` (a document for a frame) or `source`.
    """

    url: str
    form: str
    sent: str | None
    shown: str | None
    problem: str


def rows_at(record: TrialRecord, step: Row) -> list[Row]:
    """Return the rows of what the shop sent for the page of a step, and of data that came before it.

    Of a page that was sent several times it is the last one that could be seen then.
    """
    seen = {_page(each["url"]) for each in record.steps}
    before = [row for row in record.sent_pages if row["step"] <= step["step"]]
    own = [row for row in before if _page(row["url"]) == _page(step["url"])]
    data = [row for row in before if row["step"] == step["step"] and _page(row["url"]) not in seen]
    return [*own[-1:], *data]


def sent_shown(record: TrialRecord, row: Row, form: str, artifact: Callable[[str], str | None]) -> PagePair:
    """Return a page that the shop sent, and what the proxy made of it; `artifact` gives a stored text."""
    made = made_again(row, artifact)
    edits = [each for each in record.receipts if each["page_hash_after"] == row["page_hash_after"]]
    if (made.sent or "").lstrip()[:1] in ("{", "["):
        form = "source"
    start = first_difference(made.sent or "", made.shown or "")
    write = marked_source if form == "source" else partial(frame, start=start)
    texts = (made.sent, [each["before"] for each in edits]), (made.shown, [each["after"] for each in edits])
    sent, shown = (None if text is None else write(text, marked) for text, marked in texts)
    return PagePair(made.url, form, sent, shown, made.problem)


def was_edited(record: TrialRecord) -> bool:
    """Return whether a page of the trial was edited."""
    return any(each["intervention"] and each["page_hash_before"] for each in record.receipts)


def not_shown(record: TrialRecord) -> str:
    """Say why a step has nothing of what the shop sent; empty where no page of the trial was edited."""
    if not was_edited(record):
        return ""
    if record.sent_pages:
        return "The proxy made no edit in this page."
    return "Pages were not kept as the shop sent them."


def _page(url: str) -> str:
    return url.partition("#")[0]
