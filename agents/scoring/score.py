"""The protocol of scorers, which give the log-probabilities of targets after prompts; the score of a card."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agents.base import AgentError


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The score of one target after one prompt: how likely a model holds it.

    `logprob`: the natural logarithm of P(" " + target | prompt), the sum over `tokens` tokens; None where it
    is undefined, and then `note` says why. `shifted`: the prompt's tokens are not the first tokens of the
    whole text; what is scored begins at the first token that differs.
    """

    logprob: float | None
    tokens: int
    shifted: bool
    note: str


class Scorer(Protocol):
    """The protocol of all that scores targets; `name` is what `make_scorer` was given."""

    name: str

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        """Return the scores of all targets after each prompt: a row per prompt, both in the order given.

        Raises:
            UserError: only the user can mend it: the model or a setting is missing or wrong.
            ProviderError: the network, the server or the machine failed, also after retries.
        """
        ...


async def score_choices(scorer: Scorer, prompt: str, letters: Sequence[str]) -> dict[str, float]:
    """Return the probability of each letter as the answer to a prompt, given that it is one of them.

    White space at the prompt's end is left out, because targets bring their own. For models that chat, make
    the scorer with `chat=True`.

    Raises:
        AgentError: a letter has no score, so that none has a share.
        UserError, ProviderError: see `Scorer.score`.
    """
    (scores,) = await scorer.score([prompt.rstrip()], letters)
    logprobs: dict[str, float] = {}
    for letter, score in zip(letters, scores, strict=True):
        if score.logprob is None:
            raise AgentError(f"{letter} has no score: {score.note}")
        logprobs[letter] = score.logprob
    highest = max(logprobs.values())
    weights = {letter: math.exp(logprob - highest) for letter, logprob in logprobs.items()}
    total = sum(weights.values())
    return {letter: weight / total for letter, weight in weights.items()}
