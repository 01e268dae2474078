"""Count the errors in the console of a trial's pages: a difference that the pages' own scripts can see."""

import re
from collections import Counter
from typing import Final

from playwright.async_api import BrowserContext

from environments.browser.listeners import EventListeners
from environments.protocol.observation import storable

MOST_TEXTS: Final = 20
"""The most different errors that are counted in one trial."""
_LONGEST: Final = 200
_OF_THE_TRIAL: Final = re.compile(r"\?[^\s'\")]*|(?<=:)\d{4,5}\b|[0-9a-f-]{16,}")
"""What differs between two trials with the same error: queries, ports, long numbers."""


def count_errors(context: BrowserContext, listeners: EventListeners, counted: Counter[str]) -> None:
    """Count each error of the pages of a context by its first line, from now on until listeners end."""

    def count(text: str) -> None:
        line = storable(_OF_THE_TRIAL.sub("", text.strip().partition("\n")[0])[:_LONGEST])
        if line in counted or len(counted) < MOST_TEXTS:
            counted[line] += 1

    listeners.on(context, "console", lambda each: count(each.text) if each.type == "error" else None)
    listeners.on(context, "weberror", lambda thrown: count(str(thrown.error)))
