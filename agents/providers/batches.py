"""Send requests in batches, which providers answer within a day, at half the price."""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from agents.base import ActError
from agents.providers.model import Request, TextAnswer
from agents.providers.network import UNREADABLE, Failure, NetworkModel, backoff, cleaned, in_time
from environments.protocol.time_limit import uncounted
from interventions.errors import UserError

SHARE: Final = 0.5
"""The share of the price that is asked for answers of batches."""
MOST: Final = 2_000
"""The most requests of a batch: its answers are read at once."""
MOST_BYTES: Final = 16_000_000
"""The most that the requests of a batch may add up to: Gemini takes 20 MB, the others more."""
QUIET_SECONDS: Final = 2.0
"""A batch is sent off when no request has come for so long, or the most of a batch wait."""
POLL_SECONDS: Final = 30.0
LONGEST_SECONDS: Final = 600.0
"""The longest time for one exchange with the provider about a batch."""
TRIES: Final = 5
"""How often a request is asked, or a batch sent off, where that fails for the moment."""


T = TypeVar("T")


class BatchService(Protocol):
    """The protocol of a provider's interface for batches."""

    async def submit(self, requests: Mapping[str, Request]) -> str | Failure:
        """Send off requests by their names; return the batch's name at the provider."""
        ...

    async def results(self, batch: str) -> Mapping[str, object] | Failure | None:
        """Return the body of each response, or the failure, by the requests' names; None: not yet.

        The empty name has what became of those that have no name of their own there.
        """
        ...


@runtime_checkable
class Batchable(Protocol):
    """The protocol of models whose provider takes batches."""

    def batches(self, client: Any) -> BatchService:
        """Return the provider's interface for batches."""
        ...

    def read(self, body: object) -> TextAnswer | Failure:
        """Return the answer that the body of one response is."""
        ...


@dataclass(slots=True)
class _Asked:
    """A request that waits to be sent off; `batch`: with which it was."""

    name: str
    digest: str
    size: int
    model: NetworkModel
    request: Request
    batch: "asyncio.Future[str | Failure]" = field(default_factory=asyncio.Future)


class BatchQueue:
    """Collects the requests of trials, sends them off together, and gives each its answer.

    A journal holds which request went with which batch. Where a run was stopped, its trials begin anew and
    ask the same: requests that are in the journal are not sent again.
    """

    def __init__(self, journal: Path, say: Callable[[str], None]) -> None:
        """Read the journal; `say` is told, in a line, of each batch that is sent off.

        Raises:
            UserError: the journal cannot be read or written.
        """
        self._journal, self._say = journal, say
        self._sent = _read(journal)
        self._note()  # before anything is paid for
        self._asked: list[_Asked] = []
        self._collecting: asyncio.Task[None] | None = None
        self._tasks = set[asyncio.Task[Any]]()
        self._results = dict[tuple[str, str], asyncio.Task[Mapping[str, object] | Failure]]()

    def conversation(self, name: str) -> "_BatchedConversation":
        """Return the way by which one conversation asks; it begins anew with its first request."""
        return _BatchedConversation(self, name)

    async def ask(self, name: str, model: NetworkModel, request: Request) -> TextAnswer | Failure:
        """Return the answer to a request with this name, from a batch that holds it or will."""
        if not isinstance(model, Batchable):
            raise TypeError(f"{model.provider} takes no batches")
        written = json.dumps(request, sort_keys=True).encode()
        digest = hashlib.sha256(written).hexdigest()
        batch: str | Failure
        provider, batch, known = self._sent.get(name, ("", "", ""))
        if (provider, known) != (model.provider, digest):
            asked = _Asked(name, digest, len(written), model, request)
            self._asked.append(asked)
            if self._collecting is None or self._collecting.done():
                self._collecting = asyncio.create_task(self._collect())
            batch = await asked.batch
        if isinstance(batch, Failure):
            return batch
        found = await asyncio.shield(self._task_of(model, batch))
        gone = Failure("its batch has no answer")
        body = found if isinstance(found, Failure) else found.get(name, found.get("", gone))
        answer = body if isinstance(body, Failure) else model.read(body)
        if isinstance(answer, Failure):
            self._sent.pop(name, None)  # it may be sent again
            return answer
        return replace(answer, share=SHARE)

    async def close(self) -> None:
        """Wait for nothing more: the batches go on at the provider."""
        waiting = [*self._tasks, *self._results.values(), *([self._collecting] if self._collecting else [])]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _collect(self) -> None:
        """Wait until no more requests come, or enough, then send them off, each model's apart."""
        size = 0
        while size < len(self._asked) < MOST:
            size = len(self._asked)
            await asyncio.sleep(QUIET_SECONDS)
        asked, self._asked = self._asked, []
        groups = dict[tuple[str, str], list[_Asked]]()
        for each in asked:
            groups.setdefault((each.model.provider, each.model.name), []).append(each)
        for group in groups.values():
            for batch in _split(group):
                task = asyncio.create_task(self._submit(batch))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _submit(self, group: list[_Asked]) -> None:
        """Send off a batch, and tell all who wait for its name, or for the error that prevented it."""
        try:
            batch = await self._noted(group)
        except Exception as error:
            for each in group:
                if not each.batch.done():
                    each.batch.set_exception(error)
            return
        for each in group:
            if not each.batch.done():
                each.batch.set_result(batch)

    async def _noted(self, group: list[_Asked]) -> str | Failure:
        """Send off a batch and note it in the journal; return its name."""
        model = group[0].model
        batch = await self._submitted(model, {each.name: each.request for each in group})
        if isinstance(batch, str):
            names = {each.name: each.digest for each in group}
            self._note({"provider": model.provider, "batch": batch, "requests": names})
            self._say(f"batch {batch}: {len(group):,} requests to {model.provider}:{model.name}")
            self._sent |= {name: (model.provider, batch, digest) for name, digest in names.items()}
        return batch

    async def _submitted(self, model: NetworkModel, requests: Mapping[str, Request]) -> str | Failure:
        for tries in count(1):
            batch = await _in_time(_service(model).submit(requests))
            if isinstance(batch, str) or not batch.passes or tries == TRIES:
                return batch
            await asyncio.sleep(backoff(tries))
        raise AssertionError

    def _note(self, line: Mapping[str, object] | None = None) -> None:
        """Add a line to the journal, which is there afterwards."""
        try:
            self._journal.parent.mkdir(parents=True, exist_ok=True)
            with self._journal.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n" if line else "")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(
                f"{self._journal}: cannot be written ({error.strerror}); check the disk and its permissions"
            ) from None

    def _task_of(self, model: NetworkModel, batch: str) -> "asyncio.Task[Mapping[str, object] | Failure]":
        """The task that waits for a batch; all of its requests share it."""
        key = model.provider, batch
        if key not in self._results:
            self._results[key] = asyncio.create_task(_results(model, batch))
        return self._results[key]


class _BatchedConversation:
    """The way by which the requests of one conversation reach a provider in batches."""

    def __init__(self, queue: BatchQueue, name: str) -> None:
        self._queue, self._name, self._numbers = queue, name, count()

    async def answer(
        self, model: NetworkModel, request: Request
    ) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """See `agents.providers.network.RequestWay`. What failed for now, or expired, is sent again."""
        place = f"{self._name}/{next(self._numbers)}"
        name = hashlib.sha256(place.encode()).hexdigest()[:32]
        key, failed = model.connection().key, list[int]()
        with uncounted():
            while True:
                outcome = await self._queue.ask(name, model, request)
                if isinstance(outcome, TextAnswer):
                    return cleaned(outcome, key), failed
                failed.append(outcome.status)
                if not outcome.passes or len(failed) == TRIES:
                    return model.error(outcome, key), failed


def _split(group: list[_Asked]) -> list[list[_Asked]]:
    """Split requests into batches that are small enough."""
    split: list[list[_Asked]] = []
    size = 0
    for each in group:
        size += each.size
        if not split or len(split[-1]) == MOST or size > MOST_BYTES:
            split.append([])
            size = each.size
        split[-1].append(each)
    return split


def _service(model: NetworkModel) -> BatchService:
    if not isinstance(model, Batchable):
        raise TypeError(f"{model.provider} takes no batches")
    with model.connection().client() as client:
        return model.batches(client)


async def _in_time(asking: Coroutine[Any, Any, T]) -> T | Failure:
    return await in_time(asyncio.create_task(asking), LONGEST_SECONDS)


async def _results(model: NetworkModel, batch: str) -> Mapping[str, object] | Failure:
    """Ask for the results of a batch until they are there; a batch that is gone has none."""
    while True:
        found = await _in_time(_service(model).results(batch))
        if isinstance(found, Mapping):
            return found
        if found is not None and not found.passes and found.status != UNREADABLE.status:
            return {} if found.status == 404 else found
        await asyncio.sleep(POLL_SECONDS)


def _read(journal: Path) -> dict[str, tuple[str, str, str]]:
    """Which request went where: its name -> provider, batch, digest."""
    sent = dict[str, tuple[str, str, str]]()
    try:
        lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{journal}: cannot be read as text; mend it, or remove it to ask anew") from None
    for line in lines:
        try:
            told = json.loads(line)
            place = told["provider"], told["batch"]
            found = {name: (*place, digest) for name, digest in told["requests"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # the process was killed while it wrote the line
        sent |= found
    return sent
