"""Score targets by a model in this process."""

import asyncio
import functools
import math
import threading
from collections.abc import Sequence

from agents.base import ProviderError
from agents.providers import local_models
from agents.scoring.forward import Forward, ScoringStopped
from agents.scoring.score import TargetScore
from agents.scoring.texts import Reading, TextReader
from interventions.errors import UserError

Scores = list[list[TargetScore]]


class LocalScorer:
    """A causal language model on this machine (`agents.providers.local_models.find_model`).

    `legacy`: by the published convention (`TextReader.read_legacy`). `chat`: a prompt is a message of a user
    in the tokenizer's chat template and the target begins the answer, without a blank before it; a model
    without a template goes on with the text.

    Raises:
        UserError: the model is not on this machine.
    """

    def __init__(
        self, name: str, *, legacy: bool = False, chat: bool = False, load_in: str | None = None
    ) -> None:
        self.name = f"hf:{name}"
        self._short = name
        self._legacy = legacy
        self._chat = chat
        self._local = local_models.local_model(local_models.find_model(name), load_in)

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> Scores:
        """See `Scorer.score`.

        Calls for one model wait for each other; a cancelled call stops soon.
        """
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._local.executor, self._score, prompts, targets, stop)
        finally:
            stop.set()
        if isinstance(found, Exception):
            raise found
        return found

    @functools.cached_property
    def forward(self) -> Forward:
        """The runner of the model; it counts what it has run."""
        return Forward(self._local.model, self._short)

    @functools.cached_property
    def _reader(self) -> TextReader:
        return TextReader(self._local.tokenizer, self._local.longest, self._short)

    def _score(
        self, prompts: Sequence[str], targets: Sequence[str], stop: threading.Event
    ) -> Scores | UserError | ProviderError:
        """An error is returned: raised in here it would carry another library's exception."""
        try:
            rows = [self._read(prompt, targets) for prompt in prompts]
            possible = [reading for row in rows for reading in row if not reading.problem]
            sums = iter(self.forward.logprobs(possible, stop))
        except UserError as error:
            return error
        except ScoringStopped:
            return ProviderError("nobody waits for the scores")
        except RuntimeError as error:
            return ProviderError(f"the model failed: {(str(error).splitlines() or ['no reason'])[0][:200]}")
        scores = [
            [_to_score(reading, math.nan if reading.problem else next(sums)) for reading in row]
            for row in rows
        ]
        if possible and all(score.logprob is None for row in scores for score in row):
            return UserError(
                f"agents: {self.name} gives no probability to any target (not a number, or zero); "
                "check its weights and their precision"
            )
        return scores

    def _read(self, prompt: str, targets: Sequence[str]) -> list[Reading]:
        if self._legacy:
            return self._reader.read_legacy(prompt, targets)
        if self._chat and self._local.tokenizer.chat_template:
            return self._reader.read_chat(prompt, targets)
        return self._reader.read(prompt, targets)


def _to_score(reading: Reading, logprob: float) -> TargetScore:
    if not reading.problem and math.isfinite(logprob):
        return TargetScore(logprob, len(reading.wanted), reading.shifted, "")
    zero = "the model gives the target no probability" if logprob == -math.inf else ""
    note = reading.problem or zero or "the model's result is not a number"
    return TargetScore(None, len(reading.wanted), reading.shifted, note)
