"""Letters of cards by their probabilities."""

import json
import math
import shutil
from pathlib import Path

import pytest

from agents.scoring import make_scorer, score_choices
from interventions.cards.card import Alternative, Card, LetterAnswer

CARD = Card(
    id="two-hotels",
    alternatives=(
        Alternative(key="h1", facts=(("Name", "Hill Inn"), ("Price", "$80"))),
        Alternative(key="h2", facts=(("Name", "Lake Lodge"), ("Price", "$95"))),
    ),
    question="Which one do you book?",
    reply="\nAnswer: ",
    answer=LetterAnswer(labels={"A": "", "B": ""}),
)
TEMPLATE = (
    "{% for message in messages %}<s>{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@pytest.mark.slow
async def test_in_a_chat_template_a_letter_begins_the_answer(folders, tmp_path: Path) -> None:
    import torch

    from agents.providers.local_models import local_model

    path = Path(shutil.copytree(folders["gpt2"], tmp_path / "chat"))
    settings = json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (path / "tokenizer_config.json").write_text(
        json.dumps(settings | {"chat_template": TEMPLATE}), encoding="utf-8"
    )
    shares = await score_choices(make_scorer(f"hf:{path}", chat=True), CARD.prompt, ["A", "B"])
    local = local_model(str(path))
    text = f"<s>user: {CARD.prompt.rstrip()}\nassistant:"
    start = local.tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = {letter: local.tokenizer(text + letter, add_special_tokens=False)["input_ids"] for letter in "AB"}
    logprobs = {}
    for letter, tokens in whole.items():
        first = next(i for i, token in enumerate(tokens) if i >= len(start) or token != start[i])
        with torch.inference_mode():
            table = local.model(torch.tensor([tokens], device=local.model.device)).logits[0].log_softmax(-1)
        logprobs[letter] = sum(table[i - 1, tokens[i]].item() for i in range(first, len(tokens)))
    assert shares["A"] == pytest.approx(1 / (1 + math.exp(logprobs["B"] - logprobs["A"])), abs=1e-4)
    plain = await score_choices(make_scorer(f"hf:{path}"), CARD.prompt, ["A", "B"])
    assert plain["A"] != pytest.approx(shares["A"], abs=1e-4)
