"""The few things that the viewer changes: tags and notes of trials; runs are paused, put away or deleted.

All else is read from a database that refuses to be written. Each change opens it anew.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from experiments.records.control import request_state, runners_of
from experiments.records.errors import Unreadable
from experiments.records.integrity.deletion import delete_run
from experiments.records.reading.notes import archive, write_note
from experiments.records.reading.trial_search import Selection
from experiments.records.store import Records
from experiments.viewer.links import Links
from interventions.errors import UserError


class Changes:
    """Answers the forms of the viewer. `run_of` finds the run that an address names."""

    def __init__(self, db: str, to: Links, run_of: Callable[[Request], str]) -> None:
        self._db, self._to, self._run_of = db, to, run_of

    async def note(self, request: Request) -> Response:
        """Set the tags and the note of a trial."""
        form = await _form(request)
        run, trial = await self._run(request), request.path_params["trial"]
        await self._change(lambda all: write_note(all, run, trial, form("tags"), form("note")))
        step = int(form("step")) if form("step").isdecimal() and len(form("step")) < 9 else None
        return _to(self._to.trial(Selection.of(run, request.query_params), trial, step))

    async def archive(self, request: Request) -> Response:
        """Put a run away, or take it out again."""
        form, run = await _form(request), await self._run(request)
        await self._change(lambda all: archive(all, run, away=form("away") == "1"))
        return _to(self._to.runs())

    async def pause(self, request: Request) -> Response:
        """Let no further trial of a run start, or let a paused run go on."""
        form, run = await _form(request), await self._run(request)
        await self._change(lambda all: _pause(all, run, paused=form("paused") == "1"))
        return _to(self._to.run(run))

    async def delete(self, request: Request) -> Response:
        """Delete a run for ever, if its id was typed."""
        form, run = await _form(request), await self._run(request)
        if form("run").strip() != run:
            raise HTTPException(400, f"Nothing was deleted: to delete the run, type its id, {run}.")
        await self._change(lambda all: delete_run(all, run))
        return _to(self._to.runs())

    async def _run(self, request: Request) -> str:
        return await run_in_threadpool(self._run_of, request)

    async def _change(self, change: Callable[[Records], Any]) -> None:
        def changed() -> None:
            with _writable(self._db) as records:
                change(records)

        try:
            await run_in_threadpool(changed)
        except Unreadable:
            raise
        except UserError as error:
            raise HTTPException(400, str(error)) from None


def _pause(records: Records, run: str, *, paused: bool) -> None:
    """Ask as `souk pause` does; a run that has ended meanwhile is not paused. Raises UserError."""
    if paused and not any(process["alive"] for process in runners_of(records, run)):
        raise UserError(f"{run}: nothing runs it now, so nothing was paused")
    request_state(records, run, "paused" if paused else "running")


@contextmanager
def _writable(db: str) -> Iterator[Records]:
    with closing(Records(db, create=False)) as records:
        yield records


async def _form(request: Request) -> Callable[[str], str]:
    form = await request.form()
    return lambda name: str(form.get(name, ""))


def _to(address: str | None) -> Response:
    return RedirectResponse(address or "/", status_code=303)
