"""What trials are taken to take before any has run."""

from itertools import islice
from pathlib import Path

import pytest

from environments.observation.views import VIEWS, Modality
from experiments.designs.loading import load_design
from experiments.executors.expected_use import PAGE_ANSWER_TOKENS, PICTURE_TOKENS, assumed, expected_use

MODEL = "openai:looking"
PRICES = """
as_of: "2026-01"
models: {"openai:looking": {input: 1, output: 2, image: 0.01}}
"""
EXPERIMENT = """
name: ways
task: compare-tabs
goal: Buy the best product.
observation: [{modality}]
options: {{sets: 2}}
"""
WORDS = {
    "html": ("2,500 tokens,", 2_500, 0),
    "tree": ("1,500 tokens,", 1_500, 0),
    "screenshot": ("2,500 tokens and the price of a picture,", 2_500, 1),
    "both": ("4,100 tokens and the price of a picture,", 4_100, 1),
    "marks": ("2,500 tokens and the price of a picture,", 2_500, 1),
    "feed": ("2,100 tokens,", 2_100, 0),
    "mcp": ("17,900 tokens,", 17_900, 0),
}


@pytest.mark.parametrize("modality", VIEWS)
def test_a_request_takes_what_its_page_does(
    modality: Modality, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    monkeypatch.setenv("SOUK_PRICES", str(tmp_path / "prices.yaml"))
    (tmp_path / "ways.yaml").write_text(EXPERIMENT.format(modality=modality))
    design = load_design(str(tmp_path / "ways.yaml"))
    trials = list(islice(design.trials([MODEL]), 4))
    words, tokens, pictures = WORDS[modality]
    use = expected_use(MODEL, trials, design)
    assert use.requests == sum(design.requests(trial) for trial in trials) > 0
    assert use.tokens_in == use.requests * tokens
    usd = use.requests * ((tokens + 2 * PAGE_ANSWER_TOKENS) / 1e6 + 0.01 * pictures)
    assert use.cost == pytest.approx(usd)
    assert assumed(design, MODEL, trials).startswith(words)


def test_several_modalities_are_all_said(tmp_path: Path) -> None:
    (tmp_path / "ways.yaml").write_text(EXPERIMENT.format(modality="html, tree"))
    design = load_design(str(tmp_path / "ways.yaml"))
    assert assumed(design, MODEL, design.trials([MODEL])).startswith("1,500 or 2,500 tokens, an answer")


def test_pictures_have_their_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = "fara-computer:m"
    prices = f'as_of: "2026-11"\nmodels: {{"{agent}": {{input: 1, output: 2, image: 0.01}}}}\n'
    (tmp_path / "prices.yaml").write_text(prices)
    monkeypatch.setenv("SOUK_PRICES", str(tmp_path / "prices.yaml"))
    design = load_design("nudges")
    use = expected_use(agent, islice(design.trials([agent]), 2), design)
    pictures = 1 + 2 + 3  # of a trial: each is sent with all requests that follow
    assert (use.requests, use.tokens_in) == (2 * 3, 2 * pictures * PICTURE_TOKENS)
    tokens = pictures * PICTURE_TOKENS + 2 * 3 * PAGE_ANSWER_TOKENS
    assert use.cost == pytest.approx(2 * (tokens / 1e6 + pictures * 0.01))
    assert "each picture" in assumed(design, agent, [])
