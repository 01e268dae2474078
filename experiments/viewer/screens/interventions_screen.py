"""Each intervention of a run: a page with it and the same page without it, its receipts, its effect."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from experiments.records.reading.grids import Flips, flips
from experiments.records.reading.interventions import InterventionReceipts, received
from experiments.records.reading.tidy_tables import receipts_table
from experiments.records.reading.trial_search import Selection
from experiments.records.reading.whole_trials import counterparts, whole_trial
from experiments.records.record import CONTROL, Row, TrialRecord
from experiments.records.store import Records
from experiments.viewer.links import Links
from experiments.viewer.recorded_page import frame
from experiments.viewer.state_cache import StateCache

MOST: Final = 20
"""The most interventions that are shown."""


class _ShownExample(NamedTuple):
    """A trial with the intervention: `after` is the page of a step, `before` the same page of its control.

    A page is None where none is stored.
    """

    trial: str
    step: int | None
    after: str | None
    control: str
    control_step: int | None
    before: str | None
    receipts: list[Row]


class _ShownIntervention(NamedTuple):
    """An intervention as shown."""

    name: str
    cells: list[tuple[InterventionReceipts, Selection]]
    flips: Flips | None
    counted: list[Row]
    example: _ShownExample


def interventions_screen(records: Records, cache: StateCache, to: Links, run: str) -> dict[str, Any]:
    """Return the values of the screen."""
    found: dict[str, list[InterventionReceipts]] = cache.get(run, "received", lambda: received(records, run))
    moved: dict[str, Flips] = cache.get(run, "moved", lambda: flips(records, run, "nudge"))
    table: list[Row] = cache.get(run, "receipts", lambda: _counted(records, run))
    return {
        "to": to,
        "run": run,
        "selection": Selection(run),
        "more": max(0, len(found) - MOST),
        "shown": [
            _ShownIntervention(
                name,
                [(cell, _trials_of(run, cell)) for cell in cells],
                moved.get(name),
                [row for row in table if row["intervention"] == name],
                _example(records, run, name, cells),
            )
            for name, cells in list(found.items())[:MOST]
        ],
    }


def _counted(records: Records, run: str) -> list[Row]:
    rows = receipts_table(records, run).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _trials_of(run: str, cell: InterventionReceipts) -> Selection:
    return Selection(run, {"condition": cell.condition, "nudge": cell.nudge})


def _example(records: Records, run: str, name: str, cells: Sequence[InterventionReceipts]) -> _ShownExample:
    """The example of the cell whose nudge it is, if it is one."""
    cell = next((each for each in cells if each.nudge == name and each.condition != CONTROL), cells[0])
    record = whole_trial(records, run, cell.example)
    assert record is not None  # noqa: S101 - it has just been found, and trials are deleted with their run
    its = [each for each in record.receipts if each["intervention"] == name]
    texts = [each["after"] for each in its if each["after"].strip()]
    step, page = _page_with(records, record, texts)
    control = next((each for each in counterparts(records, record.trial) if each.condition == CONTROL), None)
    twin = whole_trial(records, run, control.trial) if control and record.trial.condition != CONTROL else None
    other, before = _same_page(records, twin, step) if twin and step else (None, None)
    return _ShownExample(
        record.trial.trial,
        step["step"] if step else None,
        frame(page, texts) if page is not None else None,
        twin.trial.trial if twin else "",
        other["step"] if other else None,
        frame(before, [each["before"] for each in its]) if before is not None else None,
        its,
    )


def _page_with(records: Records, record: TrialRecord, texts: Sequence[str]) -> tuple[Row | None, str | None]:
    """The first step whose page shows one of the texts; None: there is none, or no page is stored."""
    wanted = [" ".join(text.split()) for text in texts]
    for step in record.steps:
        page = records.kept(step["observation"])
        if page is not None and any(text in " ".join(page.split()) for text in wanted):
            return step, page
    return None, None


def _same_page(records: Records, record: TrialRecord, step: Row) -> tuple[Row | None, str | None]:
    """The first step of another trial at the same address, whatever the shop's port."""
    wanted = urlsplit(step["url"])[2:4]
    for each in record.steps:
        if urlsplit(each["url"])[2:4] == wanted and each["observation"]:
            return each, records.kept(each["observation"])
    return None, None
