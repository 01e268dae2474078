"""Models at a provider: time-outs, retries, requests at once, and errors, the same for all providers."""

import asyncio
import json
import random
import re
from abc import abstractmethod
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, Final, Protocol, TypeVar

from agents.base import ActError, AgentError, ProviderError
from agents.providers.bounded import ANSWERED
from agents.providers.limiter import Limiter
from agents.providers.model import Endpoint, Request, TextAnswer
from agents.providers.rates import Rates
from agents.providers.settings import COMPUTERS, SERVICES
from environments.protocol.time_limit import uncounted
from interventions.errors import UserError

T = TypeVar("T")

LONGEST_WAIT: Final = 120.0
"""The longest wait, in seconds; a provider that asks for more is not waited for."""

_FIRST_WAIT: Final = 0.5
_SLOWEST: Final = 30.0
_UNTIL_CANCELLED_AGAIN: Final = 0.2
_OVERLOAD: Final = (0, 408, 429, 503, 504, 529)
"""What a server says that is asked for too much; 0: no answer came in time, or no connection."""
_OF_CLIENT: Final = 10
"""The most requests at once of a client, which looks through all its connections for each of them."""
_NO_CREDIT: Final = re.compile(r"insufficient_quota|billing_error|credit balance", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a try gave no answer, in one line.

    `status` 0: no response came; 200: the response cannot be read. `retry_after`: seconds that the provider
    asks to wait.
    """

    said: str
    status: int = 0
    retry_after: float | None = None

    @property
    def is_for_credit(self) -> bool:
        """Whether the account has no credit left, which providers say in different ways."""
        return self.status == 402 or (400 <= self.status < 500 and bool(_NO_CREDIT.search(self.said)))

    @property
    def passes(self) -> bool:
        """Whether another try may succeed."""
        return (self.status in (0, 408, 409, 429) or self.status >= 500) and not self.is_for_credit


NO_CONNECTION: Final = Failure("no connection to the provider")
UNREADABLE: Final = Failure("the provider's answer cannot be read", status=200)
UNREAD: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""The errors of SDKs that meet an answer of another form than the provider's documents say."""


class Connection:
    """The clients and the limit that all models at one server share."""

    def __init__(self, connect: Callable[[], Any], key: str) -> None:
        self.key = key
        self.limiter = Limiter()
        self.queues = defaultdict[str, asyncio.Lock](asyncio.Lock)
        """By model, a lock for whoever is the next to be sent: turns are booked one at a time."""
        self._connect = connect
        self._clients: list[Any] = []
        self._lent: list[int] = []

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Lend a client for one request."""
        number = next((number for number, lent in enumerate(self._lent) if lent < _OF_CLIENT), None)
        if number is None:
            number = len(self._clients)
            self._clients.append(self._connect())
            self._lent.append(0)
        self._lent[number] += 1
        try:
            yield self._clients[number]
        finally:
            self._lent[number] -= 1

    async def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            await client.close()


_connections: dict[tuple[str, str, str], Connection] = {}


class RequestWay(Protocol):
    """The protocol of another way by which requests reach a provider than one at a time."""

    async def answer(
        self, model: "NetworkModel", request: Request
    ) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """See `Endpoint.answer`."""
        ...


class NetworkModel(Endpoint):
    """A model at a provider.

    Args:
        name: the provider's name for the model, e.g. `gpt-6-luna`.
        timeout: seconds until a try is given up, its answer's last byte included.
        max_retries: after a failed connection, a time-out, 408, 409, 429 or 5xx. The wait is what the
            provider asks for, else it doubles with each retry, with jitter.
    """

    def __init__(
        self, name: str, *, temperature_scale: float = 1.0, timeout: float = 120.0, max_retries: int = 4
    ) -> None:
        super().__init__(name, temperature_scale=temperature_scale)
        self.way: RequestWay | None = None
        self._service = SERVICES.get(self.provider) or COMPUTERS[self.provider]
        self._timeout = timeout
        self._max_retries = max_retries

    @abstractmethod
    def connect(self, base_url: str, key: str) -> Any:
        """Return a client of the provider's SDK; it has an async `close`.

        It neither retries nor times out, and follows no redirect: prompt and key are for one server only.
        """

    @abstractmethod
    async def send(self, client: Any, request: Request) -> TextAnswer | Failure:
        """Try a request once. Return whatever the SDK raises as a failure."""

    async def answer(self, request: Request) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """See `Endpoint.answer`."""
        if self.way:
            return await self.way.answer(self, request)
        connection, failed = self.connection(), list[int]()
        rates = Rates.of(self._service, self.name)
        limiter = connection.limiter
        while True:
            with uncounted():
                async with connection.queues[self.name]:
                    taken = await rates.turn()
                    await limiter.enter()
            refusals = limiter.refusals
            try:
                with connection.client() as client:
                    outcome = await self._try(client, request, rates)
                if isinstance(outcome, TextAnswer):
                    limiter.answered(refusals)
                    rates.settle(taken, outcome.tokens)
                    return cleaned(outcome, connection.key), failed
                if outcome.status in _OVERLOAD:
                    limiter.refused(refusals)
            finally:
                limiter.leave()
            asked = outcome.retry_after
            wait = backoff(len(failed)) if asked is None else asked
            failed.append(outcome.status)
            if outcome.status in _OVERLOAD and asked is not None and asked <= LONGEST_WAIT:
                rates.hold(asked)
                wait = 0.0  # until its next turn it waits like all others
            if len(failed) > self._max_retries or not outcome.passes or wait > LONGEST_WAIT:
                return self.error(outcome, connection.key), failed
            await asyncio.sleep(wait)

    async def _try(self, client: Any, request: Request, rates: Rates) -> TextAnswer | Failure:
        context = copy_context()
        context.run(ANSWERED.set, rates.learn)
        sending = asyncio.create_task(self.send(client, request), context=context)
        return await in_time(sending, self._timeout)

    def connection(self) -> Connection:
        """Return what all models at the server share."""
        place = self.provider, self._service.base_url, self._service.key
        if place not in _connections:
            _connections[place] = Connection(partial(self.connect, *place[1:]), place[2])
        return _connections[place]

    def error(self, failure: Failure, key: str) -> ActError | UserError:
        """Return the error that a failure is, without the key."""
        status, service = failure.status, self._service
        if status in (0, 200):
            return ProviderError(failure.said)
        if failure.is_for_credit:
            return UserError(
                f"agents: the account for {self.provider}:{self.name} has no credit left (HTTP {status}); "
                "top it up"
            )
        if status in (401, 403):  # the provider's own words may quote parts of the key
            return UserError(
                f"agents: the provider refused {service.key_variable} for {self.name} (HTTP {status}); "
                "check the key"
            )
        if 300 <= status < 400:
            return UserError(
                f"agents: the server for {self.name} redirects to another address (HTTP {status}); "
                f"set {service.url_variable} to the address that answers"
            )
        if status == 404:
            return UserError(f"agents: the provider has no model {self.name} (HTTP 404); {self.not_found()}")
        said = " ".join(_without(key, failure.said).split())[:300]
        if failure.passes:
            return ProviderError(f"HTTP {status} from the provider: {said}")
        return AgentError(f"the provider refused the request: {said}")

    def not_found(self) -> str:
        """Return the advice for a model that does not exist."""
        return f"check its name and {self._service.url_variable}"


async def in_time(sending: asyncio.Task[T], seconds: float) -> T | Failure:
    """Return what a task returns within so many seconds, else a failure; it has ended in either case."""
    try:
        done, _ = await asyncio.wait({sending}, timeout=seconds)
    finally:
        await _ended(sending)
    return sending.result() if done else Failure("the provider did not answer in time")


async def _ended(task: asyncio.Task[Any]) -> None:
    """Cancel a task until it has ended: one cancellation may be lost in the SDK while it connects."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_UNTIL_CANCELLED_AGAIN)
    if not task.cancelled():
        task.exception()  # asked for, or asyncio would print it


async def close_connections() -> None:
    """Close the clients; call this before the event loop ends."""
    while _connections:
        _, connection = _connections.popitem()
        await connection.close()


def backoff(retries: int) -> float:
    """Return the seconds to wait after `retries` retries.

    The wait doubles up to a bound, and is shorter by up to a half at random.
    """
    return min(_FIRST_WAIT * 2.0 ** min(retries, 30), _SLOWEST) * random.uniform(0.5, 1)  # noqa: S311


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a response asks for, in seconds.

    Returns None where the response asks for none that can be understood.
    """
    wait = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif wait.strip().isdecimal():
            seconds = float(wait)
        else:
            seconds = (parsedate_to_datetime(wait) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(seconds, 0.0) if seconds < float("inf") else None


def cleaned(answer: TextAnswer, key: str) -> TextAnswer:
    """Return an answer without the key, which a server may echo."""
    parts = json.loads(_without(key, json.dumps(answer.parts))) if answer.parts else ()
    return replace(
        answer,
        text=_without(key, answer.text),
        ending=answer.ending._replace(said=_without(key, answer.ending.said)),
        parts=tuple(parts),
        model=_without(key, answer.model),
    )


def _without(key: str, text: str) -> str:
    """A server may echo the key. A short one is a placeholder, and could be a common word."""
    return _forms(key).sub("[key]", text) if len(key) >= 16 else text


@cache
def _forms(key: str) -> re.Pattern[str]:
    """Match a key as it stands, in other letters' case, backwards, in hexadecimal digits, and in base64."""
    forms = [key, key[::-1], key.encode().hex()]
    for before in range(3):  # the bytes before it in the group of three that base64 packs
        packed = b64encode(bytes(before) + key.encode()).decode()
        own = packed[(0, 2, 3)[before] : (before + len(key)) * 8 // 6]
        forms += [own, own.translate(str.maketrans("+/", "-_"))]
    return re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
