"""Find the tokens of a text that are scored, by two conventions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interventions.errors import UserError


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as tokens, and which of its last positions are scored.

    The model reads `context`, then `path`; at each token of `path` that of `wanted` is scored, which is the
    same token by all conventions but the legacy one. `problem`: why nothing can be scored; empty if it can.
    """

    context: tuple[int, ...]
    path: tuple[int, ...]
    wanted: tuple[int, ...]
    shifted: bool = False
    problem: str = ""


class TextReader:
    """Makes readings with a model's tokenizer.

    Args:
        tokenizer: a fast tokenizer of transformers.
        longest: how many tokens the model takes; None where it states no limit.

    Raises:
        UserError: the tokenizer is not a fast one.
    """

    def __init__(self, tokenizer: Any, longest: int | None, name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(f"agents: hf:{name} has no fast tokenizer (tokenizer.json); name another model")
        self._tokenizer = tokenizer
        self._longest = longest
        added = tokenizer("a", return_special_tokens_mask=True)
        own = [i for i, special in enumerate(added["special_tokens_mask"]) if not special] or [0]
        self._before, self._after = (
            tuple(added["input_ids"][: own[0]]),
            tuple(added["input_ids"][own[-1] + 1 :]),
        )

    def read(self, prompt: str, targets: Sequence[str]) -> list[Reading]:
        """Return the tokens of each target: those of prompt + " " + target after those of the prompt.

        A token that marks the beginning of a sequence is context, where the tokenizer adds one; one that
        marks its end is left out.
        """
        start, *texts = self._tokens([prompt, *(f"{prompt} {target}" for target in targets)])
        return [self._reading(start, text) for text in texts]

    def read_chat(self, prompt: str, targets: Sequence[str]) -> list[Reading]:
        """Return the tokens of each target in the tokenizer's chat template.

        There each target begins the answer, without a blank. Special tokens are those that the template
        writes.
        """
        asked = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            tokenize=False,
            enable_thinking=False,  # for the templates that have such a switch
        )
        start, *texts = self._plain_tokens([asked, *(asked + target for target in targets)])
        return [self._reading(start, text) for text in texts]

    def read_legacy(self, prompt: str, targets: Sequence[str]) -> list[Reading]:
        """Return the tokens of the bare target, special ones added, at the last positions of the whole text.

        That is the published convention (behavioural anchoring in log-probabilities, Valencia-Clavijo, 2025):
        not always the tokens that stand there.
        """
        texts = self._tokens([f"{prompt} {target}" for target in targets], end=True)
        bare = self._tokens(targets, end=True)
        readings = []
        for text, wanted in zip(texts, bare, strict=True):
            first = len(text) - len(wanted)
            problem = self._problem(text, first, len(wanted))
            readings.append(Reading(text[:first], text[first:], wanted, problem=problem))
        return readings

    def _tokens(self, texts: Sequence[str], *, end: bool = False) -> list[tuple[int, ...]]:
        after = self._after if end else ()
        return [(*self._before, *tokens, *after) for tokens in self._plain_tokens(texts)]

    def _plain_tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        found = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [tuple(tokens) for tokens in found]

    def _reading(self, start: tuple[int, ...], text: tuple[int, ...]) -> Reading:
        same = next((i for i, (a, b) in enumerate(zip(start, text, strict=False)) if a != b), None)
        first = min(len(start), len(text)) if same is None else same
        problem = self._problem(text, first, len(text) - first)
        return Reading(text[:first], text[first:], text[first:], first < len(start), problem)

    def _problem(self, text: tuple[int, ...], first: int, scored: int) -> str:
        if scored == 0:
            return "the target adds no token to the prompt"
        if first < 1:
            return "the first token has no context: the tokenizer adds no begin-of-sequence token"
        if self._longest and len(text) > self._longest:
            return f"the text has {len(text):,} tokens; the model takes {self._longest:,}"
        return ""
