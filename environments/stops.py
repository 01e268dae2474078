"""When an episode is over: texts that a page shows once something is in the cart, or the shop refuses."""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Stop:
    """The episode ends with `outcome` once an element matching `selector` shows `text` (any case)."""

    selector: str
    text: str
    outcome: Literal["choice", "no_choice"]


COMPARE_TABS: Final = (
    Stop('div.message-success div[data-bind*="prepareMessageForHtml"]', "You added ", "choice"),
    Stop(
        'div.message-notice div[data-bind*="prepareMessageForHtml"]',
        "Make sure the options are entered",
        "no_choice",
    ),
    Stop("div.mage-error", "This is a required field", "no_choice"),
)
"""Stop conditions of the consumer-choice study: a product is in the cart, or a required option is missing."""
