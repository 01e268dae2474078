"""What trials are taken to take before any has run."""

from itertools import islice
from pathlib import Path

import pytest

from experiments.designs.loading import load_design
from experiments.executors.expected_use import PAGE_ANSWER_TOKENS, PICTURE_TOKENS, assumed, expected_use


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
    assert "each picture" in assumed(design, agent)
