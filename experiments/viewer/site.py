"""Write the viewer's pages of some trials as files: a site for any host, or one file with one trial."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from experiments.records.reading.trial_search import (
    Selection,
    every,
    facet_cells,
    facet_counts,
    matching,
    with_tags,
)
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.viewer.answer import compute
from experiments.viewer.csv_text import csv_text
from experiments.viewer.pages import render
from experiments.viewer.screens.answer_screen import answer_screen
from experiments.viewer.screens.run_screen import run_screen
from experiments.viewer.screens.trial_screen import trial_screen
from experiments.viewer.screens.trials_screen import trials_screen
from experiments.viewer.screens.twin_screen import twin_screen
from experiments.viewer.site_address import CONTENTS
from experiments.viewer.site_links import FileLinks, SiteLinks, SiteSelection, numbered, run_page, trial_page
from experiments.viewer.state_cache import StateCache
from interventions.errors import UserError

ROWS: Final = 200
"""Trials on a page of a list."""

_OURS: Final = re.compile(r"((trials|lists)/)?[a-z0-9-]+\.(html|csv)")


class Site:
    """The pages of the trials of a selection, all of one state of the run."""

    def __init__(self, records: Records, selection: Selection, tell: Callable[[str, int, int], None]) -> None:
        """Read which trials there are. tell: is told what is written, how much of it, and of how much.

        Raises:
            UserError: no trial is like that.
        """
        rows = matching(records, selection, limit=None)
        if not rows:
            raise UserError(
                f"{selection.run}: no trial is {said(selection)}; souk view shows which there are"
            )
        cells = with_tags(records, selection, facet_cells(records, selection))
        counts = facet_counts(cells, selection)
        self._records, self._cache, self._tell = records, StateCache(records), tell
        self.taken = SiteSelection(selection, rows, counts)
        everything = sum(records.outcomes(selection.run).values())
        part = (
            ""
            if len(rows) == everything
            else (
                f" They hold {len(rows):,} of its {everything:,} trials: {said(selection)}. "
                "The answer and the design are of all."
            )
        )
        self._note = f"Pages of the run {selection.run}, as souk view shows them.{part}"

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the site's files and what they hold."""
        yield from self._run_pages()
        yield from self._list_pages("trials", self.taken.selection, "")
        yield "trials.csv", "".join(self._table())
        for number, row in enumerate(self.taken.rows):
            self._tell("trials", number, len(self.taken.rows))
            yield from self._trial_pages(row.trial)
        written: set[str] = set()
        while waiting := self.taken.lists.keys() - written:
            for number, name in enumerate(sorted(waiting)):
                self._tell("lists", number, len(waiting))
                yield from self._list_pages(name, self.taken.lists[name], "../")
            written |= waiting

    def _run_pages(self) -> Iterator[tuple[str, str]]:
        to, run = SiteLinks(self.taken), self.taken.selection.run
        answer = answer_screen(self._records, self._cache, to, run, compute(self._records, run))
        for sort in ("", "flips"):
            page, pages = 1, 1
            while page <= pages:
                values = run_screen(self._records, self._cache, to, run, sort=sort, page=page)
                yield run_page(sort, page), self._page("run.html.j2", {**answer, **values, "live": False})
                page, pages = page + 1, values["pages"]
            if values["flipped"] is None:
                return

    def _list_pages(self, name: str, selection: Selection, up: str) -> Iterator[tuple[str, str]]:
        to, after, page, more = SiteLinks(self.taken, up), "", 1, True
        while more:
            values = trials_screen(self._records, self._cache, to, selection, after=after, rows=ROWS)
            after, more = values["trials"][-1].trial, values["more"]
            values["previous"] = f"{up}{numbered(name, page - 1)}" if page > 1 else None
            values["next"] = f"{up}{numbered(name, page + 1)}" if more else None
            yield numbered(name, page), self._page("trials.html.j2", values)
            page += 1

    def _trial_pages(self, trial: str) -> Iterator[tuple[str, str]]:
        selection = self.taken.selection
        record = _whole(self._records, selection.run, trial)
        to = SiteLinks(self.taken, "../")
        beside = twin_screen(self._records, to, selection, record)
        if beside["twin"]:
            yield trial_page(trial, "-twin"), self._page("twin.html.j2", beside)
        to = SiteLinks(self.taken, "../", twin=beside["twin"] is not None)
        values = trial_screen(self._records, to, selection, record, whole=True)
        yield trial_page(trial), self._page("trial.html.j2", values)

    def _table(self) -> Iterator[str]:
        rows = every(self._records, self.taken.selection)
        names = next(rows)
        place = names.index("trial")
        yield from csv_text([(*names, "trial_url")])
        yield from csv_text((*row, trial_page(row[place])) for row in rows)

    def _page(self, template: str, values: dict[str, Any]) -> str:
        return render(template, {**values, "taken": self._note})


def write_site(
    records: Records, selection: Selection, folder: Path, tell: Callable[[str, int, int], None]
) -> tuple[int, int, int]:
    """Write the site of a selection to a folder; return the numbers of trials, files and bytes.

    An earlier site in the folder is replaced; files that are not its own stay.

    Raises:
        UserError: no trial is like that, or the folder is not empty and has no site, or cannot be written.
    """
    with records.reading():  # one state of a run that goes on
        site = Site(records, selection, tell)
        try:
            before = _contents(folder)
            sizes: dict[str, int] = {}
            # Each file is listed before it is there: what is cut short is put right by the next site.
            with (folder / CONTENTS).open("a", encoding="utf-8") as contents:
                for name, text in site.pages():
                    contents.write(f"{name}\n")
                    contents.flush()
                    sizes[name] = _write(folder / name, text)
            for name in before - sizes.keys():
                (folder / name).unlink(missing_ok=True)
            _write(folder / CONTENTS, "".join(f"{name}\n" for name in sorted(sizes)))
        except OSError as error:
            raise UserError(
                f"--static {folder}: cannot be written ({error.strerror}); choose another folder"
            ) from None
    return len(site.taken.rows), len(sizes), sum(sizes.values())


def site_files(
    records: Records, run: str, tell: Callable[[str, int, int], None]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the site of all trials of a run, with their names. Raises UserError: it has none."""
    for name, text in Site(records, Selection(run), tell).pages():
        yield name, _encoded(text)


def write_trial(records: Records, run: str, trial: str, file: Path) -> int:
    """Write a trial as one file that needs no other; return its size in bytes. Raises UserError."""
    record = _whole(records, run, trial)
    values = trial_screen(records, FileLinks(), Selection(run), record, whole=True)
    note = f"A trial of the run {run}, as souk view shows it."
    try:
        return _write(file, render("trial.html.j2", {**values, "taken": note}))
    except OSError as error:
        raise UserError(
            f"--static {file}: cannot be written ({error.strerror}); choose another file"
        ) from None


def said(selection: Selection) -> str:
    """Say what a selection is filtered by."""
    return ", ".join(f"{name}={value}" for name, value in selection.query().items()) or "stored"


def _whole(records: Records, run: str, trial: str) -> TrialRecord:
    record = whole_trial(records, run, trial)
    if record is None:
        raise UserError(
            f"--trial {trial}: run {run} has no such trial; its address in souk view ends with its id"
        )
    return record


def _contents(folder: Path) -> set[str]:
    """The files of an earlier site in the folder, which a stranger may have listed."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / CONTENTS
    if listed.exists():
        names = listed.read_text(encoding="utf-8", errors="replace").splitlines()
        return {name for name in names if _OURS.fullmatch(name)}
    if any(folder.iterdir()):
        raise UserError(
            f"--static {folder}: the folder is not empty, and no site of souk view; choose a new one"
        )
    return set()


def _write(path: Path, text: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(_encoded(text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")
