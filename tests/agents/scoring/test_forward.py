"""Texts in common passes, against one pass per text, over families of models."""

import threading
from typing import Any

import numpy as np
import pytest

from agents.scoring.forward import _OBEY_MASKS, Forward
from agents.scoring.texts import Reading

SMALL: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    **{kind: {} for kind in _OBEY_MASKS},
    "gemma": {"head_dim": 16},
    "qwen3": {"head_dim": 16},
    # What a mask alone does not rule: a window counted in places, and biases by distance.
    "qwen2 window": {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    "qwen3 window": {
        "use_sliding_window": True,
        "sliding_window": 16,
        "max_window_layers": 0,
        "head_dim": 16,
    },
    "mistral": {"sliding_window": 6},
    "gemma2": {"head_dim": 16, "sliding_window": 16},
    "gemma3_text": {"head_dim": 16, "sliding_window": 16},
    "phi3": {"sliding_window": 16},
    "gpt_neo": {
        "num_layers": 2,
        "attention_types": [[["global", "local"], 1]],
        "num_heads": 2,
        "window_size": 6,
    },
    "falcon": {"alibi": True, "new_decoder_architecture": False},
    "gpt_neox": {},
    # Positions that depend on the text's length, a state in place of a cache, and no cache to go on from.
    "phi3 long": {
        "max_position_embeddings": 128,
        "original_max_position_embeddings": 16,
        "rope_scaling": {"rope_type": "longrope", "type": "longrope"}
        | {f"{which}_factor": [factor] * 8 for which, factor in (("short", 1.0), ("long", 4.0))},
    },
    "mamba": {"state_size": 4},
    "recurrent_gemma": {"attention_window_size": 6, "lru_width": 32},
}


def readings() -> list[Reading]:
    rng = np.random.default_rng(2)
    contexts = [tuple(map(int, rng.integers(1, 50, size))) for size in (1, 9, 9, 14, 40)]
    paths = [tuple(map(int, path)) for path in ([3], [3, 4], [3, 4, 5, 6], [3, 5], [7, 7, 7], [8, 1])]
    paths += [tuple(map(int, rng.integers(1, 50, 18)))]
    wanted = [tuple((token + 1) % 50 for token in path) for path in paths]
    alike = [Reading(context, path, path) for context in contexts for path in paths]
    other = [Reading(contexts[1], path, want) for path, want in zip(paths, wanted, strict=True)]
    return [*alike, *other]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_families_of_models(kind: str) -> None:
    torch = pytest.importorskip("torch", reason="local models need torch")
    transformers = pytest.importorskip("transformers", reason="local models need transformers")
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(kind.partition(" ")[0], **(SMALL | FAMILIES[kind]))
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    texts = readings()
    expected = []
    with torch.inference_mode():
        for text in texts:
            whole = torch.tensor([[*text.context, *text.path]], device=model.device)
            logprobs = model(whole, use_cache=False).logits[0].log_softmax(-1)
            first = len(text.context) - 1
            expected.append(sum(logprobs[first + i, token].item() for i, token in enumerate(text.wanted)))
    forward = Forward(model, kind)
    assert forward.logprobs(texts, threading.Event()) == pytest.approx(expected, abs=1e-4)
    assert np.std(expected) > 0.1
    assert forward.passes == 8 or kind not in _OBEY_MASKS
    forward._obeys = False
    assert forward.logprobs(texts, threading.Event()) == pytest.approx(expected, abs=1e-4)
