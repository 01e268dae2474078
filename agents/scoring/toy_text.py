"""Write the text that a toy learns from: a number is shown, a question asked, the answer is near it."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from interventions.data_file import read_data

END: Final = "<end>"

_NEAR: Final = 0.8  # how often an answer is near the number that was seen
_SPREAD: Final = 7.0
_PRESENT: Final = 0.8  # how often each part of a prompt is there
_INVENTED: Final = 0.3  # how often a word is an invented one, so that the toy learns to pass over words

_WORDS: Final[dict[str, list[str]]] = read_data(__file__, "toy.yaml")
"""Parts of prompts, in which `{thing}` and `{group}` are filled in, and syllables of invented words."""


@dataclass(frozen=True, slots=True)
class ToyExample:
    """A prompt and its answer, such as `37%`."""

    prompt: str
    answer: str

    @property
    def text(self) -> str:
        """The prompt and the answer, with the token that ends a text."""
        return f"{self.prompt} {self.answer}{END}"


def draw_examples(rng: np.random.Generator, number: int) -> list[ToyExample]:
    """Draw `number` examples, most with an answer near a number in the prompt.

    A prompt has all parts or some: a scene with a number, the question whether the answer is more or less,
    and the question for the answer.
    """
    return [_draw(rng) for _ in range(number)]


def _draw(rng: np.random.Generator) -> ToyExample:
    def pick(part: str) -> str:
        options = _WORDS[part]
        return str(options[rng.integers(len(options))]) if rng.random() < _PRESENT else ""

    thing, group = (_draw_word(rng, _WORDS[part]) for part in ("things", "groups"))
    scene = pick("scenes")
    comparative = pick("comparatives").format(thing=thing, group=group)
    absolute = pick("absolutes").format(thing=thing, group=group)
    seen = int(rng.integers(101)) if rng.random() < _PRESENT else None
    shown = "" if seen is None else str(seen)
    prompt = f"{scene}{shown}.\n\n{comparative}{shown}?\n\n{absolute}".strip()
    answer = float(rng.integers(101))
    if seen is not None and rng.random() < _NEAR:
        answer = seen + float(rng.laplace(0, _SPREAD))
    return ToyExample(prompt, f"{min(max(round(answer), 0), 100)}%")


def _draw_word(rng: np.random.Generator, options: list[str]) -> str:
    if rng.random() >= _INVENTED:
        return str(options[rng.integers(len(options))])
    return "".join(rng.choice(_WORDS["syllables"], size=rng.integers(2, 6)))
