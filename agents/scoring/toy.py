"""Train a toy language model on the spot, on text of our own: it answers near a number it has seen."""

# ruff: noqa: PLC0415 - torch and transformers take seconds to load, and may be absent

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents.providers.local_models import TOYS
from agents.providers.settings import missing_packages
from agents.scoring.toy_text import END, ToyExample, draw_examples
from interventions.errors import UserError

_THREADS: Final = 1  # sums in several threads can differ
SEED: Final = 42


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a toy, and how long it learns."""

    width: int
    layers: int
    steps: int
    batch: int
    words: int
    """The size of the vocabulary."""


FULL: Final = Size(width=64, layers=2, steps=600, batch=32, words=1_500)
SMALL: Final = Size(width=32, layers=1, steps=20, batch=8, words=400)
"""A size for tests: the toy learns next to nothing."""


def make_toy(
    name: str,
    folder: Path,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    size: Size = FULL,
    seed: int = SEED,
) -> Path:
    """Train a toy and save it as `folder/name`, which is returned.

    `progress` is told the steps done and their number. Equal seeds give equal weights on one machine.

    Raises:
        UserError: there is no such toy, it is there already, a package is missing, or it cannot be written.
    """
    if name not in TOYS:
        raise UserError(f'models: no toy "{name}"; there is {", ".join(TOYS)}')
    if problem := missing_packages():
        raise UserError(f"models: {problem}")
    path = folder / name
    if path.exists():
        raise UserError(f"{path}: exists already; remove it, or choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as unfinished:
            _make(Path(unfinished), progress, size, seed)
            shutil.copytree(unfinished, path)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another folder") from None
    return path


def _make(folder: Path, progress: Callable[[int, int], None], size: Size, seed: int) -> None:
    import torch
    import transformers

    logging: Any = transformers.utils.logging
    logging.disable_progress_bar()
    rng = np.random.default_rng(seed)
    tokenizer = _make_tokenizer([example.text for example in draw_examples(rng, 1_000)], size.words)
    with _repeatable(seed):
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=size.width,
                intermediate_size=3 * size.width,
                num_hidden_layers=size.layers,
                num_attention_heads=4,
                max_position_embeddings=1_024,
                tie_word_embeddings=True,
                bos_token_id=tokenizer.convert_tokens_to_ids(END),
                eos_token_id=tokenizer.convert_tokens_to_ids(END),
            )
        )
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=size.steps)
        for step in range(size.steps):
            loss = _loss(model, tokenizer, draw_examples(rng, size.batch))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            progress(step + 1, size.steps)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "README.md").write_text(
        f"A toy language model with {model.num_parameters():,} parameters, made by Souk on "
        f"{datetime.now(UTC):%Y-%m-%d} with seed {seed}: it answers near a number it has seen, and knows "
        "nothing. Results with it say nothing about any other model.\n",
        encoding="utf-8",
    )


def _make_tokenizer(texts: list[str], words: int) -> Any:
    """Byte-level pairs, every digit a token of its own, a token for each byte: any text can be read."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=words,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast: Any = transformers.PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END)


def _loss(model: Any, tokenizer: Any, examples: list[ToyExample]) -> Any:
    """Cross-entropy of the answers' tokens, and a tenth of that of all others."""
    import torch

    prompts = tokenizer([example.prompt for example in examples])["input_ids"]
    batch = tokenizer([example.text for example in examples], padding=True, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    starts = torch.tensor([len(prompt) for prompt in prompts])[:, None]
    weight = torch.where(torch.arange(ids.shape[1])[None] >= starts, 1.0, 0.1) * mask
    logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    weight = weight[:, 1:].flatten()
    return (losses * weight).sum() / weight.sum()


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    import torch

    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(_THREADS)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict)
            torch.set_num_threads(threads)
