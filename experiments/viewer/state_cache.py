"""Keep what was computed of a run as long as no trial is stored in it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from experiments.records.reading.grids import state_of
from experiments.records.store import Records

T = TypeVar("T")

KEPT: Final = 16


class StateCache:
    """The last results of questions about runs; each is forgotten when its run has changed."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, tuple[Any, Any]] = OrderedDict()

    def get(self, run: str, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what is known for a key of a run as it is now; else compute it."""
        state = state_of(self._records, run)
        with self._lock:
            then, known = self._found.get((run, key), (None, None))
        if then == state:
            return known  # type: ignore[no-any-return] # what `compute` has returned for this key
        found = compute()
        with self._lock:
            self._found[run, key] = (state, found)
            self._found.move_to_end((run, key))
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
        return found
