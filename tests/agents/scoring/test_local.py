"""Scores by a model in this process, against one pass per text."""

import asyncio
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.providers.local_models import local_model
from agents.scoring import make_scorer
from agents.scoring.local import LocalScorer
from interventions.errors import UserError
from tests.agents.tiny_models import KINDS

PROMPTS = [
    "The wheel stopped at 65.\n\nIs the share above or below 65?\n\nWhat is your guess?",
    "The wheel stopped at .\n\n?\n\nWhat is your guess?",
    ".\n\n?",
]
TARGETS = [f"{i}%" for i in range(0, 101, 7)]
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", " ", "10%", "1 0", " 65", "%\n", "Grün", "你好", "at", "a  b"]
)


def one_pass(
    folder: Path, prompt: str, target: str, *, legacy: bool = False
) -> tuple[float, int, bool] | None:
    """The sum of log-probabilities by the textbook; None where it is undefined."""
    import torch

    local = local_model(str(folder))
    texts = (prompt, f"{prompt} {target}", target)
    start, text, wanted = (local.tokenizer(each)["input_ids"] for each in texts)
    first = 0
    while first < min(len(start), len(text)) and start[first] == text[first]:
        first += 1
    shifted = first < len(start) and not legacy
    if legacy:
        first = len(text) - len(wanted)
    else:
        wanted = text[first:]
    if first < 1 or not wanted:
        return None
    with torch.inference_mode():
        logits = local.model(torch.tensor([text], device=local.model.device)).logits[0]
    logprobs = logits.float().log_softmax(-1)
    total = sum(logprobs[first + i - 1, token].item() for i, token in enumerate(wanted))
    return total, len(wanted), shifted


def scores(folder: Path, prompts: list[str], targets: list[str], **options: Any) -> list[list[Any]]:
    return asyncio.run(LocalScorer(str(folder), **options).score(prompts, targets))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("legacy", [False, True])
def test_scores_are_those_of_one_pass_per_text(folders, kind: str, legacy: bool) -> None:
    rows = scores(folders[kind], PROMPTS, TARGETS, legacy=legacy)
    for prompt, row in zip(PROMPTS, rows, strict=True):
        for target, score in zip(TARGETS, row, strict=True):
            logprob, tokens, shifted = one_pass(folders[kind], prompt, target, legacy=legacy)
            assert score.logprob == pytest.approx(logprob, abs=1e-4)
            assert (score.tokens, score.shifted, score.note) == (tokens, shifted, "")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompt=WORDS, targets=st.lists(WORDS, min_size=1, max_size=4))
def test_any_prompt_and_target(folders, kind: str, prompt: str, targets: list[str]) -> None:
    (row,) = scores(folders[kind], [prompt], targets)
    for target, score in zip(targets, row, strict=True):
        expected = one_pass(folders[kind], prompt, target)
        if expected is None:
            assert score.logprob is None
            assert score.note
        else:
            assert score.logprob == pytest.approx(expected[0], abs=1e-4)
            assert (score.tokens, score.shifted) == expected[1:]


def test_forward_tokens_grow_with_distinct_beginnings_only(folders) -> None:
    scorer = LocalScorer(str(folders["gpt2"]))
    tokenizer = local_model(str(folders["gpt2"])).tokenizer
    asyncio.run(scorer.score([PROMPTS[0]], TARGETS))
    prompt = tuple(tokenizer(PROMPTS[0])["input_ids"])
    beginnings = set()
    for target in TARGETS:
        path = tuple(tokenizer(f"{PROMPTS[0]} {target}")["input_ids"])[len(prompt) :]
        beginnings |= {path[:i] for i in range(1, len(path))}
    assert scorer.forward.tokens == len(prompt) + len(beginnings)


class Scarce:
    """A model on a machine whose memory takes so many texts at once."""

    def __init__(self, model: Any, rows: int) -> None:
        self._model, self._rows = model, rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, input_ids: Any, **options: Any) -> Any:
        import torch

        if len(input_ids) > self._rows:
            raise torch.OutOfMemoryError("out of memory")
        return self._model(input_ids=input_ids, **options)


def test_batches_are_halved_until_memory_suffices(folders) -> None:
    plenty = scores(folders["gpt2"], PROMPTS, TARGETS)
    scorer = LocalScorer(str(folders["gpt2"]))
    scorer.forward._obeys = False  # depth by depth, where many texts are read together
    scorer.forward._model = Scarce(scorer.forward._model, 3)
    found = asyncio.run(scorer.score(PROMPTS, TARGETS))
    assert scorer.forward.rows <= 3
    for row, expected in zip(found, plenty, strict=True):
        assert [s.logprob for s in row] == pytest.approx([s.logprob for s in expected], abs=1e-4)


def test_no_memory_for_a_single_text_is_a_failure_of_the_machine(folders) -> None:
    from agents.base import ProviderError

    scorer = LocalScorer(str(folders["gpt2"]))
    scorer.forward._model = Scarce(scorer.forward._model, 0)
    with pytest.raises(ProviderError, match=r"^the model failed: out of memory$"):
        asyncio.run(scorer.score(PROMPTS, TARGETS))


def test_a_cancelled_job_stops_soon(folders) -> None:
    scorer = LocalScorer(str(folders["gpt2"]))

    async def cancel() -> None:
        scoring = asyncio.create_task(scorer.score(PROMPTS, TARGETS))
        await asyncio.sleep(0)
        scoring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scoring

    asyncio.run(cancel())
    assert len(asyncio.run(scorer.score(PROMPTS, ["10%"]))) == len(PROMPTS)


def test_what_is_undefined_says_why(folders) -> None:
    ((first,), (long,)) = scores(folders["bytes"], ["", "word " * 100], ["10%"])
    assert first.note == "the first token has no context: the tokenizer adds no begin-of-sequence token"
    assert long.note == "the text has 504 tokens; the model takes 256"
    ((begun,),) = scores(folders["llama"], [""], ["10%"])
    assert begun.logprob is not None  # after the begin token
    ((empty, full),) = scores(folders["llama"], ["at"], ["", "10%"])
    assert full.logprob is not None
    assert (empty.logprob is None) == (one_pass(folders["llama"], "at", "") is None)


def copy_with(folder: Path, to: Path, change: Any) -> Path:
    """A copy of a model with other weights."""
    import torch
    from safetensors.torch import load_file, save_file

    path = Path(shutil.copytree(folder, to / "copy"))
    weights = load_file(path / "model.safetensors")
    with torch.no_grad():
        change(weights)
    save_file(weights, path / "model.safetensors", {"format": "pt"})
    return path


def test_a_result_that_is_not_a_number_is_undefined(folders, tmp_path: Path) -> None:
    # Positions from the sixth on are broken.
    path = copy_with(
        folders["bytes"], tmp_path, lambda weights: weights["transformer.wpe.weight"][5:].fill_(math.nan)
    )
    ((short, long),) = scores(path, ["ab"], ["9", "999999"])
    assert short.logprob is not None
    assert (long.logprob, long.note) == (None, "the model's result is not a number")
    with pytest.raises(UserError, match=r"gives no probability to any target .*; check its weights"):
        scores(path, ["abcdefgh"], ["9", "10"])


@pytest.mark.slow
def test_a_model_that_sees_what_follows_cannot_be_scored(folders, tmp_path: Path) -> None:
    import transformers

    path = Path(shutil.copytree(folders["bytes"], tmp_path / "bert"))
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=300, initializer_range=0.5, **sizes)
    transformers.BertLMHeadModel(config).save_pretrained(path)
    with pytest.raises(UserError, match=r"^agents: hf:.* sees the tokens that follow") as caught:
        scores(path, ["a"], ["b"])
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("anthropic:claude-haiku-4-5", "gives no log-probabilities; name a model of one of hf, compatible"),
        ("simulated:balanced", "gives no log-probabilities"),
        ("hf:", "the model is missing; write hf:MODEL"),
        ("hf:no-such-model-here", 'no model "no-such-model-here" on this machine; .*hf download'),
        ("hf:tiny-anchor", "or make it first: souk models tiny-anchor"),
    ],
)
def test_names_that_cannot_be_scored(name: str, message: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOUK_MODELS", str(tmp_path))
    with pytest.raises(UserError, match=message):
        make_scorer(name)
