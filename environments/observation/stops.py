"""Stop conditions: texts that a page shows once something is in the cart, or the shop refuses."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from interventions.data_file import read_source
from interventions.html.inline_script import called
from interventions.yaml.choice import Choice


@dataclass(frozen=True, slots=True)
class Stop:
    """The episode ends with `outcome` once an element matching `selector` shows `text` (any case)."""

    selector: str
    text: str
    outcome: Literal["choice", "no_choice"]


NOT_PRESSED: Final = Stop("html[data-souk-not-pressed]", "", "no_choice")
"""The stop condition when the agent was about to press a forbidden control.

The attribute's value names it.
"""


def stops_of(choice: Choice) -> tuple[Stop, ...]:
    """Return the stop conditions of a shop: what it says of its cart, and NOT_PRESSED."""
    said = [Stop(message.css, message.words, "choice") for message in choice.message]
    refused = [Stop(message.css, message.words, "no_choice") for message in choice.refused]
    return (*said, *refused, NOT_PRESSED)


_GUARD: Final = read_source(__file__, "guard.js")


def guard(named: Iterable[str], report: str = "") -> str:
    """Return a script for every page and frame that keeps the `named` controls from being pressed.

    NOT_PRESSED holds once one was about to be. A control is named by a text that it holds (any case), or by
    `css:` and a selector. However it is pressed (mouse, keyboard, a form that is sent), the page's own
    scripts never hear of it. `report` is the path to which the page then leads.
    """
    texts, selectors = list[str](), list[str]()
    for name in named:
        (selectors if name.startswith("css:") else texts).append(name.removeprefix("css:"))
    return called(_GUARD, {"texts": texts, "selectors": selectors, "report": report})
