"""Keep to the limits per minute of a key, together with all processes of this machine that use it."""

import asyncio
import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Self

from agents.providers.pricing import Tokens
from agents.providers.settings import PER_MINUTE, Service
from interventions.errors import UserError

VARIABLE: Final = "SOUK_RATES"
"""The environment variable that names another folder for the pace of keys."""

_MINUTE: Final = 60.0
_FORGOTTEN: Final = 600.0
"""The seconds after which the limits that a provider told are asked for anew."""
_LONGEST: Final = 86_400.0
"""No turn is so far away, in seconds: what says so was written before the machine started."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_REQUESTS: Final = "requests"
_LIMITED: Final = (_REQUESTS, "tokens", "input-tokens", "output-tokens")
_HEADERS: Final = ("x-ratelimit-{part}-{what}", "anthropic-ratelimit-{what}-{part}")
_NEWEST: Final = 0.2
"""The weight of the latest request in the mean of what requests take."""
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}


@dataclass(slots=True)
class _State:
    """What the file holds, each by what is limited.

    `told`: the limits per minute that the provider tells. `free`: when the next request may start, in seconds
    of the clock that all processes share and no date moves (`time.monotonic`). `mean`: what a request takes.
    """

    told: dict[str, float] = field(default_factory=dict)
    free: dict[str, float] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)


class Rates:
    """The pace of requests to one model with one key; the pace is kept in a file that processes share.

    Requests and tokens are limited alike: a request may start once those before it have had their share of a
    minute, so that none are sent in bursts. What a request takes is taken to be the mean of those before it,
    until its answer tells.
    """

    def __init__(self, path: Path, own: Mapping[str, float]) -> None:
        """Take the file, and the user's own limits: `requests` and `tokens` per minute."""
        self._path, self._own = path, own

    @classmethod
    def of(cls, service: Service, model: str) -> Self:
        """Return the pace of a model at a provider, with the limits that the user has set for the key."""
        boot = _BOOT.read_text() if _BOOT.exists() else ""
        place = json.dumps([service.base_url, service.key, model, boot]).encode()
        return cls(folder() / hashlib.sha256(place).hexdigest(), service.limits)

    async def turn(self) -> dict[str, float]:
        """Wait for the next turn; return what the request is taken to take, for `settle`."""
        wait, taken = self.book(time.monotonic())
        if wait:
            await asyncio.sleep(wait)
        return taken

    def book(self, now: float) -> tuple[float, dict[str, float]]:
        """Book the next turn; return the seconds until then, and what the request is taken to take."""
        if not self._own and not self._path.exists():
            return 0.0, {}
        with self._state(now) as state:
            start = max(now, *state.free.values()) if state.free else now
            limits = self._limits(state)
            taken = {what: 1.0 if what == _REQUESTS else state.mean.get(what, 0.0) for what in limits}
            for what, limit in limits.items():
                state.free[what] = start + taken[what] * _MINUTE / limit
        return start - now, taken

    def least(self, taken: Mapping[str, float]) -> float:
        """Return the seconds that the limits known now ask for so many `requests` and tokens."""
        if not self._own and not self._path.exists():
            return 0.0
        with self._state(time.monotonic()) as state:
            limits = self._limits(state)
        return max((taken[what] * _MINUTE / limit for what, limit in limits.items()), default=0.0)

    def settle(self, taken: Mapping[str, float], tokens: Tokens | None) -> None:
        """Count what a request took in truth. Anthropic does not count what came from its cache."""
        if tokens is None or not (self._own or self._path.exists()):
            return
        took = dict(
            zip(_LIMITED[1:], (sum(tokens[:2]), tokens.read - tokens.cached, tokens.written), strict=True)
        )
        now = time.monotonic()
        with self._state(now) as state:
            limits = self._limits(state)
            for what in took.keys() & limits.keys():
                more = (took[what] - taken.get(what, 0.0)) * _MINUTE / limits[what]
                state.free[what] = state.free.get(what, now) + more
                known = state.mean.get(what, float(took[what]))
                state.mean[what] = known + _NEWEST * (took[what] - known)

    def learn(self, headers: Mapping[str, str]) -> None:
        """Read the limits that the headers of an answer tell; where one is used up, its end is waited for."""
        parts = ("limit", "remaining", "reset")
        told = [
            (what, [headers.get(form.format(part=part, what=what), "") for part in parts])
            for form in _HEADERS
            for what in _LIMITED
        ]
        found = [(what, each) for what, each in told if PER_MINUTE.fullmatch(each[0])]
        if not found:
            return
        now = time.monotonic()
        with self._state(now) as state:
            for what, (limit, left, reset) in found:
                state.told[what] = float(limit)
                if left == "0":
                    again = now + min(_seconds(reset), _MINUTE)
                    state.free[what] = max(state.free.get(what, 0.0), again)

    def hold(self, seconds: float) -> None:
        """Let all that use the key wait, as the provider asks."""
        now = time.monotonic()
        with self._state(now) as state:
            state.free[_REQUESTS] = max(state.free.get(_REQUESTS, 0.0), now + seconds)

    def _limits(self, state: _State) -> dict[str, float]:
        """The lower of what the provider tells and what the user sets."""
        both = [state.told, self._own]
        return {
            what: min(each[what] for each in both if what in each) for what in {**state.told, **self._own}
        }

    @contextmanager
    def _state(self, now: float) -> Iterator[_State]:
        """Hold the file alone meanwhile, and write it."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check(self._path.parent)
            place = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise UserError(
                f"{self._path.parent}: cannot be written ({error.strerror}), and the pace of requests is "
                f"kept there; set {VARIABLE} to a folder that can"
            ) from None
        with os.fdopen(place, "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = _read(file.read())
            used = max(state.free.values(), default=now)
            state = state if -_LONGEST < now - used < _FORGOTTEN else _State()
            yield state
            file.seek(0)
            file.truncate()
            json.dump(asdict(state), file)


def folder() -> Path:
    """Return the folder that all processes of a user share on this machine, whatever their TMPDIR."""
    return Path(os.environ.get(VARIABLE) or f"/tmp/souk-rates-{os.getuid()}")  # noqa: S108 (see `_check`)


def _check(folder: Path) -> None:
    """Raise PermissionError for a folder that another user has made, or can write."""
    found = folder.lstat()
    if found.st_uid != os.getuid():
        raise PermissionError(0, "it is another user's")
    if stat.S_ISDIR(found.st_mode) and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(0, "other users can write it")


def _read(text: str) -> _State:
    """What stands in the file; a process may have been killed while it wrote."""
    try:
        return _State(**json.loads(text))
    except (ValueError, TypeError):
        return _State()


def _seconds(reset: str) -> float:
    """The seconds until a reset: OpenAI writes `1m30.5s`, Anthropic a time; 0 where it is neither."""
    if parts := re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", reset):
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        return max(0.0, datetime.fromisoformat(reset).timestamp() - time.time())
    except ValueError:
        return 0.0
