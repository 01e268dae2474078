"""Give every state of the viewer its address."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from experiments.records.reading.trial_search import Selection


class Links:
    """The addresses of the screens. The selection stays in the address of a trial, for j and k.

    Elsewhere than on a server some states have no page; their address is None.
    """

    served = True
    """Whether a server answers, so that there can be searches, and parts that are fetched."""

    def runs(self) -> str | None:
        """Return the address of the list of runs."""
        return "/"

    def archive(self, run: str) -> str:
        """Return the address that puts a run away, or takes it out again."""
        return _address("/runs", run, "archive")

    def pause(self, run: str) -> str:
        """Return the address that pauses a run, or lets it go on."""
        return _address("/runs", run, "pause")

    def delete(self, run: str) -> str:
        """Return the address of the question whether a run is to be deleted."""
        return _address("/runs", run, "delete")

    def note(self, selection: Selection, trial: str) -> str:
        """Return the address that takes the tags and the note of a trial."""
        return _address("/runs", selection.run, "trials", trial, "note", query=selection.query())

    def run(self, run: str, **query: Any) -> str | None:
        """Return the address of a run."""
        return _address("/runs", run, query=query)

    def interventions(self, run: str) -> str:
        """Return the address of the interventions of a run."""
        return _address("/runs", run, "interventions")

    def answer(self, run: str, other: str = "") -> str | None:
        """Return the address of the answer of a run, or of how it differs from another run."""
        return _address("/runs", run, "answer", query={"with": other} if other else None)

    def trials(self, selection: Selection, **more: Any) -> str | None:
        """Return the address of the table of some trials."""
        return _address("/runs", selection.run, "trials", query={**selection.query(), **more})

    def csv(self, selection: Selection) -> str | None:
        """Return the address of some trials as CSV."""
        return _address("/runs", selection.run, "trials.csv", query=selection.query())

    def trial(self, selection: Selection, trial: str, step: int | None = None, **more: Any) -> str | None:
        """Return the address of a trial, or of one of its steps."""
        own = () if step is None else (str(step),)
        return _address("/runs", selection.run, "trials", trial, *own, query={**selection.query(), **more})

    def twin(self, selection: Selection, trial: str, other: str | None = None) -> str | None:
        """Return the address of the comparison of a trial with another one."""
        query = {**selection.query(), **({"with": other} if other else {})}
        return _address("/runs", selection.run, "trials", trial, "twin", query=query)


def _address(root: str, *parts: str, query: Mapping[str, Any] | None = None) -> str:
    path = "/".join([root, *(quote(part, safe="") for part in parts)])
    return f"{path}?{urlencode(query)}" if query else path
