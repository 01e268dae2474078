"""Listeners of a browser's events that end together: the next episode in the same tabs has its own."""

from collections.abc import Callable
from typing import Any

from playwright.async_api import BrowserContext, Page


class EventListeners:
    """What one episode listens to."""

    def __init__(self) -> None:
        self._all: list[tuple[BrowserContext | Page, Any, Callable[..., Any]]] = []

    def on(self, source: BrowserContext | Page, event: str, listener: Callable[..., Any]) -> None:
        """Call `listener` at each `event` of a context or tab, as Playwright names it."""
        self._all.append((source, event, listener))
        source.on(event, listener)  # type: ignore[call-overload]

    def off(self, source: BrowserContext | Page, event: str, listener: Callable[..., Any]) -> None:
        """Call this listener no more."""
        self._all.remove((source, event, listener))
        source.remove_listener(event, listener)

    def end(self) -> None:
        """Listen no more."""
        while self._all:
            source, event, listener = self._all.pop()
            source.remove_listener(event, listener)
