"""Score the letters of a card, without sampling."""

import math
from collections.abc import Sequence

from agents.base import AgentError
from agents.scoring.score import Scorer


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
