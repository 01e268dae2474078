"""The viewer as an ASGI application: which screen answers which address."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from experiments.records.errors import Unreadable
from experiments.records.reading.grids import state_of
from experiments.records.reading.trial_search import Selection, every
from experiments.records.reading.whole_trials import whole_trial
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.viewer.answer import answer_of
from experiments.viewer.changes import Changes
from experiments.viewer.csv_text import csv_text
from experiments.viewer.links import Links
from experiments.viewer.pages import HEADER_POLICY, render
from experiments.viewer.screens.answer_screen import answer_screen
from experiments.viewer.screens.interventions_screen import interventions_screen
from experiments.viewer.screens.run_screen import run_screen
from experiments.viewer.screens.runs_screen import deletion_screen, runs_screen
from experiments.viewer.screens.trial_screen import trial_screen
from experiments.viewer.screens.trials_screen import trials_screen
from experiments.viewer.screens.twin_screen import twin_screen
from experiments.viewer.security import LocalOnly
from experiments.viewer.state_cache import StateCache
from interventions.errors import UserError

Values = dict[str, Any]
"""The values of a screen, for its template."""


def create_app(records: Records, db: str) -> Starlette:
    """Make the viewer over a database; `db` is its URL, for analyses in a process of their own."""
    to, cache = Links(), StateCache(records)
    answers: dict[tuple[str, ...], tuple[Any, dict[str, Any]]] = {}
    analysing = asyncio.Lock()

    changes = Changes(db, to, lambda request: _run(records, request))

    def runs(request: Request) -> Values:
        return runs_screen(records, to, away="archived" in request.query_params)

    def deletion(request: Request) -> Values:
        return deletion_screen(records, to, _run(records, request))

    def run(request: Request) -> Values:
        name, query = _run(records, request), request.query_params
        number = int(text) if (text := query.get("page", "1")).isdecimal() and len(text) < 9 else 1
        return run_screen(records, cache, to, name, sort=query.get("sort", ""), page=number)

    async def answer(request: Request) -> Response:
        named = [request.path_params["run"], *request.query_params.getlist("with")[:1]]
        ids = tuple([await run_in_threadpool(_named, records, name) for name in named])
        async with analysing:
            state = [await run_in_threadpool(state_of, records, run) for run in ids]
            if answers.get(ids, (None,))[0] != state:
                answers[ids] = state, await answer_of(db, *ids)
        found = answers[ids][1]
        values = await run_in_threadpool(answer_screen, records, cache, to, ids[0], found, *ids[1:])
        return HTMLResponse(render("answer.html.j2", values))

    def interventions(request: Request) -> Values:
        return interventions_screen(records, cache, to, _run(records, request))

    def trials(request: Request) -> Values:
        selection = Selection.of(_run(records, request), request.query_params)
        after, before = (request.query_params.get(name, "") for name in ("after", "before"))
        return trials_screen(records, cache, to, selection, after=after, before=before)

    def as_csv(request: Request) -> Response:
        selection = Selection.of(_run(records, request), request.query_params)
        named = {"Content-Disposition": f'attachment; filename="{_file_name(selection.run)}-trials.csv"'}
        return StreamingResponse(csv_text(every(records, selection)), media_type="text/csv", headers=named)

    def trial(request: Request) -> Values:
        step, view = request.path_params.get("step"), request.query_params.get("view", "")
        return trial_screen(records, to, *_trial(records, request), step=step, view=view)

    def twin(request: Request) -> Values:
        return twin_screen(records, to, *_trial(records, request), request.query_params.get("with", ""))

    def unreadable(request: Request, error: Exception) -> Response:
        return _problem(503, str(error))

    def missing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for these alone
        return _problem(error.status_code, error.detail)

    trial_path = "/runs/{run}/trials/{trial}"
    routes = [
        Route("/", _page("runs", runs)),
        Route("/runs/{run}", _page("run", run)),
        Route("/runs/{run}/answer", answer),
        Route("/runs/{run}/interventions", _page("interventions", interventions)),
        Route("/runs/{run}/pause", changes.pause, methods=["POST"]),
        Route("/runs/{run}/archive", changes.archive, methods=["POST"]),
        Route("/runs/{run}/delete", _page("delete", deletion), methods=["GET"]),
        Route("/runs/{run}/delete", changes.delete, methods=["POST"]),
        Route("/runs/{run}/trials", _page("trials", trials)),
        Route("/runs/{run}/trials.csv", as_csv),
        Route(trial_path, _page("trial", trial)),
        Route(trial_path + "/twin", _page("twin", twin)),
        Route(trial_path + "/note", changes.note, methods=["POST"]),
        Route(trial_path + "/{step:int}", _page("trial", trial)),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = {
        UserError: unreadable,
        HTTPException: missing,
    }
    return Starlette(
        routes=routes,
        middleware=[Middleware(LocalOnly, policy=HEADER_POLICY)],
        exception_handlers=handlers,
    )


def _page(template: str, screen: Callable[[Request], Values]) -> Callable[[Request], Response]:
    """What answers with a screen: its template, filled with its values."""
    return lambda request: HTMLResponse(render(f"{template}.html.j2", screen(request)))


def _problem(status: int, text: str) -> Response:
    values = {"to": Links(), "status": status, "text": text}
    return HTMLResponse(render("problem.html.j2", values), status_code=status)


def _run(records: Records, request: Request) -> str:
    return _named(records, request.path_params["run"])


def _named(records: Records, name: str) -> str:
    """The id of the run that an address names by its id or its name."""
    try:
        return str(records.latest_run(name)["run"])
    except Unreadable:
        raise
    except UserError as error:
        raise HTTPException(404, str(error)) from None


def _trial(records: Records, request: Request) -> tuple[Selection, TrialRecord]:
    run, name = _run(records, request), request.path_params["trial"]
    record = whole_trial(records, run, name)
    if record is None:
        raise HTTPException(404, f"Run {run} has no trial {name!r}.")
    return Selection.of(run, request.query_params), record


def _file_name(run: str) -> str:
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in run)
