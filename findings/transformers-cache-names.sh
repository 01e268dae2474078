#!/bin/sh
# transformers 5.24.0 with torch 2.13.0 (CPU), CPython 3.11.
# Version 5.24 renames the argument `past_key_values` to `cache`. Attention models still take the old name and warn.
# Mamba takes it too, but without a word and without an effect: its forward() lets unknown arguments pass, and its
# old name was another one (`cache_params`). Its output has the cache under all three names. So code that hands
# `output.past_key_values` on as `past_key_values` works with Llama, and for Mamba gives the logits of a text that
# has lost its beginning. The check: the last token's logits with a cache, against those of the whole text.
#
# Seen:
#   llama past_key_values as the whole text: True, warned: True
#   llama cache           as the whole text: True, warned: False
#   mamba past_key_values as the whole text: False, warned: False
#   mamba cache           as the whole text: True, warned: False
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.24.0
"$folder/venv/bin/python" - <<'PROGRAM'
import sys
import warnings

import torch
from transformers import AutoConfig, AutoModelForCausalLM, logging

logging.set_verbosity_error()
SIZE = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "initializer_range": 0.3}
KINDS = {
    "llama": {"intermediate_size": 48, "num_attention_heads": 2, "num_key_value_heads": 2},
    "mamba": {"state_size": 4},
}
EXPECTED = [(True, True), (True, False), (False, False), (True, False)]
text = torch.tensor([[1, 2, 3, 4, 5, 6]])
seen = []
for kind, options in KINDS.items():
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **SIZE, **options)).eval()
    for name in ("past_key_values", "cache"):
        with torch.inference_mode(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            whole = model(text).logits[:, -1]
            begun = model(text[:, :-1], use_cache=True)
            last = model(text[:, -1:], **{name: begun[name]}).logits[:, -1]
        alike = torch.allclose(whole, last, atol=1e-3)
        warned = any("deprecated" in str(each.message) for each in caught)
        seen.append((alike, warned))
        print(f"{kind} {name:15} as the whole text: {alike}, warned: {warned}")
sys.exit(seen != EXPECTED)
PROGRAM
