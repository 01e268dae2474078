"""Count the errors in the console of a trial's pages: a difference that the pages' own scripts can see."""

import re
from collections import Counter
from typing import Final

from playwright.async_api import BrowserContext, ConsoleMessage

from environments.browser.listeners import EventListeners
from environments.protocol.observation import storable

MOST_TEXTS: Final = 20
"""The most different errors that are counted in one trial."""
MOST_MESSAGES: Final = 1000
"""After so many messages of any kind a trial's console is not listened to: a page that writes without end
would keep other trials of the browser waiting."""
_LONGEST: Final = 200
_OF_THE_TRIAL: Final = re.compile(r"\?[^\s'\")]*|(?<=:)\d{4,5}\b|[0-9a-f-]{16,}")
"""What differs between two trials with the same error: queries, ports, long numbers."""


def count_errors(context: BrowserContext, listeners: EventListeners, counted: Counter[str]) -> None:
    """Count each error of the pages of a context by its first line, from now on until listeners end."""
    heard = 0

    def count(text: str) -> None:
        line = storable(_OF_THE_TRIAL.sub("", text.strip().partition("\n")[0])[:_LONGEST])
        if line in counted or len(counted) < MOST_TEXTS:
            counted[line] += 1

    def hear(message: ConsoleMessage) -> None:
        nonlocal heard
        heard += 1
        if message.type == "error":
            count(message.text)
        if heard == MOST_MESSAGES:
            listeners.off(context, "console", hear)

    listeners.on(context, "console", hear)
    listeners.on(context, "weberror", lambda thrown: count(str(thrown.error)))
