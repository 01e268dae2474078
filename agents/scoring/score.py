"""The protocol of scorers: they give the log-probabilities of targets after prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
