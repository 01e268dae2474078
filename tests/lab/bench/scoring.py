"""Scoring 101 answers after 16 prompts, against one forward pass per sequence."""

import asyncio
import gc
import statistics
import tempfile
from itertools import product
from pathlib import Path

from agents.providers.local_models import LoadedModel, local_model
from agents.scoring.local import LocalScorer
from agents.scoring.toy import SMALL, make_toy
from tests.lab.bench.result import Result
from tests.lab.bench.timing import timed

SCENE, COMPARATIVE = "The pointer rests on ", "Is the share of oak trees in the forest above or below "
ABSOLUTE, ANCHOR = "What share of the trees in the forest do you think are oaks?", "65"
TARGETS = [f"{number}%" for number in range(101)]
REPETITIONS = 5
GOAL = 20
TOLERANCE = 1e-4
BATCH = 64


async def run() -> Result:
    """Both in turns, in one thread, with a small model of GPT-2's kind."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return await asyncio.to_thread(_measure, _save_model(Path(folder)))
    finally:
        torch.set_num_threads(threads)


def _measure(folder: Path) -> Result:
    prompts, local = _prompts(ABSOLUTE), local_model(str(folder))
    scorer = LocalScorer(str(folder))
    _score(scorer, prompts, TARGETS)  # loads the model
    before = scorer.forward.tokens, scorer.forward.passes
    found = _score(scorer, prompts, TARGETS)
    tokens, passes = scorer.forward.tokens - before[0], scorer.forward.passes - before[1]
    ours: list[float] = []
    gc.freeze()
    theirs, expected = timed(lambda: _in_batches(local, prompts, 1))
    batched, expected_batched = timed(lambda: _in_batches(local, prompts, BATCH))
    for _ in range(REPETITIONS):
        ours.append(timed(lambda: _score(scorer, prompts, TARGETS))[0])
    theirs_again, _ = timed(lambda: _in_batches(local, prompts, 1))
    gc.unfreeze()
    difference = max(abs(a - b) for a, b in zip(found, expected, strict=True))
    difference_batched = max(abs(a - b) for a, b in zip(found, expected_batched, strict=True))
    ratio = min(theirs, theirs_again) / statistics.median(ours)
    read = sum(len(ids) for prompt in prompts for ids in _texts(local, prompt)[1])
    curve = [
        *(
            (f"{n} answers, {_length(local, prompts)} tokens of prompt", prompts, TARGETS[:n])
            for n in (1, 11, 101)
        ),
        *(
            (f"101 answers, {_length(local, longer)} tokens of prompt", longer, TARGETS)
            for longer in (_prompts(" ".join([ABSOLUTE] * times)) for times in (3, 6))
        ),
    ]
    return Result(
        what="scoring 101 answers after 16 variants of a prompt",
        against="one forward pass per sequence, with the same model",
        figure=f"{ratio:.0f} times faster ({batched / statistics.median(ours):.0f} times against batches of"
        f" {BATCH} with padding); log-probabilities within {max(difference, difference_batched):.0e}",
        goal=f"{GOAL} times faster, log-probabilities within {TOLERANCE:.0e}",
        reached=ratio >= GOAL and difference <= TOLERANCE,
        times=(
            (
                "Souk",
                f"{statistics.median(ours):.2f} s (median), {tokens:,} tokens in {passes} passes",
            ),
            ("one pass per sequence", f"{min(theirs, theirs_again):.2f} s (best of 2), {read:,} tokens"),
            (f"batches of {BATCH} with padding", f"{batched:.2f} s"),
            *((f"Souk, {name}", _point(scorer, *point)) for name, *point in curve),
        ),
        how=(
            "Time of the processor, from text to log-probabilities, tokenising included, in one thread. The"
            " model is of GPT-2's kind, with four layers of width 256 and random weights; its size changes"
            " the times and hardly the tokens. The prompts are all subsets of four fields."
        ),
        notes=(
            "What the model reads grows with the distinct beginnings of answers: a prompt is read once.",
            "Answers of a single token need no pass of their own; long answers that differ early gain less.",
        ),
    )


def _prompts(absolute: str) -> list[str]:
    fields = product((SCENE, ""), (COMPARATIVE, ""), (absolute, ""), (ANCHOR, ""))
    return [f"{scene}{n}.\n\n{comparative}{n}?\n\n{last}".strip() for scene, comparative, last, n in fields]


def _save_model(folder: Path) -> Path:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(make_toy("tiny-anchor", folder, size=SMALL))
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=1_024,
        n_embd=256,
        n_layer=4,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder / "gpt")
    tokenizer.save_pretrained(folder / "gpt")
    return folder / "gpt"


def _score(scorer: LocalScorer, prompts: list[str], targets: list[str]) -> list[float]:
    rows = asyncio.run(scorer.score(prompts, targets))
    return [score.logprob or 0.0 for row in rows for score in row]


def _point(scorer: LocalScorer, prompts: list[str], targets: list[str]) -> str:
    before = scorer.forward.tokens
    seconds, _ = timed(lambda: _score(scorer, prompts, targets))
    return f"{seconds:.2f} s, {scorer.forward.tokens - before:,} tokens read"


def _length(local: LoadedModel, prompts: list[str]) -> int:
    return sum(len(_texts(local, prompt)[0]) for prompt in prompts)


def _texts(local: LoadedModel, prompt: str) -> tuple[list[int], list[list[int]]]:
    texts = [f"{prompt} {target}" for target in TARGETS]
    return local.tokenizer(prompt)["input_ids"], local.tokenizer(texts)["input_ids"]


def _in_batches(local: LoadedModel, prompts: list[str], size: int) -> list[float]:
    """What one does first: all sequences padded on the right, in batches of so many."""
    import torch

    every = [
        (len(start), ids) for prompt in prompts for start, texts in [_texts(local, prompt)] for ids in texts
    ]
    sums = []
    with torch.inference_mode():
        for first in range(0, len(every), size):
            part = every[first : first + size]
            longest = max(len(ids) for _, ids in part)
            padded = torch.tensor(
                [ids + [0] * (longest - len(ids)) for _, ids in part], device=local.model.device
            )
            mask = torch.tensor(
                [[1] * len(ids) + [0] * (longest - len(ids)) for _, ids in part], device=local.model.device
            )
            logprobs = local.model(padded, attention_mask=mask).logits.log_softmax(-1)
            for row, (start, ids) in enumerate(part):
                sums.append(sum(logprobs[row, i - 1, ids[i]].item() for i in range(start, len(ids))))
    return sums
