#!/bin/sh
# transformers 5.24.0 with torch 2.13.0 (CPU), CPython 3.11.
# With rope_type "dynamic" a model's logits of a text depend on what it has read before. The frequencies grow with
# the longest text so far and are set back only by a text shorter than `max_position_embeddings`: a text of that
# length or more, read after a longer one, gets the longer one's. So the order of texts changes their scores.
#
# Seen (a limit of 16 tokens; the last token's logits, against those of the first time, in which the lengths grew):
#   20 tokens after 60: alike False
#   16 tokens after 20: alike False
#   15 tokens after 16: alike True
#   16 tokens after 15: alike True
#   20 tokens after 16: alike True
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0
"$folder/venv/bin/python" - <<'PROGRAM'
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(1)
config = LlamaConfig(
    vocab_size=50,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
    max_position_embeddings=16,
    initializer_range=0.3,
    rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10_000.0},
)
model = LlamaForCausalLM(config).eval()
text = torch.randint(50, (1, 60))


def last(length):
    with torch.inference_mode():
        return model(text[:, :length]).logits[:, -1]


first = {length: last(length) for length in (15, 16, 20, 60)}
seen, before = [], 60
for length in (20, 16, 15, 16, 20):
    seen.append(torch.allclose(last(length), first[length], atol=1e-3))
    print(f"{length} tokens after {before}: alike {seen[-1]}")
    before = length
sys.exit(seen != [False, False, True, True, True])
PROGRAM
