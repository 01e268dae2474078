"""Toys: made anew they are the same, and they can be scored."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.scoring import make_scorer
from agents.scoring.toy import SMALL, make_toy
from agents.scoring.toy_text import draw_examples
from interventions.errors import UserError


@pytest.mark.slow
async def test_equal_seeds_make_equal_toys_which_can_be_scored(tmp_path: Path, monkeypatch) -> None:
    from safetensors.numpy import load_file

    seen: list[tuple[int, int]] = []
    first = make_toy(
        "tiny-anchor", tmp_path / "a", lambda done, total: seen.append((done, total)), size=SMALL
    )
    again = make_toy("tiny-anchor", tmp_path / "b", size=SMALL)
    other = make_toy("tiny-anchor", tmp_path / "c", size=replace(SMALL, steps=2), seed=7)
    assert seen == [(step + 1, SMALL.steps) for step in range(SMALL.steps)]
    weights, same, different = (load_file(path / "model.safetensors") for path in (first, again, other))
    assert all(np.array_equal(weights[name], same[name]) for name in weights)
    assert not all(np.array_equal(weights[name], different.get(name)) for name in weights)
    card = (first / "README.md").read_text(encoding="utf-8")
    assert card.startswith("A toy language model")
    assert "seed 42" in card
    monkeypatch.setenv("SOUK_MODELS", str(tmp_path / "a"))
    ((low, high),) = await make_scorer("hf:tiny-anchor").score(["The dial shows 7.\n\n?"], ["7%", "100%"])
    assert (low.tokens, high.tokens) == (3, 5)  # the blank, each digit and the percent sign
    assert math.isfinite(low.logprob)
    with pytest.raises(UserError, match="exists already; remove it, or choose another folder"):
        make_toy("tiny-anchor", tmp_path / "a", size=SMALL)
    with pytest.raises(UserError, match='no toy "gpt-9"; there is tiny-anchor'):
        make_toy("gpt-9", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/tiny-anchor: cannot be written \(.*\); choose another folder"):
        make_toy("tiny-anchor", tmp_path / "file", size=SMALL)


def test_answers_are_near_the_number_that_was_seen() -> None:
    examples = draw_examples(np.random.default_rng(1), 4_000)
    answers: dict[bool, list[int]] = {True: [], False: []}
    for example in examples:
        numbers = {
            int(word)
            for word in example.prompt.replace(".", " ").replace("?", " ").split()
            if word.isdecimal()
        }
        if numbers and (number := numbers.pop()) != 50:
            answers[number > 50].append(int(example.answer.removesuffix("%")))
    assert np.mean(answers[True]) - np.mean(answers[False]) > 30
