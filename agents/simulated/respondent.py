"""A simulated respondent: it recognises a question by its text and answers it by a known profile.

It knows choices between options, whether it would buy a product for a price, its maximum willingness to pay,
and the questions of the bias battery. It reads nothing but the text.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agents.base import AgentError, ChatMessage, Reply
from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.survey import shipped_survey
from agents.simulated.tab_shopper import ShopperProfile
from agents.simulated.utility import choose, source_for
from agents.simulated.valuation import shipped_valuations, willingness_to_pay
from interventions.cards.reply import ENDED

REFUSAL: Final = "i would rather not say"
"""The text of an invalid answer."""

_BUY: Final = re.compile(
    r"\b(?:buy|purchase|pay)\b[^?]{0,200}?\$([0-9][0-9,]{0,14}(?:\.[0-9]{1,2})?)", re.IGNORECASE
)
_WORTH: Final = re.compile(
    r"\bwillingness\s+to\s+pay\b|\b(?:maximum|most|highest)\b[^.?]{0,100}\bpay\b", re.IGNORECASE
)
_YES: Final = re.compile(r"\b([A-Z])(?:\W{1,4}| (?:for|means) )(?i:yes)\b|\b(?i:yes)\W{1,4}([A-Z])\b")


class SimulatedRespondent:
    """A respondent in one conversation, whose draws follow from `seed`.

    A question that is asked again, as after an invalid answer, gets the same answer, then always a valid one.
    """

    def __init__(self, profile: ShopperProfile, *, seed: int) -> None:
        self._profile = profile
        self._random = random.Random(seed)  # noqa: S311 (sampling must be reproducible; nothing is secret)
        self._answers: dict[str, str | None] = {}
        self._valuation: float | None = None
        self._anchor: float | None = None

    async def answer(
        self,
        messages: list[ChatMessage],
        *,
        temperature: float | None,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Answer the last question among the user's messages in few words, at any temperature.

        Raises:
            AgentError: none of the messages asks a question that simulated agents know.
        """
        asked = [message["content"] for message in messages if message["role"] == "user"]
        said = self.reply(asked)
        if schema and said != REFUSAL:
            said = json.dumps({"answer": said, "reason": "My tastes are given."})
        return Reply(said, ENDED, call=None)

    def reply(self, texts: Sequence[str]) -> str:
        """Return the answer to the last question among `texts`; those after it are reminders.

        Raises:
            AgentError: as `answer`.
        """
        is_new = False
        for text in texts:
            if is_new := text not in self._answers:
                self._answers[text] = self._decide(text)
        answers = [answer for text in texts if (answer := self._answers[text])]
        if not answers:
            raise AgentError("no question that simulated agents know; ask another agent")
        refuses = is_new and self._answers[texts[-1]] and self._random.random() < self._profile.invalid
        return REFUSAL if refuses else answers[-1]

    def _decide(self, text: str) -> str | None:
        source = source_for(self._profile.taste, text, self._random)
        if options := read_options(text):
            return list(options)[choose(self._profile.taste, to_alternatives(options), source)]
        if question := shipped_survey().find(text):
            return question.draw(text, self._profile.bias, source)
        if _WORTH.search(text):
            wtp = willingness_to_pay(self._worth(text, source), self._anchor, self._profile.anchoring)
            return f"{wtp:.2f}"
        if (anchor := anchor_in(text)) is not None:
            self._anchor = anchor
            return _letter_of(text, yes=self._worth(text, source) >= anchor)
        return None

    def _worth(self, text: str, source: random.Random) -> float:
        """The product's value to the agent, the same in all questions of the conversation."""
        if self._valuation is None:
            self._valuation = shipped_valuations().of(text).draw(source)
        return self._valuation


def anchor_in(text: str) -> float | None:
    """Return the price that a question asks to buy for, in USD; None where it does not."""
    price = _BUY.search(text)
    return float(price[1].replace(",", "")) if price else None


def _letter_of(text: str, *, yes: bool) -> str:
    """The letter of yes or no: where the text does not tell, A is yes."""
    found = _YES.search(text)
    letter = (found[1] or found[2]) if found else "A"
    if yes:
        return letter
    return "B" if letter == "A" else "A"
