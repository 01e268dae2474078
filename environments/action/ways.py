"""Where tabs have been since the agent itself last went elsewhere in them."""

from collections.abc import Hashable
from typing import Final

MAX_WAY: Final = 100
"""The most addresses that are kept of a tab's way; a page may give itself any number of them."""


class Ways:
    """The addresses of each tab's way, in order; a page of either API of Playwright stands for its tab."""

    def __init__(self) -> None:
        self._addresses: dict[Hashable, dict[str, None]] = {}

    def of(self, page: Hashable) -> tuple[str, ...]:
        """Return the way of a tab."""
        return tuple(self._addresses.get(page, ()))

    def add(self, page: Hashable, url: str) -> None:
        """Note that a tab is at an address."""
        way = self._addresses.setdefault(page, {})
        if len(way) < MAX_WAY:
            way[url] = None

    def forget(self, page: Hashable) -> None:
        """Forget the way of a tab in which the agent goes elsewhere, or that is closed."""
        self._addresses.pop(page, None)
